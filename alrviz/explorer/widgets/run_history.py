"""The owner's runs in the run store: races and studies, their descriptions, and the links that open them again."""

import json
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

import pandas as pd

from alrviz.data.encode import cuts_text
from alrviz.errors import RecipeError, plural
from alrviz.explorer.server.class_store import KIND as CLASS
from alrviz.explorer.server.class_store import read_class
from alrviz.explorer.server.run_store import open_run_store, store_or_error
from alrviz.explorer.session.state import MAX_SETS, State, first_demo, read_link, write_link
from alrviz.explorer.shell.class_panel import class_csv
from alrviz.explorer.widgets.study_spec import SPECS
from alrviz.explorer.widgets.table_settings import split_words
from alrviz.fitting.families import ENCODING
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.store import Store, StoredRun
from alrviz.pictures.formatting import bytes_text
from alrviz.studies.core.export import race_about, to_csv
from alrviz.studies.core.names import short_names
from alrviz.studies.race.race import Race
from alrviz.studies.race.race_store import FIT, read_race
from alrviz.studies.race.race_store import KIND as RACE

KINDS = {RACE: ("race", "show_chart"), FIT: ("fit", "scatter_plot"), CLASS: ("class", "groups")}  # besides studies
STATES = {
    "interrupted": "interrupted: the process that ran it ended",
    "failed": "ended by an error",
    "damaged": "damaged: it is not as it was saved, and can only be deleted",
}
UNREAD = "a recipe of another version"
_HOLDOUT = ENCODING["holdout"].default


@dataclass(frozen=True)
class HistoryItem:
    """A run as the history shows it: what the store knows, and the bytes it takes there."""

    kept: StoredRun
    size: int

    @property
    def recipes(self) -> tuple[Recipe, ...]:
        """Its recipes, as far as this version reads them."""
        return tuple(_readable(json.loads(self.kept.spec).get("recipes", [])).values())

    @property
    def title(self) -> str:
        """What it is about: "race on led"."""
        what = look_of(self.kept.kind)[0]
        return f"{what} on {self.kept.data_name}" if self.kept.data_name else f"{what} {self.kept.name}"

    @property
    def names(self) -> str:
        """Its recipes by name, and their order where the names do not tell it."""
        names = ", ".join(short_names(self.recipes))
        orders = sorted({recipe.params["order"] for recipe in self.recipes if "order" in recipe.params})
        return names if not orders or "n=" in names else f"{names} · n = {', '.join(map(str, orders))}"

    @property
    def rows_words(self) -> str:
        """How its numbers were cut and its rows were split, as far as that is known."""
        cut = dict.fromkeys(cuts_text(recipe) for recipe in self.recipes if recipe.cuts != "keep")
        said = [f"numbers cut by {' or '.join(cut)}"] if cut else []
        slug = read_link(self.kept.link).split if self.kept.link else ""
        return ", ".join(said + ([f"rows split: {split_words(slug)}"] if slug else []))

    @property
    def link(self) -> str:
        """The query that opens it again, of a map fitted anew; "" where it was not begun in the explorer."""
        if not self.kept.link:
            return ""
        state = read_link(self.kept.link)
        return write_link(state.replace(kept=self.kept.id) if self.kept.kind == RACE else state)

    @property
    def again(self) -> str:
        """The query that races it anew; "" for what is no race."""
        return self.kept.link and write_link(read_link(self.kept.link)) if self.kept.kind == RACE else ""

    @property
    def compare(self) -> str:
        """The query that compares its recipes on its tables; "" where it is not known which these are."""
        if not self.kept.link or not self.recipes:
            return ""
        state = read_link(self.kept.link)
        sets, files = state.sets, state.files
        if not sets and not files:
            files = (state.file,) if state.file is not None else ()
            sets = () if files else (state.data or first_demo(state.page),)
        # A study has splits and a seed of its own: what a recipe says of them has no effect there.
        recipes = tuple(recipe.replace(holdout=_HOLDOUT, seed=0) for recipe in self.recipes)
        return write_link(
            State(page="compare", sets=sets[:MAX_SETS], files=files, study_recipes=recipes, seed=state.seed)
        )


def look_of(kind: str) -> tuple[str, str]:
    """Return what a kind of run is called, and its icon."""
    spec = SPECS.get(kind)
    return KINDS.get(kind, (kind.replace("_", " "), "science")) if spec is None else (spec.noun, spec.icon)


def _readable(texts: Iterable[str]) -> dict[str, Recipe]:
    """Those recipes that this version reads, by their text: the store outlives the version that wrote it."""
    found = {}
    for text in texts:
        with suppress(RecipeError):
            found[text] = Recipe.from_json(text)
    return found


def items(owner: str) -> list[HistoryItem]:
    """Return what is kept of an owner, the latest first; [] where the run store cannot be opened."""
    store = store_or_error()
    if not isinstance(store, Store):
        return []
    sizes = store.sizes(owner)
    return [HistoryItem(kept, sizes.get(kept.id, 0)) for kept in store.runs(owner)]


def count_pruned(owner: str) -> int:
    """Return how many of an owner's runs were deleted to make room since the server started."""
    store = store_or_error()
    return store.count_pruned(owner) if isinstance(store, Store) else 0


def reopened(owner: str, id: str) -> Race | None:
    """Return a race of an owner as it is kept; None where it is not there."""
    store = store_or_error()
    if not isinstance(store, Store):
        return None
    kept = next((kept for kept in store.runs(owner, RACE) if kept.id == id), None)
    return None if kept is None else read_race(store, kept)


def csv_of(kept: StoredRun) -> str:
    """Return all that is kept of a run's numbers as CSV: steps of a race or fit, rows of a study's finished tasks."""
    store = open_run_store()
    if kept.kind == CLASS:
        return class_csv(read_class(store, kept, ""))
    about = {"alrviz": kept.version, "data": kept.data_name, "data hash": kept.data_hash}
    if kept.kind in (RACE, FIT):
        race = read_race(store, kept)
        return to_csv(race.frame(), race_about(race, kept.version), race.recipes)
    tasks = store.tasks(kept.id)
    recipes = _readable(text for text, _, _ in tasks if text)
    names = dict(zip(recipes, short_names(list(recipes.values())), strict=True))
    rows = [
        {"cell": k, "name": names.get(text, UNREAD) if text else "class prior", **row}
        for k, (text, _, found) in enumerate(tasks)
        for row in found
    ]
    frame = pd.DataFrame([{key: value for key, value in row.items() if key != "reliability"} for row in rows])
    asked = {"study": kept.kind, "asked": kept.spec}
    return to_csv(frame, about | asked, list(recipes.values()))


def when(seconds: float, now: float | None = None) -> str:
    """How long ago a moment was."""
    ago = (time.time() if now is None else now) - seconds
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        count = int(ago // length)
        if count > 0:
            return f"{plural(count, unit)} ago"
    return "just now"


def line_of(item: HistoryItem) -> str:
    """State, age, size, cuts and split in a line."""
    state = STATES.get(item.kept.state, item.kept.state)
    how = f" · {item.rows_words}" if item.rows_words else ""
    return f"{state} · {when(item.kept.changed)} · {bytes_text(item.size)}{how}"
