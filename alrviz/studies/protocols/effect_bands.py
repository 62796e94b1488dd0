"""How sure is what a model says? Its pure effects, and those of refits with other row weights.

The Bayesian bootstrap: each refit weighs the rows by exponential numbers, starts at the model itself and has the same
cells. The spread of what refits say is the uncertainty of what the model says, as far as that comes from the rows; the
bias that a penalty makes is in all of them alike.
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
from alrviz.fitting.prepare import TrainingData, prepare
from alrviz.fitting.recipe import Recipe, require_recipe
from alrviz.models.linear import LinearModel
from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import StopToken
from alrviz.studies.core.effects_task import chooses
from alrviz.studies.core.study import Study
from alrviz.studies.core.study_options import StudyOptions
from alrviz.studies.core.study_task import Result, StudyTask, plain, unpack
from alrviz.studies.effects.interactions import LOOKED, Interactions

FAMILIES = ("lr", "alr", "hlr", "halr", "salr", "hsalr", "anje")
BAND = (0.05, 0.95)
FORMAT = 2  # of what tasks give: kept results of another are computed anew
_WAY: Any = "weibull"  # of quantiles: of 30 numbers the usual way has 5 % below what 8 % are
# Seconds of a processor, of adult and letter at order 2: of a row, a tuple and a class (and what is done once for all
# of them, as much as for four) that are purified and weighed: .9 to 1.7e-8; of a row, a tuple and a class that the next
# order is tested on: 3.5 to 4.4e-8, where rows beyond so many fall into cells that are there already.
_PURIFIED, _TESTED, _FILLED = 1.2e-8, 4e-8, 15_000


class EffectStudy(Study):
    """The study that `effect_bands` returns: a `Study` with the model, its effects and their bands.

    Attributes:
        interactions: the effects of the model, once it is fitted; None.
    """

    interactions: Interactions | None = None

    def __init__(self, *asked: Any, **options: Any):
        # what refits say, by draw, unpacked as they come: intercept, effects, importance
        self._drawn: dict[int, NDArray[np.float32]] = {}
        super().__init__(*asked, **options)

    @cached_property
    def _prepared(self) -> TrainingData:
        options = json.loads(self.spec)
        recipe = self.recipes[0].replace(holdout=options["holdout"], seed=options["seed"])
        return prepare(self.dataset, recipe)

    def _accept(self, place: int, result: Result, stop: StopToken, after: float | None = None) -> bool:
        """Take the model apart, or unpack a refit, before anybody looks, on the study's own thread."""
        draw = _draw(self.tasks[place])
        if draw == 0 and not result.failed and self.interactions is None:
            try:
                self._take_apart(unpack(result.predicted), stop)
            except Stopped:
                return False
        if draw > 0 and not result.failed:
            self._drawn[draw] = unpack(result.predicted)
        return super()._accept(place, replace(result, predicted=b""), stop, after)

    def _take_apart(self, numbers: Floats, stop: StopToken) -> None:
        prepared, recipe = self._prepared, self.recipes[0]
        assert prepared.encoder is not None
        many, order = int(numbers[0]), recipe.params["order"]
        columns, numbers = numbers[1 : 1 + many * order].reshape(many, order), numbers[1 + many * order :]
        chosen = tuple(tuple(int(j) for j in own if j >= 0) for own in columns)
        every = recipe.definition.counted_tuples(recipe.params, prepared.encoded.n_columns)[:1]
        tables = prepared.tables(chosen or every[0], recipe.params["smoothing"], stop)
        classes = tables.n_classes
        phi, *weights = numbers[classes:].reshape(-1, len(tables.seen), classes)
        model = LinearModel(tables.space, tables.seen, phi, numbers[:classes])
        found = Interactions(
            model,
            prepared.encoder,
            prepared.encoded,
            prepared.holdout,
            stop=stop,
            weights=weights[0] if weights else None,
        )
        found.importance(stop)
        found.keep_best(stop=stop)
        found.next_order(stop)
        self.interactions = found

    def refits(self) -> tuple[Floats, Floats]:
        """Return what the refits so far say: effects (R, S, C) of the cells, and importance (R, T, 3): share,
        structural share and nats.
        """
        found = self.interactions
        if found is None:
            return np.zeros((0, 0, 1)), np.zeros((0, 0, 3))
        return self._refitted(found, slice(0, len(found.pure.f))), self._weighed(found)

    def _refitted(self, found: Interactions, cells: slice) -> Floats:
        """(R, S, C) the effects of some cells: a look at one tuple need not touch the others."""
        classes = len(found.classes)
        begin, end = (classes * (1 + at) for at in (cells.start, cells.stop))
        return self._numbers(begin, end, classes)

    def _weighed(self, found: Interactions) -> Floats:
        """(R, T, 3) importance."""
        begin = len(found.classes) * (1 + len(found.pure.f))
        return self._numbers(begin, begin + 3 * len(found.names), 3)

    def _numbers(self, begin: int, end: int, width: int) -> Floats:
        drawn = self._drawn.copy()  # the study's thread adds to it
        parts = [drawn[draw][begin:end] for draw in sorted(drawn)]
        return np.array(parts, np.float64).reshape(len(parts), (end - begin) // width, width)

    def importance(self) -> pd.DataFrame:
        """Return `Interactions.importance` with "nats_low", "nats_high", "share_low" and "share_high": as far as the
        90 % band of the refits reaches from their median, about the model's own value; NaN until there are two.

        That median is below the model's value where it knows its rows nearly by heart (of letter at order 2 by 15 %):
        a refit knows rows of a large weight better still and is surer of them, so that muting anything seems to cost
        less. Where each refit chooses its tuples the band is the refits' own: that it begins at 0 says that the choice
        is not sure.
        """
        found = self.interactions
        if found is None:
            return pd.DataFrame()
        table = found.importance()
        drawn = self._weighed(found)
        place = [found.number_of(name) for name in table.index]
        for name, k in (("share", 0), ("nats", 2)):
            low, middle, high = _band(drawn[:, :, k])[:, place]
            moved = 0.0 if chooses(self.recipes[0]) else table[name].to_numpy() - middle
            table[f"{name}_low"], table[f"{name}_high"] = low + moved, high + moved
        table["nats_low"] = table["nats_low"].clip(lower=0.0)
        return table

    def effects(self, *columns: Any, of: Any, against: Any) -> pd.DataFrame:
        """Return a line per cell of a tuple of columns: what it adds to the log-odds of one class against another.

        columns: "levels", "rows", "pure", "median", "low" and "high" (the 90 % band of the refits) and "same_sign"
        (the share of them with the model's sign).
        """
        found = self.interactions
        if found is None:
            return pd.DataFrame()
        classes = [str(label) for label in found.classes.tolist()]
        for label in (of, against):
            if str(label) not in classes:
                raise RecipeError(f"no class {label!r} in the model; expected one of {classes[:8]}")
        k, other = classes.index(str(of)), classes.index(str(against))
        cells = found.pure.cells_of(found.number_of(columns))
        own = found.effects(*columns).iloc[:: len(classes)]
        pure = found.pure.f[cells, k] - found.pure.f[cells, other]
        f = self._refitted(found, cells)
        odds = f[:, :, k] - f[:, :, other]
        table = pd.DataFrame({"levels": own["levels"].to_numpy(), "rows": own["rows"].to_numpy(), "pure": pure})
        table["low"], table["median"], table["high"] = _band(odds)
        table["same_sign"] = np.nan if len(odds) < 2 else (np.sign(odds) == np.sign(pure)).mean(axis=0)
        return table


def _band(drawn: Floats) -> Floats:
    """(3, M) the 90 % band of draws (R, M) and, between its ends, their median; NaN of fewer than two."""
    if len(drawn) < 2:
        return np.full((3, drawn.shape[1]), np.nan)
    found: Floats = np.quantile(drawn, [BAND[0], 0.5, BAND[1]], axis=0, method=_WAY)
    return found


def no_bands(recipe: Recipe) -> str:
    """Return why refits of a recipe do not have the cells of its model; "" where they do."""
    params = recipe.params
    lacks = [name for name in ("order", "alpha", "keep") if isinstance(params.get(name), str)]
    if recipe.family not in FAMILIES or params.get("unit") == "cell":
        valid = f"one of {', '.join(FAMILIES)}, with whole tuples"
        return f"{recipe.name} has no cells that refits share; expected {valid}"
    if lacks:
        return f"{lacks[0]}={params[lacks[0]]!r} would be another in each refit; expected a number"
    if recipe.discretize == "auto":
        return "discretize='auto' would be another in each refit; expected 'smooth' or 'mdl-smooth'"
    if params.get("unseen") == "m-estimate":
        return "unseen='m-estimate' would be another in each refit; expected neutral"
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
    """Return the study of a model's pure effects and of how sure they are; nothing is begun.

    Args:
        dataset: the table.
        recipe: of lr, alr, hlr, halr, salr, hsalr or anje, with numbers for alpha, order and keep; None: hlr at order
            2, alpha 1. Of chosen tuples each refit chooses anew, and says 0 of those that it leaves out.
        refits: with rows weighed at random, for the bands; 0 for the model alone.
        holdout: share of the rows that losses are measured on; the split of `Run(dataset, recipe)` of that holdout.
        seed: of the split and of the weights.
        run_options: n_jobs, max_memory, scheduler, keep, owner (see `alrviz.studies.core.study_options.StudyOptions`).

    A row is a fit: draw (0 is the model), outcome, sentence, n_iter, train_log_loss, train_seconds. `interactions` of
    the study are the model's effects, `importance()` and `effects(...)` have the bands.

    Raises:
        RecipeError: a recipe whose settings or single cells would be chosen anew by each refit, or that has no cells.

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
    if why := no_bands(recipe):
        raise RecipeError(why)
    if not isinstance(refits, int) or refits < 0 or not 0 <= holdout < 1:
        raise RecipeError(f"refits={refits!r}, holdout={holdout!r}: expected a number of refits, and a share below 1")
    text, split = plain(recipe).to_json(), holdout_spec(holdout, seed)
    drawn = seed_of(seed, text, 0)
    tasks = [
        StudyTask("effects", text, dataset.hash, split, json.dumps({"draw": draw, "format": FORMAT}), drawn)
        for draw in range(refits + 1)
    ]
    asked = {"refits": refits, "holdout": holdout, "seed": seed}
    return EffectStudy("effect_bands", [dataset], [recipe], tasks, summary, asked, **run_options)


def taking_apart_seconds(rows: int, columns: int, classes: int, order: int, refits: int) -> float:
    """About how long it takes, beside all fits, to take a model and its refits apart, and to test the next order."""
    tuples, beyond = sum(comb(columns, n) for n in range(1, order + 1)), comb(columns, order + 1)
    tested = _TESTED * min(rows, _FILLED) * beyond * classes if beyond <= LOOKED else 0.0
    return (1 + refits) * _PURIFIED * rows * tuples * (classes + 4) + tested


def summary(study: Study) -> pd.DataFrame:
    """Return the importance of the tuples, with bands."""
    return study.importance() if isinstance(study, EffectStudy) else study.frame()


def _draw(task: StudyTask) -> int:
    return int(json.loads(task.options)["draw"])
