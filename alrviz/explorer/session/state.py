"""The state of a session as one small value, and the link that carries it.

The fields of `State` are the one list of what a link may hold. Reading a link never fails and never trusts it: what is
not in the list is ignored, numbers are moved into their range, words must be of a plain alphabet. A link holds no path,
no code and no row of a file; a table that was dropped is named by what one needs to drop the same file again. A few
points that were drawn here are in it themselves.
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
from alrviz.explorer.session.points import unpack
from alrviz.explorer.session.row_filter import RowFilter, read_filters, write_filters
from alrviz.fitting.families import RUNS
from alrviz.fitting.recipe import Recipe

# Characters of a link that are read: six racers need under 1,000, MAX_SETS tables with long names in a script of
# three bytes a letter under 20,000.
MAX_LINK_CHARS = 24_000
FIRST_TABLE = FIRST_DEMO, FIRST_ROWS = "led", 3_000
# Pages with a demo set of their own.
FIRST_DEMOS = {
    "convergence": FIRST_DEMO, "boundaries": "four-gaussians", "order": "monks-1", "path": "balance-scale",
    "bias": "skewed", "compare": "monks-1", "selection": "twelve-bits",
    "interactions": "twelve-bits",
}  # fmt: skip
MAX_SETS = 24  # demo sets, or tables of a visitor, that are compared at once
KIND_LETTERS = {
    "c": "categorical", "n": "numeric", "o": "ordinal", "i": "ignore", "t": "target", "q": "quartiles",
    "w": "weight", "g": "group", "s": "time",
}  # fmt: skip


def _matching(pattern: str, text: str) -> str:
    return text if re.fullmatch(pattern, text) else ""


_slug, _measure = partial(_matching, r"[a-z0-9][a-z0-9-]{0,39}"), partial(_matching, r"[a-z][a-z0-9_]{0,39}")


def _clamped(low: int, high: int, default: int | None, text: str) -> int | None:
    try:
        number = float(text)
    except ValueError:
        return default
    return default if math.isnan(number) else int(min(max(number, low), high))


def _strength(text: str) -> float | None:
    """A strength of a penalty: above 0, and a number."""
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) or number <= 0 else min(max(number, 1e-12), 1e12)


def _id(text: str) -> str:
    return text if is_id(text) else ""


def _write_file(link: FileLink | None) -> str:
    return f"{link.name}~{link.rows}~{link.columns}~{link.hash}" if link else ""


def _read_file(text: str) -> FileLink | None:
    match = re.fullmatch(r"([^~]{1,120})~(\d{1,12})~(\d{1,7})~([0-9a-f]{16})", text, re.ASCII)
    if match is None:
        return None
    return FileLink(safe_name(match[1]), int(match[2]), int(match[3]), match[4])


def _read_sets(text: str) -> tuple[str, ...]:
    """Names of demo sets, each once; what is none is left out."""
    known = set(demo_names())
    return tuple(dict.fromkeys(name for name in text.split("_")[:64] if name in known))[:MAX_SETS]


def _read_files(text: str) -> tuple[FileLink, ...]:
    """Tables by name, shape and hash, each once."""
    links = (_read_file(part) for part in text.split("/")[:64])
    return tuple({link.hash: link for link in links if link is not None}.values())[:MAX_SETS]


def _write_kinds(kinds: tuple[tuple[int, str], ...]) -> str:
    letters = {kind: letter for letter, kind in KIND_LETTERS.items()}
    return "_".join(f"{position}{letters[kind]}" for position, kind in kinds[:64])


def _read_kinds(text: str) -> tuple[tuple[int, str], ...]:
    found = (re.fullmatch(rf"(\d{{1,5}})([{''.join(KIND_LETTERS)}])", part, re.ASCII) for part in text.split("_")[:64])
    by_position = {int(match[1]): KIND_LETTERS[match[2]] for match in found if match}
    return tuple(sorted(by_position.items()))


def _read_axes(text: str) -> tuple[int, ...]:
    match = re.fullmatch(r"(\d{1,5})-(\d{1,5})", text, re.ASCII)
    return (int(match[1]), int(match[2])) if match else ()


def _read_view(text: str) -> tuple[tuple[str, str], ...]:
    found = (re.fullmatch(r"([a-z_]{1,20})\.([A-Za-z0-9_-]{1,200})", part, re.ASCII) for part in text.split("~")[:8])
    return tuple((match[1], match[2]) for match in found if match)


def _number(number: int | None) -> str:
    return "" if number is None else str(number)


SESSION, PAGE, STUDY, MAP = "session", "page", "study", "map"  # whose a property is; "": of what the session is about


def link(
    default: Any,
    doc: str,
    read: Callable[[str], Any] = _slug,
    write: Callable[[Any], str] = str,
    *,
    key: str = "",
    of: str = "",
    parts: str = "",
) -> Any:
    """Return a property of a link.

    Args:
        default: what is left out of a link.
        doc: what it is.
        read: returns the value of a text; `default`'s like, or nothing, for what is none.
        write: returns the text of a value; "" is left out.
        key: what the link calls it, if not by its name.
        of: whose it is: SESSION, a parameter of the session's by the same name; PAGE, one that each page has for
            itself; STUDY, one of PAGE that is a setting of its study; MAP, one of SESSION that pages of maps share.
        parts: what stands between parts that may each be wrong, "" for one that is whole.
    """
    about = {"doc": doc, "read": read, "write": write, "key": key, "of": of, "parts": parts}
    return field(default=default, metadata=about)


_read_racers = partial(read_recipes, families=RUNS)


@dataclass(frozen=True)
class State:
    """What a session shows: all that a link may hold, in its order."""

    page: str = link("convergence", "Slug of the page.", of=SESSION)
    lesson: str = link("", "Slug of the lesson that goes with it.", of=SESSION)
    step: int = link(1, "The step of the lesson.", partial(_clamped, 1, 1_000, 1), of=SESSION)
    data: str = link("", 'Name of a demo set; "" for the page\'s own, and while `file` is set.')
    rows: int | None = link(
        None, "Rows asked of the demo's generator, or None for its own number.", partial(_clamped, 1, 1_000_000, None),
        _number,
    )  # fmt: skip
    file: FileLink | None = link(None, "The uploaded table, or None.", _read_file, _write_file)  # noqa: RUF009 (a field)
    points: str = link(
        "", "The table itself where it is a few drawn points, as `points.pack` has them; neither data nor file then.",
        lambda text: text if unpack(text) else "",
    )  # fmt: skip
    kinds: tuple[tuple[int, str], ...] = link(
        (), "Changes to the guessed kinds by column position.", _read_kinds, _write_kinds
    )
    filters: tuple[RowFilter, ...] = link(
        (), "The rows that are kept of the table, () for all.", read_filters, write_filters, key="only"
    )
    cuts: str = link("", 'Slug of how numbers are cut into levels ("quantile-10"), "" for MDL.', of=SESSION)
    split: str = link("", 'Slug of what splits of the rows keep to ("once", "g3"), "" for nothing.')
    question: str = link("", "Slug of the question that chose the racers.", key="q", of=SESSION)
    axis: str = link("", "Slug of the axis of the race.", of=SESSION)
    seed: int = link(0, "Of demo set and split.", partial(_clamped, 0, 2**32 - 1, 0), of=SESSION)
    recipes: tuple[Recipe, ...] = link(
        (), "The racers.", _read_racers, write_recipes, key="racers", of=SESSION, parts="~"
    )
    whole: str = link(
        "", 'Which rows of a table larger than memory races read: "all", "" for its sample.',
        lambda text: "all" if text == "all" else "", key="on", of=SESSION,
    )  # fmt: skip
    tab: str = link("", "Slug of the tab of a page that has tabs.", of=PAGE)
    axes: tuple[int, ...] = link(
        (), "Positions of the two columns of a map, across and up; () for the page's own.", _read_axes,
        lambda axes: "-".join(map(str, axes)), of=MAP,
    )  # fmt: skip
    model: tuple[Recipe, ...] = link(
        (), "The recipe of a map, () for the page's own.", lambda text: _read_racers(text)[:1], write_recipes, of=MAP,
        parts="~",
    )  # fmt: skip
    peer: str = link("", "Slug of the classifier beside it.", of=MAP)
    others: str = link("", "Slug of how other columns are held on a map.", of=MAP)
    row: int | None = link(
        None, "The row that they are fixed at.", partial(_clamped, 0, 10**9, None), _number, key="at", of=MAP
    )
    judged: tuple[Recipe, ...] = link(
        (), "The recipes of a study, of any family, () for its page's own.", partial(read_recipes, words=True),
        write_recipes, key="of", of=STUDY, parts="~",
    )  # fmt: skip
    folds: str = link("", 'Slug of its rounds and folds ("2x5"), "" for its page\'s own.', of=STUDY)
    references: str = link("", 'Slug of what orders are judged beside, "" for the page\'s own.', key="refs", of=STUDY)
    refits: str = link("", 'Slug of how many refits its bands are of, "" for its page\'s own.', of=STUDY)
    sizes: str = link("", 'Slug of its training sizes in % ("25-50-100"), "" for its page\'s own.', of=STUDY)
    theta: str = link("", 'Slug of where learners row by row take log theta from, "" for its page\'s own.', of=STUDY)
    measure: str = link("", 'What test rows are judged by ("rmse"), "" for the page\'s own.', _measure, of=PAGE)
    view: tuple[tuple[str, str], ...] = link(
        (), 'What is shown of a picture, by parameters of its view: (("axis", "size"),).', _read_view,
        lambda view: "~".join(map(".".join, view)), of=PAGE,
    )  # fmt: skip
    alpha: float | None = link(
        None, "The strength of the penalty looked at along a path, None for the page's own.", _strength,
        lambda alpha: "" if alpha is None else repr(alpha), of=PAGE,
    )  # fmt: skip
    keep: int | None = link(
        None, "The share of tuples looked at, in per cent, None for the page's own.", partial(_clamped, 1, 100, None),
        _number, of=PAGE,
    )  # fmt: skip
    path: int = link(0, "The path that is looked at.", partial(_clamped, 0, MAX_RACERS - 1, 0), of=PAGE)
    sets: tuple[str, ...] = link(
        (), "The demo sets, by name, that recipes are compared on; () for the page's.", _read_sets, "_".join, of=STUDY,
        parts="_",
    )  # fmt: skip
    files: tuple[FileLink, ...] = link(
        (), "The visitor's tables that they are compared on.", _read_files,
        lambda links: "/".join(map(_write_file, links)), of=STUDY,
    )  # fmt: skip
    fit: str = link("", "Id of the run of a map, to be found again by its owner.", _id)
    kept: str = link("", "Id of a race in the run store, to be opened again by its owner.", _id, of=SESSION)
    run: str = link("", "Id of a run, to be found again by its owner.", _id)

    def replace(self, **changes: Any) -> "State":
        """Return a state with some properties changed."""
        return replace(self, **changes)


PROPERTIES: "dict[str, Field[Any]]" = {one.metadata["key"] or one.name: one for one in fields(State)}  # by key


def _of(*owners: str) -> tuple[str, ...]:
    return tuple(one.name for one in fields(State) if one.metadata["of"] in owners)


SESSION_PARAMS, MAP_PARAMS, STUDY_PARAMS, PAGE_PARAMS = _of(SESSION), _of(MAP), _of(STUDY), _of(PAGE, STUDY)
LINK_PARAMS = (*SESSION_PARAMS, *MAP_PARAMS, *PAGE_PARAMS)  # the parameters of a session


def first_demo(page: str) -> str:
    """Return the demo set that a page opens on."""
    return FIRST_DEMOS.get(page, FIRST_DEMO)


def read_link(query: str) -> State:
    """Return the state that a URL's query holds; whatever it holds, this does not raise."""
    text = query[:MAX_LINK_CHARS].lstrip("?")
    try:
        given = dict(parse_qsl(text, max_num_fields=50, errors="replace"))
    except ValueError:  # more fields than any link of ours has
        return State()
    values = {one.name: one.metadata["read"](given[key]) for key, one in PROPERTIES.items() if key in given}
    state = State(**{name: value for name, value in values.items() if value not in ("", None, ())})
    if state.points:
        state = state.replace(file=None)
    if state.points or state.file is not None:
        state = state.replace(data="", rows=None)
    # A study's seed is its own, not its recipes'.
    seeded = {
        name: tuple(one.replace(seed=state.seed) for one in getattr(state, name)) for name in ("recipes", "model")
    }
    return state.replace(**seeded)


def write_link(state: State) -> str:
    """Return the query (with its question mark) of the shortest link to `state`; "" for the first screen."""
    values = ((key, one, getattr(state, one.name)) for key, one in PROPERTIES.items())
    texts = ((key, one.metadata["write"](value)) for key, one, value in values if value != one.default)
    kept = [(key, text) for key, text in texts if text]
    return "?" + urlencode(kept, quote_via=quote) if kept else ""
