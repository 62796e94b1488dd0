"""Compute on a thread what the pictures of the DLR tab show: the model, the columns' curves, the path so far."""

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
    """Return a data set of these two columns and the class; the same object if there are no other columns."""
    other_names = [name for name in dataset.X.columns if name not in names]
    return dataset.with_kinds(**dict.fromkeys(other_names, "ignore")) if other_names else dataset


def log_bandwidths(scene: DensityFrame, log_h: np.ndarray, column: str, h: float) -> np.ndarray:
    """Return the log bandwidths of the scene's numeric columns, that of `column` set to h."""
    numeric_columns = [ratio.column for ratio in scene.columns if ratio.x is not None]
    bandwidths = np.array(log_h, dtype=np.float64)
    if column in numeric_columns and h > 0:
        bandwidths[numeric_columns.index(column)] = np.log(h)
    return bandwidths


@dataclass(frozen=True, eq=False)
class DlrFrame:
    """One frame of the pictures: a step of the run, dragged bandwidths, or drawn points.

    Attributes:
        model: the classifier of the map.
        scene: the columns' curves.
        path: bandwidths and losses of the run so far; None for drawn points.
        live: the model of dragged bandwidths or drawn points; None for a step of the run.
        run: the run; None for drawn points.
        X, y: the drawn points; None for rows of the table.
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
        """The density model inside the classifier."""
        return cast("DensityModel", self.model.model)

    @property
    def by_hand(self) -> bool:
        """Whether bandwidths were dragged."""
        return self.live is not None and self.run is not None

    @property
    def is_passing(self) -> bool:
        """Whether the weights have not been fitted to the dragged bandwidths yet."""
        return self.by_hand and self.live is not None and not self.live.is_finished


def of_run(run: Any, step_index: int, previous: DensityFrame | None, stop: StopToken) -> Iterator[DlrFrame]:
    """Yield the frame of a run's step, if the step has a model."""
    model = model_at(run, step_index)
    stop.check()
    if isinstance(model, StepModel):
        density = cast("DensityModel", model.model)
        labels = _labels_by_column(run.encoder)
        scene = density_frame_of(density, run.encoded, labels, iteration=model.step, previous=previous)
        stop.check()
        yield DlrFrame(model, scene, bandwidth_path(run), run=run)


def of_hand(
    run: Any, log_h: Floats, w: Floats, step: int, previous: DensityFrame | None, stop: StopToken, rest: float = 0.0
) -> Iterator[DlrFrame]:
    """Yield the frames of dragged bandwidths: the curves at once, then the model with fitted weights.

    rest: seconds between the two, so that a continued drag stops the work before the fit.
    """
    dragged = DensityModel(run.objective.features, w, np.clip(log_h, *run.objective.features.bounds))
    labels, path, nan = _labels_by_column(run.encoder), bandwidth_path(run), float("nan")
    not_refitted = LiveDensity(run.encoder, run.encoded, dragged, nan, nan, False)
    scene = density_frame_of(
        dragged, run.encoded, labels, iteration=step, note="By hand: the weights follow.", previous=previous
    )
    yield DlrFrame(_step_model(not_refitted, step), scene, path, not_refitted, run)
    stop.rest(rest)
    refitted = at_bandwidths(run, log_h, w, stop)
    note = f"By hand: NLL {refitted.nll:.4f} per training row."
    settled = density_frame_of(refitted.model, refitted.encoded, labels, iteration=step, note=note, previous=scene)
    stop.check()
    yield DlrFrame(_step_model(refitted, step), settled, path, refitted, run)


def of_points(
    X: pd.DataFrame, y: np.ndarray, recipe: Recipe, previous: DlrFrame | None, stop: StopToken, rest: float = 0.0
) -> Iterator[DlrFrame]:
    """Yield the frames of drawn points: with fitted weights at once, then the steps of the bandwidths.

    Args:
        X, y, recipe: the points and what is fitted to them.
        previous: the frame to start from. If its bandwidths were dragged, the fit starts from the run's step instead:
            NLL may be flat around dragged bandwidths, and a search would not leave them.
        stop: checked between frames.
        rest: seconds to wait first, in case more points follow.
    """
    stop.rest(rest)
    for fit in follow(X, y, recipe, _fitted_density(previous), stop):
        scene = density_frame_of(fit.model, fit.encoded, _labels_by_column(fit.encoder), note="Of the points drawn.")
        stop.check()
        yield DlrFrame(_step_model(fit, 0), scene, None, fit, None, X, y)


def peer_of_points(
    name: str, X: pd.DataFrame, y: np.ndarray, stop: StopToken, rest: float = 0.0
) -> tuple[Any, pd.DataFrame, np.ndarray]:
    """Return a peer fitted to drawn points, and the points. rest: seconds to wait first, in case more points follow."""
    stop.rest(rest)
    return fit_rows(name, X, y), X, y


def gram_of(frame: DlrFrame, classes: Sequence[str]) -> Gram:
    """Return the kernel's Gram matrix of the training rows of a frame."""
    encoded = (frame.live or frame.run).encoded
    return gram(frame.density.phi(*parts_of(encoded)).phi, encoded.y, classes)


def _fitted_density(frame: DlrFrame | None) -> DensityModel | None:
    """Return the density model of a frame; for dragged bandwidths that of the run's step."""
    if frame is None or not frame.by_hand:
        return None if frame is None else frame.density
    step_model = model_at(frame.run, frame.model.step)
    return cast("DensityModel", step_model.model) if isinstance(step_model, StepModel) else None


def _labels_by_column(encoder: Encoder) -> list[Any]:
    return [column.labels for column in encoder.columns_]


def _step_model(fit: LiveDensity, step: int) -> StepModel:
    return StepModel(step, fit.encoder.classes_, fit.encoder, fit.model)
