"""Settings of a table that all pages share: how numbers are cut into levels, and how rows are split.

Both are in the session and in its link: `cuts` applies to every recipe, `split` to the data set. Slugs of cuts: ""
(MDL), "quantile-10", ...; of splits: "" (at random), "once", "together", "g3" (rows with equal values in column 3 stay
together), "t5" (column 5 is time).
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
from alrviz.explorer.recipes.questions import apply_cuts
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.glossary import explain
from alrviz.fitting.recipe import Recipe

CUTS = ("", "auto", "smooth", "mdl-smooth", "quantile-5", "quantile-10", "quantile-20", "uniform-10", "values")
MIXED_CUTS = "each"  # the menu's entry for recipes with different cuts
_SPLITS = {
    "": "at random",
    "once": "duplicates dropped",
    "together": "duplicates together",
}
_SPLIT_HELP = (
    "How rows are assigned to training and test: at random; with duplicates dropped; with duplicates, or a group, all "
    "on one side; or by time (train on the past, test on what follows)"
)
_MAX_SPLIT_COLUMNS = 25  # columns in the menu of splits
MAX_SHORT_MENU = 8  # longer menus show the likely entries only
MORE_SPLITS = "more"  # the menu's entry that shows all others
_GROUP_NAME = re.compile(
    r"(^|[^a-z])(id|nr|no|group|subject|patient|person|user|customer|client|batch|session|site|house)s?([^a-z]|$)"
)
_TIME_NAME = re.compile(r"date|time|year|month|day|week|hour|quarter")


def cut_params(slug: str) -> dict[str, Any]:
    """Return the recipe parameters of a slug of cuts; MDL for an invalid one."""
    match = re.fullmatch(r"(quantile|uniform)-(\d{1,4})", slug)
    if slug in ("values", "auto", *SMOOTH_WAYS):
        return {"discretize": None if slug == "values" else slug, "n_bins": 10}
    if match is None or int(match[2]) < 2:
        return {"discretize": "mdl", "n_bins": 10}
    return {"discretize": match[1], "n_bins": int(match[2])}


def cuts_slug(recipe: Recipe) -> str:
    """Return the slug of a recipe's cuts."""
    slugs = {"mdl": "", None: "values"} | {slug: slug for slug in ("auto", *SMOOTH_WAYS)}
    return slugs.get(recipe.discretize, f"{recipe.discretize}-{recipe.n_bins}")


def with_cuts(recipes: Sequence[Recipe], slug: str) -> tuple[Recipe, ...]:
    """Return the recipes with these cuts; families that use numbers directly are unchanged."""
    params = cut_params(slug)
    return tuple(recipe if recipe.cuts == "keep" else apply_cuts(recipe, params) for recipe in recipes)


def cuts_of(recipes: Sequence[Recipe]) -> str:
    """Return the slug of the cuts that all recipes have; `MIXED_CUTS` if they differ."""
    slugs = {cuts_slug(recipe) for recipe in recipes if recipe.cuts != "keep"}
    return slugs.pop() if len(slugs) == 1 else MIXED_CUTS if slugs else ""


def cuts_menu(on_choice: Callable[[str], None]) -> pmui.Select:
    """Return the menu of cuts; `on_choice` is called with a slug."""
    menu = pmui.Select(
        label="Discretise by",
        options={},
        width=152,
        size="small",
        margin=(0, 8, 0, 0),
        description=f"{explain('MDL')} {explain('smooth levels')}",
    )

    def tell(event: Event) -> None:
        if event.new is not None and event.new not in (MIXED_CUTS, menu.tags[0] if menu.tags else None):
            on_choice(event.new)

    menu.param.watch(tell, "value")
    return menu


def show_cuts(menu: pmui.Select, session: Session, slug: str) -> None:
    """Show the current cuts; the menu is hidden if the table has no numeric column."""
    dataset = session.table.dataset
    options = {_cuts_words(cuts): cuts for cuts in dict.fromkeys((*CUTS, *([] if slug == MIXED_CUTS else [slug])))}
    if slug == MIXED_CUTS:
        options = {"different cuts": MIXED_CUTS, **options}
    menu.tags = [slug]
    menu.param.update(options=options, value=slug, visible=dataset is None or "numeric" in dataset.kinds.values())


