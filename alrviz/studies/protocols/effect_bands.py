"""Uncertainty of a model's pure effects: those of the model, and of refits with random row weights.

The Bayesian bootstrap: each refit weights the rows by exponential random numbers, starts at the model and has the same
cells. The spread of the refits' effects is the uncertainty of the model's effects that comes from the rows. The bias of
a penalty is the same in all of them and does not show.
"""

import json
from dataclasses import replace
from functools import cached_property
from math import comb
from typing import Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.data.dataset import Dataset, require_dataset
from alrviz.data.seeds import seed_of
from alrviz.data.splits import holdout_spec
from alrviz.errors import RecipeError, Stopped
from alrviz.estimators.make import table_classifier
from alrviz.fitting.families import FAMILIES
from alrviz.fitting.prepare import TrainingData, prepare
from alrviz.fitting.recipe import Recipe, require_recipe
from alrviz.fitting.solvers.step import Outcome
from alrviz.models.linear import LinearModel
from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import StopToken
from alrviz.studies.core.effects_task import selects_tuples
from alrviz.studies.core.study import Study, StudyOptions
from alrviz.studies.core.study_task import Result, Row, StudyTask, plain, unpack
from alrviz.studies.effects.interactions import MAX_UNASKED, Interactions

BAND_FAMILIES = tuple(name for name, family in FAMILIES.items() if family.sums_cells)
BAND_QUANTILES = (0.05, 0.95)
FORMAT = 2  # of the tasks' packed numbers: stored results of another format are computed again
_QUANTILE_METHOD: Any = "weibull"  # of 30 refits, the default method's 5 % quantile is really at 8 %
# Processor seconds, measured on adult and letter at order 2: to purify and weigh a row, tuple and class (with a fixed
# part worth four classes) 0.9 to 1.7e-8; to test a row, tuple and class of the next order 3.5 to 4.4e-8, up to so many
# rows: further ones fall into cells that exist already.
_PURIFY_SECONDS, _TEST_SECONDS, _MAX_TESTED_ROWS = 1.2e-8, 4e-8, 15_000


