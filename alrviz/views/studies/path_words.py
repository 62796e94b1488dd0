"""The words beside a study of paths, as HTML: what it says, the fit at one alpha, the table below."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from alrviz.fitting.solvers.step import FAILED, STEP_LIMIT
from alrviz.pictures.formatting import seconds_text
from alrviz.studies.protocols.alpha_path_verdict import WORDS, alpha_text, generative_name, path_names, paths_of
from alrviz.views.core.style import html_table, safe
from alrviz.views.race.words import number
from alrviz.views.studies.path_follower import PathFollower

if TYPE_CHECKING:
    from alrviz.studies.core.study import Study


def sentence_html(study: "Study", said: str) -> str:
    """The study's sentence, and how much of it is there while that is not all."""
    paths, failed = paths_of(study), ""
    frame = study.frame()
    if "sentence" in frame and study.progress.failed:
        lost = frame[frame.outcome == FAILED]
        failed = f" <span class='bad'>Failed: {safe(lost.sentence.iloc[0], 200)}.</span>"
    if study.phase == "waiting" and not study.progress.done:
        many = f"{len(paths)} paths" if len(paths) > 1 else "one path"
        return (
            f"<span class='quiet'>Press Run: {many} along alpha, with the generative and the unregularised model for "
            f"reference, on the same split of {study.dataset.n_rows:,} rows.</span>"
        )
    there = 0 if "away_50" not in frame else frame[frame.away_50.notna()].racer.nunique()
    if not said:
        return f"<span class='quiet'>No path is complete yet: each comes whole.</span>{failed}"
    of = f"<span class='quiet'>After {there} of {len(paths)} paths:</span> " if there < len(paths) else ""
    return of + safe(said, 900) + failed


def fitted_html(row: dict[str, Any] | None, follower: PathFollower, path: int, alpha: float) -> str:
    """Losses of the fit at one alpha; what is under way, or why there is none."""
    title = f"<p><b>At alpha {alpha_text(alpha)}</b> {_about(row, follower)}</p>"
    if row is None:
        if follower.error is not None:
            return f"{title}<p class='bad'>{safe(follower.error, 300)}</p>"
        if not follower.busy and not follower.quick(path):
            return f"{title}<p class='quiet'>Fitting this table takes a while: press Fit here.</p>"
    cells = []
    for name, words in WORDS.items():
        values = [number(float("nan") if row is None else float(row[key])) for key in (f"train_{name}", name)]
        cells.append([words, *values])
    return title + html_table(("per row", "training", "test"), cells)


def _about(row: dict[str, Any] | None, follower: PathFollower) -> str:
    if row is None:
        return "<span class='quiet'>fitting …</span>" if follower.busy else ""
    if "racer" in row:
        return "<span class='quiet'>of the path</span>"
    steps = f"{row['n_iter']} step{'' if row['n_iter'] == 1 else 's'}"
    return f"<span class='quiet'>fitted in {steps}, {seconds_text(row['train_seconds'])}</span>"


_COLUMNS = {
    "log_loss": "log loss", "rmse": "RMSE", "error": "0-1 loss", "train_log_loss": "training log loss",
    "train_rmse": "RMSE", "train_error": "0-1 loss", "away_5": "5 % of w", "away_50": "middle", "away_95": "95 %",
}  # fmt: skip


def numbers_html(study: "Study", lines: pd.DataFrame) -> str:
    """The table below: a line for each fit of each path, and for what is beside them."""
    if not len(lines) or "log_loss" not in lines:
        return "<p class='quiet'>Nothing is complete yet.</p>"
    names, frame = path_names(study), study.frame()
    outcome = {row["racer"]: row["outcome"] for row in frame.to_dict("records")}
    body = []
    for line in lines.sort_values(["racer", "alpha"], ascending=[True, False]).to_dict("records"):
        racer, recipe = line["racer"], study.recipes[line["racer"]]
        if racer < len(names):
            name, alpha = names[racer], f"{line['alpha']:g}"
        elif recipe.solver == "none":
            name, alpha = generative_name(recipe), "&ndash;"
        else:
            stopped = " (at its step limit)" if outcome.get(racer) == STEP_LIMIT else ""
            name, alpha = f"{recipe.family}, unregularised{stopped}", "0"
        values = [number(float(line.get(key, float("nan")))) for key in _COLUMNS]
        body.append([safe(name), alpha, *values])
    told = (
        "<p class='quiet'>Test first, then training rows, each per row; then quantiles of w - center. "
        " The CSV has every fit, with standard errors of how far it is above the best of its path.</p>"
    )
    return html_table(("model", "alpha", *_COLUMNS.values()), body) + told
