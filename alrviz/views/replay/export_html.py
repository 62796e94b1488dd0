"""Export a race, bandwidth film or path as one HTML file that plays in any browser, offline and without Python.

    alrviz.save_replay(race, "race.html")

A race has all measures of a `RaceView`, along iterations, passes and seconds. A race of one dlr recipe fitted in this
process becomes a film of bandwidths, losses and each column's contribution to the score.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np

from alrviz import __version__
from alrviz.errors import AlrvizError, capitalize
from alrviz.models.density_model import DensityModel
from alrviz.pictures.columns import class_colours
from alrviz.pictures.convergence import RacerCurve, grey_levels, penalties
from alrviz.pictures.measures import AXES, along_label, axis_label, is_log, values
from alrviz.pictures.palette import COLUMN_COLOURS, GREY, family_shades, racer_colours, readable
from alrviz.pictures.replay import STEPS, Film, ReplayAxis, ReplayLine, ReplayPanel, View, kept_steps, replay_html
from alrviz.pictures.replay_map import MOST_CLASSES, Ground
from alrviz.studies.core.export import race_provenance
from alrviz.studies.density.density_frames import BandwidthPath, DensityFrame
from alrviz.studies.maps.decision_map import film_axes, film_map
from alrviz.studies.maps.run_classifier import model_at
from alrviz.studies.race.race import Race
from alrviz.studies.race.race_summary import UNDECIDED, leading_verdict
from alrviz.studies.race.recorded import as_race
from alrviz.studies.race.verdict import verdict
from alrviz.studies.statistics.verdict import Verdict
from alrviz.views.core.trace_reader import RaceReader
from alrviz.views.maps.texts import others_words
from alrviz.views.replay.path import path_film

SHORT_NAMES = {
    "nll": "training", "gap": "above the lowest", "gradient": "norm", "heldout": "", "error": "training",
    "rmse": "training", "alpha": "alpha",
}  # fmt: skip
MAX_SCENES = 120  # steps of a bandwidth film
SCENE_COST = 5  # steps of a race that take as many bytes as one scene
MAX_PANELS = 6  # columns whose curves are shown: the most important ones
MAX_VERDICTS = 120  # progress verdicts of a race
CURVE_POINT_STRIDE = 2  # every second point of a curve is stored


def save_replay(race: Any, path: Any) -> None:
    """Write a race or path as one HTML file that plays it.

    Args:
        race: result of `alrviz.race` with at least one step; a recorded race; a fitted estimator; or a finished
            `alrviz.alpha_path`.
        path: path of the file.

    Raises:
        AlrvizError: if there is no step or path yet, or `race` cannot be replayed (`TableError` for a data set).

    >>> import alrviz, tempfile, pathlib
    >>> race = alrviz.race(alrviz.load_demo("led", rows=300), [alrviz.Recipe("lr", order=1, alpha=1, max_iter=5)])
    >>> race.start(), race.join()
    (None, True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     alrviz.save_replay(race, f"{folder}/race.html")
    ...     pathlib.Path(folder, "race.html").stat().st_size < 100_000
    True
    """
    html = replay(race)
    Path(os.fspath(path)).write_text(html, encoding="utf-8", newline="")


def replay(race: Any) -> str:
    """Return the HTML page that `save_replay` writes of a race."""
    return replay_html(film_of(race))


def film_of(race: Any, measure: str = "", max_steps: int = STEPS) -> Film:
    """Return the film of a race, fit or path.

    Args:
        race: as for `save_replay`.
        measure: shown first; "" or one that it does not have: of a race the distance to the lowest loss, of a path the
            log loss.
        max_steps: approximate number of steps kept; of a bandwidth film a fifth, as its steps are larger.
    """
    if getattr(race, "kind", None) == "path":
        return path_film(race, measure)
    race = as_race(race)
    reader = RaceReader(race, limit=race.stopped_at)
    reader.pull()
    if reader.last < 0:
        raise AlrvizError("there is nothing to replay: the race has no step yet; start it, and join or stop it")
    reader.move(reader.last)
    run: Any = race.runs[0]
    is_film = len(race.runs) == 1 and isinstance(run.model, DensityModel)
    return (
        _bandwidth_film(race, reader, max_steps) if is_film else race_film(reader, measure=measure, max_steps=max_steps)
    )


def race_film(
    reader: RaceReader, *, measure: str = "", by: str = "you", max_steps: int = STEPS, has_ended: bool | None = None
) -> Film:
    """Return the film of a race.

    Args:
        reader: the race.
        measure: the one shown first, as for `film_of`.
        by: who stopped it, if it was stopped.
        max_steps: approximate number of steps kept of a long race.
        has_ended: whether the last verdict is final; by default whether the race has ended.
    """
    has_ended = reader.race.ended if has_ended is None else has_ended
    curves = reader.curves()
    n_racers, curves = len(curves), [*curves, *penalties(curves)]
    steps = kept_steps(reader.last, [len(racer) - 1 for racer in reader.racers], max_steps)
    curve_groups = curves[:n_racers], curves[n_racers:]
    light, dark = (
        [colour for group in curve_groups for colour in racer_colours([curve.label for curve in group], ground)]
        for ground in (False, True)
    )
    lines = [
        ReplayLine(
            name=curve.name, light=light[k], dark=dark[k],
            x=[_values_at(curve.columns[column], steps) for column, _ in AXES.values()],
        )
        for k, curve in enumerate(curves)
    ]  # fmt: skip
    views = {name: _view(name, *curve_groups, steps, reader) for name in reader.measures}
    view_by_measure = {
        name: view
        for name, view in views.items()
        if any(y is not None and np.isfinite(y).any() for y in (*view.train, *view.heldout))
    }
    first_measure = measure if measure in view_by_measure else "gap" if "gap" in views else "nll"
    names = [curve.name for curve in curve_groups[0]]
    result = verdict([racer.summary(ended=has_ended) for racer in reader.racers], stopped_by=by)
    verdicts = [*_progress_verdicts(reader, steps, has_ended), (len(steps) - 1, result)]
    return Film(
        title=_title(reader.race, " and ".join(names[:2]) if len(names) < 3 else f"{len(names)} models"),
        counted=reader.step_name,
        steps=steps,
        verdicts=verdicts,
        axes=[ReplayAxis(word, label) for word, (_, label) in AXES.items()],
        lines=lines,
        views=list(view_by_measure.values()),
        measure=list(view_by_measure).index(first_measure) if first_measure in view_by_measure else 0,
        about=_origin_lines(reader.race),
    )


def _progress_verdicts(reader: RaceReader, steps: Any, has_ended: bool) -> list[tuple[int, Verdict]]:
    """Return verdicts by step; before the race has ended only that it is running: this is sent repeatedly."""
    last_position = len(steps) - 1
    if not has_ended:
        return [(0, UNDECIDED)] if last_position else []
    positions = range(0, last_position, max(1, last_position // MAX_VERDICTS))
    return [(k, leading_verdict([racer.summary(upto=int(steps[k])) for racer in reader.racers])) for k in positions]


def _view(name: str, racers: list[RacerCurve], alphas: list[RacerCurve], steps: Any, reader: RaceReader) -> View:
    """Return the lines of the measure `name` at these steps: those of the racers, or of their alphas; else None."""
    curves, curves_before, curves_after = (alphas, racers, []) if name == "alpha" else (racers, [], alphas)
    train, heldout = (
        [None] * len(curves_before)
        + [_values_at(values(curve.columns, name, sample_name, curve.rows), steps) for curve in curves]
        + [None] * len(curves_after)
        for sample_name in ("train", "heldout")
    )
    minima = [curve.best / curve.rows for curve in (*racers, *alphas)] if name == "gap" else []
    grey_heights, floor = grey_levels(name, reader.levels(), curves)
    label = axis_label(name, reader.to_zero)
    return View(
        label=label, short=SHORT_NAMES[name], log=is_log(name, reader.to_zero), train=train, heldout=heldout,
        less=minima, floor=floor or 0.0, grey=grey_heights,
        along=[along_label(axis, measure=name) for axis in AXES],
    )  # fmt: skip


def _values_at(column: Any, steps: Any) -> Any:
    """Return a column at the film's steps, NaN beyond its end."""
    step_values = np.full(len(steps), np.nan)
    has_value = steps < len(column)
    step_values[has_value] = np.asarray(column, float)[steps[has_value]]
    return step_values


def _title(race: Race, subject: str) -> str:
    name = getattr(race.dataset, "name", "")
    return f"{subject} on {name}" if name else subject


def _origin_lines(race: Race) -> list[str]:
    origin_lines = [f"{name}: {value}" for name, value in race_provenance(race, __version__).items()]
    return [*origin_lines, *(f"{recipe.name}\n  {recipe.to_json()}" for recipe in race.recipes)]


# ---- bandwidths -----------------------------------------------------------------------------------------------------


def _bandwidth_film(race: Race, reader: RaceReader, max_steps: int = STEPS) -> Film:
    """Return the film of a dlr fit: bandwidths and losses as lines, each column's contribution as a panel."""
    from alrviz.studies.density.density_film import bandwidth_path, density_frame_of

    run: Any = race.runs[0]  # a dlr fit, with its encoder and rows
    path = bandwidth_path(run)
    scene_positions = kept_steps(len(path.iterations) - 1, max_steps=min(MAX_SCENES, max_steps // SCENE_COST))
    labels = [column.labels for column in run.encoder.columns_]
    scenes: list[DensityFrame] = []
    models: list[Any] = []
    for step in path.iterations[scene_positions].tolist():
        model: Any = model_at(run, step)
        previous_scene = scenes[-1] if scenes else None
        scenes.append(density_frame_of(model.model, run.encoded, labels, iteration=step, previous=previous_scene))
        models.append(model)
    x = [path.iterations[scene_positions].astype(float)]
    light, dark = (family_shades(reader.racers[0].label, 2, ground) for ground in (False, True))
    names = (reader.racers[0].name, "validation rows")
    losses = [ReplayLine(name=name, light=light[k], dark=dark[k], x=x) for k, name in enumerate(names)]
    columns = _column_lines(path, x)
    no_lines: list[Any] = [None] * len(columns)
    training, validation, heldout = path.losses["training"], *map(path.losses.get, ("validation", "test"))
    ratios = [path.ratios[scene_positions, d] for d in range(len(columns))]
    loss_view = View(
        label="loss per row (nats)", short="training", log=False,
        train=[None if part is None else part[scene_positions] for part in (training, validation)] + no_lines,
        heldout=[None if heldout is None else heldout[scene_positions], None, *no_lines],
    )  # fmt: skip
    bandwidth_view = View(
        label="bandwidth / Silverman's, log scale", short="bandwidth / Silverman's", log=True,
        train=[None, None, *ratios], heldout=[None, None, *no_lines], grey={"Silverman's": 1.0},
    )  # fmt: skip
    outcome_text = run.outcome.sentence if run.outcome is not None else "the fit goes on"
    losses_text = f"The training loss fell from {training[0]:.4g} to {training[-1]:.4g}"
    end_verdict = Verdict(f"{losses_text} in {path.iterations[-1]} iterations.", f"{capitalize(outcome_text)}.")
    return Film(
        title=_title(race, f"The bandwidths of {reader.racers[0].name}"),
        counted="iteration",
        steps=x[0],
        verdicts=[
            (0, Verdict("The fit begins.")),
            *([(1, Verdict("Bandwidths and weights move."))] if len(scene_positions) > 2 else []),
            (len(scene_positions) - 1, end_verdict),
        ],
        axes=[ReplayAxis("iterations", "iterations")],
        lines=[*losses, *columns],
        views=[bandwidth_view, loss_view] if columns else [loss_view],
        panels=_panels(scenes),
        ground=_decision_ground(scenes[-1], models, race.dataset),
        about=_origin_lines(race),
    )  # fmt: skip


def _column_lines(path: BandwidthPath, x: Any) -> list[ReplayLine]:
    """Return a line for each column's bandwidth at the steps x; those that changed most are coloured."""
    movement = np.nanmax(np.abs(np.log(np.maximum(path.ratios, 1e-300))), axis=0) if len(path.columns) else np.empty(0)
    colour_by_column = {int(d): COLUMN_COLOURS[k] for k, d in enumerate(np.argsort(-movement)[: len(COLUMN_COLOURS)])}
    return [
        ReplayLine(
            name=name, light=colour_by_column.get(d, GREY), dark=readable(colour_by_column.get(d, GREY), dark=True), x=x
        )
        for d, name in enumerate(path.columns)
    ]


def _decision_ground(last_scene: DensityFrame, models: list[Any], dataset: Any) -> Ground | None:
    """Return the decision map of the model at every step, if the dataset has two columns for its axes.

    last_scene: the last step's columns, by importance.
    """
    axes = film_axes(last_scene, dataset) if len(last_scene.classes) <= MOST_CLASSES else None
    if axes is None:
        return None
    surfaces = [film_map(model, dataset, axes, points=model is models[-1]) for model in models]
    return Ground(surfaces=surfaces, note=others_words("typical", 0, dataset.X.shape[1] - 2))


def _panels(scenes: list[DensityFrame]) -> list[ReplayPanel]:
    """Return panels of the most important columns: their contribution to the score in each of the scenes (steps)."""
    last_scene = scenes[-1]
    shown_columns = sorted(range(len(last_scene.columns)), key=lambda d: -last_scene.columns[d].importance)[:MAX_PANELS]
    classes = last_scene.classes
    panels = []
    for column in shown_columns:
        ratio = last_scene.columns[column]
        stride = CURVE_POINT_STRIDE if ratio.x is not None else 1
        frames = np.array([np.atleast_2d(scene.columns[column].weighted.T)[:, ::stride] for scene in scenes])
        values_at_rug = [scene.columns[column].at_rows(scene.columns[column].weighted).ravel() for scene in scenes]
        bottom, top = (
            min(0.0, *(float(s.min()) for s in values_at_rug)),
            max(0.0, *(float(s.max()) for s in values_at_rug)),
        )
        margin = 0.12 * max(top - bottom, 0.1)
        rug = list(zip(ratio.rug.tolist(), ratio.rug_class.tolist(), strict=True))
        notes = [f"h = {scene.columns[column].bandwidth:.3g}" if ratio.x is not None else "" for scene in scenes]
        meaning_text = f"toward {classes[1]}" if len(classes) == 2 else "toward each class"
        panels.append(
            ReplayPanel(
                name=f"{ratio.column}: what it adds {meaning_text}", frames=frames,
                low=bottom - margin, high=top + margin,
                colours=["text"] if frames.shape[1] == 1 else class_colours(len(classes)),
                x=None if ratio.x is None else ratio.x[::stride], levels=ratio.levels, rug=rug,
                rug_colours=class_colours(len(classes)), notes=notes,
            )
        )  # fmt: skip
    return panels
