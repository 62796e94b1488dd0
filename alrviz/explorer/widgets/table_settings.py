"""Settings of a table that every page shares: how numbers are cut into levels, and how rows are split.

Both are the session's, and in its link: `cuts` goes into every recipe that a page makes, `split` into the data set.
A slug is "" for the first choice; "quantile-10"; "once", "together", "g3" (a column whose rows stay together), "t5" (a
column that is time).
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import panel_material_ui as pmui
from param.parameterized import Event

from alrviz.data.dataset import Dataset
from alrviz.data.encode import cuts_text
from alrviz.data.encoded import SMOOTH_WAYS
from alrviz.explorer.recipes.questions import cut_by
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.glossary import explain
from alrviz.fitting.recipe import Recipe

CUTS = ("", "auto", "smooth", "mdl-smooth", "quantile-5", "quantile-10", "quantile-20", "uniform-10", "values")
EACH = "each"  # the menu's entry for recipes that are cut differently
_SPLITS = {
    "": "at random",
    "once": "duplicates dropped",
    "together": "duplicates together",
}
_WHY = (
    "How rows are assigned to training and test: at random; with duplicates dropped; with duplicates, or a group, all "
    "on one side; or by time (train on the past, test on what follows)"
)
_MAX_COLUMNS = 25  # columns in the menu of splits
SHORT_MENU = 8  # entries that are read at a glance; of more those that are likely come first
MORE = "more"  # the menu's entry for all others
_UNIT = re.compile(
    r"(^|[^a-z])(id|nr|no|group|subject|patient|person|user|customer|client|batch|session|site|house)s?([^a-z]|$)"
)
_TIME = re.compile(r"date|time|year|month|day|week|hour|quarter")


def cut_params(slug: str) -> dict[str, Any]:
    """Return what a recipe says of the cuts of a slug; MDL for one that is none."""
    match = re.fullmatch(r"(quantile|uniform)-(\d{1,4})", slug)
    if slug in ("values", "auto", *SMOOTH_WAYS):
        return {"discretize": None if slug == "values" else slug, "n_bins": 10}
    if match is None or int(match[2]) < 2:
        return {"discretize": "mdl", "n_bins": 10}
    return {"discretize": match[1], "n_bins": int(match[2])}


def cuts_slug(recipe: Recipe) -> str:
    """Return the slug of a recipe's cuts."""
    named = {"mdl": "", None: "values"} | {slug: slug for slug in ("auto", *SMOOTH_WAYS)}
    return named.get(recipe.discretize, f"{recipe.discretize}-{recipe.n_bins}")


def with_cuts(recipes: Sequence[Recipe], slug: str) -> tuple[Recipe, ...]:
    """Return the recipes with these cuts; those of families that take numbers as they are stay."""
    params = cut_params(slug)
    return tuple(recipe if recipe.cuts == "keep" else cut_by(recipe, params) for recipe in recipes)


def cuts_of(recipes: Sequence[Recipe]) -> str:
    """Return the slug of the cuts that all recipes have; `EACH` where they differ."""
    found = {cuts_slug(recipe) for recipe in recipes if recipe.cuts != "keep"}
    return found.pop() if len(found) == 1 else EACH if found else ""


def cuts_menu(chosen: Callable[[str], None]) -> pmui.Select:
    """Return the menu of cuts; `chosen` is called with a slug."""
    menu = pmui.Select(
        label="Discretise by",
        options={},
        width=152,
        size="small",
        margin=(0, 8, 0, 0),
        description=f"{explain('MDL')} {explain('smooth levels')}",
    )

    def tell(event: Event) -> None:
        if event.new is not None and event.new not in (EACH, menu.tags[0] if menu.tags else None):
            chosen(event.new)

    menu.param.watch(tell, "value")
    return menu


def show_cuts(menu: pmui.Select, session: Session, slug: str) -> None:
    """Show the cuts that are set; hidden where the table has no number to cut."""
    dataset = session.table.dataset
    options = {_cuts_words(each): each for each in dict.fromkeys((*CUTS, *([] if slug == EACH else [slug])))}
    if slug == EACH:
        options = {"each recipe's own": EACH, **options}
    menu.tags = [slug]
    menu.param.update(options=options, value=slug, visible=dataset is None or "numeric" in dataset.kinds.values())


