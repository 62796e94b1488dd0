"""The state of a session as one small value, and the link that carries it.

One typed list, `PROPERTIES`, says what a link may hold. Reading a link never fails and never trusts it: what is not in
the list is ignored, numbers are moved into their range, words must be of a plain alphabet. A link holds no path, no
code and no row of a file; a table that was dropped is named by what one needs to drop the same file again. A few points
that were drawn here are in it themselves.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from alrviz.explorer.recipes.questions import MOST_RACERS
from alrviz.explorer.recipes.recipe_url import read_recipes, write_recipes
from alrviz.explorer.server.tables import FileLink, safe_name
from alrviz.explorer.server.visitor_ids import is_id
from alrviz.explorer.session.points import unpack
from alrviz.fitting.families import RUNS
from alrviz.fitting.recipe import Recipe

# Characters of a link that are read: six racers need under 1,000, MOST_SETS tables with long names in a script of
# three bytes a letter under 20,000.
LONGEST = 24_000
FIRST_DEMO, FIRST_ROWS = "led", 3_000
# Pages with a demo set of their own.
FIRST_DEMOS = {
    "convergence": FIRST_DEMO, "boundaries": "four-gaussians", "order": "monks-1", "path": "balance-scale",
    "bias": "skewed", "compare": "monks-1",
}  # fmt: skip
MOST_SETS = 24  # demo sets, or tables of a visitor, that are compared at once
KIND_LETTERS = {"c": "categorical", "n": "numeric", "o": "ordinal", "i": "ignore", "t": "target", "q": "quartiles"}


@dataclass(frozen=True)
class State:
    """What a session shows.

    Attributes:
        page: slug of the page.
        data: name of a demo set; "" for the page's own, and while `file` is set.
        rows: rows asked of the demo's generator, or None for its own number.
        file: the uploaded table, or None.
        points: the table itself where it is a few drawn points, as `points.pack` has them; neither data nor file then.
        kinds: changes to the guessed kinds by column position: "2c_14t" (the letters of `KIND_LETTERS`).
        cuts: slug of how numbers are cut into levels ("quantile-10"), "" for MDL.
        split: slug of what splits of the rows keep to ("once", "g3"), "" for nothing.
        question, axis: slugs owned by the page that shows them.
        recipes: the racers.
        seed: of demo set and split.
        tab: slug of the tab of a page that has tabs.
        axes: positions of the two columns of a map, across and up; () for the page's own choice.
        model: the recipe of a map, () for the page's own.
        peer: slug of the classifier beside it.
        others, row: how other columns are held on a map (a slug), and the row they are fixed at.
        judged: the recipes of a study, up to six of any family, () for its page's own.
        folds: slug of its rounds and folds ("2x5"), "" for its page's own.
        sizes: slug of its training sizes in % ("25-50-100"), "" for its page's own.
        theta: slug of where learners row by row take log theta from, "" for its page's own.
        measure: what held-out rows are judged by ("rmse"), "" for the page's own.
        view: what is shown of a picture, by parameters of its view: (("axis", "size"),).
        sets, files: the demo sets, by name, and the visitor's tables that recipes are compared on; none for the page's.
        alpha, path: the strength of the penalty looked at along a path, None for the page's own; and which path.
        fit: id of the run of a map, to be found again by its owner.
        kept: id of a race in the run store, to be opened again by its owner.
        run: id of a run, to be found again by its owner.
    """

    page: str = "convergence"
    data: str = ""
    rows: int | None = None
    file: FileLink | None = None
    points: str = ""
    kinds: tuple[tuple[int, str], ...] = ()
    cuts: str = ""
    split: str = ""
    question: str = ""
    axis: str = ""
    recipes: tuple[Recipe, ...] = ()
    seed: int = 0
    tab: str = ""
    axes: tuple[int, ...] = ()
    model: tuple[Recipe, ...] = ()
    peer: str = ""
    others: str = ""
    row: int | None = None
    judged: tuple[Recipe, ...] = ()
    folds: str = ""
    sizes: str = ""
    theta: str = ""
    measure: str = ""
    view: tuple[tuple[str, str], ...] = ()
    alpha: float | None = None
    path: int = 0
    sets: tuple[str, ...] = ()
    files: tuple[FileLink, ...] = ()
    fit: str = ""
    kept: str = ""
    run: str = ""

    def replace(self, **changes: Any) -> "State":
        """Return a state with some properties changed."""
        return replace(self, **changes)


def _slug(text: str) -> str:
    return text if re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", text) else ""


def _clamped(text: str, low: int, high: int, default: int | None) -> int | None:
    try:
        number = float(text)
    except ValueError:
        return default
    return default if math.isnan(number) else int(min(max(number, low), high))


def _measure(text: str) -> str:
    return text if re.fullmatch(r"[a-z][a-z0-9_]{0,39}", text) else ""


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
    from alrviz.data.demos import demo_names

    known = set(demo_names())
    return tuple(dict.fromkeys(name for name in text.split("_")[:64] if name in known))[:MOST_SETS]


def _read_files(text: str) -> tuple[FileLink, ...]:
    """Tables by name, shape and hash, each once."""
    links = (_read_file(part) for part in text.split("/")[:64])
    return tuple({link.hash: link for link in links if link is not None}.values())[:MOST_SETS]


def _write_kinds(kinds: tuple[tuple[int, str], ...]) -> str:
    letters = {kind: letter for letter, kind in KIND_LETTERS.items()}
    return "_".join(f"{position}{letters[kind]}" for position, kind in kinds[:64])


def _read_kinds(text: str) -> tuple[tuple[int, str], ...]:
    found = (re.fullmatch(r"(\d{1,5})([cnoitq])", part, re.ASCII) for part in text.split("_")[:64])
    by_position = {int(match[1]): KIND_LETTERS[match[2]] for match in found if match}
    return tuple(sorted(by_position.items()))


def _read_axes(text: str) -> tuple[int, ...]:
    match = re.fullmatch(r"(\d{1,5})-(\d{1,5})", text, re.ASCII)
    return (int(match[1]), int(match[2])) if match else ()


def _read_view(text: str) -> tuple[tuple[str, str], ...]:
    found = (re.fullmatch(r"([a-z_]{1,20})\.([A-Za-z0-9_-]{1,40})", part, re.ASCII) for part in text.split("~")[:8])
    return tuple((match[1], match[2]) for match in found if match)


def _number(number: int | None) -> str:
    return "" if number is None else str(number)


@dataclass(frozen=True)
class LinkProperty:
    """One property of a link: its key, the state's attribute, and how it is read and written ("" is left out)."""

    key: str
    attribute: str
    read: Callable[[str], Any]
    write: Callable[[Any], str] = field(default=str)