class EffectStudy(Study):
    """The study that `effect_bands` returns: a `Study` with the model's effects and their bands.

    Attributes:
        interactions: the effects of the model; None until it is fitted.
    """

    interactions: Interactions | None = None

    def __init__(self, *args: Any, **options: Any):
        # intercepts, effects and importance of each refit, by draw, unpacked as they arrive
        self._refits_by_draw: dict[int, NDArray[np.float32]] = {}
        super().__init__(*args, **options)

    @cached_property
    def _prepared(self) -> TrainingData:
        options = json.loads(self.spec)
        recipe = self.recipes[0].replace(holdout=options["holdout"], seed=options["seed"])
        return prepare(self.dataset, recipe)

    def accept(self, index: int, result: Result, stop: StopToken, arrival_seconds: float | None = None) -> bool:
        """Compute the model's effects, or unpack a refit, before the result is shown, on the study's own thread.

        The arguments and the result are those of `StudyResults.accept`.
        """
        draw = int(json.loads(self.tasks[index].options)["draw"])
        if draw == 0 and not result.failed and self.interactions is None:
            try:
                self._purify(unpack(result.predicted), result.rows[0], stop)
            except Stopped:
                return False
        if draw > 0 and not result.failed:
            self._refits_by_draw[draw] = unpack(result.predicted)
        return super().accept(index, replace(result, predicted=b""), stop, arrival_seconds)

    def _purify(self, numbers: Floats, row: Row, stop: StopToken) -> None:
        """Compute the effects from the row and the packed numbers of the fit (format: `effects_task.effects`)."""
        prepared, recipe = self._prepared, self.recipes[0]
        assert prepared.encoder is not None
        n_chosen, order = int(numbers[0]), recipe.params["order"]
        columns, numbers = numbers[1 : 1 + n_chosen * order].reshape(n_chosen, order), numbers[1 + n_chosen * order :]
        selected_tuples = tuple(tuple(int(j) for j in members if j >= 0) for members in columns)
        all_tuples = recipe.definition.counted_tuples(recipe.params, prepared.encoded.n_columns)[:1]
        tables = prepared.tables(selected_tuples or all_tuples[0], recipe.params["smoothing"], stop)
        n_classes = tables.n_classes
        phi, *weights = numbers[n_classes:].reshape(-1, len(tables.seen_cells), n_classes)
        model = LinearModel(tables.space, tables.seen_cells, phi, numbers[:n_classes])
        effects = Interactions(
            model,
            prepared.encoder,
            prepared.encoded,
            prepared.holdout,
            stop=stop,
            weights=weights[0] if weights else None,
            classifier=table_classifier(
                recipe,
                prepared.encoder,
                self.dataset,
                tables,
                model,
                Outcome(str(row["outcome"]), str(row["sentence"])),
                int(row["n_iter"]),
            ),
        )
        effects.importance(stop)
        effects.keep_best(stop=stop)
        effects.next_order(stop)
        self.interactions = effects

    def refits(self) -> tuple[Floats, Floats]:
        """Return the refits so far: effects (R, S, C), and importance (R, T, 3): share, structural share, nats."""
        effects = self.interactions
        if effects is None:
            return np.zeros((0, 0, 1)), np.zeros((0, 0, 3))
        return self._refit_effects(effects, slice(0, len(effects.pure.f))), self._refit_importance(effects)

    def _refit_effects(self, effects: Interactions, cells: slice) -> Floats:
        """Return the effects (R, S, C) of a slice of cells, without unpacking the other tuples'."""
        n_classes = len(effects.classes)
        first_number, end_number = (n_classes * (1 + cell) for cell in (cells.start, cells.stop))
        return self._numbers(first_number, end_number, n_classes)

    def _refit_importance(self, effects: Interactions) -> Floats:
        """Return the importance (R, T, 3)."""
        first_number = len(effects.classes) * (1 + len(effects.pure.f))
        return self._numbers(first_number, first_number + 3 * len(effects.names), 3)

    def _numbers(self, first_number: int, end_number: int, row_width: int) -> Floats:
        refits_by_draw = self._refits_by_draw.copy()  # the study's thread may add to it meanwhile
        numbers_by_refit = [refits_by_draw[draw][first_number:end_number] for draw in sorted(refits_by_draw)]
        return np.array(numbers_by_refit, np.float64).reshape(
            len(numbers_by_refit), (end_number - first_number) // row_width, row_width
        )

    def importance(self) -> pd.DataFrame:
        """Return `Interactions.importance` with "nats_low", "nats_high", "share_low" and "share_high".

        They are the ends of the refits' 90 % band, moved so that the refits' median is at the model's value; NaN below
        two refits. The median itself is too low for a model that nearly memorises its rows (letter at order 2: 15 %): a
        refit fits rows of a large weight even more closely, so that muting a tuple seems to cost less. If each refit
        selects_tuples its tuples the band is not moved: if it starts at 0, the choice is uncertain.
        """
        effects = self.interactions
        if effects is None:
            return pd.DataFrame()
        importance_table = effects.importance()
        refits = self._refit_importance(effects)
        tuple_indices = [effects.number_of(name) for name in importance_table.index]
        for name, measure_index in (("share", 0), ("nats", 2)):
            band_low, band_median, band_high = _band(refits[:, :, measure_index])[:, tuple_indices]
            shift = 0.0 if selects_tuples(self.recipes[0]) else importance_table[name].to_numpy() - band_median
            importance_table[f"{name}_low"], importance_table[f"{name}_high"] = band_low + shift, band_high + shift
        importance_table["nats_low"] = importance_table["nats_low"].clip(lower=0.0)
        return importance_table

    def effects(self, *columns: Any, label: Any, other_label: Any) -> pd.DataFrame:
        """Return a row for each cell of a tuple of columns: its effect on the log-odds of two classes.

        Columns: "levels", "rows", "pure", "median", "low" and "high" (the 90 % band of the refits) and "same_sign"
        (share of refits with the model's sign).
        """
        effects = self.interactions
        if effects is None:
            return pd.DataFrame()
        classes = [str(label) for label in effects.classes.tolist()]
        for given_label in (label, other_label):
            if str(given_label) not in classes:
                raise RecipeError(f"no class {given_label!r} in the model; expected one of {classes[:8]}")
        k, baseline = classes.index(str(label)), classes.index(str(other_label))
        cells = effects.pure.cells_of(effects.number_of(columns))
        table = effects.effects(*columns).iloc[:: len(classes)]
        log_odds = effects.pure.f[cells, k] - effects.pure.f[cells, baseline]
        refit_effects = self._refit_effects(effects, cells)
        odds = refit_effects[:, :, k] - refit_effects[:, :, baseline]
        table = pd.DataFrame({"levels": table["levels"].to_numpy(), "rows": table["rows"].to_numpy(), "pure": log_odds})
        table["low"], table["median"], table["high"] = _band(odds)
        table["same_sign"] = np.nan if len(odds) < 2 else (np.sign(odds) == np.sign(log_odds)).mean(axis=0)
        return table


