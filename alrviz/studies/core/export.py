"""Export of figures as CSV, with their origin in comment lines above.

The comment lines (`#`) have version, data set and hash, seed, and each recipe as JSON. Spreadsheets run cells that
begin with a formula sign, so text cells with one get an apostrophe in front. They also split comment lines at commas
and semicolons; a formula sign that would come first then is written as a JSON escape. Numbers are written in full.
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

_FORMULA_SIGN = re.compile(r'(?<=[",;])[=+\-@|%]')


def provenance_lines(provenance: Mapping[str, Any], recipes: Iterable[Recipe] = ()) -> list[str]:
    """Return the comment lines above exported figures: a line for each fact of the provenance, and each recipe as
    JSON.
    """
    texts = [f"# {name}: {json.dumps(value, ensure_ascii=True, default=str)}" for name, value in provenance.items()]
    texts += [f"# recipe {k}: {recipe.to_json()}" for k, recipe in enumerate(recipes)]
    return [_FORMULA_SIGN.sub(lambda sign: f"\\u{ord(sign[0]):04x}", line) for line in texts]


def to_csv(frame: pd.DataFrame, provenance: Mapping[str, Any], recipes: Sequence[Recipe] = ()) -> str:
    """Return a tidy frame as CSV under the comment lines of its provenance and recipes.

    Read it back with `pandas.read_csv(..., comment="#")`.
    """
    safe_frame = frame.set_axis(safe_names(list(frame.columns)), axis=1)
    for name in safe_frame.columns:
        if not pd.api.types.is_numeric_dtype(safe_frame[name]):
            safe_frame[name] = safe_frame[name].map(safe_cell)
    csv_text = io.StringIO()
    safe_frame.to_csv(csv_text, index=False, lineterminator="\n")
    return "\n".join([*provenance_lines(provenance, recipes), csv_text.getvalue()])


def study_csv(study: "Study", frame: pd.DataFrame | None = None) -> str:
    """Return the rows of a study, or a frame computed from them, as CSV with the study's settings, data and recipes."""
    return to_csv(study.frame() if frame is None else frame, study_provenance(study), study.recipes)


def weights_csv(model: Any, provenance: Mapping[str, Any], recipes: Sequence[Recipe] = ()) -> str:
    """Return a fitted model's cells as CSV, a row for each: columns, levels, then each quantity by class.

    The intercepts ("class weights") are the first row. `model` is a classifier with cells (it has `to_frame`).
    provenance and recipes as for `to_csv`.
    """
    frame = model.to_frame()
    intercept_by_label = {
        ("phi", label): b for label, b in zip(model.classes_.tolist(), model.intercept_.tolist(), strict=True)
    }
    rows = pd.concat([pd.DataFrame([intercept_by_label]).reindex(columns=frame.columns), frame.reset_index(drop=True)])
    rows.columns = [f"{quantity} {label}" for quantity, label in frame.columns]
    for level, name in enumerate(frame.index.names):
        rows.insert(level, name, [("class weights", "")[level], *frame.index.get_level_values(level)])
    return to_csv(rows, provenance, recipes)


def caption(provenance: Mapping[str, Any], recipes: Iterable[Recipe] = ()) -> str:
    """Return the origin of a picture in one line: the facts of its provenance that readers need, and its recipes.

    >>> origin = {"alrviz": "1.0", "data": "led", "data hash": "0123456789abcdef", "rows": 3000}
    >>> caption(origin, [Recipe("lr", alpha=1)])
    'alrviz 1.0 · data led · data hash 0123456789 · rows 3,000 · lr n=2 from zero, L2 penalty 1 on phi, TRON'
    """
    named_texts = [(name, _short_text(value, name)) for name, value in provenance.items()]
    return " · ".join([*(f"{name} {text}" for name, text in named_texts if text), *(recipe.name for recipe in recipes)])


def _short_text(value: Any, name: str) -> str:
    """Return a value of a provenance in a few letters; name: its key."""
    if name == "data hash":
        return str(value)[:10]
    if name == "asked":  # a study's settings; recipes and data sets are shown elsewhere in the caption
        settings = {key: item for key, item in json.loads(value).items() if isinstance(item, bool | int | float | str)}
        return _short_text(settings, "")
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {str(item)[:10]}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def study_provenance(study: "Study") -> dict[str, Any]:
    """Return a study's version, kind, settings and data sets, by name."""
    return {
        "alrviz": __version__,
        "study": study.kind,
        "asked": study.spec,
        "data": {dataset.name: key for key, dataset in study.datasets.items()},
    }


def race_provenance(race: Any, version: str) -> dict[str, Any]:
    """Return a race's version, data set with hash and rows, and seeds, by name."""
    data = {"data": race.dataset.name, "data hash": race.dataset.hash, "rows": race.dataset.n_rows}
    return {"alrviz": version, **data, "seed": sorted({recipe.seed for recipe in race.recipes})}
