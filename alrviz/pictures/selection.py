"""Pictures of a search for tuples, and of the gain of keeping more of them. [sALR] figures 1 and 3-7

`tuples`: a block for each size of tuple, with a mark for each tuple, the highest score first: full if it is kept, a
grey ring if it is discarded, a cross if it was not scored. Lines lead from the best kept tuples to their parts. Very
many tuples are cells of an image: a browser takes 0.3 s to draw 10,000 marks, too long while a slider is dragged.
`ranks`: scores against ranks, a line for each size, and the line up to which tuples are kept.
`gains`: predicted gain against mutual information; tuples at the top left are informative only together.
`shares`: test log loss, parameters and seconds against the share that is kept, a line for each order.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain, islice, pairwise
from math import ceil, sqrt
from typing import Any

import numpy as np
import pandas as pd
from bokeh.models import BasicTickFormatter, FixedTicker, HoverTool, NumeralTickFormatter, Span
from numpy.typing import NDArray

from alrviz.fitting.families import FAMILIES
from alrviz.models.tuple_selection import Level
from alrviz.pictures.formatting import short_count, short_seconds
from alrviz.pictures.labels import LETTER, VisibleArea, place, round_up
from alrviz.pictures.level_axis import short
from alrviz.pictures.orders import log_range, power_ticks
from alrviz.pictures.palette import GREY, INKS, MARKERS, family_colour, family_shades, readable
from alrviz.pictures.picture import Data, Picture, Plot, Range, add_legend, padded, write
from alrviz.studies.core.names import tuples_text
from alrviz.studies.protocols.live_selection import Search
from alrviz.studies.statistics.measures import loss_text

WIDTH, HEIGHT = 620, 270  # assumed pixels of the frame of levels
HEAD_PX, ROW_PX = 30, 15  # px of what stands above the blocks, and of a name
MAX_TUPLES_PER_LEVEL = 10_000  # that are drawn; of more, the best
MAX_MARKS = 1_000  # of a level, with tooltips; more tuples are drawn as an image
MAX_TUPLES_WITH_LINES = 24  # tuples of a level whose lines to their parts are drawn
MIN_TUPLES_FOR_SMALL_MARKS = 150  # tuples
MAX_NAMED_TUPLES = 3  # tuples that are named in the picture of gains
SHARES: Mapping[str, str] = {
    "log_loss": "test log loss", "parameters": "parameters (log)", "train_seconds": "seconds per fit (log)",
}  # fmt: skip


def _order(level: Level) -> NDArray[np.intp]:
    """Tuples by score, the highest first, those without one last."""
    return np.argsort(-np.nan_to_num(level.scores, nan=-np.inf), kind="stable")


def _shown(search: Search) -> list[tuple[Level, bool]]:
    """Return the levels to be drawn, one for each size of tuple, each with whether all its tuples have been scored."""
    return [(level, True) for level in search.levels] + (
        [(search.current_level, False)] if search.current_level is not None else []
    )


class _Blocks:
    """Positions of the nodes of each level: a block for each level, filled in rows from the top.

    Args:
        nodes: of each level that there is room for.
        size: width and height of the frame, px.
    """

    def __init__(self, nodes: Sequence[int], size: tuple[int, int]):
        width, height = size
        self._wide, self.top = width, 1 - HEAD_PX / height
        max_rows = max(1, int(height * self.top / ROW_PX))  # names below each other
        self._across = [ceil(n_nodes / max_rows) for n_nodes in nodes]
        self.named = [columns <= 2 and width / len(nodes) > 85 * columns for columns in self._across]
        widths = zip(self._across, self.named, strict=True)
        block_shares = [0.62 * columns + 0.2 if has_names else 1.0 for columns, has_names in widths]
        self.begin = np.concatenate([[0.0], np.cumsum(block_shares) / sum(block_shares)])
        self._rows, self.sizes = [], []
        for k, (n_nodes, has_names) in enumerate(zip(nodes, self.named, strict=True)):
            block_width = 0.9 * width * (self.begin[k + 1] - self.begin[k])
            if not has_names:
                self._across[k] = max(1, round(sqrt(n_nodes * block_width / (height * self.top))))
            self._rows.append(ceil(n_nodes / self._across[k]))
            node_pitch = ROW_PX if has_names else min(block_width / self._across[k], height * self.top / self._rows[k])
            self.sizes.append(float(np.clip(0.72 * node_pitch, 1.5, 11.0)))

    def cells(self, k: int, node_colours: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], float, float]:
        """Return the image of level k, whose nodes have these colours, its last row first as Bokeh has it; where it
        begins and how wide it is.
        """
        image = np.zeros(self._rows[k] * self._across[k], np.uint32)
        image[: len(node_colours)] = node_colours
        block_width = self.begin[k + 1] - self.begin[k]
        return image.reshape(self._rows[k], -1)[::-1], self.begin[k] + 0.04 * block_width, 0.9 * block_width

    def at(self, k: int, ranks: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return x and y of nodes of these ranks in level k."""
        n_cols = self._across[k]
        # The lines of a first level lead to the right, those of others come from the left: names are on the other side.
        x_share = 0.5 if not self.named[k] else 0.92 if self.left(k) else 0.12
        x = self.begin[k] + (self.begin[k + 1] - self.begin[k]) * (0.04 + 0.9 * (ranks % n_cols + x_share) / n_cols)
        return x, self.top * (1 - (ranks // n_cols + 0.5) / self._rows[k])

    def left(self, k: int) -> bool:
        """Return whether the names of level k are on the left of their nodes."""
        return k == 0 and len(self._rows) > 1

    def letters(self, k: int) -> int:
        """Return how many characters the names of level k may have."""
        node_width = 0.9 * self._wide * (self.begin[k + 1] - self.begin[k]) / self._across[k]
        return max(4, int((0.88 * node_width - 14) / LETTER))

    def head(self, k: int, n_kept: int, n_scored: int, words: str) -> str:
        """Return the heading of level k, "3 of 10 pairs kept", or its first parts if there is no room for all of it.

        n_kept, n_scored: numbers of tuples; words: such as "pairs".
        """
        block_width = self._wide * (self.begin[k + 1] - self.begin[k])
        counts_text = f"{n_kept:,} of {n_scored:,}"
        head_texts = (f"{counts_text} {words} kept", f"{counts_text} {words}", counts_text)
        return next((text for text in head_texts if LETTER * len(text) < block_width), counts_text)


def tuples(
    search: Search, label: str, levels: int, size: tuple[int, int] | None = None, *, dark: bool = False
) -> Picture:
    """Return the picture of a search's levels.

    label: the family's; levels: how many there will be, the first of single columns if there are several; size: of the
    frame, px, if it is known; dark: whether the ground is dark.
    """
    first_order = search.order + 1 - levels
    totals = [search.total(first_order + depth) for depth in range(levels)]
    blocks = _Blocks([min(n_tuples, MAX_TUPLES_PER_LEVEL) for n_tuples in totals], size or (WIDTH, HEIGHT))
    drawn_levels = [_DrawnLevel(search, blocks, k, *shown, totals[k]) for k, shown in enumerate(_shown(search))]
    head_texts = [tuples_text(first_order + depth) for depth in range(levels)]
    for level in drawn_levels:
        head_texts[level.depth] = level.head(head_texts[level.depth])
    palette = _pixels([(GREY, 0.15), (GREY, 0.3), (GREY, 0.6), (family_colour(label), 1.0)])
    images = [level.image(palette) for level in drawn_levels if level.is_image]
    names = [level.names(INKS[dark], readable(GREY, dark)) for level in drawn_levels if blocks.named[level.depth]]
    return Picture(
        draw=partial(_draw_tuples, label=label, dark=dark),
        x=(0.0, 1.0), y=(0.0, 1.0), labels=("", ""), key=(levels, label, dark),
        data={
            "images": {column: [image[column] for image in images] for column in ("image", "x", "wide", "high")},
            "edges": _edges(drawn_levels),
            **{state: _joined([level.marks(state) for level in drawn_levels], _MARK_COLUMNS) for state in _STATES},
            "names": _joined(names, ("x", "y", "words", "colour", "align", "dx")),
            "heads": {"x": blocks.begin[:-1] + 0.02, "y": [(1 + blocks.top) / 2] * levels, "words": head_texts},
        },
    )  # fmt: skip


_STATES = ("waiting", "discarded", "kept")
_MARK_COLUMNS = ("x", "y", "size", "rank", "score", "name")


class _DrawnLevel:
    """The marks of a level, the tuple with the highest score first.

    depth: its number, from 0. is_complete: whether all its tuples are scored. total: the number of tuples of its size.
    """

    def __init__(self, search: Search, blocks: _Blocks, depth: int, level: Level, is_complete: bool, total: int):
        self._search, self._blocks, self._level, self._total = search, blocks, level, total
        self.depth, self.is_complete = depth, is_complete
        self._by_rank = _order(level)[:MAX_TUPLES_PER_LEVEL]
        self._x, self._y = blocks.at(depth, np.arange(len(self._by_rank)))
        self._is_kept = np.isin(self._by_rank, level.kept_indices)
        self._is_scored = ~np.isnan(level.scores[self._by_rank])
        self._n_drawn = min(total, MAX_TUPLES_PER_LEVEL)

    @property
    def is_image(self) -> bool:
        """Whether the tuples are cells of an image, because there are too many for marks."""
        return self._n_drawn > MAX_MARKS

    def image(self, palette: NDArray[np.uint32]) -> Data:
        """Return the image; palette: colours of tuples that are not in the level, waiting, discarded and kept."""
        has_all_places = self.is_complete and self._total <= MAX_TUPLES_PER_LEVEL
        states = np.zeros(self._n_drawn if has_all_places else len(self._by_rank), np.intp)
        states[: len(self._by_rank)] = 1 + self._is_scored + (self._is_scored & self._is_kept)
        image, left, width = self._blocks.cells(self.depth, palette[states])
        return {"image": image, "x": left, "wide": width, "high": self._blocks.top}

    def marks(self, state: str) -> Data:
        """Return the marks of the tuples in a state; over an image only those of the best kept ones."""
        is_scored, is_kept, size = self._is_scored, self._is_kept, self._blocks.sizes[self.depth]
        ranks = np.flatnonzero({"kept": is_kept, "discarded": is_scored & ~is_kept, "waiting": ~is_scored}[state])
        if self.is_image:
            ranks = ranks[ranks < (MAX_MARKS if state == "kept" else 0)]
        tuple_indices = self._by_rank[ranks]
        names = [self._search.name(self._level.tuples[k]) for k in tuple_indices[:MAX_MARKS]]
        columns = [self._x[ranks], self._y[ranks], np.full(len(ranks), size), ranks + 1]
        columns.append(self._level.scores[tuple_indices])
        if state == "waiting" and self.is_complete and not self.is_image:  # tuples of which no part was kept
            ranks = np.arange(len(self._by_rank), self._total)
            x, y = self._blocks.at(self.depth, ranks)
            unscored = (x, y, np.full(len(ranks), size / 2), ranks + 1, np.full(len(ranks), np.nan))
            columns = [np.concatenate(pair) for pair in zip(columns, unscored, strict=True)]
        # Numbers of 32 bits are half as much to send while a hand drags.
        marks: Data = dict(zip(_MARK_COLUMNS, (column.astype(np.float32) for column in columns), strict=False))
        return marks | {"name": names + [""] * (len(columns[0]) - len(names))}

    def names(self, ink: str, quiet_ink: str) -> Data:
        """Return the names beside the marks, in `ink` those of kept tuples."""
        n, is_left = len(self._x), self._blocks.left(self.depth)
        max_letters = self._blocks.letters(self.depth)
        texts = [short(self._search.name(self._level.tuples[k]), max_letters) for k in self._by_rank]
        return {
            "x": self._x.tolist(), "y": self._y.tolist(), "words": texts,
            "colour": [ink if is_kept else quiet_ink for is_kept in self._is_kept],
            "align": ["right" if is_left else "left"] * n, "dx": [-10 if is_left else 10] * n,
        }  # fmt: skip

    def places(self) -> dict[tuple[int, ...], tuple[float, float]]:
        """Return the places of kept tuples, the best first."""
        kept_ranks = np.flatnonzero(self._is_kept)
        kept_tuples = self._level.tuples[self._by_rank[kept_ranks]].tolist()
        points = zip(self._x[kept_ranks].tolist(), self._y[kept_ranks].tolist(), strict=True)
        return dict(zip(map(tuple, kept_tuples), points, strict=True))

    def head(self, tuples_name: str) -> str:
        """Return the heading; tuples_name: such as "pairs"."""
        if not self.is_complete:
            return f"{tuples_name}: scoring …"
        return self._blocks.head(self.depth, len(self._level.kept_indices), len(self._level.tuples), tuples_name)


def _edges(drawn_levels: Sequence[_DrawnLevel]) -> Data:
    """Return the lines from the best kept tuples of each level to their parts in the level before."""
    edges: list[tuple[float, ...]] = []
    for previous, level in pairwise(drawn_levels):
        places, part_places = level.places(), previous.places()
        for columns in islice(places, MAX_TUPLES_WITH_LINES if part_places else 0):
            parts = (columns[:left_out] + columns[left_out + 1 :] for left_out in range(len(columns)))
            edges += [(*part_places[part], *places[columns]) for part in parts if part in part_places]
    return dict(zip(("x0", "y0", "x1", "y1"), np.array(edges, np.float32).reshape(-1, 4).T, strict=True))


def _joined(parts: Sequence[Data], columns: Sequence[str]) -> Data:
    """Return the columns of the parts, one after the other."""
    values = {name: [part[name] for part in parts] for name in columns}
    return {
        name: np.concatenate(column) if column and isinstance(column[0], np.ndarray) else list(chain(*column))
        for name, column in values.items()
    }


def _pixels(colours: Sequence[tuple[str, float]]) -> NDArray[np.uint32]:
    """Return colours "#rrggbb" with opacities (0 to 1) as the numbers of Bokeh's RGBA images."""
    rgba = [(*bytes.fromhex(colour[1:]), round(255 * alpha)) for colour, alpha in colours]
    return np.array(rgba, np.uint8).view(np.uint32).ravel()


def _draw_tuples(plot: Plot, label: str, dark: bool) -> None:
    fig, colour = plot.figure, family_colour(label)
    fig.xaxis.visible = fig.yaxis.visible = False
    fig.xgrid.visible = fig.ygrid.visible = False
    fig.image_rgba("image", x="x", y=0.0, dw="wide", dh="high", source=plot["images"], level="image")
    fig.segment("x0", "y0", "x1", "y1", source=plot["edges"], line_color=colour, line_alpha=0.4, line_width=1.2)
    fig.scatter("x", "y", size="size", source=plot["waiting"], marker="x", line_color=GREY, line_alpha=0.6)
    grey = fig.scatter("x", "y", size="size", source=plot["discarded"], line_color=GREY, fill_color=None, line_width=1)
    kept_marks = fig.scatter("x", "y", size="size", source=plot["kept"], line_color=None, fill_color=colour)
    write(fig, plot["names"], size=14, align="align", baseline="middle", x_offset="dx", front=dark)
    write(fig, plot["heads"], INKS[dark], bold=True, baseline="middle")
    tips = [("", "@name"), ("rank", "@rank"), ("score", "@score{0.00000}")]
    fig.add_tools(HoverTool(renderers=[kept_marks, grey], tooltips=tips))


def ranks(search: Search, label: str, levels: int, keep: float, *, dark: bool = False) -> Picture:
    """Return the picture of scores against rank: a line for each level, and a vertical line at the share `keep`.

    search, label, levels, dark: as in `tuples`.
    """
    first_order, shown_levels = search.order + 1 - levels, _shown(search)
    level_lines: list[Data] = []
    for level, _ in shown_levels:
        scores = level.scores[_order(level)]
        scores = scores[~np.isnan(scores)]
        drawn_ranks = np.unique(np.linspace(0, len(scores) - 1, 600).astype(int)) if len(scores) else np.empty(0, int)
        x = (drawn_ranks + 0.5) / max(len(level.scores), 1)
        level_lines.append(
            {
                "x": x,
                "y": scores[drawn_ranks],
                "rank": drawn_ranks + 1.0,
                "size": np.full(len(drawn_ranks), 6.0 if len(drawn_ranks) <= 60 else 2.6),
            }
        )
    level_lines += [{"x": [], "y": [], "rank": [], "size": []}] * (levels - len(level_lines))
    all_scores = np.concatenate([np.asarray(line["y"], float) for line in level_lines])
    y_high = round_up(1.04 * float(all_scores.max())) if len(all_scores) and all_scores.max() > 0 else 1.0
    y_low = min(0.0, 1.1 * float(all_scores.min())) if len(all_scores) else 0.0
    colours = tuple(family_shades(label, levels, dark))
    level_names = tuple(tuples_text(first_order + k) for k in range(levels))
    along = f"share of the {' or '.join(level_names)}, best first"
    score_name = FAMILIES["salr"].params["selection"].text(search.score)
    line: Data = {"x": [keep], "y": [y_high], "words": [f"kept: {100 * keep:.0f} %"]}
    return Picture(
        draw=partial(_draw_ranks, colours=colours, level_names=level_names, dark=dark),
        x=(0.0, 1.0), y=(y_low, y_high), labels=(along, f"{score_name} (nats)"),
        data={"lines": tuple(level_lines), "line": line},
        parts={"t": {"location": keep}}, key=(level_names, colours, dark),
    )  # fmt: skip


def _draw_ranks(plot: Plot, colours: Sequence[str], level_names: Sequence[str], dark: bool) -> None:
    fig, legend_items, dot_renderers = plot.figure, [], []
    fig.xaxis[0].formatter = NumeralTickFormatter(format="0 %")
    # The first level is drawn over the others.
    for level_name, colour, marker, source in zip(level_names, colours, MARKERS, plot["lines"], strict=False):
        line = fig.line("x", "y", source=source, line_color=colour, line_width=2.6)
        dot_renderers.append(fig.scatter("x", "y", source=source, color=colour, size="size", marker=marker))
        legend_items.append((level_name, [line, dot_renderers[-1]]))
    fig.add_tools(HoverTool(renderers=dot_renderers, tooltips=[("rank", "@rank"), ("score", "@y{0.00000}")]))
    plot.parts["t"] = Span(location=0.5, dimension="height", line_color=INKS[dark], line_width=3)
    fig.add_layout(plot.parts["t"])
    write(fig, plot["line"], INKS[dark], size=16, bold=True, front=dark, baseline="top", x_offset=7, y_offset=4)
    add_legend(fig, legend_items)


def gains(search: Search, label: str, *, dark: bool = False) -> Picture:
    """Return the picture of predicted gain against mutual information, with a point for each tuple of the order.

    label: the family's, for its colour; dark: whether the ground is dark.
    """
    if search.gains is None or search.mi is None:
        mi, gain, all_tuples = np.empty(0), np.empty(0), np.empty((0, search.order), np.int32)
    else:
        mi, gain, all_tuples = search.mi, search.gains, search.all_tuples()
    state = _states(search, len(mi))
    right = float(mi.max(initial=0.0)) or 1.0
    x, y = (-0.03 * right, 1.06 * right), _gain_range(gain)
    best_tuples = _best_tuples(search, gain)
    is_left = [bool(mi[k] > 0.5 * right) for k in best_tuples]
    names = [short(search.name(all_tuples[k]), 30) for k in best_tuples]
    area = VisibleArea(*x, *y, height=160, width=320)
    shifts = place(area, mi[best_tuples].tolist(), gain[best_tuples].tolist(), names, is_left)
    drawn_points = _drawn_points((mi - x[0]) / (x[1] - x[0]), (gain - y[0]) / (y[1] - y[0]), state)
    name_of = search.name if len(mi) <= MAX_MARKS else lambda columns: ""
    size = 9.0 if len(mi) <= MIN_TUPLES_FOR_SMALL_MARKS else 5.0
    data: dict[str, Data] = {
        "names": {
            "x": mi[best_tuples], "y": gain[best_tuples], "words": names, "dy": shifts,
            "align": ["right" if left else "left" for left in is_left], "dx": [-9 if left else 9 for left in is_left],
        }
    }  # fmt: skip
    for number, state_name in enumerate(_STATES):
        points = drawn_points[state[drawn_points] == number]
        point_names = [name_of(all_tuples[k]) for k in points]
        data[state_name] = {"x": mi[points], "y": gain[points], "name": point_names, "size": np.full(len(points), size)}
    return Picture(
        draw=partial(_draw_gains, label=label, dark=dark),
        x=x, y=y, labels=("mutual information (nats)", "predicted gain (nats)"), data=data, key=(label, dark),
    )  # fmt: skip


def _gain_range(gain: NDArray[np.floating]) -> Range:
    highest, lowest = (max(float(gain.max()), 0.0), float(gain.min())) if len(gain) else (1.0, 0.0)
    air = 0.1 * (highest - lowest) or 1e-3
    return lowest - air, highest + 1.6 * air


def _best_tuples(search: Search, gain: NDArray[np.floating]) -> NDArray[np.intp]:
    """Return the indices of the tuples that are named: those with the highest significant gains."""
    if search.is_significant is None or not len(gain):
        return np.empty(0, np.intp)
    significant_tuples = np.flatnonzero(search.is_significant)
    return significant_tuples[np.argsort(-gain[significant_tuples], kind="stable")[:MAX_NAMED_TUPLES]]


def _states(search: Search, n_tuples: int) -> NDArray[np.int8]:
    """Return the state of each of the n_tuples of the order, a position in _STATES."""
    state = np.zeros(n_tuples, np.int8)
    if n_tuples and search.levels:
        scored_tuples = search.numbers(search.levels[-1].tuples)
        state[scored_tuples] = 1
        state[scored_tuples[search.levels[-1].kept_indices]] = 2
    return state


def _drawn_points(x: NDArray[np.floating], y: NDArray[np.floating], state: NDArray[np.int8]) -> NDArray[np.intp]:
    """Return the indices (m,) of the points (x, y) to draw: of many, one of each state in squares of two px."""
    if len(x) <= MAX_MARKS:
        return np.arange(len(x))
    squares = (np.floor(160 * x).astype(np.int64) * 1000 + np.floor(80 * y).astype(np.int64)) * 3 + state
    return np.unique(squares, return_index=True)[1]


def _draw_gains(plot: Plot, label: str, dark: bool) -> None:
    fig, colour, dot_renderers, legend_items = plot.figure, family_colour(label), [], []
    fig.yaxis[0].formatter = BasicTickFormatter(use_scientific=False)
    fig.add_layout(Span(location=0.0, dimension="width", line_color=GREY, line_dash=[5, 4], line_width=1.4))
    looks: Mapping[str, Mapping[str, Any]] = {
        "not scored": {"marker": "x", "line_color": INKS[dark], "line_width": 1.6},
        "discarded": {"line_color": GREY, "fill_color": None},
        "kept": {"line_color": None, "fill_color": colour, "fill_alpha": 0.8},
    }
    for (state_name, look), source in zip(looks.items(), ("waiting", "discarded", "kept"), strict=True):
        dot_renderers.append(fig.scatter("x", "y", size="size", source=plot[source], **look))
        legend_items.append((state_name, dot_renderers[-1:]))
    label_offsets: dict[str, Any] = {"align": "align", "baseline": "middle", "x_offset": "dx", "y_offset": "dy"}
    write(fig, plot["names"], INKS[dark], size=14, front=dark, **label_offsets)
    tips = [("", "@name"), ("mutual information", "@x{0.00000}"), ("gain", "@y{0.00000}")]
    fig.add_tools(HoverTool(renderers=dot_renderers, tooltips=tips))
    add_legend(fig, legend_items)


def shares(lines: pd.DataFrame, orders: Sequence[int], label: str, chosen: tuple[int, float] | None, *,
           dark: bool = False) -> dict[str, Picture]:  # fmt: skip
    """Return the pictures of SHARES, with a line for each of the orders.

    lines: a study's summary, maybe empty; label: the family's; chosen: order and share of the verdict; dark: whether
    the ground is dark.
    """
    colours = tuple(family_shades(label, len(orders), dark))
    pictures = {}
    for name, axis_label in SHARES.items():
        rows_by_order = [lines[lines.order == order] if len(lines) else lines for order in orders]
        order_lines = tuple(_line(order_rows, name) for order_rows in rows_by_order)
        is_log = name != "log_loss"
        line_bounds = np.concatenate([line[bound] for line in order_lines for bound in ("low", "high")])
        ring = [(line["x"][k], line["y"][k]) for order, line in zip(orders, order_lines, strict=True)
                for k in range(len(line["x"])) if chosen == (order, float(line["x"][k]))]  # fmt: skip
        y = log_range(line_bounds[line_bounds > 0]) if is_log else padded([line_bounds], 0.08, 0.12)
        pictures[name] = Picture(
            draw=partial(_draw_shares, colours=colours, orders=tuple(orders), is_log=is_log),
            x=(0.0, 1.07), y=y, labels=("share kept", axis_label),
            data={"lines": order_lines, "chosen": {"x": [x for x, _ in ring], "y": [y for _, y in ring]}},
            parts={"ticks": {"ticks": power_ticks(*y)}} if is_log else {},
            axes={"y_axis_type": "log"} if is_log else {}, key=(tuple(orders), colours, dark),
        )  # fmt: skip
    return pictures


def _line(order_rows: pd.DataFrame, name: str) -> Data:
    """Return the figure `name` (log_loss, parameters, ...) of an order's rows by the share kept, with error bars."""
    if not len(order_rows):
        return {column: np.empty(0) for column in ("x", "y", "low", "high")} | {"words": []}
    y = order_rows[name].to_numpy(float)
    error = np.nan_to_num(order_rows.se.to_numpy(float)) if name == "log_loss" else 0.0
    text = {"parameters": short_count, "train_seconds": short_seconds}.get(name, loss_text)
    return {
        "x": order_rows.kept.to_numpy(float), "y": y, "low": y - error, "high": y + error, "words": list(map(text, y)),
    }  # fmt: skip


def _draw_shares(plot: Plot, colours: Sequence[str], orders: Sequence[int], is_log: bool) -> None:
    fig, legend_items, renderers = plot.figure, [], []
    fig.min_height = 120
    fig.xaxis[0].update(ticker=FixedTicker(ticks=[0, 0.25, 0.5, 0.75, 1]), formatter=NumeralTickFormatter(format="0 %"))
    if is_log:
        plot.parts["ticks"] = fig.yaxis[0].ticker = FixedTicker()
    for order, colour, marker, source in zip(orders, colours, MARKERS, plot["lines"], strict=False):
        line = fig.line("x", "y", source=source, line_color=colour, line_width=2.4)
        fig.segment("x", "low", "x", "high", source=source, line_color=colour, line_width=2)
        renderers.append(fig.scatter("x", "y", source=source, color=colour, size=7, marker=marker))
        legend_items.append((f"n = {order}", [line, renderers[-1]]))
    fig.scatter("x", "y", source=plot["chosen"], size=19, fill_color=None, line_color=colours[-1], line_width=3)
    fig.add_tools(HoverTool(renderers=renderers, tooltips=[("kept", "@x{0 %}"), (fig.yaxis[0].axis_label, "@words")]))
    add_legend(fig, legend_items)