PROPERTIES = (
    LinkProperty("page", "page", _slug),
    LinkProperty("data", "data", _slug),
    LinkProperty("rows", "rows", lambda text: _clamped(text, 1, 1_000_000, None), _number),
    LinkProperty("file", "file", _read_file, _write_file),
    LinkProperty("points", "points", lambda text: text if unpack(text) else ""),
    LinkProperty("kinds", "kinds", _read_kinds, _write_kinds),
    LinkProperty("cuts", "cuts", _slug),
    LinkProperty("split", "split", _slug),
    LinkProperty("q", "question", _slug),
    LinkProperty("axis", "axis", _slug),
    LinkProperty("seed", "seed", lambda text: _clamped(text, 0, 2**32 - 1, 0)),
    LinkProperty("racers", "recipes", str, write_recipes),  # recipes are read last: they share the seed
    LinkProperty("tab", "tab", _slug),
    LinkProperty("axes", "axes", _read_axes, lambda axes: "-".join(map(str, axes))),
    LinkProperty("model", "model", str, write_recipes),
    LinkProperty("peer", "peer", _slug),
    LinkProperty("others", "others", _slug),
    LinkProperty("at", "row", lambda text: _clamped(text, 0, 10**9, None), _number),
    LinkProperty("of", "judged", str, write_recipes),
    LinkProperty("folds", "folds", _slug),
    LinkProperty("sizes", "sizes", _slug),
    LinkProperty("theta", "theta", _slug),
    LinkProperty("measure", "measure", _measure),
    LinkProperty("view", "view", _read_view, lambda view: "~".join(map(".".join, view))),
    LinkProperty("alpha", "alpha", _strength, lambda alpha: "" if alpha is None else repr(alpha)),
    LinkProperty("path", "path", lambda text: _clamped(text, 0, MOST_RACERS - 1, 0)),
    LinkProperty("sets", "sets", _read_sets, "_".join),
    LinkProperty("files", "files", _read_files, lambda links: "/".join(map(_write_file, links))),
    LinkProperty("fit", "fit", _id),
    LinkProperty("kept", "kept", _id),
    LinkProperty("run", "run", _id),
)
_DEFAULT = State()


def first_demo(page: str) -> str:
    """Return the demo set that a page opens on."""
    return FIRST_DEMOS.get(page, FIRST_DEMO)


def read_link(query: str) -> State:
    """Return the state that a URL's query holds; whatever it holds, this does not raise."""
    text = query[:LONGEST].lstrip("?")
    try:
        given = dict(parse_qsl(text, max_num_fields=50, errors="replace"))
    except ValueError:  # more fields than any link of ours has
        return _DEFAULT
    values = {p.attribute: p.read(given[p.key]) for p in PROPERTIES if p.key in given}
    racers, model, judged = (values.pop(name, "") for name in ("recipes", "model", "judged"))
    state = State(**{name: value for name, value in values.items() if value not in ("", None, ())})
    if state.points:
        state = state.replace(file=None)
    if state.points or state.file is not None:
        state = state.replace(data="", rows=None)
    models = read_recipes(model, state.seed, RUNS)[:1]
    of_study = read_recipes(judged, words=True)  # a study's seed is its own, not its recipes'
    return state.replace(recipes=read_recipes(racers, state.seed, RUNS), model=models, judged=of_study)


def write_link(state: State) -> str:
    """Return the query (with its question mark) of the shortest link to `state`; "" for the first screen."""
    pairs = []
    for p in PROPERTIES:
        value = getattr(state, p.attribute)
        if value != getattr(_DEFAULT, p.attribute):
            pairs.append((p.key, p.write(value)))
    kept = [(key, text) for key, text in pairs if text]
    return "?" + urlencode(kept, quote_via=quote) if kept else ""
