"""Compute on a thread what the pictures of the DLR tab show at one moment: the model, the scene, the path so far."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd

from alrviz.data.dataset import Dataset
from alrviz.data.encode import Encoder
from alrviz.fitting.recipe import Recipe
from alrviz.models.density_model import DensityModel, parts_of
from alrviz.passes.rows import Floats
from alrviz.stop import StopToken
from alrviz.studies.density.density_film import bandwidth_path, density_frame_of
from alrviz.studies.density.density_frames import BandwidthPath, DensityFrame
from alrviz.studies.density.gram import Gram, gram
from alrviz.studies.density.live_density import LiveDensity, at_bandwidths, follow
from alrviz.studies.maps.run_classifier import StepModel, model_at
from alrviz.studies.race.reference_fit import fit_rows


def table_of(dataset: Dataset, names: tuple[str, str]) -> Dataset:
    """Return a data set of these two columns and the class: the same one where there are no others."""
    rest = [name for name in dataset.X.columns if name not in names]
    return dataset.with_kinds(**dict.fromkeys(rest, "ignore")) if rest else dataset


def log_bandwidths(scene: DensityFrame, log_h: np.ndarray, column: str, h: float) -> np.ndarray:
    """Return the log bandwidths of the scene's numeric columns, that of `column` set to h."""
    numeric = [ratio.column for ratio in scene.columns if ratio.x is not None]
    changed = np.array(log_h, dtype=np.float64)
    if column in numeric and h > 0:
        changed[numeric.index(column)] = np.log(h)
    return changed


@dataclass(frozen=True, eq=False)
class DlrFrame:
    """One moment.

    Attributes:
        model: as maps ask it.
        scene: the columns' curves.
        path: bandwidths and losses of the run so far; None for drawn points.
        live: what a hand has made, None for a step of the run.
        run: the run it belongs to, None for drawn points.
        X, y: drawn points, None for rows of the table.
    """

    model: StepModel
    scene: DensityFrame
    path: BandwidthPath | None = None
    live: LiveDensity | None = None
    run: Any = None  # a `Run`, whose objective is DLR's
    X: pd.DataFrame | None = None
    y: np.ndarray | None = None

    @property
    def density(self) -> DensityModel:
        """What the model scores codes and numbers with."""
        return cast("DensityModel", self.model.model)

    @property
    def by_hand(self) -> bool:
        """Whether bandwidths were dragged."""
        return self.live is not None and self.run is not None

    @property
    def passing(self) -> bool:
        """Whether its weights are still to follow the bandwidths that were dragged."""
        return self.by_hand and self.live is not None and not self.live.settled


def of_run(run: Any, step: int, previous: DensityFrame | None, stop: StopToken) -> Iterator[DlrFrame]:
    """Yield the moment of a run's step, if it has a model there."""
    model = model_at(run, step)
    stop.check()
    if isinstance(model, StepModel):
        of = cast("DensityModel", model.model)
        scene = density_frame_of(of, run.encoded, _labels(run.encoder), iteration=model.step, previous=previous)
        stop.check()
        yield DlrFrame(model, scene, bandwidth_path(run), run=run)


def of_hand(
    run: Any, log_h: Floats, w: Floats, step: int, previous: DensityFrame | None, stop: StopToken, rest: float = 0.0
) -> Iterator[DlrFrame]:
    """Yield the moments of bandwidths that were dragged: the curves at once, then the weights that fit them.

    rest: seconds between the two; a hand that moves on meanwhile stops the work before it draws everything anew.
    """
    low, high = run.objective.features.bounds
    held = DensityModel(run.objective.features, w, np.clip(log_h, low, high))
    labels, path, nan = _labels(run.encoder), bandwidth_path(run), float("nan")
    first = LiveDensity(run.encoder, run.encoded, held, nan, nan, False)
    scene = density_frame_of(
        held, run.encoded, labels, iteration=step, note="By hand: the weights follow.", previous=previous
    )
    yield DlrFrame(_model(first, step), scene, path, first, run)
    stop.rest(rest)
    live = at_bandwidths(run, log_h, w, stop)
    note = f"By hand: NLL {live.nll:.4f} per training row."
    settled = density_frame_of(live.model, live.encoded, labels, iteration=step, note=note, previous=scene)
    stop.check()
    yield DlrFrame(_model(live, step), settled, path, live, run)


def of_points(
    X: pd.DataFrame, y: np.ndarray, recipe: Recipe, before: DlrFrame | None, stop: StopToken, rest: float = 0.0
) -> Iterator[DlrFrame]:
    """Yield the moments of points that were drawn: the weights follow at once, the bandwidths step by step.

    before: the moment to go on from. Of dragged bandwidths it is the step they were dragged at: far out NLL is flat,
    and a search that starts there stays there. rest: seconds to wait first, for a hand that goes on.
    """
    stop.rest(rest)
    for live in follow(X, y, recipe, _fitted(before), stop):
        scene = density_frame_of(live.model, live.encoded, _labels(live.encoder), note="Of the points drawn.")
        stop.check()
        yield DlrFrame(_model(live, 0), scene, None, live, None, X, y)


def peer_of_points(
    name: str, X: pd.DataFrame, y: np.ndarray, stop: StopToken, rest: float = 0.0
) -> tuple[Any, pd.DataFrame, np.ndarray]:
    """Return a peer fitted to points that were drawn, after so many seconds in which nothing else was asked."""
    stop.rest(rest)
    return fit_rows(name, X, y), X, y


def gram_of(moment: DlrFrame, classes: Sequence[str]) -> Gram:
    """Return the kernel's Gram matrix of training rows at a moment."""
    encoded = (moment.live or moment.run).encoded
    return gram(moment.density.phi(*parts_of(encoded)).phi, encoded.y, classes)


def _fitted(moment: DlrFrame | None) -> DensityModel | None:
    """The model of a moment, as a fit and no hand left it."""
    if moment is None or not moment.by_hand:
        return None if moment is None else moment.density
    found = model_at(moment.run, moment.model.step)
    return cast("DensityModel", found.model) if isinstance(found, StepModel) else None


def _labels(encoder: Encoder) -> list[Any]:
    return [column.labels for column in encoder.columns_]


def _model(live: LiveDensity, step: int) -> StepModel:
    return StepModel(step, live.encoder.classes_, live.encoder, live.model)
