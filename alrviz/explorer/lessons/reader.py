"""Read the YAML file of a lesson; errors name the line, the field and the nearest valid choice.

The file's nodes are taken as texts, never made into objects; nothing of it is run, opened or fetched. `set` takes what
a link takes, by the link's own reader: a mapping of its properties, or all of it as it was copied from the address bar.

pydantic would replace `_Field` (80 lines) by models, and need as many to give its errors the line of a node and the
nearest name; what depends on several fields, most of this module, would stay.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import NoReturn
from urllib.parse import parse_qsl, quote, urlencode

import yaml

from alrviz.errors import AlrvizError
from alrviz.explorer.lesson import KINDS, MAX_NUMBER, Answer, Lesson, Option, Question, Step
from alrviz.explorer.lessons.answers import MEASURES, check_column, where_of
from alrviz.explorer.lessons.ranges import gap_of, is_range
from alrviz.explorer.session.link_errors import Choices, check_link
from alrviz.explorer.session.state import PROPERTIES, State, read_link

MAX_FILE_BYTES = 200_000  # bytes: a long lesson has 15,000
MAX_STEPS, MAX_OPTIONS, MAX_DEPTH = 60, 8, 10
MAX_NODES = 5_000  # texts, lists and mappings: the longest lesson has 700, and YAML takes 0.1 ms each
MAX_TEXT_CHARS = 6_000  # characters of one text
# What of a page can be hidden: the CSS class of each is alrviz-part-NAME.
PARTS = ("rail", "drop", "controls", "racers", "side", "more")
FIELDS = {
    "lesson": ("id", "version", "title", "minutes", "audience", "steps"),
    "step": ("text", "page", "set", "show", "hide", "ask", "run", "reveal"),
    "ask": ("id", "kind", "text", "options", "unit", "low", "high", "answer", "explain"),
    "answer": ("measure", "of"),
}
_OPEN_QUOTE = "; a quote is not closed"
_HINTS = {  # what to write, by words of the parser's message
    "mapping values": "; a text with a colon or a # in it stands in quotes, or below a |",
    "\\t": "; lines are indented by spaces, not by a tab",
    "<block end>": "; the fields of one step, or of one question, begin equally far from the left",
    "end of stream": _OPEN_QUOTE,
    "could not find expected ':'": f"{_OPEN_QUOTE}, or a name has no colon behind it",
}
_REQUIRED_FIELDS = ("id", "title", "steps")  # of a lesson
FIRST = State().page  # where a step says none
ChoicesOf = Callable[[str], Choices]  # what a link to a page may hold


def read_lesson(text: str, name: str = "lesson.yaml", choices: ChoicesOf = lambda page: {}) -> Lesson:
    """Return the lesson of a file.

    Args:
        text: of the file.
        name: of the file, for messages.
        choices: what a link to a page may hold, by the state's attribute, as `link_errors.checked` takes it.

    Raises:
        AlrvizError: of what is no lesson: file, line, field, what was expected, the nearest valid choice.
    """
    fields = _Field(name, _parsed(text, name)).fields("lesson", _REQUIRED_FIELDS)
    steps: list[Step] = []
    questions: dict[str, _Field] = {}
    page = ""
    for number, node in enumerate(fields["steps"].items(MAX_STEPS), 1):
        at = replace(node, path=f"step {number}")
        step, page = _read_step(at, page, steps[-1].link if steps else "", choices)
        steps.append(step)
        if step.ask is not None:
            if step.ask.id in questions:
                replace(at, path="ask.id").fail(f"there is another question {step.ask.id!r}; each has an id of its own")
            questions[step.ask.id] = at
    slug = fields["id"].text(40)
    if read_link(f"?lesson={quote(slug)}").lesson != slug:
        fields["id"].fail(f"{slug!r} is no name for a link; expected small letters, digits and -")
    version, minutes = _whole(fields, "version", 1, 10_000), _whole(fields, "minutes", 10, 180)
    return Lesson(slug, version, fields["title"].text(120), minutes, _text(fields, "audience", 200), tuple(steps))


@dataclass(frozen=True)
class _Field:
    """A node of a file, and the path of its field for messages: "step 1.ask.kind", "" for the whole lesson."""

    file: str
    node: yaml.Node
    path: str = ""

    def fail(self, what: str) -> NoReturn:
        raise AlrvizError(f"{self.file}, line {_line(self.node)}, {self.path or 'lesson'}: {what}")

    def child(self, name: str, node: yaml.Node) -> "_Field":
        return _Field(self.file, node, f"{self.path}.{name}".strip("."))

    def pairs(self) -> dict[str, "_Field"]:
        """Return the fields of a mapping, whatever they are called."""
        if not isinstance(self.node, yaml.MappingNode):
            self.fail("expected lines of the form `name: value`, " + self._is)
        found: dict[str, _Field] = {}
        for key, value in self.node.value:
            name = replace(self, node=key).text(200)
            if name in found:
                self.child(name, key).fail("stands there twice")
            found[name] = self.child(name, value)
        return found

    def fields(self, what: str, needed: Collection[str]) -> dict[str, "_Field"]:
        """Return the fields of a mapping that has those of `FIELDS[what]` alone, all `needed` among them."""
        found = self.pairs()
        for name, field in found.items():
            if name not in FIELDS[what]:
                field.fail(f"no field of {_A[what]}{_nearest(name, FIELDS[what])}")
        if missing := [name for name in needed if name not in found]:
            self.fail(f"{missing[0]} is missing; expected {', '.join(needed)}")
        return found

    def items(self, most: int, empty: bool = False) -> "list[_Field]":
        """Return the entries of a list."""
        if not isinstance(self.node, yaml.SequenceNode):
            self.fail("expected a list: [one, another], or lines that begin with -; " + self._is)
        if (not self.node.value and not empty) or len(self.node.value) > most:
            self.fail(f"expected 1 to {most} entries, not {len(self.node.value)}")
        return [replace(self, node=node) for node in self.node.value]

    def text(self, most: int = MAX_TEXT_CHARS) -> str:
        if not isinstance(self.node, yaml.ScalarNode):
            self.fail(f"expected one text without brackets, {self._is}")
        text = str(self.node.value).strip()
        if not text:
            self.fail("expected a text, this is empty")
        if _surrogate(text) is not None:  # written as an escape
            self.fail(_HALF_CHARACTER)
        if len(text) > most:
            self.fail(f"expected at most {most:,} characters, not {len(text):,}")
        return text

    def number(self, low: float, high: float) -> float:
        text = self.text(40)
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            self.fail(f"{text!r} is no number from {low:g} to {high:g}")
        return value

    def one_of(self, choices: Collection[str]) -> str:
        text = self.text(200)
        if text not in choices:
            self.fail(f"there is no {text[:40]!r}{_nearest(text, choices)}")
        return text

    @property
    def _is(self) -> str:
        names = {yaml.ScalarNode: "this is a text", yaml.SequenceNode: "this is a list"}
        return names.get(type(self.node), "these are fields")


# ---- steps and questions ---------------------------------------------------------------------------------------------


def _text(fields: Mapping[str, _Field], name: str, most: int = MAX_TEXT_CHARS) -> str:
    """Return the text of a field; "" where it is not there."""
    return fields[name].text(most) if name in fields else ""


def _whole(fields: Mapping[str, _Field], name: str, default: int, high: int) -> int:
    value = fields[name].number(1, high) if name in fields else default
    if value != int(value):
        fields[name].fail(f"{value:g} is no whole number from 1 to {high}")
    return int(value)


def _read_step(at: _Field, page: str, link: str, choices: ChoicesOf) -> tuple[Step, str]:
    """Return a step and its page. page, link: of the step before, which hold on where this one sets nothing."""
    fields = at.fields("step", ())
    if not fields.keys() & {"text", "ask"}:
        at.fail("a step has a text or a question (ask)")
    if "page" in fields:
        page = fields["page"].text(40)
        _check(fields["page"], {"page": page}, page, choices)
    if "set" in fields or "page" in fields:
        given, page = _read_set(fields["set"], page, choices) if "set" in fields else ({}, page)
        link = "?" + urlencode({"page": page, **given} if page else given, quote_via=quote)
    ask = _read_question(fields["ask"], page) if "ask" in fields else None
    run = "run" in fields and fields["run"].one_of(("true", "false", "yes", "no")) in ("true", "yes")
    return Step(_text(fields, "text"), link, _hidden(fields), ask, run, _text(fields, "reveal")), page


def _read_set(at: _Field, page: str, choices: ChoicesOf) -> tuple[dict[str, str], str]:
    """Return what a step sets, and its page: a mapping of a link's properties, or a link's query in one."""
    if isinstance(at.node, yaml.ScalarNode):
        given = dict(parse_qsl(at.node.value.partition("?")[2] or at.node.value, keep_blank_values=True))
        if not given and at.node.value.strip():
            at.fail("expected what a link holds after its ?, such as data=xor&q=orders")
        fields = {key: at.child(key, at.node) for key in given}
        for key in ("lesson", "step"):  # of a lesson that it was copied from
            given.pop(key, None)
    else:
        fields = at.pairs()
        given = {key: field.text() for key, field in fields.items()}
    page = given.pop("page", page)
    for key, value in given.items():
        if key in ("lesson", "step"):
            fields[key].fail("a step cannot open a lesson")
        if key not in PROPERTIES:
            known = [one for one in PROPERTIES if one not in ("page", "lesson", "step")]
            fields[key].fail("a link has no such property" + _nearest(key, known))
        _check(fields[key], {"page": page, key: value} if page else {key: value}, page, choices)
    return given, page


def _check(at: _Field, given: Mapping[str, str], page: str, choices: ChoicesOf) -> None:
    """Fail where a link to the page could not hold these properties."""
    query = "?" + urlencode(given, quote_via=quote)
    _, troubles = check_link(query, read_link(query), choices(page))
    if troubles:
        at.fail("; ".join(troubles))


def _hidden(fields: Mapping[str, _Field]) -> tuple[str, ...]:
    named = {
        key: {item.one_of(PARTS) for item in fields[key].items(len(PARTS), empty=True)}
        for key in ("show", "hide")
        if key in fields
    }
    # Where a step says nothing of it there is the picture alone: the rest takes its room, distracts, or tells.
    hidden = set(named.get("hide", PARTS)) - named.get("show", set())
    return tuple(part for part in PARTS if part in hidden)


def _read_question(at: _Field, page: str) -> Question:
    fields = at.fields("ask", ("id", "kind", "text", "answer"))
    kind = fields["kind"].one_of(KINDS)
    if (kind == "number") == ("options" in fields):
        has = "has no options" if kind == "number" else "needs options"
        replace(fields.get("options", at), path=at.path).fail(f"a question of kind {kind} {has}")
    options = _read_options(fields["options"]) if "options" in fields else ()
    if kind == "sketch" and not {"low", "high"} <= fields.keys():
        at.fail("a sketch needs low and high, the ends of its y-axis")
    low = fields["low"].number(-MAX_NUMBER, MAX_NUMBER) if "low" in fields else -MAX_NUMBER
    high = fields["high"].number(-MAX_NUMBER, MAX_NUMBER) if "high" in fields else MAX_NUMBER
    if not low < high:
        fields.get("high", at.child("high", at.node)).fail(f"expected more than low, which is {low:g}")
    answer = _read_answer(fields["answer"], kind, options, page)
    if kind == "choice" and MEASURES[answer.measure].numeric:
        _check_gaps(fields["options"], options)
    lengths = {"id": 40, "text": 600, "explain": MAX_TEXT_CHARS, "unit": 40}
    id, text, explain, unit = (_text(fields, name, most) for name, most in lengths.items())
    return Question(id, kind, text, options, answer, explain, unit, low, high)


def _read_options(at: _Field) -> tuple[Option, ...]:
    """Return the options: a mapping of values to words, or a list of values that are their own words."""
    if isinstance(at.node, yaml.SequenceNode):
        texts = [item.text(60) for item in at.items(MAX_OPTIONS)]
        pairs = dict(zip(texts, texts, strict=True))
        if len(pairs) < len(texts):
            at.fail("each option stands there once")
    else:
        pairs = {key: field.text(200) for key, field in at.pairs().items()}
    if not 2 <= len(pairs) <= MAX_OPTIONS:
        at.fail(f"expected 2 to {MAX_OPTIONS} options, not {len(pairs)}")
    return tuple(Option(value, words) for value, words in pairs.items())


def _check_gaps(at: _Field, options: tuple[Option, ...]) -> None:
    """Refuse ranges with a gap between two: a number in it would have no right option."""
    if (found := gap_of(option.value for option in options)) is not None:
        missing, above = found
        node = at.node.value[[option.value for option in options].index(above)]
        option = replace(at, node=node[0] if isinstance(node, tuple) else node)
        option.fail(f"no option holds {missing}, below {above!r}")


def _read_answer(at: _Field, kind: str, options: tuple[Option, ...], page: str) -> Answer:
    """Return what is right, if the question, of this kind and with these options, can have that answer on the page."""
    fields = at.fields("answer", ("measure", "of"))
    name = fields["measure"].one_of(MEASURES)
    measure = MEASURES[name]
    if kind not in measure.kinds:
        expected = ", ".join(one for one, of in MEASURES.items() if kind in of.kinds)
        fields["measure"].fail(f"{name} is no answer to a question of kind {kind}; expected one of {expected}")
    items = fields["of"].items(12)
    parts = tuple(item.text(200) for item in items)
    if not measure.least <= len(parts) <= measure.most:
        fields["of"].fail(f"{name} is of [{measure.takes}], not of {len(parts)} texts")
    takes = measure.takes.split(", ")
    for k, (part, item) in enumerate(zip(parts, items, strict=True)):
        try:
            if "line" in takes[min(k, len(takes) - 1)]:
                columns = tuple(where_of(part))
            elif "=" in part:
                raise AlrvizError(f"{part!r} tells a line; expected the name of a column")
            else:
                columns = (part,)
            for column in columns:
                check_column(page or FIRST, column)
        except AlrvizError as error:
            item.fail(str(error))
    unranged = [option.value for option in options if not is_range(option.value)]
    if kind == "choice" and measure.numeric and unranged:
        at.fail(
            f"{name} gives a number, and the option {unranged[0]!r} is no range of numbers; "
            "expected options such as '< 0.8', '0.8 to 1.25' and '> 1.25'"
        )
    if kind == "sketch" and len(parts) != len(options) + 1:
        fields["of"].fail(f"expected a column and {len(options)} rows, one for each option")
    return Answer(name, parts)


# ---- the file --------------------------------------------------------------------------------------------------------


def _parsed(text: str, name: str) -> yaml.Node:
    """Return the file's node, if it is plain: no aliases, which may unfold without end, and not deep."""
    if (at := _surrogate(text)) is not None:
        line = text.count("\n", 0, at) + 1
        raise AlrvizError(f"{name}, line {line}: {_HALF_CHARACTER}")
    if (size := len(text.encode())) > MAX_FILE_BYTES:
        raise AlrvizError(f"{name}: a lesson has at most {MAX_FILE_BYTES:,} bytes, this file {size:,}")
    depth = nodes = 0
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            nodes += isinstance(event, yaml.NodeEvent)
            wrong = ""
            if nodes > MAX_NODES:
                wrong = f"a lesson has at most {MAX_NODES:,} texts, lists and mappings"
            elif depth > MAX_DEPTH:
                wrong = f"lists and mappings are at most {MAX_DEPTH} deep"
            elif isinstance(event, yaml.AliasEvent):
                wrong = "aliases (*) are not read"
            if wrong:
                raise AlrvizError(f"{name}, line {_line(event)}: {wrong}")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f", line {mark.line + 1}" if mark else ""
        hint = next((hint for words, hint in _HINTS.items() if words in str(error)), "")
        if hint.startswith(_OPEN_QUOTE) and error.context_mark:  # which the parser sees lines below
            hint += f": look at line {error.context_mark.line + 1}"
        raise AlrvizError(f"{name}{where}: this is no YAML: {error.problem}{hint}") from error
    except yaml.YAMLError as error:
        raise AlrvizError(f"{name}: this is no YAML: {error}") from error
    if node is None:
        raise AlrvizError(f"{name}: the file is empty; expected {', '.join(_REQUIRED_FIELDS)} and more")
    return node


_HALF_CHARACTER = "half a character stands here (a lone surrogate); expected whole ones, in UTF-8"
_A = {"lesson": "a lesson", "step": "a step", "ask": "a question", "answer": "an answer"}


def _surrogate(text: str) -> int | None:
    """Return where the first lone surrogate of a text stands, which no UTF-8 and no link can hold; None without one."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None


def _line(at: yaml.Node | yaml.Event) -> int:
    return 1 if at.start_mark is None else int(at.start_mark.line) + 1


def _nearest(text: str, choices: Collection[str]) -> str:
    near = get_close_matches(text, choices, n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else f"; expected one of {', '.join(choices)}"
