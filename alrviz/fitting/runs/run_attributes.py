"""The attributes of a run for readers, from any thread at any time; None or empty while they are unknown."""

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from alrviz.data.stream.table import Stream
from alrviz.fitting.cost.estimate import Estimate
from alrviz.fitting.families.build_fit import Fit
from alrviz.fitting.objectives.ridge import FitObjective
from alrviz.fitting.prepare import TrainingData
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.snapshots import Snapshots
from alrviz.fitting.runs.trace import Trace
from alrviz.fitting.solvers.state import SolverState
from alrviz.models.linear import LinearModel
from alrviz.models.tables import Tables
from alrviz.models.tuple_selection import Level
from alrviz.passes.rows import Floats

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.data.encoded import Encoded
    from alrviz.data.stream.table import EncodedTable
    from alrviz.models.density_model import DensityModel
    from alrviz.models.networks import NetworkModel


class RunAttributes:
    """The readable side of a run; `Run` sets its fields."""

    dataset: "Dataset | Stream | None"
    recipe: Recipe
    trace: Trace
    estimate: Estimate | None
    _prepared: TrainingData | None
    coded: "EncodedTable | None"  # the encoded table of a `Stream`
    _scheduler: object
    _fit: Fit | None
    tables: Tables | None  # the counts; None before they are made
    _levels: list[Level]
    _choices: list[str]
    state: SolverState | None
    _snapshots: Snapshots

    @property
    def solver(self) -> str:
        """The solver that runs, with "auto" and the memory rule applied; the recipe's before that is known.

        For a table read in batches it is "undecided" until a sample has chosen.
        """
        if self.estimate and self.estimate.choice:
            return "undecided" if self.estimate.choice.solver == "auto" else self.estimate.choice.solver
        batches = isinstance(self.dataset, Stream) and self.recipe.params.get("solver") == "auto"
        return "undecided" if batches else self.recipe.solver

    @property
    def name(self) -> str:
        """The recipe's name in one line, with the solver that runs."""
        recipe = self.recipe
        return recipe.definition.title(
            recipe.params if self.solver == "none" else {**recipe.params, "solver": self.solver}
        )

    @property
    def passes_before(self) -> float:
        """Passes that counting and selecting took over a table read in batches, once they are done; else 0."""
        return (self._fit.passes_before or 0.0) if self._fit else 0.0

    @property
    def encoded(self) -> "Encoded | None":
        """The encoded training rows, once prepared; None for a table read in batches."""
        return self._prepared.encoded if self._prepared else None

    @property
    def holdout(self) -> "Encoded | None":
        """The encoded held-out rows, once prepared; None without any."""
        return self._prepared.holdout if self._prepared else None

    @property
    def encoder(self) -> Any:
        """The encoder fitted on the training rows; None until the rows are prepared."""
        rows = self.coded or self._prepared
        return rows.encoder if rows else None

    @property
    def choices(self) -> list[str]:
        """A sentence for each setting that was chosen ("auto"), with the reason."""
        return [*self._choices]

    @property
    def notes(self) -> list[str]:
        """Sentences on settings that batches or the cluster do not support, and on chosen settings."""
        notes = [*(self.coded.notes if self.coded else []), *self._choices]
        if (
            self._scheduler is not None
            and self.estimate
            and self.estimate.choice
            and self.estimate.choice.solver in ("adagrad", "averaged")
        ):
            notes.append("steps row by row run on this machine; sums over rows run on the cluster")
        return notes

    @property
    def levels(self) -> tuple[Level, ...]:
        """The tuples that were scored and kept, level by level; () if the family selects none."""
        return tuple(self._levels)

    @property
    def scale(self) -> Floats | None:
        """scale (S + 1, C) of phi = scale * w[owner], once prepared; the last row belongs to the intercepts."""
        return self._fit.objective.scale if self._fit else None

    @property
    def objective(self) -> FitObjective | None:
        """The objective, once prepared."""
        return self._fit.objective if self._fit else None

    @property
    def model(self) -> "LinearModel | DensityModel | NetworkModel | None":
        """The model at the latest step."""
        return self._fit.objective.model(self.state.point.w) if self._fit and self.state else None

    @property
    def snapshots(self) -> list[int]:
        """Indices of the steps whose weights are stored."""
        return self._snapshots.indices

    def model_at(self, index: int) -> "tuple[int, LinearModel | DensityModel | NetworkModel]":
        """Return the stored step at or before `index`, and the model there, with weights in single precision."""
        stored_index, w = self._snapshots.at_or_before(index)
        assert self._fit is not None
        return stored_index, self._fit.objective.model(w.astype(np.float64))

    @property
    def separation(self) -> "MappingProxyType[str, float]":
        """Signs of separation: share of (cell, class) pairs with count 0, of rows classified correctly, norm of phi."""
        extra, nan = self.trace[-1].extra if len(self.trace) else {}, float("nan")
        empty_share = self.tables.empty_share if self.tables else nan
        return MappingProxyType(
            {"empty_share": empty_share, "lead": extra.get("lead", nan), "phi_norm": extra.get("phi_norm", nan)}
        )
