"""The state of a session as one small value, and the link that carries it.

The fields of `State` are the only list of a link's properties. Reading a link never fails and never trusts it: unknown
properties are ignored, numbers are clamped to their range, words must match a plain alphabet. A link holds no path, no
code and no row of a file: an uploaded table is identified by name, shape and hash, so that its owner can drop the same
file again. Only a few points drawn in the explorer are in the link themselves.
"""

import math
import re
from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields, replace
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from alrviz.data.demos import demo_names
from alrviz.explorer.recipes.questions import MAX_RACERS
from alrviz.explorer.recipes.recipe_url import read_recipes, write_recipes
from alrviz.explorer.server.tables import FileLink, safe_name
from alrviz.explorer.server.visitor_ids import is_id
from alrviz.explorer.session.points import unpack_points
from alrviz.explorer.session.row_filter import RowFilter, read_filters, write_filters
from alrviz.fitting.families import RUNS
from alrviz.fitting.recipe import Recipe

# Six racers need under 1,000 characters; MAX_SETS tables with long names in a script of three bytes a letter need under
# 20,000.
MAX_LINK_CHARS = 24_000
FIRST_TABLE = FIRST_DEMO, FIRST_ROWS = "led", 3_000
# Pages with a demo set of their own.
FIRST_DEMOS = {
    "convergence": FIRST_DEMO, "boundaries": "four-gaussians", "order": "monks-1", "path": "balance-scale",
    "bias": "skewed", "compare": "monks-1", "selection": "twelve-bits",
    "interactions": "twelve-bits",
}  # fmt: skip
MAX_SETS = 24  # demo sets, or a visitor's own tables, in one comparison
KIND_LETTERS = {
    "c": "categorical", "n": "numeric", "o": "ordinal", "i": "ignore", "t": "target", "q": "quartiles",
    "w": "weight", "g": "group", "s": "time",
}  # fmt: skip


def _matching(pattern: str, text: str) -> str:
    return text if re.fullmatch(pattern, text) else ""


_slug, _measure = partial(_matching, r"[a-z0-9][a-z0-9-]{0,39}"), partial(_matching, r"[a-z][a-z0-9_]{0,39}")


def _clamped(low: int, high: int, default: int | None, text: str) -> int | None:
    """Return a text as a whole number, clamped to a range; `default` for text that is no number."""
    try:
        number = float(text)
    except ValueError:
        return default
    return default if math.isnan(number) else int(min(max(number, low), high))


def _strength(text: str) -> float | None:
    """Return a penalty's strength, clamped to a range above 0; None for text that is no such number."""
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) or number <= 0 else min(max(number, 1e-12), 1e12)


def _read_id(text: str) -> str:
    return text if is_id(text) else ""


def _write_file(link: FileLink | None) -> str:
    return f"{link.name}~{link.rows}~{link.columns}~{link.hash}" if link else ""


def _read_file(text: str) -> FileLink | None:
    match = re.fullmatch(r"([^~]{1,120})~(\d{1,12})~(\d{1,7})~([0-9a-f]{16})", text, re.ASCII)
    if match is None:
        return None
    return FileLink(safe_name(match[1]), int(match[2]), int(match[3]), match[4])


def _read_sets(text: str) -> tuple[str, ...]:
    """Return names of demo sets, each once, without unknown names."""
    valid_names = set(demo_names())
    return tuple(dict.fromkeys(name for name in text.split("_")[:64] if name in valid_names))[:MAX_SETS]


def _read_files(text: str) -> tuple[FileLink, ...]:
    """Return links to tables, one for each hash; unreadable parts are left out."""
    links = (_read_file(part) for part in text.split("/")[:64])
    return tuple({link.hash: link for link in links if link is not None}.values())[:MAX_SETS]


def _write_kinds(kinds: tuple[tuple[int, str], ...]) -> str:
    letter_by_kind = {kind: letter for letter, kind in KIND_LETTERS.items()}
    return "_".join(f"{position}{letter_by_kind[kind]}" for position, kind in kinds[:64])


def _read_kinds(text: str) -> tuple[tuple[int, str], ...]:
    pattern = rf"(\d{{1,5}})([{''.join(KIND_LETTERS)}])"
    matches = (re.fullmatch(pattern, part, re.ASCII) for part in text.split("_")[:64])
    kind_by_position = {int(match[1]): KIND_LETTERS[match[2]] for match in matches if match}
    return tuple(sorted(kind_by_position.items()))


def _read_axes(text: str) -> tuple[int, ...]:
    match = re.fullmatch(r"(\d{1,5})-(\d{1,5})", text, re.ASCII)
    return (int(match[1]), int(match[2])) if match else ()


