"""Read the YAML file of a lesson; errors name the line, the field and the nearest valid choice.

All nodes are read as texts: no objects are constructed, and nothing in the file is run, opened or fetched. `set` has
the properties of a link, read by the link's reader: as a mapping, or as the link copied from the address bar.

pydantic would replace `_Field` (80 lines), and need as many lines to give its errors the line of a node and the nearest
name. Checks of several fields, most of this module, would remain.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import NoReturn
from urllib.parse import parse_qsl, quote, urlencode

import yaml

from alrviz.errors import AlrvizError
from alrviz.explorer.lesson import KINDS, MAX_NUMBER, Answer, Lesson, Option, Question, Step
from alrviz.explorer.lessons.answers import MEASURES, check_column, parse_selector
from alrviz.explorer.lessons.ranges import gap_of, is_range
from alrviz.explorer.session.link_errors import Choices, check_link
from alrviz.explorer.session.state import PROPERTIES, State, read_link

MAX_FILE_BYTES = 200_000  # bytes: a long lesson has 15,000
MAX_STEPS, MAX_OPTIONS, MAX_DEPTH = 60, 8, 10
MAX_NODES = 5_000  # texts, lists and mappings: the longest lesson has 700, and YAML takes 0.1 ms each
MAX_TEXT_CHARS = 6_000  # characters of one text
# Parts of a page that can be hidden; their CSS classes are alrviz-part-NAME.
PARTS = ("rail", "drop", "controls", "racers", "side", "more")
FIELDS = {
    "lesson": ("id", "version", "title", "minutes", "audience", "steps"),
    "step": ("text", "page", "set", "show", "hide", "ask", "run", "reveal"),
    "ask": ("id", "kind", "text", "options", "unit", "low", "high", "answer", "explain"),
    "answer": ("measure", "of"),
}
_OPEN_QUOTE = "; a quote is not closed"
_HINTS = {  # by words of the parser's message
    "mapping values": "; put a text with a colon or a # into quotes, or below a |",
    "\\t": "; lines are indented by spaces, not by a tab",
    "<block end>": "; the fields of one step, or of one question, begin equally far from the left",
    "end of stream": _OPEN_QUOTE,
    "could not find expected ':'": f"{_OPEN_QUOTE}, or a name has no colon behind it",
}
_REQUIRED_FIELDS = ("id", "title", "steps")  # of a lesson
DEFAULT_PAGE = State().page  # of a step without a page
ChoicesOf = Callable[[str], Choices]  # returns the valid values of a page's link properties


def read_lesson(text: str, name: str = "lesson.yaml", choices: ChoicesOf = lambda page: {}) -> Lesson:
    """Return the lesson of a file.

    Args:
        text: of the file.
        name: of the file, for messages.
        choices: returns the valid values of a page's link properties, as for `link_errors.check_link`.

    Raises:
        AlrvizError: if it is invalid, with file, line, field, what was expected and the nearest valid choice.
    """
    fields = _Field(name, _parse_yaml(text, name)).fields("lesson", _REQUIRED_FIELDS)
    steps: list[Step] = []
    questions: dict[str, _Field] = {}
    page = ""
    for number, node in enumerate(fields["steps"].items(MAX_STEPS), 1):
        field = replace(node, path=f"step {number}")
        step, page = _read_step(field, page, steps[-1].link if steps else "", choices)
        steps.append(step)
        if step.ask is not None:
            if step.ask.id in questions:
                replace(field, path="ask.id").fail(f"another question has the id {step.ask.id!r}; ids must be unique")
            questions[step.ask.id] = field
    slug = fields["id"].text(40)
    if read_link(f"?lesson={quote(slug)}").lesson != slug:
        fields["id"].fail(f"{slug!r} is not a valid id; expected lower-case letters, digits and -")
    version, minutes = _integer(fields, "version", 1, 10_000), _integer(fields, "minutes", 10, 180)
    title, audience = fields["title"].text(120), _optional_text(fields, "audience", 200)
    return Lesson(slug, version, title, minutes, audience, tuple(steps))


@dataclass(frozen=True)
class _Field:
    """A node of a file, and the path of its field for messages: "step 1.ask.kind", "" for the whole lesson."""

    file: str
    node: yaml.Node
    path: str = ""

    def fail(self, problem: str) -> NoReturn:
        raise AlrvizError(f"{self.file}, line {_line_number(self.node)}, {self.path or 'lesson'}: {problem}")

    def child(self, name: str, node: yaml.Node) -> "_Field":
        return _Field(self.file, node, f"{self.path}.{name}".strip("."))

    def pairs(self) -> dict[str, "_Field"]:
        """Return the fields of a mapping by name."""
        if not isinstance(self.node, yaml.MappingNode):
            self.fail("expected lines of the form `name: value`, " + self._is)
        fields: dict[str, _Field] = {}
        for key, value_node in self.node.value:
            name = replace(self, node=key).text(200)
            if name in fields:
                self.child(name, key).fail("occurs twice")
            fields[name] = self.child(name, value_node)
        return fields

    def fields(self, kind: str, required: Collection[str]) -> dict[str, "_Field"]:
        """Return the fields of a mapping; it must have all `required` ones, and none that is not in `FIELDS[kind]`."""
        fields = self.pairs()
        for name, field in fields.items():
            if name not in FIELDS[kind]:
                field.fail(f"not a field of {_WITH_ARTICLE[kind]}{_nearest_hint(name, FIELDS[kind])}")
        if missing := [name for name in required if name not in fields]:
            self.fail(f"{missing[0]} is missing; expected {', '.join(required)}")
        return fields

    def items(self, max_items: int, empty: bool = False) -> "list[_Field]":
        """Return the entries of a list: at most `max_items`, and at least one unless `empty`."""
        if not isinstance(self.node, yaml.SequenceNode):
            self.fail("expected a list: [one, another], or lines that begin with -; " + self._is)
        if (not self.node.value and not empty) or len(self.node.value) > max_items:
            self.fail(f"expected 1 to {max_items} entries, not {len(self.node.value)}")
        return [replace(self, node=node) for node in self.node.value]

    def text(self, max_chars: int = MAX_TEXT_CHARS) -> str:
        """Return the field's text; fail if it is empty or longer than `max_chars`."""
        if not isinstance(self.node, yaml.ScalarNode):
            self.fail(f"expected one text without brackets, {self._is}")
        text = str(self.node.value).strip()
        if not text:
            self.fail("expected a text, this is empty")
        if _surrogate_position(text) is not None:  # written as an escape
            self.fail(_HALF_CHARACTER)
        if len(text) > max_chars:
            self.fail(f"expected at most {max_chars:,} characters, not {len(text):,}")
        return text

    def number(self, low: float, high: float) -> float:
        """Return the field's number; fail if it is not from `low` to `high`."""
        text = self.text(40)
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            self.fail(f"{text!r} is not a number from {low:g} to {high:g}")
        return value

    def choice(self, choices: Collection[str]) -> str:
        """Return the field's text; fail, with the nearest choice, if it is no choice."""
        text = self.text(200)
        if text not in choices:
            self.fail(f"there is no {text[:40]!r}{_nearest_hint(text, choices)}")
        return text

    @property
    def _is(self) -> str:
        names = {yaml.ScalarNode: "this is a text", yaml.SequenceNode: "this is a list"}
        return names.get(type(self.node), "these are fields")


