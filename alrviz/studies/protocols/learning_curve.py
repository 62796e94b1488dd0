"""Learning curves: each row is predicted, then learned from; its loss is averaged over the last rows.

Learners that take one row at a time: lr and alr by sgd or adagrad, AnJE and naive Bayes by counting. alr needs log
theta, which is counted: "single-pass", the default, counts the rows so far; "two-pass" counts all rows beforehand, as
[ALR] does. That leaks, as rows predicted later are among those counted: such a curve is too low. Levels and cuts come
from all rows for every learner. The step length eta0 of a learner is the one of ETAS with the lowest squared error on
the first rows of another random order.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

from alrviz.data.dataset import Dataset, require_dataset
from alrviz.data.seeds import seed_of
from alrviz.data.splits import whole_table
from alrviz.errors import RecipeError
from alrviz.fitting.recipe import Recipe, recipe_list
from alrviz.studies.core.study import Study, StudyOptions
from alrviz.studies.core.study_task import StudyTask, plain

if TYPE_CHECKING:
    import pandas as pd


WINDOW_ROWS = 1000
THETAS = ("single-pass", "two-pass")


def learning_curve(
    dataset: Dataset,
    recipes: Sequence[Recipe] | Recipe,
    *,
    repeats: int = 5,
    window: int = WINDOW_ROWS,
    theta: str = "single-pass",
    seed: int = 0,
    **run_options: Unpack[StudyOptions],
) -> Study:
    """Return the study of learners that see the shuffled rows one by one; it has not started.

    Args:
        dataset: the table.
        recipes: lr or alr with solver "sgd" or "adagrad", alpha=0 and start="zero"; or anje. Their orders may differ.
        repeats: random orders of the rows, the same for every learner; only one if the table is split by time.
        window: number of rows T over which a point is averaged, fewer at the start.
        theta: source of alr's log theta: "single-pass" (counts of the rows so far) or "two-pass" (counts of all rows,
            including those predicted later).
        seed: seed of the orders of the rows.
        run_options: n_jobs, max_memory, scheduler, keep, owner (see `alrviz.studies.core.study.StudyOptions`).

    A row is one point of one curve: racer, label, name, order, repeat, seen (rows up to this one), window
    (rows averaged), rmse2 (mean of (1/C) sum_k (p_k - 1[k = y])^2), log_loss, error, theta, eta0, train_seconds
    (of the whole curve, without encoding and without the choice of eta0). `summary()` has a row for each recipe and
    number of rows: means over the orders and their standard errors (`_se`).

    Raises:
        RecipeError: if a recipe cannot learn row by row (the message says why), or the table has row weights.

    >>> from alrviz import Recipe, load_demo
    >>> study = learning_curve(load_demo("led"), [Recipe("anje", order=1)], repeats=2, n_jobs=1).run()
    >>> curve = study.summary()
    >>> int(curve.seen.iloc[-1]), round(float(curve.error.iloc[-1]), 1)
    (3000, 0.3)
    """
    require_dataset(dataset)
    recipes = recipe_list(recipes)
    for recipe in recipes:
        _require_row_by_row(recipe)
    if theta not in THETAS:
        raise RecipeError(f"theta={theta!r} is not known; expected one of {', '.join(map(repr, THETAS))}")
    if repeats < 1 or window < 1:
        raise RecipeError(f"repeats={repeats} and window={window} do not fit; expected whole numbers from 1")
    if dataset.weights is not None:
        name = next(column.name for column in dataset.columns if column.kind == "weight")
        raise RecipeError(
            f"learning curves count each row once, but rows of this table have weights in {name!r}; expected rows "
            f"without weights, such as with_kinds({name}='ignore')"
        )
    repeats = 1 if dataset.splitting.times is not None else repeats
    recipe_texts = [plain(recipe).to_json() for recipe in recipes]
    tasks = [
        StudyTask(
            "prequential", text, dataset.hash, whole_table(repeat),
            json.dumps({"theta": theta, "window": window}, sort_keys=True), seed_of(seed, "order", repeat),
            racer=racer,
        )
        for repeat in range(repeats)
        for racer, text in enumerate(recipe_texts)
    ]  # fmt: skip
    options = {"repeats": repeats, "window": window, "theta": theta, "seed": seed}
    return Study("learning_curve", [dataset], recipes, tasks, summary, options, **run_options)


def _require_row_by_row(recipe: Recipe) -> None:
    """Raise `RecipeError` if a recipe cannot learn row by row."""
    learned_quantity, params = recipe.definition.learns_rows, recipe.params
    if learned_quantity == "counts":
        return
    if not learned_quantity:
        raise RecipeError(f"{recipe.label} cannot learn row by row; expected lr or alr by 'sgd' or 'adagrad', or anje")
    required_params: dict[str, Any] = {"alpha": 0.0, "start": "zero", "objective": "nll", "share": "cell-class"}
    required_params |= {"scale": recipe.definition.params["scale"].default, "class_weight": None, "bounds": None}
    if recipe.solver not in ("sgd", "adagrad"):
        raise RecipeError(f"solver={recipe.solver!r} needs all rows at every step; expected 'sgd' or 'adagrad'")
    for name, value in required_params.items():
        if params[name] != value:
            raise RecipeError(f"{name}={params[name]!r} does not work row by row; expected {name}={value!r}")


def leaking_racers(study: Study) -> list[int]:
    """Return the racers whose log theta counts rows that are predicted later."""
    if json.loads(study.spec)["theta"] != "two-pass":
        return []
    return [racer for racer, recipe in enumerate(study.recipes) if recipe.definition.learns_rows == "log theta"]


def summary(study: Study) -> "pd.DataFrame":
    """Return a row for each recipe and number of rows seen."""
    frame = study.frame()
    if not len(frame) or "seen" not in frame:
        return frame
    groups = frame.dropna(subset=["seen"]).groupby(["racer", "label", "name", "order", "seen"], as_index=False)
    measures = ["rmse2", "log_loss", "error"]
    means = groups[measures].mean()
    standard_errors = groups[measures].sem()[measures].add_suffix("_se")
    return means.join(standard_errors).assign(orders=groups.size()["size"])
