"""Pictures of an evaluation: the confusion matrix, curves of classes, comparisons of groups.

Of the matrix a line is a class and a column what its rows are predicted as; the darker a cell, the larger its share of
its line. A curve is a class's against the others, at every threshold; the ring is the threshold that is set. ROC above
its dashed diagonal, precision-recall above its dashed line, and lift above 1 are better than chance.

A reliability curve is how often rows that are given a probability turn out so, over bins of as many rows each. On the
diagonal probabilities are true; below it the model is too sure of itself, above it not sure enough.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from bokeh.models import AllLabels, CustomJS, HoverTool, NumeralTickFormatter
from bokeh.models.axes import Axis

from alrviz.pictures.columns import class_colours
from alrviz.pictures.formatting import short_count
from alrviz.pictures.level_axis import level_axis, short
from alrviz.pictures.palette import GREY, INKS, MARKERS, ink_on, on_ground, readable
from alrviz.pictures.picture import FONT, Data, Picture, Plot, add_legend, write
from alrviz.studies.statistics.evaluation import Evaluation, percent

CLASSES = 12  # that a matrix has lines of; of more those most often confused
LINES = 5  # classes that have a curve beside the one chosen
POINTS = 400  # of a curve
BLUE = "#0072B2"
MUTED_OPACITY = 0.7  # of reliability curves that are not marked
_PREDICTED = "the class predicted"  # of each row
_MAX_CLASS_CHARS = 22  # letters of a class beside its curve


@dataclass(frozen=True)
class CurveKind:
    """One kind of curve.

    x, y: columns of `Evaluation.curve`. labels: of the axes. figure: what the number behind a class's name is ("AUC").
    """

    name: str
    x: str
    y: str
    labels: tuple[str, str]
    figure: str = ""


CURVES: dict[str, CurveKind] = {
    "roc": CurveKind("ROC", "fallout", "sensitivity", ("1 - specificity", "sensitivity"), "AUC"),
    "precision": CurveKind("Precision-recall", "sensitivity", "ppv", ("sensitivity (recall)", "PPV (precision)"), "AP"),
    "lift": CurveKind("Lift", "positive", "lift", ("share of rows, the most probable first", "lift")),
}


def confusion(evaluation: Evaluation, shares: str | None = None, most: int = CLASSES, *, dark: bool = False) -> Picture:
    """Return the picture of the confusion matrix.

    shares: what a cell shows: None for its number of rows, "true" for the share of its true class (line), "pred" for
    the share of its predicted class (column). most: number of classes shown; further ones are merged. dark: whether the
    ground is dark.
    """
    counts, class_shares = evaluation.confusion(max_classes=most), evaluation.confusion("true", max_classes=most)
    shown_values = counts if shares is None else evaluation.confusion(shares, max_classes=most)
    names, n = list(map(str, counts.index)), len(counts)
    y, x = (index_grid.ravel() for index_grid in np.indices((n, n)))
    shown_shares = (class_shares if shares is None else shown_values).to_numpy().ravel()
    colours = [on_ground(BLUE, 0.06 + 0.94 * float(share), dark) for share in shown_shares]
    n_rows = counts.to_numpy().ravel()
    labels = [short_count(v) if shares is None else percent(v) for v in shown_values.to_numpy().ravel()]
    words = [text if rows or y[k] == x[k] else "" for k, (text, rows) in enumerate(zip(labels, n_rows, strict=True))]
    cell_columns: dict[str, Any] = {
        "left": x + 0.02, "right": x + 0.98, "bottom": n - 1 - y + 0.02, "top": n - y - 0.02, "colour": colours,
        "x": x + 0.5, "y": n - 1 - y + 0.5, "words": words, "ink": [ink_on(colour) for colour in colours],
        "class": [names[k] for k in y], "predicted": [names[k] for k in x], "rows": n_rows,
        "part": class_shares.to_numpy().ravel(),
    }  # fmt: skip
    return Picture(
        draw=partial(_draw_confusion, names=names), x=(0.0, float(n)), y=(0.0, float(n)),
        labels=("predicted", "true class"),
        data={"cells": cell_columns}, key=(tuple(names), dark),
    )  # fmt: skip


# Numbers fill their cells and touch no others, in a window as narrow as a phone's too.
_FIT = """
const longest = Math.max(1, ...cells.data.words.map((word) => word.length))
const size = Math.min(15, (figure.inner_width / classes - 4) / (0.58 * longest))
numbers.glyph.text_font_size = {value: `${Math.max(7, size).toFixed(1)}px`}
"""


def _draw_confusion(plot: Plot, names: Sequence[str]) -> None:
    fig, cells = plot.figure, plot["cells"]
    fig.xgrid.visible = fig.ygrid.visible = False
    cell_renderer = fig.quad("left", "right", "bottom", "top", source=cells, fill_color="colour", line_color=None)
    number_text = write(fig, cells, "ink", size=12, align="center", baseline="middle")
    fit = CustomJS(args={"figure": fig, "cells": cells, "numbers": number_text, "classes": len(names)}, code=_FIT)
    fig.js_on_change("inner_width", fit)
    cells.js_on_change("data", fit)
    level_axis(fig.xaxis[0], names)
    level_axis(fig.yaxis[0], names[::-1], tilts=False)
    fig.yaxis[0].major_label_policy = AllLabels()  # a line of each class has room for it
    tips = [("class", "@class"), ("predicted", "@predicted"), ("rows", "@rows{0,0.[0]}")]
    fig.add_tools(HoverTool(renderers=[cell_renderer], tooltips=[*tips, ("of the class", "@part{0.0 %}")]))


def curves(
    kind: str, evaluation: Evaluation, label: str, threshold: float | None = None, *, dark: bool = False
) -> Picture:
    """Return the picture of a kind of curve (CURVES): of the class `label`, with thin lines of the most frequent
    others.

    threshold: where the ring is; None for no ring. dark: whether the ground is dark.
    """
    curve, shares = CURVES[kind], evaluation.shares
    other_classes = (
        [] if len(evaluation.classes) == 2 else [k for k in np.argsort(-shares, kind="stable") if shares[k] > 0]
    )
    class_number = evaluation.classes.index(label)
    class_ids = [class_number, *(k for k in other_classes if k != class_number)][: LINES + 1]
    lines = tuple(_line(curve, evaluation, evaluation.classes[k]) for k in class_ids)
    class_share = float(shares[class_number])
    ring: dict[str, list[float]] = {"x": [], "y": []}
    if threshold is not None:
        ring_figures = evaluation.at(threshold, label=label)
        x, y = 1 - ring_figures.specificity if curve.x == "fallout" else ring_figures[curve.x], ring_figures[curve.y]
        ring = {"x": [x], "y": [y]} if np.isfinite([x, y]).all() else ring
    y_high = max((float(np.nanmax(line["y"], initial=1.0)) for line in lines), default=1.0) if kind == "lift" else 1.0
    chance = {"roc": (0.0, 1.0), "precision": (class_share, class_share), "lift": (1.0, 1.0)}[kind]
    colours = tuple(class_colours(len(evaluation.classes))[k] for k in class_ids)
    ranks = [evaluation.ranking(evaluation.classes[k])[kind != "roc"] if curve.figure else np.nan for k in class_ids]
    names = tuple(
        short(evaluation.classes[k], _MAX_CLASS_CHARS) + ("" if np.isnan(auc) else f" ({curve.figure} {auc:.3f})")
        for k, auc in zip(class_ids, ranks, strict=True)
    )
    return Picture(
        draw=partial(_draw_curves, colours=colours, names=names, lift=kind == "lift", dark=dark),
        x=(-0.01, 1.01), y=(0.0, y_high * 1.03),
        labels=curve.labels, data={"lines": lines, "ring": ring, "chance": {"x": [0.0, 1.0], "y": list(chance)}},
        key=(kind, colours, names, dark),
    )  # fmt: skip


def _line(curve: CurveKind, evaluation: Evaluation, label: str) -> dict[str, Any]:
    table = evaluation.curve(label)
    table = table.assign(fallout=1 - table.specificity).dropna(subset=[curve.x, curve.y])
    rows = table.iloc[np.unique(np.linspace(0, len(table) - 1, POINTS).round().astype(int))] if len(table) else table
    return {"x": rows[curve.x].to_numpy(), "y": rows[curve.y].to_numpy(), "t": rows.threshold.to_numpy().clip(max=1.0)}


def _in_percent(*axes: Axis) -> None:
    for axis in axes:
        axis.formatter = NumeralTickFormatter(format="0.[0] %")


def _draw_curves(plot: Plot, colours: Sequence[str], names: Sequence[str], lift: bool, dark: bool) -> None:
    fig, legend_items = plot.figure, []
    fig.line("x", "y", source=plot["chance"], line_color=GREY, line_dash=[5, 4], line_width=1.4)
    for k, (colour, name, source) in reversed(list(enumerate(zip(colours, names, plot["lines"], strict=True)))):
        line = fig.line("x", "y", source=source, line_color=colour, line_width=1.6 if k else 3.2)
        legend_items.append((name, [line]))
    _in_percent(fig.xaxis[0], *() if lift else (fig.yaxis[0],))
    ring = fig.scatter("x", "y", source=plot["ring"], size=16, fill_color=None, line_color=INKS[dark], line_width=3)
    tips = [("threshold", "@t{0.000}"), ("x", "@x{0.000}"), ("y", "@y{0.000}")]
    fig.add_tools(HoverTool(renderers=legend_items[-1][1], tooltips=tips, line_policy="nearest"))
    legend_params = {"orientation": "vertical", "ncols": 2, "spacing": 4, "label_text_font_size": "14px"}
    add_legend(fig, [*legend_items[::-1], ("this threshold", [ring])], click_policy="hide", **legend_params)


def calibration(evaluation: Evaluation, label: str | None = None, *, dark: bool = False) -> Picture:
    """Return the reliability curve of the probability of the class `label`, or of the predicted class (None).

    dark: whether the ground is dark.
    """
    name = _PREDICTED if label is None else short(label, _MAX_CLASS_CHARS)
    picture = reliability({name: evaluation.reliability(label)}, {name: readable(BLUE, dark)}, name, class_name=name)
    return replace(picture, x=(-0.01, 1.01))


def reliability(
    tables: Mapping[str, pd.DataFrame],
    colours: Mapping[str, str],
    marked: str = "",
    *,
    class_name: str = _PREDICTED,
) -> Picture:
    """Return the picture of reliability curves.

    tables: of `studies.measures.reliability`, by the names of their lines. colours: one for each line that there may
    be. marked: name of the line that has full opacity and bars of a standard error. class_name: on the axis.
    """
    lines = {name: _reliability_line(tables.get(name)) for name in colours}
    lowest_confidences = [float(np.min(line["x"])) for line in lines.values() if len(line["x"])]
    # Not their alpha: a notebook's page sends that back in a form that Bokeh's own Line refuses.
    muted = tuple({"muted": bool(marked) and name != marked} for name in colours)
    return Picture(
        draw=partial(_draw_reliability, colours=colours),
        x=(max(0.0, min(lowest_confidences, default=0.0) - 0.1), 1.02), y=(0.0, 1.02),
        labels=(
            f"probability of {class_name}",
            "share that was right" if class_name == _PREDICTED else "share of the rows",
        ),
        data={"lines": tuple(lines.values()), "bars": lines.get(marked, _reliability_line(None))},
        parts={"lines": muted, "dots": muted, "legend": {"visible": bool(lowest_confidences) and len(colours) > 1}},
        key=tuple(colours.items()),
    )  # fmt: skip


def _reliability_line(table: pd.DataFrame | None) -> Data:
    if table is None or not len(table):
        return {"x": [], "y": [], "rows": [], "low": [], "high": []}
    spread = table.standard_error
    low, high = (table.accuracy - spread).clip(0, 1), (table.accuracy + spread).clip(0, 1)
    columns = {"x": table.confidence, "y": table.accuracy, "rows": table.rows, "low": low, "high": high}
    return {name: column.to_numpy() for name, column in columns.items()}


def _draw_reliability(plot: Plot, colours: Mapping[str, str]) -> None:
    fig, line_renderers, dot_renderers, legend_items = plot.figure, [], [], []
    _in_percent(fig.xaxis[0], fig.yaxis[0])
    fig.line([0, 1], [0, 1], line_color=GREY, line_dash=[5, 4], line_width=1.4)
    perfect: dict[str, Any] = {"text_color": GREY, "text_font": FONT, "text_font_size": "14px", "text_align": "right"}
    fig.text([1.0], [0.03], ["dashed: perfect"], **perfect)
    fig.segment("x", "low", "x", "high", source=plot["bars"], line_color=GREY, line_width=1.6)
    for (name, colour), marker, source in zip(colours.items(), cycle(MARKERS), plot["lines"], strict=False):
        line_look = {"source": source, "color": colour, "muted_alpha": MUTED_OPACITY}
        line_renderers.append(fig.line("x", "y", line_width=2.6, **line_look))
        dot_renderers.append(fig.scatter("x", "y", size=7, marker=marker, **line_look))
        legend_items.append((name, [line_renderers[-1], dot_renderers[-1]]))
    tooltips = [("probability", "@x{0.000}"), ("share of rows", "@y{0.000}"), ("rows", "@rows{0,0}")]
    fig.add_tools(HoverTool(renderers=dot_renderers, tooltips=tooltips))
    # A line without points has only its name in the legend; it appears with its first points.
    legend = add_legend(fig, legend_items, click_policy="hide")
    plot.parts |= {"lines": tuple(line_renderers), "dots": tuple(dot_renderers), "legend": legend}


def groups(table: pd.DataFrame, overall: float, figure: str = "error", *, dark: bool = False) -> Picture:
    """Return the picture of the errors of groups with their intervals: a table of `Evaluation.groups`.

    overall: the error of all rows, a dashed line. figure: "error" or "sensitivity". dark: whether the ground is dark.
    """
    n_groups = len(table)
    names = [f"{short(str(group), 18)} ({rows:,})" for group, rows in zip(table.group, table.rows, strict=True)]
    y = n_groups - 1 - np.arange(n_groups) + 0.5
    low, high = (table[side if figure == "error" else f"{figure}_{side}"].to_numpy() for side in ("low", "high"))
    data = {"y": y, "x": table[figure].to_numpy(), "low": low, "high": high, "name": names}
    return Picture(
        draw=partial(_draw_groups, names=names, figure=figure, dark=dark),
        x=(0.0, min(1.01, float(np.nanmax([*high, overall]) * 1.06 or 1.0))), y=(0.0, float(n_groups)),
        labels=(f"{figure}, with its 95 % interval", ""),
        data={"groups": data, "all": {"x": [overall] * 2, "y": [0.0, float(n_groups)]}},
        key=("groups", figure, tuple(names), dark),
    )  # fmt: skip


def _draw_groups(plot: Plot, names: Sequence[str], figure: str, dark: bool) -> None:
    fig, source = plot.figure, plot["groups"]
    _in_percent(fig.xaxis[0])
    fig.ygrid.visible = False
    fig.line("x", "y", source=plot["all"], line_color=GREY, line_dash=[5, 4], line_width=1.6)
    fig.segment("low", "y", "high", "y", source=source, line_color=BLUE, line_width=2.6)
    dots = fig.scatter("x", "y", source=source, color=readable(BLUE, dark), size=9)
    level_axis(fig.yaxis[0], names[::-1], tilts=False, cut=40)  # with their rows
    fig.add_tools(HoverTool(renderers=[dots], tooltips=[("group", "@name"), (figure, "@x{0.0 %}")]))