# ---- steps and questions ---------------------------------------------------------------------------------------------


def _optional_text(fields: Mapping[str, _Field], name: str, max_chars: int = MAX_TEXT_CHARS) -> str:
    """Return the text of a field; "" if it is missing."""
    return fields[name].text(max_chars) if name in fields else ""


def _integer(fields: Mapping[str, _Field], name: str, default: int, maximum: int) -> int:
    """Return a field's whole number from 1 to `maximum`; `default` if the field is missing."""
    value = fields[name].number(1, maximum) if name in fields else default
    if value != int(value):
        fields[name].fail(f"{value:g} is not a whole number from 1 to {maximum}")
    return int(value)


def _read_step(field: _Field, page: str, link: str, choices: ChoicesOf) -> tuple[Step, str]:
    """Return a step and its page. page, link: of the previous step, used if this one sets none.

    choices: returns the valid values of a page's properties.
    """
    fields = field.fields("step", ())
    if not fields.keys() & {"text", "ask"}:
        field.fail("a step has a text or a question (ask)")
    if "page" in fields:
        page = fields["page"].text(40)
        _check_properties(fields["page"], {"page": page}, page, choices)
    if "set" in fields or "page" in fields:
        properties, page = _read_set(fields["set"], page, choices) if "set" in fields else ({}, page)
        link = "?" + urlencode({"page": page, **properties} if page else properties, quote_via=quote)
    question = _read_question(fields["ask"], page) if "ask" in fields else None
    is_run = "run" in fields and fields["run"].choice(("true", "false", "yes", "no")) in ("true", "yes")
    text, reveal = _optional_text(fields, "text"), _optional_text(fields, "reveal")
    return Step(text, link, _hidden_parts(fields), question, is_run, reveal), page


