"""The Gram matrix of DLR's features: rows sorted by class, alike (k > 0) warm, unlike cold, lines between classes.

Opacity is the square root of |k| over its 95th percentile, at most 1.
"""

from functools import partial

import numpy as np
from bokeh.models import CustomJSHover, CustomJSTickFormatter, FixedTicker, HoverTool, PlainText

from alrviz.pictures.level_axis import short
from alrviz.pictures.palette import INKS
from alrviz.pictures.picture import Picture, Plot, add_legend
from alrviz.studies.density.gram import Gram

ALIKE, UNLIKE = "#D55E00", "#0072B2"  # Okabe and Ito's


def gram_picture(gram: Gram, *, dark: bool = False, size: int = 420) -> Picture:
    """Return the picture of a Gram matrix, `size` pixels wide and high with its axes, the first class at the top left.

    dark: whether the ground is dark.
    """
    kernel, n = gram.values.astype(np.float64), len(gram.y)
    percentile = float(np.quantile(np.abs(kernel), 0.95)) if n else 1.0
    bytes_ = np.zeros((n, n, 4), dtype=np.uint8)
    for colour, mask in ((ALIKE, kernel > 0), (UNLIKE, kernel <= 0)):
        bytes_[mask, :3] = [int(colour[j : j + 2], 16) for j in (1, 3, 5)]
    bytes_[..., 3] = np.rint(255 * np.sqrt(np.clip(np.abs(kernel) / (percentile or 1.0), 0.0, 1.0)))
    class_boundaries = [float(position) for position in np.flatnonzero(np.diff(gram.y)) + 1]
    line_ends = [0.0] * len(class_boundaries), [float(n)] * len(class_boundaries)
    axis_end = float(max(n, 1))
    return Picture(
        draw=partial(_draw, gram=gram, dark=dark, size=size),
        x=(0.0, axis_end), y=(axis_end, 0.0), labels=("rows, sorted by class", ""),
        data={
            "image": {
                "image": [bytes_.view(np.uint32).reshape(n, n)], "value": [gram.values], "x": [0], "y": [0], "n": [n]
            },
            "borders": {
                "x0": class_boundaries + line_ends[0], "y0": line_ends[0] + class_boundaries,
                "x1": class_boundaries + line_ends[1], "y1": line_ends[1] + class_boundaries,
            },
        },
        key=(gram.rows.tobytes(), gram.y.tobytes(), gram.classes, dark),
    )  # fmt: skip


def _draw(plot: Plot, gram: Gram, dark: bool, size: int) -> None:
    fig = plot.figure
    fig.update(sizing_mode="fixed", width=size, height=size)
    fig.grid.visible = False
    image = fig.image_rgba("image", x="x", y="y", dw="n", dh="n", source=plot["image"], level="image")
    fig.segment("x0", "y0", "x1", "y1", source=plot["borders"], line_color=INKS[dark], line_width=1.5)
    # A class's name stands in the middle of its rows.
    name_at = {float(np.flatnonzero(gram.y == k).mean()) + 0.5: short(gram.classes[k]) for k in np.unique(gram.y)}
    formatter_args = {"at": list(name_at), "words": list(name_at.values())}
    formatter = CustomJSTickFormatter(args=formatter_args, code="return words[at.indexOf(tick)] ?? ''")
    for axis in (fig.xaxis[0], fig.yaxis[0]):
        axis.update(ticker=FixedTicker(ticks=list(name_at)), formatter=formatter)
    fig.xaxis[0].axis_label = PlainText(text="rows, sorted by class")
    args = {"rows": gram.rows.tolist(), "y": gram.y.tolist(), "names": list(gram.classes)}
    code = "const i = Math.floor(value); return `row ${rows[i]}, ${names[y[i]]}`"
    row = CustomJSHover(args=args, code=code)
    fig.add_tools(
        HoverTool(
            renderers=[image],
            tooltips=[("across", "$x{custom}"), ("down", "$y{custom}"), ("k", "@value{0.000}")],
            formatters={"$x": row, "$y": row},
        )
    )
    add_legend(
        fig,
        (
            (text, [fig.scatter([np.nan], [np.nan], size=13, marker="square", color=colour)])
            for text, colour in (("k > 0: alike", ALIKE), ("k ≤ 0: unlike", UNLIKE))
        ),
    )
