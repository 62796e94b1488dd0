"""A lesson's YAML file, read: what is wrong in it is said with its line, its field and the nearest valid choice.

The file's nodes are taken as texts, never made into objects; nothing of it is run, opened or fetched. `set` takes what
a link takes, by the link's own reader: a mapping of its properties, or all of it as it was copied from the address bar.
"""

from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from typing import NoReturn
from urllib.parse import parse_qsl, quote, urlencode

import yaml

from alrviz.errors import AlrvizError
from alrviz.explorer.lesson import KINDS, LARGEST, Answer, Lesson, Option, Question, Step
from alrviz.explorer.lessons.answers import MEASURES, check_column, where_of
from alrviz.explorer.lessons.ranges import gap_of, is_range
from alrviz.explorer.session.link_errors import Choices, checked
from alrviz.explorer.session.state import PROPERTIES, State, read_link

LARGEST_FILE = 200_000  # bytes: a long lesson has 15,000
MOST_STEPS, MOST_OPTIONS, DEEPEST = 60, 8, 10
MOST_NODES = 5_000  # texts, lists and mappings: the longest lesson has 700, and YAML takes 0.1 ms each
LONGEST_TEXT = 6_000  # characters of one text
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
_NEEDED = ("id", "title", "steps")  # of a lesson
FIRST = State().page  # where a step says none
ChoicesOf = Callable[[str], Choices]  # what a link to a page may hold


def read_lesson(text: str, name: str = "lesson.yaml", choices: ChoicesOf = lambda page: {}) -> Lesson:
    """Return the lesson of a file.

    Args:
        text: of the file. name: of the file, for messages.
        choices: what a link to a page may hold, by the state's attribute, as `link_errors.checked` takes it.

    Raises:
        AlrvizError: of what is no lesson: file, line, field, what was expected, the nearest valid choice.
    """
    return _Reader(name, choices).lesson(text)