def _read_view(text: str) -> tuple[tuple[str, str], ...]:
    matches = (re.fullmatch(r"([a-z_]{1,20})\.([A-Za-z0-9_-]{1,200})", part, re.ASCII) for part in text.split("~")[:8])
    return tuple((match[1], match[2]) for match in matches if match)


def _write_number(number: int | None) -> str:
    return "" if number is None else str(number)


# Owners of a link's properties (`link(owner=...)`).
SESSION, PAGE, STUDY, MAP = "session", "page", "study", "map"


def link(
    default: Any,
    doc: str,
    read: Callable[[str], Any] = _slug,
    write: Callable[[Any], str] = str,
    *,
    key: str = "",
    owner: str = "",
    separator: str = "",
) -> Any:
    """Return a dataclass field for one property of a link.

    Args:
        default: the value that links leave out.
        doc: description.
        read: parses the text; returns the default, "", None or () for invalid text.
        write: formats the value; a property with the text "" is left out of the link.
        key: name in the link; "" for the field's name.
        owner: SESSION, a parameter of the session with the same name; MAP, such a parameter shared by the pages of
            maps; PAGE, a parameter that each page keeps for itself; STUDY, such a setting of a page's study; "" for
            properties of the table and the runs.
        separator: text between the parts of a list whose parts are checked one by one; "" for other properties.
    """
    metadata = {"doc": doc, "read": read, "write": write, "key": key, "owner": owner, "separator": separator}
    return field(default=default, metadata=metadata)


_read_racers = partial(read_recipes, families=RUNS)


@dataclass(frozen=True)
class State:
    """The state of a session: all properties that a link may hold, in the order of the link."""

    page: str = link("convergence", "Slug of the page.", owner=SESSION)
    lesson: str = link("", "Slug of the lesson beside the page.", owner=SESSION)
    step: int = link(1, "The step of the lesson.", partial(_clamped, 1, 1_000, 1), owner=SESSION)
    data: str = link("", 'Name of a demo set; "" for the page\'s own, and while `file` is set.')
    rows: int | None = link(
        None, "Rows of the demo set, or None for its default number.", partial(_clamped, 1, 1_000_000, None),
        _write_number,
    )  # fmt: skip
    file: FileLink | None = link(None, "The uploaded table, or None.", _read_file, _write_file)  # noqa: RUF009 (a field)
    points: str = link(
        "", "The table itself if it is a few drawn points, packed by `points.pack`; data and file are not set then.",
        lambda text: text if unpack_points(text) else "",
    )  # fmt: skip
    kinds: tuple[tuple[int, str], ...] = link(
        (), "Changes to the guessed kinds by column position.", _read_kinds, _write_kinds
    )
    filters: tuple[RowFilter, ...] = link(
        (), "Filters of the table's rows, () for all rows.", read_filters, write_filters, key="only"
    )
    cuts: str = link("", 'Slug of how numbers are cut into levels ("quantile-10"), "" for MDL.', owner=SESSION)
    split: str = link("", 'Slug of the rule that splits of the rows follow ("once", "g3"), "" for none.')
    question: str = link("", "Slug of the question whose racers are shown.", key="q", owner=SESSION)
    axis: str = link("", "Slug of the axis of the race.", owner=SESSION)
    seed: int = link(0, "Seed of demo set and split.", partial(_clamped, 0, 2**32 - 1, 0), owner=SESSION)
    recipes: tuple[Recipe, ...] = link(
        (), "The racers.", _read_racers, write_recipes, key="racers", owner=SESSION, separator="~"
    )
    race_rows: str = link(
        "", 'Rows that races read of a table larger than memory: "all", "" for its sample.',
        lambda text: "all" if text == "all" else "", key="on", owner=SESSION,
    )  # fmt: skip
    tab: str = link("", "Slug of the tab in front.", owner=PAGE)
    axes: tuple[int, ...] = link(
        (), "Positions of the columns on a map's x- and y-axis; () for the page's default.", _read_axes,
        lambda axes: "-".join(map(str, axes)), owner=MAP,
    )  # fmt: skip
    model: tuple[Recipe, ...] = link(
        (), "The recipe of a map, () for the page's default.", lambda text: _read_racers(text)[:1], write_recipes,
        owner=MAP, separator="~",
    )  # fmt: skip
    peer: str = link("", "Slug of the classifier that the model is compared with.", owner=MAP)
    others: str = link("", "Slug of the values at which a map fixes all other columns.", owner=MAP)
    row: int | None = link(
        None, "The row with those values.", partial(_clamped, 0, 10**9, None), _write_number, key="at", owner=MAP
    )
    study_recipes: tuple[Recipe, ...] = link(
        (), "The recipes of a study, of any family, () for the page's default.", partial(read_recipes, words=True),
        write_recipes, key="of", owner=STUDY, separator="~",
    )  # fmt: skip
    folds: str = link("", 'Slug of its rounds and folds ("2x5"), "" for the page\'s default.', owner=STUDY)
    references: str = link("", 'Slug of the reference models, "" for the page\'s default.', key="refs", owner=STUDY)
    refits: str = link("", 'Slug of the number of refits behind its bands, "" for the page\'s default.', owner=STUDY)
    sizes: str = link("", 'Slug of its training sizes in % ("25-50-100"), "" for the page\'s default.', owner=STUDY)
    theta: str = link("", 'Slug of the source of log theta of learners row by row, "" for the default.', owner=STUDY)
    measure: str = link("", 'Measure of test rows ("rmse"), "" for the page\'s default.', _measure, owner=PAGE)
    view: tuple[tuple[str, str], ...] = link(
        (), 'Parameters of the page\'s view that differ from their defaults: (("axis", "size"),).', _read_view,
        lambda view: "~".join(map(".".join, view)), owner=PAGE,
    )  # fmt: skip
    alpha: float | None = link(
        None, "The penalty's strength selected on a path, None for the page's default.", _strength,
        lambda alpha: "" if alpha is None else repr(alpha), owner=PAGE,
    )  # fmt: skip
    keep: int | None = link(
        None, "The selected share of tuples in per cent, None for the page's default.", partial(_clamped, 1, 100, None),
        _write_number, owner=PAGE,
    )  # fmt: skip
    path: int = link(0, "Position of the selected path.", partial(_clamped, 0, MAX_RACERS - 1, 0), owner=PAGE)
    sets: tuple[str, ...] = link(
        (), "Names of the demo sets of a comparison; () for the page's default.", _read_sets, "_".join, owner=STUDY,
        separator="_",
    )  # fmt: skip
    files: tuple[FileLink, ...] = link(
        (), "The visitor's own tables of a comparison.", _read_files,
        lambda links: "/".join(map(_write_file, links)), owner=STUDY,
    )  # fmt: skip
    fit: str = link("", "Id of a map's run; only its owner finds it.", _read_id)
    stored_race: str = link("", "Id of a race in the run store.", _read_id, key="kept", owner=SESSION)
    run: str = link("", "Id of a race of this process; only its owner finds it.", _read_id)

    def replace(self, **changes: Any) -> "State":
        """Return a state with some properties changed."""
        return replace(self, **changes)


