"""Why a family is faster: each family's scale beside the diagonal of the Hessian.

A family is a metric: with phi = scale * w, L-BFGS in w started from a multiple of the identity walks the path of
L-BFGS in phi started from that multiple of diag(scale^2). The best diagonal metric is the inverse of the Hessian's
diagonal, which at the class prior is N_cell pi_k (1 - pi_k). So the nearer a family's scale is to 1 / sqrt of it (up
to one factor for all cells, which the line search finds), the rounder the valley its solver sees: the diagonal family
lies on that line by construction, lr is flat, alr rises because log theta grows as a cell gets rarer.
"""

import numpy as np
import pandas as pd
from bokeh.models import ColumnDataSource
from bokeh.plotting import figure

from alrviz.pictures.palette import family_colour, readable
from alrviz.pictures.picture import FONT, frame

SHOWN = 1_500  # points a family; the lines through the bins are made from all of them


def binned(points: pd.DataFrame, bins: int = 12) -> pd.DataFrame:
    """Median and quartiles of each family's scale in bins of the Hessian's diagonal, both as the picture shows them.

    points: columns label, hessian, scale (one row a cell and class; rows with a 0 are left out). Returns label, hessian
    (geometric middle of the bin), low, middle, high: scales divided by their family's median.
    """
    kept = _positive(points)
    if kept.empty:
        return pd.DataFrame(columns=["label", "hessian", "low", "middle", "high"])
    logs = np.log10(kept["hessian"])
    edges = np.linspace(logs.min(), logs.max() + 1e-9, bins + 1)
    kept = kept.assign(bin=np.clip(np.digitize(logs, edges) - 1, 0, bins - 1))
    shares = kept.groupby(["label", "bin"], sort=True)["scale"].quantile(np.array([0.25, 0.5, 0.75])).unstack()
    shares.columns = pd.Index(["low", "middle", "high"])
    table = shares.reset_index()
    table["hessian"] = 10 ** ((edges[:-1] + edges[1:]) / 2)[table["bin"]]
    return table[["label", "hessian", "low", "middle", "high"]]


def _positive(points: pd.DataFrame) -> pd.DataFrame:
    scale = points["scale"].abs()
    kept = points.assign(scale=scale)[(points["hessian"] > 0) & (scale > 0)]
    middle = kept.groupby("label")["scale"].transform("median")
    return kept.assign(scale=kept["scale"] / middle)


def scales(points: pd.DataFrame, *, name: str = "scales", dark: bool = False) -> figure:
    """Draw each family's scale against the Hessian's diagonal, both logarithmic; `points` as for `binned`.

    dark: whether the ground is dark.
    """
    lines, dots = binned(points), _positive(points)
    x = (float(dots["hessian"].min()) / 1.3, float(dots["hessian"].max()) * 1.3) if len(dots) else (0.1, 10.0)
    y = (float(dots["scale"].min()) / 1.5, float(dots["scale"].max()) * 1.5) if len(dots) else (0.1, 10.0)
    labels = ("diagonal of the Hessian at the class prior, log scale", "scale over its median, log scale")
    fig = frame(x, y, labels, name, x_axis_type="log", y_axis_type="log")
    for label in dict.fromkeys(points["label"]):
        colour = family_colour(str(label))
        mine = dots[dots["label"] == label]
        mine = mine.iloc[:: max(1, len(mine) // SHOWN)]
        data = ColumnDataSource({"x": mine["hessian"].to_numpy(), "y": mine["scale"].to_numpy()})
        fig.scatter("x", "y", source=data, size=3.5, color=colour, alpha=0.25, line_color=None, name=f"{label} dots")
        line = lines[lines["label"] == label]
        fig.line(line["hessian"].to_numpy(), line["middle"].to_numpy(), color=colour, line_width=3, name=str(label))
        if len(line):
            fig.text(
                x=[line["hessian"].iloc[0]],
                y=[line["middle"].iloc[0]],
                text=[str(label)],
                text_color=readable(colour, dark),
                text_font=FONT,
                text_font_size="16px",
                text_font_style="bold",
                text_baseline="bottom",
                y_offset=-4,
            )
    return fig
