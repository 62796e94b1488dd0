"""Replays: a race, a film of bandwidths or a path as one HTML file that plays in any browser, without Python or a net.

    alrviz.save_replay(race, "race.html")

A race shows what a `RaceView` shows: every measure, along iterations, passes and seconds. A race of one dlr recipe that
was fitted here is a film: bandwidths, losses, and what each column adds to the score at every step.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np

from alrviz import __version__
from alrviz.errors import AlrvizError
from alrviz.models.density_model import DensityModel
from alrviz.pictures.columns import class_colours
from alrviz.pictures.convergence import BEST, RacerCurve, penalties
from alrviz.pictures.measures import AXES, MEASURES, along_label, axis_label, gap_floor, is_log, values
from alrviz.pictures.palette import COLUMN_COLOURS, GREY, family_shades, racer_colours, readable
from alrviz.pictures.replay import STEPS, Film, ReplayAxis, ReplayLine, ReplayPanel, View, kept_steps, replay_html
from alrviz.pictures.replay_map import MOST_CLASSES, Ground
from alrviz.studies.core.export import race_provenance
from alrviz.studies.density.density_frames import BandwidthPath, DensityFrame
from alrviz.studies.maps.film_maps import film_axes, film_map
from alrviz.studies.maps.run_classifier import model_at
from alrviz.studies.race.race import Race
from alrviz.studies.race.race_summary import UNDECIDED, leader_text
from alrviz.studies.race.recorded import as_race
from alrviz.studies.race.verdict import verdict
from alrviz.views.core.trace_reader import RaceReader
from alrviz.views.maps.words import others_words
from alrviz.views.replay.path import path_film

SHORT = {
    "nll": "training", "gap": "suboptimality", "gradient": "norm", "heldout": "", "error": "training",
    "rmse": "training", "alpha": "alpha",
}  # fmt: skip
SCENES = 120  # steps of a film of bandwidths
COLUMNS = 6  # columns whose curves are shown: those that move scores most
SAID = 120  # sentences on the way of a race
PLACES = 2  # of the places of a curve one in so many


def save_replay(race: Any, path: Any) -> None:
    """Write a race, or a path, as one HTML file that plays it.

    Args:
        race: what `alrviz.race` returned, run at least one step; a recorded race; a fitted estimator; or what
            `alrviz.alpha_path` returned, run.
        path: path of the file.

    Raises:
        AlrvizError: there is no step yet, or no path; of what can not be replayed (`TableError` of a data set).

    >>> import alrviz, tempfile, pathlib
    >>> race = alrviz.race(alrviz.load_demo("led", rows=300), [alrviz.Recipe("lr", order=1, max_iter=5)])
    >>> race.start(), race.join()
    (None, True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     alrviz.save_replay(race, f"{folder}/race.html")
    ...     pathlib.Path(folder, "race.html").stat().st_size < 100_000
    True
    """
    text = replay(race)
    Path(os.fspath(path)).write_text(text, encoding="utf-8", newline="")


def replay(race: Any) -> str:
    """Return the page that `save_replay` writes."""
    if getattr(race, "kind", None) == "path":
        return replay_html(path_film(race))
    race = as_race(race)
    watched = RaceReader(race, limit=race.stopped_at)
    watched.pull()
    if watched.last < 0:
        raise AlrvizError("there is nothing to replay: the race has no step yet; start it, and join or stop it")
    watched.move(watched.last)
    run: Any = race.runs[0]  # a dlr fit, with its encoder and rows
    is_film = len(race.runs) == 1 and isinstance(run.model, DensityModel)
    return replay_html(_bandwidth_film(race, watched) if is_film else race_film(watched))


def race_film(watched: RaceReader, *, by: str = "you", most: int = STEPS, over: bool | None = None) -> Film:
    """Return the film of a race by what was read of it: every racer, every measure.

    by: who stopped it, should it have been stopped. most: steps that are kept of a long one, about. over: whether its
    end is told; without it, if it has ended.
    """
    over = watched.race.ended if over is None else over
    curves = watched.curves()
    racers, curves = len(curves), [*curves, *penalties(curves)]
    steps = kept_steps(watched.last, [len(racer) - 1 for racer in watched.racers], most)
    parts = curves[:racers], curves[racers:]
    light, dark = (
        [c for part in parts for c in racer_colours([curve.label for curve in part], ground)]
        for ground in (False, True)
    )
    lines = [
        ReplayLine(
            name=curve.name, light=light[k], dark=dark[k],
            x=[_at(curve.columns[column], steps) for column, _ in AXES.values()],
        )
        for k, curve in enumerate(curves)
    ]  # fmt: skip
    views = {name: _view(name, *parts, steps, watched) for name in watched.measures}
    shown = {
        name: view
        for name, view in views.items()
        if any(y is not None and np.isfinite(y).any() for y in (*view.train, *view.heldout))
    }
    first = "gap" if "gap" in views else "nll"
    names = [curve.name for curve in parts[0]]
    result = verdict([racer.lane(ended=over) for racer in watched.racers], by=by)
    sentences = [*_racing(watched, steps, over), (len(steps) - 1, result.sentence)]
    return Film(
        title=_title(watched.race, " and ".join(names[:2]) if len(names) < 3 else f"{len(names)} racers"),
        counted=watched.counted,
        steps=steps,
        sentences=sentences,
        axes=[ReplayAxis(word, label) for word, (_, label) in AXES.items()],
        lines=lines,
        views=list(shown.values()),
        measure=list(shown).index(first) if first in shown else 0,
        about=_about(watched.race),
    )


def _racing(watched: RaceReader, steps: Any, over: bool) -> list[tuple[int, str]]:
    """What is said on the way. Of a race that goes on only that it does: all of it would be told again and again."""
    last = len(steps) - 1
    if not over:
        return [(0, UNDECIDED)] if last else []
    places = range(0, last, max(1, last // SAID))
    return [(k, leader_text([racer.lane(upto=int(steps[k])) for racer in watched.racers])) for k in places]


def _view(name: str, racers: list[RacerCurve], alphas: list[RacerCurve], steps: Any, watched: RaceReader) -> View:
    """What lines of racers show of a measure, or those of their alphas."""
    curves, before, after = (alphas, racers, []) if name == "alpha" else (racers, [], alphas)
    train, heldout = (
        [None] * len(before)
        + [_at(values(curve.columns, name, part, curve.rows), steps) for curve in curves]
        + [None] * len(after)
        for part in ("train", "heldout")
    )
    gap = name == "gap"
    less = [curve.best / curve.rows for curve in (*racers, *alphas)] if gap else []
    floor = gap_floor(values(c.columns, name, "train", c.rows, c.best) for c in curves) if gap else None
    levels = watched.levels()
    grey = {words: levels[key] for key, words in MEASURES[name].grey if np.isfinite(levels.get(key, np.nan))}
    grey |= {} if floor is None else {BEST: floor}
    label = axis_label(name, watched.to_zero)
    return View(
        label=label, short=SHORT[name], log=is_log(name, watched.to_zero), train=train, heldout=heldout,
        less=less, floor=floor or 0.0, grey=grey,
        along=[along_label(axis, measure=name) for axis in AXES],
    )  # fmt: skip


def _at(column: Any, steps: Any) -> Any:
    """A racer's column at the film's steps, NaN beyond its end."""
    values_at = np.full(len(steps), np.nan)
    within = steps < len(column)
    values_at[within] = np.asarray(column, float)[steps[within]]
    return values_at


def _title(race: Race, what: str) -> str:
    name = getattr(race.dataset, "name", "")
    return f"{what} on {name}" if name else what


def _about(race: Race) -> list[str]:
    lines = [f"{name}: {value}" for name, value in race_provenance(race, __version__).items()]
    return [*lines, *(f"{recipe.name}\n  {recipe.to_json()}" for recipe in race.recipes)]


# ---- bandwidths -----------------------------------------------------------------------------------------------------


def _bandwidth_film(race: Race, watched: RaceReader) -> Film:
    """The film of a dlr fit: bandwidths and losses as lines, what columns add as panels."""
    from alrviz.studies.density.density_film import bandwidth_path, density_frame_of

    run: Any = race.runs[0]  # a dlr fit, with its encoder and rows
    path = bandwidth_path(run)
    places = kept_steps(len(path.iterations) - 1, most=SCENES)
    labels = [column.labels for column in run.encoder.columns_]
    scenes: list[DensityFrame] = []
    models: list[Any] = []
    for step in path.iterations[places].tolist():
        model: Any = model_at(run, step)
        previous = scenes[-1] if scenes else None
        scenes.append(density_frame_of(model.model, run.encoded, labels, iteration=step, previous=previous))
        models.append(model)
    x = [path.iterations[places].astype(float)]
    columns, losses = _column_lines(path, x), _loss_line(watched, path, x)
    nothing: list[Any] = [None] * len(columns)
    training, validation, heldout = path.losses["training"], *map(path.losses.get, ("validation", "test"))
    ratios = [path.ratios[places, d] for d in range(len(columns))]
    nll = View(
        label="NLL per row (nats)", short="training", log=False,
        train=[None if part is None else part[places] for part in (training, validation)] + nothing,
        heldout=[None if heldout is None else heldout[places], None, *nothing],
    )  # fmt: skip
    widths = View(
        label="bandwidth over Silverman's, log scale", short="h / Silverman's", log=True,
        train=[None, None, *ratios], heldout=[None, None, *nothing], grey={"Silverman's": 1.0},
    )  # fmt: skip
    outcome = run.outcome.sentence if run.outcome is not None else "the fit goes on"
    end = f"NLL per row went from {training[0]:.4g} to {training[-1]:.4g} in {path.iterations[-1]} steps: {outcome}."
    return Film(
        title=_title(race, f"The bandwidths of {watched.racers[0].name}"),
        counted="step",
        steps=x[0],
        sentences=[(0, "The fit begins."), *([(1, "Bandwidths and weights move.")] if len(places) > 2 else []),
                   (len(places) - 1, end)],
        axes=[ReplayAxis("steps", "steps")],
        lines=[*losses, *columns],
        views=[widths, nll] if columns else [nll],
        panels=_panels(scenes),
        ground=_ground(scenes[-1], models, race.dataset),
        about=_about(race),
    )  # fmt: skip


def _loss_line(watched: RaceReader, path: BandwidthPath, x: Any) -> list[ReplayLine]:
    label = watched.racers[0].label
    light, dark = (family_shades(label, 2, ground) for ground in (False, True))
    names = (watched.racers[0].name, "validation rows")
    return [ReplayLine(name=name, light=light[k], dark=dark[k], x=x) for k, name in enumerate(names)]


def _column_lines(path: BandwidthPath, x: Any) -> list[ReplayLine]:
    """A line a column; those that moved most have colours."""
    moved = np.nanmax(np.abs(np.log(np.maximum(path.ratios, 1e-300))), axis=0) if len(path.columns) else np.empty(0)
    coloured = {int(d): COLUMN_COLOURS[k] for k, d in enumerate(np.argsort(-moved)[: len(COLUMN_COLOURS)])}
    return [
        ReplayLine(name=name, light=coloured.get(d, GREY), dark=readable(coloured.get(d, GREY), dark=True), x=x)
        for d, name in enumerate(path.columns)
    ]


def _ground(last: DensityFrame, models: list[Any], dataset: Any) -> Ground | None:
    """The decision map at every step, where there are two columns for it."""
    axes = film_axes(last, dataset) if len(last.classes) <= MOST_CLASSES else None
    if axes is None:
        return None
    surfaces = [film_map(model, dataset, axes, points=model is models[-1]) for model in models]
    return Ground(surfaces=surfaces, note=others_words("typical", 0, dataset.X.shape[1] - 2))


def _panels(scenes: list[DensityFrame]) -> list[ReplayPanel]:
    """What the columns that matter most at the end add to the score, at every step."""
    final = scenes[-1]
    order = sorted(range(len(final.columns)), key=lambda d: -final.columns[d].importance)[:COLUMNS]
    classes = final.classes
    panels = []
    for d in order:
        last = final.columns[d]
        every = PLACES if last.x is not None else 1
        frames = np.array([np.atleast_2d(scene.columns[d].weighted.T)[:, ::every] for scene in scenes])
        at_rows = [scene.columns[d].at_rows(scene.columns[d].weighted).ravel() for scene in scenes]
        low, high = min(0.0, *(float(s.min()) for s in at_rows)), max(0.0, *(float(s.max()) for s in at_rows))
        air = 0.12 * max(high - low, 0.1)
        rug = list(zip(last.rug.tolist(), last.rug_class.tolist(), strict=True))
        notes = [f"h = {scene.columns[d].bandwidth:.3g}" if last.x is not None else "" for scene in scenes]
        speaks = f"toward {classes[1]}" if len(classes) == 2 else "toward each class"
        panels.append(
            ReplayPanel(
                name=f"{last.column}: what it adds {speaks}", frames=frames, low=low - air, high=high + air,
                colours=["text"] if frames.shape[1] == 1 else class_colours(len(classes)),
                x=None if last.x is None else last.x[::every], levels=last.levels, rug=rug,
                rug_colours=class_colours(len(classes)), notes=notes,
            )
        )  # fmt: skip
    return panels