def _read_set(field: _Field, page: str, choices: ChoicesOf) -> tuple[dict[str, str], str]:
    """Return the link properties of a step, and its page; they are a mapping or the query of a link."""
    if isinstance(field.node, yaml.ScalarNode):
        properties = dict(parse_qsl(field.node.value.partition("?")[2] or field.node.value, keep_blank_values=True))
        if not properties and field.node.value.strip():
            field.fail("expected what a link holds after its ?, such as data=xor&q=orders")
        fields = {key: field.child(key, field.node) for key in properties}
        for key in ("lesson", "step"):  # the link may have been copied from a lesson
            properties.pop(key, None)
    else:
        fields = field.pairs()
        properties = {key: entry.text() for key, entry in fields.items()}
    page = properties.pop("page", page)
    for key, value in properties.items():
        if key in ("lesson", "step"):
            fields[key].fail("a step cannot open a lesson")
        if key not in PROPERTIES:
            valid_names = [name for name in PROPERTIES if name not in ("page", "lesson", "step")]
            fields[key].fail("a link has no such property" + _nearest_hint(key, valid_names))
        _check_properties(fields[key], {"page": page, key: value} if page else {key: value}, page, choices)
    return properties, page


def _check_properties(field: _Field, properties: Mapping[str, str], page: str, choices: ChoicesOf) -> None:
    """Fail if these properties are not valid in a link to the page."""
    query = "?" + urlencode(properties, quote_via=quote)
    _, problems = check_link(query, read_link(query), choices(page))
    if problems:
        field.fail("; ".join(problems))


def _hidden_parts(fields: Mapping[str, _Field]) -> tuple[str, ...]:
    """Return the names of the page's parts that a step hides, by its fields "show" and "hide"."""
    parts_by_field = {
        key: {item.choice(PARTS) for item in fields[key].items(len(PARTS), empty=True)}
        for key in ("show", "hide")
        if key in fields
    }
    # By default only the picture is shown: other parts take space, distract, or give away the answer.
    hidden_parts = set(parts_by_field.get("hide", PARTS)) - parts_by_field.get("show", set())
    return tuple(part for part in PARTS if part in hidden_parts)


def _read_question(field: _Field, page: str) -> Question:
    """Return a question. page: its step's page, whose results have the columns of the answer."""
    fields = field.fields("ask", ("id", "kind", "text", "answer"))
    kind = fields["kind"].choice(KINDS)
    if (kind == "number") == ("options" in fields):
        problem = "has no options" if kind == "number" else "needs options"
        replace(fields.get("options", field), path=field.path).fail(f"a question of kind {kind} {problem}")
    options = _read_options(fields["options"]) if "options" in fields else ()
    if kind == "sketch" and not {"low", "high"} <= fields.keys():
        field.fail("a sketch needs low and high, the ends of its y-axis")
    low = fields["low"].number(-MAX_NUMBER, MAX_NUMBER) if "low" in fields else -MAX_NUMBER
    high = fields["high"].number(-MAX_NUMBER, MAX_NUMBER) if "high" in fields else MAX_NUMBER
    if not low < high:
        fields.get("high", field.child("high", field.node)).fail(f"expected more than low, which is {low:g}")
    answer = _read_answer(fields["answer"], kind, options, page)
    if kind == "choice" and MEASURES[answer.measure].numeric:
        _check_gaps(fields["options"], options)
    lengths = {"id": 40, "text": 600, "explain": MAX_TEXT_CHARS, "unit": 40}
    id, text, explain, unit = (_optional_text(fields, name, max_chars) for name, max_chars in lengths.items())
    return Question(id, kind, text, options, answer, explain, unit, low, high)


def _read_options(field: _Field) -> tuple[Option, ...]:
    """Return the options: a mapping of values to labels, or a list of values."""
    if isinstance(field.node, yaml.SequenceNode):
        option_values = [item.text(60) for item in field.items(MAX_OPTIONS)]
        label_by_value = dict(zip(option_values, option_values, strict=True))
        if len(label_by_value) < len(option_values):
            field.fail("an option is listed twice")
    else:
        label_by_value = {key: entry.text(200) for key, entry in field.pairs().items()}
    if not 2 <= len(label_by_value) <= MAX_OPTIONS:
        field.fail(f"expected 2 to {MAX_OPTIONS} options, not {len(label_by_value)}")
    return tuple(Option(value, label) for value, label in label_by_value.items())


def _check_gaps(field: _Field, options: tuple[Option, ...]) -> None:
    """Fail if there is a gap between two ranges: a number in it would have no right option."""
    if (gap := gap_of(option.value for option in options)) is not None:
        missing, above = gap
        node = field.node.value[[option.value for option in options].index(above)]
        option = replace(field, node=node[0] if isinstance(node, tuple) else node)
        option.fail(f"no option holds {missing}, below {above!r}")