PROPERTIES: "dict[str, Field[Any]]" = {prop.metadata["key"] or prop.name: prop for prop in fields(State)}  # by key


def _names_of(*owners: str) -> tuple[str, ...]:
    return tuple(prop.name for prop in fields(State) if prop.metadata["owner"] in owners)


SESSION_PARAMS, MAP_PARAMS = _names_of(SESSION), _names_of(MAP)
STUDY_PARAMS, PAGE_PARAMS = _names_of(STUDY), _names_of(PAGE, STUDY)
LINK_PARAMS = (*SESSION_PARAMS, *MAP_PARAMS, *PAGE_PARAMS)  # the parameters of a session


def first_demo(page: str) -> str:
    """Return the name of the demo set that a page opens with."""
    return FIRST_DEMOS.get(page, FIRST_DEMO)


def read_link(query: str) -> State:
    """Return the state of a URL's query; invalid properties get their defaults. Never raises."""
    limited_query = query[:MAX_LINK_CHARS].lstrip("?")
    try:
        text_by_key = dict(parse_qsl(limited_query, max_num_fields=50, errors="replace"))
    except ValueError:  # more properties than any link of the explorer
        return State()
    values = {
        prop.name: prop.metadata["read"](text_by_key[key]) for key, prop in PROPERTIES.items() if key in text_by_key
    }
    state = State(**{name: value for name, value in values.items() if value not in ("", None, ())})
    if state.points:
        state = state.replace(file=None)
    if state.points or state.file is not None:
        state = state.replace(data="", rows=None)
    # Recipes of a study keep their default seed: the study draws with a seed of its own.
    seeded_recipes = {
        name: tuple(recipe.replace(seed=state.seed) for recipe in getattr(state, name)) for name in ("recipes", "model")
    }
    return state.replace(**seeded_recipes)


def write_link(state: State) -> str:
    """Return the query (with its question mark) of the shortest link to `state`; "" for the first screen."""
    properties = ((key, prop, getattr(state, prop.name)) for key, prop in PROPERTIES.items())
    texts = ((key, prop.metadata["write"](value)) for key, prop, value in properties if value != prop.default)
    property_texts = [(key, text) for key, text in texts if text]
    return "?" + urlencode(property_texts, quote_via=quote) if property_texts else ""
