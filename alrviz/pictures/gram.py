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
    """Return the picture of a Gram matrix, `size` pixels wide and high with its axes.

    The first class stands at the top left.
    """
    k, n = gram.values.astype(np.float64), len(gram.y)
    unit = float(np.quantile(np.abs(k), 0.95)) if n else 1.0
    bytes_ = np.zeros((n, n, 4), dtype=np.uint8)
    for colour, mask in ((ALIKE, k > 0), (UNLIKE, k <= 0)):
        bytes_[mask, :3] = [int(colour[j : j + 2], 16) for j in (1, 3, 5)]
    bytes_[..., 3] = np.rint(255 * np.sqrt(np.clip(np.abs(k) / (unit or 1.0), 0.0, 1.0)))
    class_boundaries = [float(j) for j in np.flatnonzero(np.diff(gram.y)) + 1]
    lengths = [0.0] * len(class_boundaries), [float(n)] * len(class_boundaries)
    side = float(max(n, 1))
    return Picture(
        draw=partial(_draw, gram=gram, dark=dark, size=size),
        x=(0.0, side), y=(side, 0.0), labels=("rows, sorted by class", ""),
        data={
            "image": {
                "image": [bytes_.view(np.uint32).reshape(n, n)], "value": [gram.values], "x": [0], "y": [0], "n": [n]
            },
            "borders": {
                "x0": class_boundaries + lengths[0], "y0": lengths[0] + class_boundaries,
                "x1": class_boundaries + lengths[1], "y1": lengths[1] + class_boundaries,
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
    places = {float(np.flatnonzero(gram.y == k).mean()) + 0.5: short(gram.classes[k]) for k in np.unique(gram.y)}
    words = {"at": list(places), "words": list(places.values())}
    formatter = CustomJSTickFormatter(args=words, code="return words[at.indexOf(tick)] ?? ''")
    for axis in (fig.xaxis[0], fig.yaxis[0]):
        axis.update(ticker=FixedTicker(ticks=list(places)), formatter=formatter)
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
            (words, [fig.scatter([np.nan], [np.nan], size=13, marker="square", color=colour)])
            for words, colour in (("k > 0: alike", ALIKE), ("k ≤ 0: unlike", UNLIKE))
        ),
    )