class _Reader:
    """One file that is being read."""

    def __init__(self, name: str, choices: ChoicesOf):
        self._name, self._choices = name, choices

    def lesson(self, text: str) -> Lesson:
        fields = self._mapping(self._parsed(text), "", "lesson", _NEEDED)
        steps: list[Step] = []
        page = ""
        for number, node in enumerate(self._list(fields["steps"], "steps", MOST_STEPS), 1):
            step, page = self._step(node, f"step {number}", page, steps[-1].link if steps else "")
            steps.append(step)
        self._unique([(one.id, node) for one, node in self._asked(steps, fields["steps"])])
        slug = self._text(fields["id"], "id", 40)
        if read_link(f"?lesson={quote(slug)}").lesson != slug:
            self._fail(fields["id"], "id", f"{slug!r} is no name for a link; expected small letters, digits and -")
        return Lesson(
            slug,
            self._whole(fields, "version", 1, 10_000),
            self._text(fields["title"], "title", 120),
            self._whole(fields, "minutes", 10, 180),
            self._text(fields["audience"], "audience", 200) if "audience" in fields else "",
            tuple(steps),
        )

    # -- steps and questions -------------------------------------------------------------------------------------------

    def _step(self, node: yaml.Node, field: str, page: str, before: str) -> tuple[Step, str]:
        fields = self._mapping(node, field, "step", ())
        if not fields.keys() & {"text", "ask"}:
            self._fail(node, field, "a step has a text or a question (ask)")
        if "page" in fields:
            page = self._text(fields["page"], f"{field}.page", 40)
            self._check({"page": page}, fields["page"], f"{field}.page", page)
        link = before
        if "set" in fields or "page" in fields:
            given, page = self._set(fields.get("set"), f"{field}.set", page)
            link = "?" + urlencode({"page": page, **given} if page else given, quote_via=quote)
        step = Step(
            self._text(fields["text"], f"{field}.text") if "text" in fields else "",
            link,
            self._hidden(fields, field),
            self._ask(fields["ask"], f"{field}.ask", page) if "ask" in fields else None,
            self._flag(fields["run"], f"{field}.run") if "run" in fields else False,
            self._text(fields["reveal"], f"{field}.reveal") if "reveal" in fields else "",
        )
        return step, page

    def _set(self, node: yaml.Node | None, field: str, page: str) -> tuple[dict[str, str], str]:
        """What a step sets: a mapping of a link's properties, or a link's query in one."""
        if node is None:
            return {}, page
        if isinstance(node, yaml.ScalarNode):
            given = dict(parse_qsl(node.value.partition("?")[2] or node.value, keep_blank_values=True))
            if not given and node.value.strip():
                self._fail(node, field, "expected what a link holds after its ?, such as data=xor&q=orders")
            nodes: dict[str, yaml.Node] = dict.fromkeys(given, node)
            for key in ("lesson", "step"):  # of a lesson that it was copied from
                given.pop(key, None)
        else:
            pairs = self._pairs(node, field)
            given = {key: self._text(value, f"{field}.{key}", LONGEST_TEXT) for key, value in pairs.items()}
            nodes = dict(pairs)
        page = given.pop("page", page)
        for key, value in given.items():
            if key in ("lesson", "step"):
                self._fail(nodes[key], f"{field}.{key}", "a step cannot open a lesson")
            if key not in PROPERTIES:
                known = [one for one in PROPERTIES if one not in ("page", "lesson", "step")]
                self._fail(nodes[key], f"{field}.{key}", "a link has no such property" + _nearest(key, known))
            self._check({"page": page, key: value} if page else {key: value}, nodes[key], f"{field}.{key}", page)
        return given, page

    def _check(self, given: Mapping[str, str], node: yaml.Node, field: str, page: str) -> None:
        query = "?" + urlencode(given, quote_via=quote)
        _, troubles = checked(query, read_link(query), self._choices(page))
        if troubles:
            self._fail(node, field, "; ".join(troubles))

    def _hidden(self, fields: Mapping[str, yaml.Node], field: str) -> tuple[str, ...]:
        found = {}
        for key in ("show", "hide"):
            if key in fields:
                nodes = self._list(fields[key], f"{field}.{key}", len(PARTS), empty=True)
                found[key] = {self._one_of(node, f"{field}.{key}", PARTS) for node in nodes}
        # Where a step says nothing of it there is the picture alone: the rest takes its room, distracts, or tells.
        hidden = set(found.get("hide", PARTS)) - found.get("show", set())
        return tuple(part for part in PARTS if part in hidden)

    def _ask(self, node: yaml.Node, field: str, page: str) -> Question:
        fields = self._mapping(node, field, "ask", ("id", "kind", "text", "answer"))
        kind = self._one_of(fields["kind"], f"{field}.kind", KINDS)
        if (kind == "number") == ("options" in fields):
            has = "has no options" if kind == "number" else "needs options"
            self._fail(fields.get("options", node), field, f"a question of kind {kind} {has}")
        options = self._options(fields["options"], f"{field}.options") if "options" in fields else ()
        for end in ("low", "high"):
            if kind == "sketch" and end not in fields:
                self._fail(node, field, f"a sketch needs low and high, the ends of its y-axis; {end} is missing")
        low = self._number(fields, "low", field, -LARGEST, -LARGEST, LARGEST)
        high = self._number(fields, "high", field, LARGEST, -LARGEST, LARGEST)
        if not low < high:
            self._fail(fields.get("high", node), f"{field}.high", f"expected more than low, which is {low:g}")
        answer = self._answer(fields["answer"], f"{field}.answer", kind, options, page)
        if kind == "choice" and MEASURES[answer.measure].numeric:
            self._check_gaps(fields["options"], f"{field}.options", options)
        return Question(
            self._text(fields["id"], f"{field}.id", 40),
            kind,
            self._text(fields["text"], f"{field}.text", 600),
            options,
            answer,
            self._text(fields["explain"], f"{field}.explain") if "explain" in fields else "",
            self._text(fields["unit"], f"{field}.unit", 40) if "unit" in fields else "",
            low,
            high,
        )

    def _options(self, node: yaml.Node, field: str) -> tuple[Option, ...]:
        """A mapping of values to words, or a list of values that are their own words."""
        if isinstance(node, yaml.SequenceNode):
            texts = [self._text(one, field, 60) for one in self._list(node, field, MOST_OPTIONS)]
            pairs = dict(zip(texts, texts, strict=True))
            if len(pairs) < len(texts):
                self._fail(node, field, "each option stands there once")
        else:
            pairs = {key: self._text(value, f"{field}.{key}", 200) for key, value in self._pairs(node, field).items()}
        if not 2 <= len(pairs) <= MOST_OPTIONS:
            self._fail(node, field, f"expected 2 to {MOST_OPTIONS} options, not {len(pairs)}")
        return tuple(Option(value, words) for value, words in pairs.items())

    def _check_gaps(self, node: yaml.Node, field: str, options: tuple[Option, ...]) -> None:
        """Refuse ranges with a gap between two: a number in it would have no right option."""
        if (found := gap_of(option.value for option in options)) is not None:
            missing, above = found
            at = node.value[[option.value for option in options].index(above)]
            self._fail(at[0] if isinstance(at, tuple) else at, field, f"no option holds {missing}, below {above!r}")

    def _answer(self, node: yaml.Node, field: str, kind: str, options: tuple[Option, ...], page: str) -> Answer:
        fields = self._mapping(node, field, "answer", ("measure", "of"))
        name = self._one_of(fields["measure"], f"{field}.measure", MEASURES)
        measure = MEASURES[name]
        if kind not in measure.kinds:
            expected = [one for one, of in MEASURES.items() if kind in of.kinds]
            self._fail(
                fields["measure"], f"{field}.measure",
                f"{name} is no answer to a question of kind {kind}; expected one of {', '.join(expected)}",
            )  # fmt: skip
        parts = tuple(self._text(one, f"{field}.of", 200) for one in self._list(fields["of"], f"{field}.of", 12))
        if not measure.least <= len(parts) <= measure.most:
            self._fail(fields["of"], f"{field}.of", f"{name} is of [{measure.takes}], not of {len(parts)} texts")
        takes = measure.takes.split(", ")
        for k, (part, at) in enumerate(zip(parts, fields["of"].value, strict=True)):
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
                self._fail(at, f"{field}.of", str(error))
        ranged = [is_range(option.value) for option in options]
        if kind == "choice" and measure.numeric and not all(ranged):
            wrong = options[ranged.index(False)].value
            self._fail(
                node, field,
                f"{name} gives a number, and the option {wrong!r} is no range of numbers; "
                "expected options such as '< 0.8', '0.8 to 1.25' and '> 1.25'",
            )  # fmt: skip
        if kind == "sketch" and len(parts) != len(options) + 1:
            self._fail(fields["of"], f"{field}.of", f"expected a column and {len(options)} rows, one for each option")
        return Answer(name, parts)

    @staticmethod
    def _asked(steps: list[Step], node: yaml.Node) -> list[tuple[Question, yaml.Node]]:
        return [(step.ask, one) for step, one in zip(steps, node.value, strict=True) if step.ask is not None]

    def _unique(self, ids: list[tuple[str, yaml.Node]]) -> None:
        seen: set[str] = set()
        for id, node in ids:
            if id in seen:
                self._fail(node, "ask.id", f"there is another question {id!r}; each has an id of its own")
            seen.add(id)

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def _parsed(self, text: str) -> yaml.Node:
        """The file's node, if it is plain: no aliases, which may unfold without end, and not deep."""
        if (at := _surrogate(text)) is not None:
            line = text.count("\n", 0, at) + 1
            raise AlrvizError(f"{self._name}, line {line}: {_HALF_CHARACTER}")
        if (size := len(text.encode())) > LARGEST_FILE:
            raise AlrvizError(f"{self._name}: a lesson has at most {LARGEST_FILE:,} bytes, this file {size:,}")
        depth = nodes = 0
        try:
            for event in yaml.parse(text, Loader=yaml.SafeLoader):
                depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
                nodes += isinstance(event, yaml.NodeEvent)
                if nodes > MOST_NODES:
                    most = f"a lesson has at most {MOST_NODES:,} texts, lists and mappings"
                    raise AlrvizError(f"{self._name}, line {_line(event)}: {most}")
                if isinstance(event, yaml.AliasEvent) or depth > DEEPEST:
                    what = (
                        f"lists and mappings are at most {DEEPEST} deep"
                        if depth > DEEPEST
                        else "aliases (*) are not read"
                    )
                    raise AlrvizError(f"{self._name}, line {_line(event)}: {what}")
            node = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            where = f", line {mark.line + 1}" if mark else ""
            hint = next((hint for words, hint in _HINTS.items() if words in str(error)), "")
            if hint.startswith(_OPEN_QUOTE) and error.context_mark:  # which the parser sees lines below
                hint += f": look at line {error.context_mark.line + 1}"
            raise AlrvizError(f"{self._name}{where}: this is no YAML: {error.problem}{hint}") from error
        except yaml.YAMLError as error:
            raise AlrvizError(f"{self._name}: this is no YAML: {error}") from error
        if node is None:
            raise AlrvizError(f"{self._name}: the file is empty; expected {', '.join(_NEEDED)} and more")
        return node

    def _pairs(self, node: yaml.Node, field: str) -> dict[str, yaml.Node]:
        if not isinstance(node, yaml.MappingNode):
            self._fail(node, field, "expected lines of the form `name: value`, " + _is(node))
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = self._text(key, field, 200)
            if name in found:
                self._fail(key, f"{field}.{name}".strip("."), "stands there twice")
            found[name] = value
        return found

    def _mapping(self, node: yaml.Node, field: str, what: str, needed: Collection[str]) -> dict[str, yaml.Node]:
        found = self._pairs(node, field or what)
        for key, value in found.items():
            if key not in FIELDS[what]:
                self._fail(value, f"{field}.{key}".strip("."), f"no field of {_A[what]}{_nearest(key, FIELDS[what])}")
        missing = [name for name in needed if name not in found]
        if missing:
            self._fail(node, field or what, f"{missing[0]} is missing; expected {', '.join(needed)}")
        return found

    def _list(self, node: yaml.Node, field: str, most: int, empty: bool = False) -> list[yaml.Node]:
        if not isinstance(node, yaml.SequenceNode):
            self._fail(node, field, "expected a list: [one, another], or lines that begin with -; " + _is(node))
        if (not node.value and not empty) or len(node.value) > most:
            self._fail(node, field, f"expected 1 to {most} entries, not {len(node.value)}")
        return list(node.value)

    def _text(self, node: yaml.Node, field: str, most: int = LONGEST_TEXT) -> str:
        if not isinstance(node, yaml.ScalarNode):
            self._fail(node, field, f"expected one text without brackets, {_is(node)}")
        text = str(node.value).strip()
        if not text:
            self._fail(node, field, "expected a text, this is empty")
        if _surrogate(text) is not None:  # written as an escape
            self._fail(node, field, _HALF_CHARACTER)
        if len(text) > most:
            self._fail(node, field, f"expected at most {most:,} characters, not {len(text):,}")
        return text

    def _number(
        self, fields: Mapping[str, yaml.Node], name: str, field: str, default: float, low: float, high: float
    ) -> float:
        if name not in fields:
            return default
        full, text = f"{field}.{name}".strip("."), self._text(fields[name], f"{field}.{name}".strip("."), 40)
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            self._fail(fields[name], full, f"{text!r} is no number from {low:g} to {high:g}")
        return value

    def _whole(self, fields: Mapping[str, yaml.Node], name: str, default: int, high: int) -> int:
        value = self._number(fields, name, "", default, 1, high)
        if value != int(value):
            self._fail(fields[name], name, f"{value:g} is no whole number from 1 to {high}")
        return int(value)

    def _flag(self, node: yaml.Node, field: str) -> bool:
        return self._one_of(node, field, ("true", "false", "yes", "no")) in ("true", "yes")

    def _one_of(self, node: yaml.Node, field: str, choices: Collection[str]) -> str:
        text = self._text(node, field, 200)
        if text not in choices:
            self._fail(node, field, f"there is no {text[:40]!r}{_nearest(text, choices)}")
        return text

    def _fail(self, node: yaml.Node, field: str, what: str) -> NoReturn:
        raise AlrvizError(f"{self._name}, line {_line(node)}, {field}: {what}")


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


def _is(node: yaml.Node) -> str:
    if isinstance(node, yaml.ScalarNode):
        return "this is a text"
    return "this is a list" if isinstance(node, yaml.SequenceNode) else "these are fields"


def _nearest(text: str, choices: Collection[str]) -> str:
    near = get_close_matches(text, choices, n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else f"; expected one of {', '.join(choices)}"
