"""Film of a path from the strongest to the weakest penalty: losses as lines, and the distribution of the weights."""

from typing import Any

import numpy as np

from alrviz import __version__
from alrviz.errors import AlrvizError
from alrviz.fitting.recipe import Recipe
from alrviz.pictures.formatting import LOSSES
from alrviz.pictures.palette import racer_colours
from alrviz.pictures.replay import Film, ReplayAxis, ReplayLine, ReplayPanel, View
from alrviz.studies.protocols.alpha_path_verdict import alpha_text, generative_name, path_names, path_verdict, paths_of
from alrviz.studies.statistics.verdict import Verdict


def path_film(study: Any, measure: str = "") -> Film:
    """Return the film of a study by `alrviz.alpha_path` as far as it has computed.

    measure: the one shown first; "" or one that it does not have: the first of `LOSSES`.

    Raises:
        AlrvizError: if no path is finished yet.
    """
    recipes, names, summary_rows = paths_of(study), path_names(study), study.summary()
    curves = [
        summary_rows[summary_rows["racer"] == k].sort_values("alpha", ascending=False) if len(summary_rows) else []
        for k in range(len(recipes))
    ]
    if not any(map(len, curves)):
        raise AlrvizError("there is nothing to replay: no path is there yet; run the study first")
    complete_racers = [k for k, curve in enumerate(curves) if len(curve)]
    alphas = np.array(sorted({alpha for k in complete_racers for alpha in curves[k]["alpha"]}, reverse=True))
    light, dark = (racer_colours([recipe.label for recipe in recipes], ground) for ground in (False, True))
    curve_by_racer = {k: curves[k].set_index("alpha").reindex(alphas) for k in complete_racers}
    references = summary_rows[summary_rows["racer"] >= len(recipes)].to_dict("records")
    views = [
        View(
            label=label, short="training", log=False,
            train=[curve_by_racer[k][f"train_{measure}"].to_numpy(float) for k in complete_racers],
            heldout=[curve_by_racer[k][measure].to_numpy(float) for k in complete_racers],
            grey={_reference_name(study.recipes[row["racer"]]): float(row[measure]) for row in references},
        )
        for measure, label in LOSSES.items()
    ]  # fmt: skip
    dataset = next(iter(study.datasets.values()), None)
    about_lines = [f"alrviz: {__version__}", *(f"{source.name}: {key}" for key, source in study.datasets.items())]
    middle_verdicts = [
        (k, Verdict(f"alpha {alpha_text(alpha)}: shrunk toward the center.")) for k, alpha in enumerate(alphas[:-1])
    ]
    last_verdict = path_verdict(study)
    assert last_verdict is not None  # a path is complete
    return Film(
        title=" and ".join(names) + (f" on {dataset.name}" if dataset is not None else ""),
        counted="alpha",
        steps=alphas,
        verdicts=[*middle_verdicts, (len(alphas) - 1, last_verdict)],
        axes=[ReplayAxis("alpha", "alpha: strong to weak pull toward the center, log scale", log=True, falling=True)],
        lines=[ReplayLine(name=names[k], light=light[k], dark=dark[k], x=[alphas]) for k in complete_racers],
        views=views,
        measure=list(LOSSES).index(measure) if measure in LOSSES else 0,
        panels=_weight_panels(curve_by_racer, names, light),
        about=[*about_lines, *(recipe.to_json() for recipe in recipes)],
    )


def _reference_name(recipe: Recipe) -> str:
    """Return the name of a model that is drawn as a grey line."""
    return generative_name(recipe) if recipe.solver == "none" else f"{recipe.label}, no penalty"


def _weight_panels(quantiles_by_racer: dict[int, Any], names: list[str], colours: list[str]) -> list[ReplayPanel]:
    """Return a panel for each path, of its name and colour: quantiles of its weights minus the center's."""
    panels = []
    for k, frame in quantiles_by_racer.items():
        columns = [name for name in frame.columns if str(name).startswith("away_")]
        quantiles = frame[columns].to_numpy(float)
        if not len(columns) or not np.isfinite(quantiles).any():
            continue
        percentages = np.array([float(str(name).removeprefix("away_")) for name in columns])
        lowest, highest = float(np.nanmin(quantiles)), float(np.nanmax(quantiles))
        margin = 0.05 * max(highest - lowest, 1e-9)
        panels.append(
            ReplayPanel(
                name=f"{names[k]}: weights minus the center, by rank in %", x=percentages,
                frames=quantiles[:, None, :], low=lowest - margin, high=highest + margin, colours=[colours[k]],
            )
        )  # fmt: skip
    return panels
