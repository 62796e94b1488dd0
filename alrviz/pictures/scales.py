"""Each family's scale beside the diagonal of the Hessian.

A family is a metric: with phi = scale * w, L-BFGS in w started from a multiple of the identity walks the path of
L-BFGS in phi started from that multiple of diag(scale^2). The usual diagonal metric (Jacobi's) is the inverse of the
Hessian's diagonal, which at the class prior is N_cell pi_k (1 - pi_k). The diagonal family lies on 1 / sqrt of it by
construction (up to one factor for all cells, which the line search finds), lr is flat, alr rises because log theta
grows as a cell gets rarer. Who is nearer to the line need not be faster: the diagonal knows nothing of cells that
overlap, nor of how the Hessian changes on the way.
"""

from functools import partial

import numpy as np
import pandas as pd

from alrviz.pictures.palette import family_colour, readable
from alrviz.pictures.picture import Data, Picture, Plot, write

MAX_POINTS = 1_500  # of a family; lines through the bins use all points
BINS = 12  # of the Hessian's diagonal


def binned(points: pd.DataFrame) -> pd.DataFrame:
    """Median and quartiles of each family's scale in bins of the Hessian's diagonal, both as the picture shows them.

    points: columns label, hessian, scale (one row a cell and class; rows with a 0 are left out). Returns label, hessian
    (geometric middle of the bin), low, middle, high: scales divided by their family's median.
    """
    rows = _positive(points)
    if rows.empty:
        return pd.DataFrame(columns=["label", "hessian", "low", "middle", "high"])
    hessian_logs = np.log10(rows["hessian"])
    edges = np.linspace(hessian_logs.min(), hessian_logs.max() + 1e-9, BINS + 1)
    rows = rows.assign(bin=np.clip(np.digitize(hessian_logs, edges) - 1, 0, BINS - 1))
    quartiles = rows.groupby(["label", "bin"], sort=True)["scale"].quantile(np.array([0.25, 0.5, 0.75])).unstack()
    quartiles.columns = pd.Index(["low", "middle", "high"])
    binned_rows = quartiles.reset_index()
    binned_rows["hessian"] = 10 ** ((edges[:-1] + edges[1:]) / 2)[binned_rows["bin"]]
    return binned_rows[["label", "hessian", "low", "middle", "high"]]


def _positive(points: pd.DataFrame) -> pd.DataFrame:
    scale = points["scale"].abs()
    rows = points.assign(scale=scale)[(points["hessian"] > 0) & (scale > 0)]
    middle = rows.groupby("label")["scale"].transform("median")
    return rows.assign(scale=rows["scale"] / middle)


def scales(points: pd.DataFrame, *, dark: bool = False) -> Picture:
    """Return the picture of each family's scale against the Hessian's diagonal; `points` as for `binned`.

    dark: whether the ground is dark.
    """
    binned_rows, dots = binned(points), _positive(points)
    x, y = (
        (float(dots[name].min()) / margin_factor, float(dots[name].max()) * margin_factor) if len(dots) else (0.1, 10.0)
        for name, margin_factor in (("hessian", 1.3), ("scale", 1.5))
    )
    labels = tuple(str(label) for label in dict.fromkeys(points["label"]))
    points_by_label, middle = ([rows[rows["label"] == label] for label in labels] for rows in (dots, binned_rows))
    named_lines = [(label, line.iloc[0]) for label, line in zip(labels, middle, strict=True) if len(line)]
    return Picture(
        draw=partial(_draw, labels=labels, dark=dark),
        x=x, y=y, axes={"x_axis_type": "log", "y_axis_type": "log"},
        labels=("diagonal of the Hessian at the class shares, log scale", "scale over its median, log scale"),
        data={
            "dots": tuple(_columns(rows.iloc[:: max(1, len(rows) // MAX_POINTS)], "scale") for rows in points_by_label),
            "lines": tuple(_columns(line, "middle") for line in middle),
            "names": {
                "x": [first["hessian"] for _, first in named_lines], "y": [first["middle"] for _, first in named_lines],
                "words": [label for label, _ in named_lines],
                "colour": [readable(family_colour(label), dark) for label, _ in named_lines],
            },
        },
        key=(x, y, labels, dark),
    )  # fmt: skip


def _columns(rows: pd.DataFrame, y: str) -> Data:
    return {"x": rows["hessian"].to_numpy(), "y": rows[y].to_numpy()}


def _draw(plot: Plot, labels: tuple[str, ...], dark: bool) -> None:
    fig = plot.figure
    # A size of its own: a part that is just unfolding has none to stretch to.
    fig.update(width=640, height=340, sizing_mode="fixed")
    for label, dots, line in zip(labels, plot["dots"], plot["lines"], strict=True):
        colour = family_colour(label)
        fig.scatter("x", "y", source=dots, size=3.5, color=colour, alpha=0.25, line_color=None, name=f"{label} dots")
        fig.line("x", "y", source=line, color=colour, line_width=3, name=label)
    write(fig, plot["names"], size=16, bold=True, front=dark, y_offset=-4)
