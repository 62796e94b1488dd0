"""Numbers that leave the program: CSV with what made them written above.

The head is comment lines (`#`): version, data set and hash, seed, one recipe a racer as JSON. Spreadsheets run cells
that begin with a formula sign; a text cell that does gets an apostrophe in front. They also cut comment lines at commas
and semicolons: a sign that would come to stand first there is written as JSON's escape. Numbers are written in full.
"""

import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from alrviz import __version__
from alrviz.estimators.score_script import safe_cell, safe_names
from alrviz.fitting.recipe import Recipe

if TYPE_CHECKING:
    from alrviz.studies.core.study import Study

_SIGN_AHEAD = re.compile(r'(?<=[",;])[=+\-@|%]')


def about_lines(about: Mapping[str, Any], recipes: Iterable[Recipe] = ()) -> list[str]:
    """The comment lines that say where numbers come from."""
    lines = [f"# {name}: {json.dumps(value, ensure_ascii=True, default=str)}" for name, value in about.items()]
    lines += [f"# recipe {k}: {recipe.to_json()}" for k, recipe in enumerate(recipes)]
    return [_SIGN_AHEAD.sub(lambda sign: f"\\u{ord(sign[0]):04x}", line) for line in lines]


def to_csv(frame: pd.DataFrame, about: Mapping[str, Any], recipes: Sequence[Recipe] = ()) -> str:
    """Return a tidy frame as CSV under its comment lines; read it back with `pandas.read_csv(..., comment="#")`."""
    table = frame.set_axis(safe_names(list(frame.columns)), axis=1)
    for name in table.columns:
        if not pd.api.types.is_numeric_dtype(table[name]):
            table[name] = table[name].map(safe_cell)
    text = io.StringIO()
    table.to_csv(text, index=False, lineterminator="\n")
    return "\n".join([*about_lines(about, recipes), text.getvalue()])


def study_csv(study: "Study", frame: pd.DataFrame | None = None) -> str:
    """Return the rows of a study, or a frame made of them, as CSV under what was asked, of which data and recipes."""
    return to_csv(study.frame() if frame is None else frame, study_about(study), study.recipes)


def weights_csv(model: Any, about: Mapping[str, Any], recipes: Sequence[Recipe] = ()) -> str:
    """Return a fitted model's cells as CSV, a line each: columns, levels, then each quantity by class.

    The intercepts ("class weights") stand in the first line. `model` is a classifier of cells (its `to_frame`).
    """
    frame = model.to_frame()
    first = {("phi", label): b for label, b in zip(model.classes_.tolist(), model.intercept_.tolist(), strict=True)}
    lines = pd.concat([pd.DataFrame([first]).reindex(columns=frame.columns), frame.reset_index(drop=True)])
    lines.columns = [f"{quantity} {label}" for quantity, label in frame.columns]
    for place, name in enumerate(frame.index.names):
        lines.insert(place, name, [("class weights", "")[place], *frame.index.get_level_values(place)])
    return to_csv(lines, about, recipes)


def made_from(about: Mapping[str, Any], recipes: Iterable[Recipe] = ()) -> str:
    """Return in one line what a picture is made from: what `about_lines` says, without what no reader reads.

    >>> made_from({"alrviz": "1.0", "data": "led", "data hash": "0123456789abcdef", "rows": 3000}, [Recipe("lr")])
    'alrviz 1.0 · data led · data hash 0123456789 · rows 3,000 · lr n=2 from zero, L2 penalty 0.3 on phi, TRON'
    """
    said = [(name, _in_words(value, name)) for name, value in about.items()]
    return " · ".join([*(f"{name} {words}" for name, words in said if words), *(recipe.name for recipe in recipes)])


def _in_words(value: Any, name: str) -> str:
    if name == "data hash":
        return str(value)[:10]
    if name == "asked":  # a study's settings, of which recipes and sets have words of their own
        asked = {key: of for key, of in json.loads(value).items() if isinstance(of, bool | int | float | str)}
        return _in_words(asked, "")
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {str(of)[:10]}" for key, of in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def study_about(study: "Study") -> dict[str, Any]:
    """Where a study's figures come from."""
    return {
        "alrviz": __version__,
        "study": study.kind,
        "asked": study.spec,
        "data": {dataset.name: key for key, dataset in study.datasets.items()},
    }


def race_about(race: Any, version: str) -> dict[str, Any]:
    """Where a race's numbers come from: version, data set, its hash and rows, seeds of the split."""
    dataset = getattr(race, "dataset", None)
    about: dict[str, Any] = {"alrviz": version}
    if dataset is not None:
        about |= {"data": dataset.name, "data hash": dataset.hash, "rows": dataset.n_rows}
    return about | {"seed": sorted({recipe.seed for recipe in race.recipes})}