def _read_answer(field: _Field, kind: str, options: tuple[Option, ...], page: str) -> Answer:
    """Return the measure that answers a question, and its arguments; they must fit its kind, options and page."""
    fields = field.fields("answer", ("measure", "of"))
    name = fields["measure"].choice(MEASURES)
    measure = MEASURES[name]
    if kind not in measure.kinds:
        expected = ", ".join(
            measure_name for measure_name, measure_kind in MEASURES.items() if kind in measure_kind.kinds
        )
        fields["measure"].fail(f"{name} cannot answer a question of kind {kind}; expected one of {expected}")
    items = fields["of"].items(12)
    arguments = tuple(item.text(200) for item in items)
    if not measure.takes(len(arguments)):
        fields["of"].fail(f"{name} takes [{measure.arguments}], not {len(arguments)} values")
    takes = measure.arguments.split(", ")
    for k, (argument, item) in enumerate(zip(arguments, items, strict=True)):
        try:
            _check_argument(argument, "row" in takes[min(k, len(takes) - 1)], page)
        except AlrvizError as error:
            item.fail(str(error))
    values_without_range = [option.value for option in options if not is_range(option.value)]
    if kind == "choice" and measure.numeric and values_without_range:
        field.fail(
            f"{name} gives a number, and the option {values_without_range[0]!r} is not a range of numbers; "
            "expected options such as '< 0.8', '0.8 to 1.25' and '> 1.25'"
        )
    if kind == "sketch" and len(arguments) != len(options) + 1:
        fields["of"].fail(f"expected a column and {len(options)} rows, one for each option")
    return Answer(name, arguments)


def _check_argument(argument: str, takes_row: bool, page: str) -> None:
    """Raise `AlrvizError` if an argument of a measure names columns that the page's table of numbers does not have."""
    if not takes_row and "=" in argument:
        raise AlrvizError(f"{argument!r} selects a row; expected the name of a column")
    for column in parse_selector(argument) if takes_row else (argument,):
        check_column(page or DEFAULT_PAGE, column)


# ---- the file --------------------------------------------------------------------------------------------------------


def _parse_yaml(text: str, name: str) -> yaml.Node:
    """Return the file's root node; aliases, which may expand without end, and deep nesting are refused."""
    if (position := _surrogate_position(text)) is not None:
        line_number = text.count("\n", 0, position) + 1
        raise AlrvizError(f"{name}, line {line_number}: {_HALF_CHARACTER}")
    if (n_bytes := len(text.encode())) > MAX_FILE_BYTES:
        raise AlrvizError(f"{name}: a lesson has at most {MAX_FILE_BYTES:,} bytes, this file {n_bytes:,}")
    try:
        _check_size(text, name)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        error_mark = error.problem_mark or error.context_mark
        line_text = f", line {error_mark.line + 1}" if error_mark else ""
        hint = next((hint for error_phrase, hint in _HINTS.items() if error_phrase in str(error)), "")
        if hint.startswith(_OPEN_QUOTE) and error.context_mark:  # the parser notices it some lines below
            hint += f": look at line {error.context_mark.line + 1}"
        raise AlrvizError(f"{name}{line_text}: not valid YAML: {error.problem}{hint}") from error
    except yaml.YAMLError as error:
        raise AlrvizError(f"{name}: not valid YAML: {error}") from error
    if node is None:
        raise AlrvizError(f"{name}: the file is empty; expected {', '.join(_REQUIRED_FIELDS)} and more")
    return node


def _check_size(text: str, name: str) -> None:
    """Raise `AlrvizError` if a lesson has aliases, too many nodes, or too deep nesting."""
    depth = nodes = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        nodes += isinstance(event, yaml.NodeEvent)
        problem = ""
        if nodes > MAX_NODES:
            problem = f"a lesson has at most {MAX_NODES:,} texts, lists and mappings"
        elif depth > MAX_DEPTH:
            problem = f"lists and mappings are at most {MAX_DEPTH} deep"
        elif isinstance(event, yaml.AliasEvent):
            problem = "aliases (*) are not read"
        if problem:
            raise AlrvizError(f"{name}, line {_line_number(event)}: {problem}")


_HALF_CHARACTER = "invalid character (half of a surrogate pair); expected UTF-8"
_WITH_ARTICLE = {"lesson": "a lesson", "step": "a step", "ask": "a question", "answer": "an answer"}


def _surrogate_position(text: str) -> int | None:
    """Return the position of the first lone surrogate, which UTF-8 and links cannot contain; None without one."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None


def _line_number(node: yaml.Node | yaml.Event) -> int:
    return 1 if node.start_mark is None else int(node.start_mark.line) + 1


def _nearest_hint(text: str, choices: Collection[str]) -> str:
    similar = get_close_matches(text, choices, n=1, cutoff=0.6)
    return f"; did you mean {similar[0]!r}?" if similar else f"; expected one of {', '.join(choices)}"