def _cuts_words(slug: str) -> str:
    return cuts_text(Recipe("lr", **cut_params(slug)))


def split_menu(session: Session) -> pmui.Select:
    """Return the menu of splits; what is chosen is set."""
    menu = pmui.Select(label="Split rows", options={}, width=176, size="small", margin=(0, 8, 0, 0), description=_WHY)

    def chosen(event: Event) -> None:
        if event.new == MORE and session.table.dataset is not None:
            menu.tags = [_table_key(session.table.dataset)]  # of this table all are offered from now on
            show_split(menu, session)
        elif event.new is not None and event.new != session.table.source.split and session.table.dataset is not None:
            session.table.set_split(event.new)

    menu.param.watch(chosen, "value")
    return menu


def show_split(menu: pmui.Select, session: Session) -> None:
    """Show how rows are split, and what else is there for this table."""
    dataset, slug = session.table.dataset, session.table.source.split
    options = split_options(dataset)
    if dataset is not None and _table_key(dataset) not in menu.tags:
        options = likely_splits(dataset, options, slug)
    menu.param.update(options=options, value=slug)


def _table_key(dataset: Dataset) -> str:
    """What tells tables apart, whatever their kinds, target and splits."""
    return f"{dataset.name}|{dataset.table.n_rows}|{'|'.join(dataset.table.names)}"


def likely_splits(dataset: Dataset, options: dict[str, str], chosen: str = "") -> dict[str, str]:
    """Return those entries that a table's columns speak for, the one chosen among them, and MORE for all others.

    Columns speak by what they hold, dates or names that were taken for no property, and by what they are called.
    """
    if len(options) <= SHORT_MENU:
        return options

    def likely(slug: str) -> bool:
        if slug in _SPLITS or slug == chosen:
            return True
        column = dataset.columns[int(slug[1:])]
        name = re.sub(r"([a-z])([A-Z])", r"\1_\2", str(column.name)).lower()
        if slug[0] == "g":
            return bool(_UNIT.search(name)) or column.kind == "ignore"
        return bool(_TIME.search(name)) or bool(pd.api.types.is_datetime64_any_dtype(dataset.frame[column.name].dtype))

    found = {words: slug for words, slug in options.items() if likely(slug)}
    return found if len(found) == len(options) else {**found, "by another column ...": MORE}


def split_options(dataset: Dataset | None) -> dict[str, str]:
    """Return the entries of the menu: words, and slugs."""
    options = {words: slug for slug, words in _SPLITS.items()}
    if dataset is None:
        return options
    for name, kind in dataset.kinds.items():
        if kind in ("group", "time"):  # the column's kind is the rule, and there is one rule
            rule = f"{'together' if kind == 'group' else 'in time'} by {name}"
            return {rule[:60]: "", _SPLITS["once"]: "once"}
    groups: dict[str, str] = {}
    times: dict[str, str] = {}
    for k, column in enumerate(dataset.columns):
        if column.kind == "target":
            continue
        dtype = dataset.frame[column.name].dtype
        dated = pd.api.types.is_datetime64_any_dtype(dtype)
        whole = not pd.api.types.is_float_dtype(dtype)
        if whole and not dated and 2 < column.levels < dataset.n_rows:
            groups[f"together by {column.name}"[:60]] = f"g{k}"
        if (dated or pd.api.types.is_numeric_dtype(dtype)) and not column.missing and column.levels > 2:
            times[f"in time by {column.name}"[:60]] = f"t{k}"
    return options | dict(list(groups.items())[:_MAX_COLUMNS]) | dict(list(times.items())[:_MAX_COLUMNS])


def split_words(slug: str) -> str:
    """Return what a slug means where its table is not at hand: a column is called by its place."""
    if slug in _SPLITS:
        return _SPLITS[slug]
    match = re.fullmatch(r"([gt])(\d{1,6})", slug)
    if match is None:
        return _SPLITS[""]
    return f"{'together' if match[1] == 'g' else 'in time'} by column {int(match[2]) + 1}"