def _band(draws: Floats) -> Floats:
    """Return the lower end, median and upper end of the 90 % band of draws (R, M): (3, M); NaN below two draws."""
    if len(draws) < 2:
        return np.full((3, draws.shape[1]), np.nan)
    band: Floats = np.quantile(draws, [BAND_QUANTILES[0], 0.5, BAND_QUANTILES[1]], axis=0, method=_QUANTILE_METHOD)
    return band


def why_no_bands(recipe: Recipe) -> str:
    """Return why refits of a recipe would have other cells than its model; "" if they have the same."""
    params = recipe.params
    chosen_names = [name for name in ("order", "alpha", "keep") if isinstance(params.get(name), str)]
    if not recipe.definition.sums_cells or params.get("unit") == "cell":
        valid = f"one of {', '.join(BAND_FAMILIES)}, with all cells of a tuple"
        return f"refits of {recipe.name} do not share its cells; expected {valid}"
    if chosen_names:
        return f"{chosen_names[0]}={params[chosen_names[0]]!r} may differ in each refit; expected a number"
    if recipe.discretize == "auto":
        return "discretize='auto' may differ in each refit; expected 'smooth' or 'mdl-smooth'"
    if params.get("unseen") == "m-estimate":
        return "unseen='m-estimate' may differ in each refit; expected neutral"
    return ""


def effect_bands(
    dataset: Dataset,
    recipe: Recipe | None = None,
    *,
    refits: int = 30,
    holdout: float = 0.3,
    seed: int = 0,
    **run_options: Unpack[StudyOptions],
) -> EffectStudy:
    """Return the study of a model's pure effects and their uncertainty; it has not started.

    Args:
        dataset: the table.
        recipe: a recipe of lr, alr, hlr, halr, salr, hsalr or anje, with numbers for alpha, order and keep; None: hlr
            of order 2, alpha 1. If tuples are selected, each refit selects its own; a tuple it leaves out has effect 0.
        refits: number of refits with random row weights; 0 for the model alone, without bands.
        holdout: share of test rows, the split of `Run(dataset, recipe)` with this holdout.
        seed: seed of the split and of the weights.
        run_options: n_jobs, max_memory, scheduler, keep, owner (see `alrviz.studies.core.study.StudyOptions`).

    A row is one fit: draw (0 is the model), outcome, sentence, n_iter, train_log_loss, train_seconds. The study's
    `interactions` are the model's effects; `importance()` and `effects(...)` have the bands.

    Raises:
        RecipeError: if refits of the recipe would not have the model's cells (see `why_no_bands`).

    >>> import alrviz
    >>> recipe = alrviz.Recipe("lr", order=2, alpha=0.1)
    >>> study = alrviz.effect_bands(alrviz.load_demo("xor"), recipe, refits=5, n_jobs=1).run()
    >>> line = study.importance().loc["bit_1 & bit_2"]
    >>> bool(line.share_low > 0.9)
    True
    """
    require_dataset(dataset)
    recipe = Recipe("hlr", order=2, alpha=1.0) if recipe is None else recipe
    require_recipe(recipe)
    if problem := why_no_bands(recipe):
        raise RecipeError(problem)
    if not isinstance(refits, int) or refits < 0 or not 0 <= holdout < 1:
        raise RecipeError(f"refits={refits!r}, holdout={holdout!r}: expected a number of refits, and a share below 1")
    recipe_text, split = plain(recipe).to_json(), holdout_spec(holdout, seed)
    task_seed = seed_of(seed, recipe_text, 0)
    tasks = [
        StudyTask("effects", recipe_text, dataset.hash, split, json.dumps({"draw": draw, "format": FORMAT}), task_seed)
        for draw in range(refits + 1)
    ]
    settings = {"refits": refits, "holdout": holdout, "seed": seed}
    return EffectStudy("effect_bands", [dataset], [recipe], tasks, summary, settings, **run_options)


def purify_seconds(rows: int, columns: int, classes: int, order: int, refits: int) -> float:
    """Estimate the seconds, beyond all fits, to purify a model and its refits and to test tuples of the next order.

    rows, columns, classes: numbers of the table's; order: the model's; refits: their number.
    """
    n_tuples, n_next_tuples = sum(comb(columns, n) for n in range(1, order + 1)), comb(columns, order + 1)
    test_seconds = (
        _TEST_SECONDS * min(rows, _MAX_TESTED_ROWS) * n_next_tuples * classes if n_next_tuples <= MAX_UNASKED else 0.0
    )
    return (1 + refits) * _PURIFY_SECONDS * rows * n_tuples * (classes + 4) + test_seconds


def summary(study: Study) -> pd.DataFrame:
    """Return the importance of the tuples, with bands."""
    return study.importance() if isinstance(study, EffectStudy) else study.frame()