def _cuts_words(slug: str) -> str:
    return cuts_text(Recipe("lr", **cut_params(slug)))


def split_menu(session: Session) -> pmui.Select:
    """Return the menu of splits; a choice splits the session's table."""
    menu = pmui.Select(
        label="Split rows", options={}, width=120, size="small", margin=(0, 8, 0, 0), description=_SPLIT_HELP
    )

    def on_choice(event: Event) -> None:
        if event.new == MORE_SPLITS and session.table.dataset is not None:
            menu.tags = [_table_key(session.table.dataset)]  # from now on all splits of this table are shown
            show_split(menu, session)
        elif event.new is not None and event.new != session.table.source.split and session.table.dataset is not None:
            session.table.changes.set_split(event.new)

    menu.param.watch(on_choice, "value")
    return menu


def show_split(menu: pmui.Select, session: Session) -> None:
    """Show the current split and the other splits of this table."""
    dataset, slug = session.table.dataset, session.table.source.split
    options = split_options(dataset)
    if dataset is not None and _table_key(dataset) not in menu.tags:
        options = likely_splits(dataset, options, slug)
    menu.param.update(options=options, value=slug)


def _table_key(dataset: Dataset) -> str:
    """Return a key of the table that does not depend on kinds, target and split."""
    return f"{dataset.name}|{dataset.table.n_rows}|{'|'.join(dataset.table.names)}"


def likely_splits(dataset: Dataset, options: dict[str, str], current: str = "") -> dict[str, str]:
    """Return the entries that the table's columns suggest, the current one, and `MORE_SPLITS` for all others.

    A split is suggested by a column's name ("patient", "year"), by dates, and by identifiers (kind "ignore").
    """
    if len(options) <= MAX_SHORT_MENU:
        return options

    def likely(slug: str) -> bool:
        if slug in _SPLITS or slug == current:
            return True
        column = dataset.columns[int(slug[1:])]
        name = re.sub(r"([a-z])([A-Z])", r"\1_\2", str(column.name)).lower()
        if slug[0] == "g":
            return bool(_GROUP_NAME.search(name)) or column.kind == "ignore"
        return bool(_TIME_NAME.search(name)) or bool(
            pd.api.types.is_datetime64_any_dtype(dataset.frame[column.name].dtype)
        )

    likely_options = {label: slug for label, slug in options.items() if likely(slug)}
    return (
        likely_options
        if len(likely_options) == len(options)
        else {**likely_options, "by another column ...": MORE_SPLITS}
    )


def split_options(dataset: Dataset | None) -> dict[str, str]:
    """Return the entries of the menu: slugs by label."""
    options = {label: slug for slug, label in _SPLITS.items()}
    if dataset is None:
        return options
    for name, kind in dataset.kinds.items():
        if kind in ("group", "time"):  # the kind of the column sets the split
            rule_text = f"{'together' if kind == 'group' else 'in time'} by {name}"
            return {rule_text[:60]: "", _SPLITS["once"]: "once"}
    group_slugs: dict[str, str] = {}
    time_slugs: dict[str, str] = {}
    for k, column in enumerate(dataset.columns):
        if column.kind == "target":
            continue
        dtype = dataset.frame[column.name].dtype
        is_date = pd.api.types.is_datetime64_any_dtype(dtype)
        is_grouping = not pd.api.types.is_float_dtype(dtype)
        if is_grouping and not is_date and 2 < column.levels < dataset.n_rows:
            group_slugs[f"together by {column.name}"[:60]] = f"g{k}"
        if (is_date or pd.api.types.is_numeric_dtype(dtype)) and not column.missing and column.levels > 2:
            time_slugs[f"in time by {column.name}"[:60]] = f"t{k}"
    group_entries, time_entries = (list(slugs.items())[:_MAX_SPLIT_COLUMNS] for slugs in (group_slugs, time_slugs))
    return options | dict(group_entries) | dict(time_entries)


def split_words(slug: str) -> str:
    """Return a split in words, without its table: columns are numbered from 1."""
    if slug in _SPLITS:
        return _SPLITS[slug]
    match = re.fullmatch(r"([gt])(\d{1,6})", slug)
    if match is None:
        return _SPLITS[""]
    return f"{'together' if match[1] == 'g' else 'in time'} by column {int(match[2]) + 1}"
