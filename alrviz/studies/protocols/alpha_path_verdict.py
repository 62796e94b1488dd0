"""Verdict on a path: where along alpha the test loss is lowest, in one of five headlines.

An end of the path is worse than the best point if it is more than two standard errors (of the paired difference)
above it. An intermediate alpha is best if both ends are worse; the generative or the weakest-penalty end is best if
only the other is worse. If neither is worse, alpha hardly matters if even two standard errors more would leave both
ends within 5 % of the best; otherwise the test rows are too few to tell. RMSE may have a minimum between the ends where
log loss has none; the detail mentions it. ([WANBIA-C] V)
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from alrviz.fitting.families.shared_params import center_name
from alrviz.fitting.recipe import Recipe
from alrviz.studies.core.names import short_names
from alrviz.studies.statistics.measures import loss_text
from alrviz.studies.statistics.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd

    from alrviz.studies.core.study import Study

BETWEEN, GENERATIVE, FREE, FLAT, UNCLEAR = "between", "generative", "free", "flat", "unclear"
WORDS: Mapping[str, str] = {"log_loss": "log loss", "rmse": "RMSE", "error": "0-1 loss"}
_CLEAR_STANDARD_ERRORS = 2.0  # standard errors from which a difference counts
_NEGLIGIBLE_SHARE = 0.05  # of the lowest loss; a difference that is clearly smaller hardly matters


@dataclass(frozen=True)
class AlphaPathVerdict:
    """Verdict on one path.

    Attributes:
        racer: index of the recipe in the study.
        alpha, value: the alpha of the lowest test value of the measure, and that value.
        first, last: the values at the strongest and at the weakest penalty.
        place: "between", "generative", "free", "flat" (both ends about as good as the best) or "unclear" (neither end
            clearly worse, nor clearly as good).
        error: two standard errors of the difference between the best and an end, the larger of the two.
    """

    racer: int
    alpha: float
    value: float
    first: float
    last: float
    place: str
    error: float = 0.0


def paths_of(study: "Study") -> list[Recipe]:
    """Return the recipes that are fitted along alpha; those after them in the study are its references."""
    n_paths = len({task.racer for task in study.tasks if task.kind == "path"})
    return list(study.recipes[:n_paths])


def path_names(study: "Study") -> list[str]:
    """Return a short name for each path of a study, with its center; the alpha of its recipe is ignored.

    >>> from alrviz import Recipe, alpha_path, load_demo
    >>> path_names(alpha_path(load_demo("led", 300), [Recipe("alr"), Recipe("lr", center="anje")]))
    ['alr toward 0', 'lr toward AnJE']
    """
    recipes = [recipe.replace(alpha=1.0) for recipe in paths_of(study)]
    centers = [center_name(recipe.params["center"]) for recipe in recipes]
    names = zip(short_names(recipes), centers, strict=True)
    return [f"{name.removesuffix(f' to {center}')} toward {center}" for name, center in names]


def verdict_on(curve: "pd.DataFrame", measure: str) -> AlphaPathVerdict:
    """Return the verdict on one path by a measure (log_loss, rmse, error); curve: the rows of one racer in
    `summary()`.
    """
    rows = curve.sort_values("alpha", ascending=False)
    losses, errors = rows[measure].to_numpy(float), rows[f"{measure}_above_se"].to_numpy(float)
    best_index = int(losses.argmin())
    end_excess, end_errors = losses[[0, -1]] - losses[best_index], _CLEAR_STANDARD_ERRORS * errors[[0, -1]]
    is_end_worse = end_excess > end_errors
    is_level = bool((end_excess + end_errors <= _NEGLIGIBLE_SHARE * losses[best_index]).all())
    place = {(True, True): BETWEEN, (False, True): GENERATIVE, (True, False): FREE}.get(
        (bool(is_end_worse[0]), bool(is_end_worse[1])), FLAT if is_level else UNCLEAR
    )
    return AlphaPathVerdict(
        racer=int(rows.racer.iloc[0]), alpha=float(rows.alpha.iloc[best_index]), value=float(losses[best_index]),
        first=float(losses[0]), last=float(losses[-1]), place=place, error=float(end_errors.max()),
    )  # fmt: skip


def verdicts_on(study: "Study", measure: str, summary_rows: "pd.DataFrame | None" = None) -> list[AlphaPathVerdict]:
    """Return the verdict on each path that has results so far, by a measure (log_loss, rmse, error).

    summary_rows: the study's summary, if it is already computed.
    """
    summary_rows = study.summary() if summary_rows is None else summary_rows
    if f"{measure}_above_se" not in summary_rows:  # no path yet
        return []
    rows_by_path = [summary_rows[summary_rows.racer == racer] for racer in range(len(paths_of(study)))]
    return [verdict_on(path_rows, measure) for path_rows in rows_by_path if len(path_rows)]


def best_of(verdicts: Sequence[AlphaPathVerdict]) -> AlphaPathVerdict | None:
    """Return the verdict with the lowest test value; None without verdicts."""
    return min(verdicts, key=lambda verdict: verdict.value, default=None)


def path_verdict(study: "Study", measure: str = "log_loss") -> Verdict | None:
    """Return the verdict on the best of the paths with results so far, in words; None without any."""
    summary_rows = study.summary()
    verdicts = verdicts_on(study, measure, summary_rows)
    best = best_of(verdicts)
    if best is None:
        return None
    headline, details = _headline(best, WORDS[measure], heldout_rows(study)), []
    if len(verdicts) > 1:
        details.append(f"This is the best of {len(verdicts)} paths, {path_names(study)[best.racer]}.")
    if best.place == UNCLEAR:
        details.append(f"The differences are uncertain by ± {loss_text(best.error)}.")
    path_rows = summary_rows[summary_rows.racer == best.racer]
    ends = path_rows.alpha.max(), path_rows.alpha.min()
    details.append(_losses_text(best, WORDS[measure], *ends))
    details += _reference_texts(study, summary_rows, best, measure)
    if measure != "rmse" and best.place != BETWEEN:
        rmse_verdict = verdict_on(path_rows, "rmse")
        if rmse_verdict.place == BETWEEN:
            details.append(f"RMSE however is lowest in between. {_losses_text(rmse_verdict, 'RMSE', *ends)}")
    return Verdict(headline, " ".join(details))


def heldout_rows(study: "Study") -> int:
    """Return the approximate number of test rows of a path of a study."""
    return round(study.dataset.n_rows * float(json.loads(study.spec)["holdout"]))


def _headline(verdict: AlphaPathVerdict, measure: str, n_test_rows: int) -> str:
    """Return where along alpha the lowest test loss lies. measure: in words."""
    alpha, value = f"alpha {alpha_text(verdict.alpha)}", loss_text(verdict.value)
    first, last = loss_text(verdict.first), loss_text(verdict.last)
    if verdict.place == BETWEEN:
        return f"{alpha} has the lowest test {measure}, {value}; stronger and weaker penalties are worse."
    if verdict.place == UNCLEAR:
        return f"{n_test_rows:,} test rows are too few to tell which alpha is best."
    if verdict.place == FLAT:
        return f"alpha hardly matters: test {measure} {first} and {last} at the ends."
    end, end_value, other_end, other_value = (
        ("strongest", verdict.first, "weakest", last)
        if verdict.place == GENERATIVE
        else ("weakest", verdict.last, "strongest", first)
    )
    if verdict.value == end_value:
        return f"The {end} penalty has the lowest test {measure}, {value}; the {other_end} {other_value}."
    return f"The {end} penalty is as good as {alpha}: test {measure} {loss_text(end_value)}."


def _losses_text(verdict: AlphaPathVerdict, measure: str, max_alpha: float, min_alpha: float) -> str:
    """Return the lowest test loss and those of both ends as a sentence. measure: in words."""
    values = {max_alpha: verdict.first, verdict.alpha: verdict.value, min_alpha: verdict.last}
    parts = [f"{loss_text(value)} at alpha {alpha_text(alpha)}" for alpha, value in values.items()]
    return f"Test {measure}: {', '.join(parts)}."


def alpha_text(alpha: float) -> str:
    """Format an alpha without an exponent.

    >>> alpha_text(10000.0), alpha_text(0.000464)
    ('10,000', '0.000464')
    """
    return f"{alpha:,.0f}" if alpha >= 1000 else np.format_float_positional(float(f"{alpha:.3g}"), trim="-")


def _reference_texts(study: "Study", lines: "pd.DataFrame", verdict: AlphaPathVerdict, measure: str) -> list[str]:
    """Return a sentence on the models beyond the ends: the generative model itself, and the fit without a penalty.

    lines: the study's summary, a row for each recipe and alpha; measure: log_loss, rmse or error.
    """
    recipe = study.recipes[verdict.racer]
    references = lines[(lines.racer >= len(paths_of(study))) & (lines.order == recipe.params["order"])]
    texts = []
    for row in references.to_dict("records"):
        reference, value = study.recipes[row["racer"]], loss_text(row[measure])
        if reference.solver == "none" and recipe.params["center"] == "anje":
            texts.append(f"{generative_name(reference)} {value}")
        elif reference.family == recipe.family:
            texts.append(f"without a penalty {value}")
    return [f"For comparison: {', '.join(texts)}."] if texts else []


def generative_name(recipe: Recipe) -> str:
    """Return the name of the generative model of a recipe's order."""
    return "naive Bayes" if recipe.params["order"] == 1 else "AnJE"
