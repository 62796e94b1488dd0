"""Log losses of a study's models on the folds that all models have finished, and their standard errors."""

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from alrviz.studies.core.study import Study
from alrviz.studies.core.study_task import Row
from alrviz.studies.statistics.significance import corrected_error, simplest_within_error

if TYPE_CHECKING:
    import pandas as pd

NOT_ENOUGH_FOLDS = "Not enough folds yet for a verdict."  # fewer than two


def complete_losses(study: Study, model_column: str) -> "pd.DataFrame":
    """Return the log loss of each complete fold (rows) and model (columns); a model that always failed is left out.

    model_column: the column that identifies a model, "order" or "racer"; models for which it is None are left out.
    """
    import pandas as pd

    frame = study.frame()
    if "log_loss" not in frame:
        return pd.DataFrame()
    fits = successful_fits(frame[frame[model_column].notna()])
    models = {{"racer": task.racer, **study.about(task.racer)}[model_column] for task in study.tasks}
    # A fold is complete once all of them have it.
    remaining_models = sorted(models - {None} - failures(study, model_column).keys())
    losses = fits.pivot(index=["repeat", "fold"], columns=model_column, values="log_loss")
    losses = losses.reindex(columns=remaining_models).dropna()
    return losses if len(losses) else pd.DataFrame()


def successful_fits(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return the rows of a study's frame whose fits have not failed."""
    return frame[frame.outcome != "failed"] if len(frame) else frame


def failures(study: Study, model_column: str) -> dict[int, str]:
    """Return the models whose fits have all failed so far, each with its first error message.

    model_column: the column that identifies a model, "order" or "racer".
    """
    frame = study.frame()
    models = frame.groupby(model_column) if len(frame) else ()
    return {int(model): fits.sentence.iloc[0] for model, fits in models if (fits.outcome == "failed").all()}


def fold_error(differences: ArrayLike, fits: "pd.DataFrame") -> float:
    """Return the corrected standard error of the mean of fold differences (J,); fits: rows of fits on such folds."""
    return corrected_error(differences, fits.test_rows.mean(), fits.train_rows.mean())


def simplest_model(losses: "pd.DataFrame", study: Study) -> Any:
    """Return the first column of losses (folds, models) within one standard error of the lowest."""
    mean_counts = study.frame()[["test_rows", "train_rows"]].mean()
    return simplest_within_error(losses, mean_counts.test_rows, mean_counts.train_rows)


def mean_figures(losses: "pd.Series", fits: "pd.DataFrame") -> Row:
    """Return a model's figures by name: its mean log loss with the standard error, and means over its fits.

    losses: its log loss on each complete fold; fits: the rows of its fits. A figure that no fit has is NaN.
    """
    names = ("error", "parameters", "train_seconds")
    means = {name: float(fits[name].mean()) if name in fits else float("nan") for name in names}
    return {"folds": len(losses), "log_loss": float(losses.mean()), "se": fold_error(losses, fits), **means}
