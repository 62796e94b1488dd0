"""The owner's runs in the run store: races and studies, their descriptions, and the links that open them again."""

import json
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

import pandas as pd

from alrviz.data.encode import cuts_text
from alrviz.errors import RecipeError, plural
from alrviz.explorer.server.class_store import KIND as CLASS_KIND
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
from alrviz.studies.core.export import race_provenance, to_csv
from alrviz.studies.core.names import short_names
from alrviz.studies.race.race import Race
from alrviz.studies.race.race_store import FIT, read_race
from alrviz.studies.race.race_store import KIND as RACE_KIND

KINDS = {
    RACE_KIND: ("race", "show_chart"),
    FIT: ("fit", "scatter_plot"),
    CLASS_KIND: ("class", "groups"),
}  # besides studies
STATES = {
    "interrupted": "interrupted: the process that ran it ended",
    "failed": "ended by an error",
    "damaged": "damaged: the saved file has changed; it can only be deleted",
}
UNREADABLE_RECIPE = "a recipe of another version"
_HOLDOUT = ENCODING["holdout"].default


@dataclass(frozen=True)
class HistoryItem:
    """A run of the history: its record in the store, and its size there in bytes."""

    run: StoredRun
    size: int

    @property
    def recipes(self) -> tuple[Recipe, ...]:
        """Its recipes, except those that this version cannot read."""
        return tuple(_parse_recipes(json.loads(self.run.spec).get("recipes", [])).values())

    @property
    def title(self) -> str:
        """The title, such as "race on led"."""
        noun = noun_and_icon(self.run.kind)[0]
        return f"{noun} on {self.run.data_name}" if self.run.data_name else f"{noun} {self.run.name}"

    @property
    def names(self) -> str:
        """The names of the run's recipes as one text, followed by their orders if no name contains one."""
        names = ", ".join(short_names(self.recipes))
        orders = sorted({recipe.params["order"] for recipe in self.recipes if "order" in recipe.params})
        return names if not orders or "n=" in names else f"{names} · n = {', '.join(map(str, orders))}"

    @property
    def rows_text(self) -> str:
        """How numbers were cut and rows were split, as far as it is known."""
        cuts = dict.fromkeys(cuts_text(recipe) for recipe in self.recipes if recipe.cuts != "keep")
        clauses = [f"numbers cut by {' or '.join(cuts)}"] if cuts else []
        slug = read_link(self.run.link).split if self.run.link else ""
        return ", ".join(clauses + ([f"rows split: {split_words(slug)}"] if slug else []))

    @property
    def link(self) -> str:
        """Query that reopens the run (a map is fitted again); "" if it was run outside the explorer."""
        if not self.run.link:
            return ""
        state = read_link(self.run.link)
        return write_link(state.replace(stored_race=self.run.id) if self.run.kind == RACE_KIND else state)

    @property
    def race_again(self) -> str:
        """Query that repeats a race; "" for other runs."""
        return self.run.link and write_link(read_link(self.run.link)) if self.run.kind == RACE_KIND else ""

    @property
    def compare(self) -> str:
        """Query that compares its recipes on its data sets; "" if these are unknown."""
        if not self.run.link or not self.recipes:
            return ""
        state = read_link(self.run.link)
        sets, files = state.sets, state.files
        if not sets and not files:
            files = (state.file,) if state.file is not None else ()
            sets = () if files else (state.data or first_demo(state.page),)
        # A study splits the rows itself: the recipe's holdout and seed have no effect there.
        recipes = tuple(recipe.replace(holdout=_HOLDOUT, seed=0) for recipe in self.recipes)
        return write_link(
            State(page="compare", sets=sets[:MAX_SETS], files=files, study_recipes=recipes, seed=state.seed)
        )


def noun_and_icon(kind: str) -> tuple[str, str]:
    """Return the noun and the icon of a kind of run."""
    spec = SPECS.get(kind)
    return KINDS.get(kind, (kind.replace("_", " "), "science")) if spec is None else (spec.noun, spec.icon)


def _parse_recipes(texts: Iterable[str]) -> dict[str, Recipe]:
    """Return by text the recipes that this version can read; the store may have others, written by other versions."""
    recipes = {}
    for recipe_json in texts:
        with suppress(RecipeError):
            recipes[recipe_json] = Recipe.from_json(recipe_json)
    return recipes


def load_history(owner: str) -> tuple[list[HistoryItem], int]:
    """Return an owner's stored runs, the latest first, and the number of runs that were deleted to free space.

    Without a run store that is [] and 0. The deleted runs are counted since the start of the server.
    """
    store = store_or_error()
    if not isinstance(store, Store):
        return [], 0
    sizes = store.sizes(owner)
    return [HistoryItem(run, sizes.get(run.id, 0)) for run in store.runs(owner)], store.count_pruned(owner)


def reopen(owner: str, id: str) -> Race | None:
    """Return a stored race of an owner; None if it is not stored any more."""
    store = store_or_error()
    if not isinstance(store, Store):
        return None
    run = next((run for run in store.runs(owner, RACE_KIND) if run.id == id), None)
    return None if run is None else read_race(store, run)


def export_csv(run: StoredRun) -> str:
    """Return a run's numbers as CSV: the steps of a race or fit, or the rows of a study's finished tasks."""
    store = open_run_store()
    if run.kind == CLASS_KIND:
        return class_csv(read_class(store, run, ""))
    origin = {"alrviz": run.version, "data": run.data_name, "data hash": run.data_hash}
    if run.kind in (RACE_KIND, FIT):
        race = read_race(store, run)
        return to_csv(race.frame(), race_provenance(race, run.version), race.recipes)
    tasks = store.tasks(run.id)
    recipes = _parse_recipes(recipe_json for recipe_json, _, _ in tasks if recipe_json)
    names = dict(zip(recipes, short_names(list(recipes.values())), strict=True))
    rows = [
        {"cell": k, "name": names.get(recipe_json, UNREADABLE_RECIPE) if recipe_json else "class shares", **row}
        for k, (recipe_json, _, task_rows) in enumerate(tasks)
        for row in task_rows
    ]
    frame = pd.DataFrame([{key: value for key, value in row.items() if key != "reliability"} for row in rows])
    request = {"study": run.kind, "asked": run.spec}
    return to_csv(frame, origin | request, list(recipes.values()))


def age_text(seconds: float, now_seconds: float | None = None) -> str:
    """Return the age of a timestamp in words."""
    age = (time.time() if now_seconds is None else now_seconds) - seconds
    for unit, unit_seconds in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        n_units = int(age // unit_seconds)
        if n_units > 0:
            return f"{plural(n_units, unit)} ago"
    return "just now"


def summary_line(item: HistoryItem) -> str:
    """Return state, age, size, cuts and split in a line."""
    state = STATES.get(item.run.state, item.run.state)
    rows_text = f" · {item.rows_text}" if item.rows_text else ""
    return f"{state} · {age_text(item.run.changed)} · {bytes_text(item.size)}{rows_text}"
