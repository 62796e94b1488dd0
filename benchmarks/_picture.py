"""Pictures of the documentation, drawn as SVG from what a bench saved by `--csv FILE`.

    python -m benchmarks._picture FILE ... OUT

Of `peers`: bars on a logarithmic axis, a group a table, shorter is faster; above seconds an iteration, below seconds to
the target. An arrow at the end of a bar: it was given up there. `ranks_svg` draws the mean ranks of `quality`.
"""

import argparse
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, isfinite, log10
from pathlib import Path
from xml.sax.saxutils import escape

import pandas as pd

from benchmarks._each import ALRVIZ, ONE_THREAD, PLAIN, SCIKIT_LEARN
from reproduction.svg import line, page, text

WIDTH, MARGIN, RIGHT, BAR, GAP, HEAD = 760, 250, 110, 13, 12, 46
COLORS = {"ours": "#0072b2", "auto": "#56b4e9", "theirs": "#d55e00", "others": "#999999"}


@dataclass(frozen=True)
class Bar:
    """One bar: its words, its length, whether the work was given up there, and its party (a key of `COLORS`)."""

    name: str
    seconds: float
    party: str
    is_lower_bound: bool = False


@dataclass(frozen=True)
class Panel:
    """Groups of bars under one title and on one axis."""

    title: str
    groups: dict[str, list[Bar]]

    @property
    def height(self) -> int:
        """Pixels."""
        return HEAD + sum(BAR * len(bars) + GAP for bars in self.groups.values())


def svg(panels: Sequence[Panel]) -> str:
    """Return the panels one below the other."""
    parts: list[str] = []
    top = 8
    for panel in panels:
        parts += _panel(panel, top)
        top += panel.height + 8
    return page(parts, WIDTH, top)


def _panel(panel: Panel, top: int) -> list[str]:
    lengths = [bar.seconds for bars in panel.groups.values() for bar in bars]
    low, high = floor(log10(min(lengths))), ceil(log10(max(lengths)))
    high = max(high, low + 1)

    def x(seconds: float) -> float:
        return MARGIN + (WIDTH - MARGIN - RIGHT) * (log10(seconds) - low) / (high - low)

    parts = [f'<text class="title" x="12" y="{top + 16}">{escape(panel.title)}</text>']
    for power in range(low, high + 1):
        tick_x = x(10.0**power)
        parts.append(f'<line x1="{tick_x:.1f}" y1="{top + 38}" x2="{tick_x:.1f}" y2="{top + panel.height - 6}"/>')
        parts.append(
            f'<text class="quiet" x="{tick_x:.1f}" y="{top + 34}" text-anchor="middle">{_short(10.0**power)}</text>'
        )
    y = top + HEAD
    for group, bars in panel.groups.items():
        parts.append(f'<text x="12" y="{y + 10}">{escape(group)}</text>')
        for bar in bars:
            end = x(bar.seconds)
            words = f"{'→ over ' if bar.is_lower_bound else ''}{_short(bar.seconds)}"
            parts.append(
                f'<text class="quiet" x="{MARGIN - 6}" y="{y + 10}" text-anchor="end">{escape(bar.name)}</text>'
            )
            parts.append(f'<rect x="{MARGIN}" y="{y + 1}" width="{max(1.0, end - MARGIN):.1f}" height="{BAR - 2}" '
                         f'fill="{COLORS[bar.party]}"/>')  # fmt: skip
            parts.append(f'<text x="{end + 5:.1f}" y="{y + 10}">{words}</text>')
            y += BAR
        y += GAP
    return parts


def ranks_svg(ranks: Mapping[str, float], difference: float, n_sets: int, our_names: Collection[str]) -> str:
    """Return mean ranks, the best above: a point a method, ours in colour, and what lies within `difference` of it."""
    best, step, top = min(ranks.values()), 20, 52
    height = top + step * len(ranks) + 30

    def x(rank: float) -> float:
        return 170 + (WIDTH - 230) * (rank - 1) / (len(ranks) - 1)

    band = x(best + difference) - x(best)
    parts = [
        text(f"Mean rank in held-out log loss, {n_sets} data sets", 12, 24, kind="title"),
        f'<rect x="{x(best):.1f}" y="{top - 16}" width="{band:.1f}" height="{height - top - 14}" fill="#56b4e9" '
        'fill-opacity="0.25"/>',
        text("not told apart from the best", x(best) + 4, height - 16, kind="quiet"),
    ]
    for place in range(1, len(ranks) + 1):
        parts.append(line((x(place), x(place)), (top - 12, height - 30)))
        parts.append(text(str(place), x(place), top - 14, kind="quiet", anchor="middle"))
    for i, (name, rank) in enumerate(sorted(ranks.items(), key=lambda item: item[1])):
        y, colour = top + step * i + 6, COLORS["ours" if name in our_names else "others"]
        parts.append(text(name, 160, y + 4, anchor="end"))
        parts.append(f'<circle cx="{x(rank):.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>')
        parts.append(text(f"{rank:.2f}", x(rank) + 9, y + 4))
    return page(parts, WIDTH, height)


def _short(seconds: float) -> str:
    if seconds >= 100.0:
        return f"{seconds:.0f} s"
    return f"{1e3 * seconds:.3g} ms" if seconds < 1.0 else f"{seconds:.3g} s"


def panels_of(rows: Iterable[dict[str, str]]) -> list[Panel]:
    """Return the panels that the saved rows of `peers` make."""
    bars: dict[str, list[Bar]] = {}
    target: dict[str, list[dict[str, str]]] = {}
    parties = {ALRVIZ: "ours", SCIKIT_LEARN: "theirs", ONE_THREAD: "theirs", PLAIN: "others"}
    for row in rows:
        if row["part"] == "per iteration":
            bars.setdefault(row["set"], []).append(Bar(row["library"], float(row["seconds"]), parties[row["library"]]))
        elif row["part"] == "to target":
            target.setdefault(f"{row['set']}, alpha {float(row['alpha']):g}", []).append(row)
    panels = [Panel("Seconds per iteration of L-BFGS, order 2, the same objective", bars)] if bars else []
    if target:
        groups = {name: _bars(members) for name, members in target.items()}
        panels.append(Panel("Seconds until F is within 0.001 nats per row of the lowest found", groups))
    return panels


def _bars(rows: list[dict[str, str]]) -> list[Bar]:
    """The best of ours, auto, the best of scikit-learn's, and plain numpy."""
    kinds = {
        "alrviz, best solver": ("ours", lambda name: not name.startswith(("scikit-learn", "numpy"))),
        "alrviz, auto": ("auto", lambda name: name == "auto"),
        "scikit-learn, best": ("theirs", lambda name: name.startswith("scikit-learn")),
        "numpy and SciPy": ("others", lambda name: name.startswith("numpy")),
    }
    bars = []
    for words, (party, includes) in kinds.items():
        part = [row for row in rows if includes(row["solver"]) and row.get("spent")]
        if not part:
            continue
        best = min(part, key=lambda row: float(row["seconds"] or inf))
        time = float(best["seconds"] or inf)
        bound = min(float(row["spent"]) for row in part)  # the best may be the one that was given up first
        bars.append(Bar(words, time if isfinite(time) else bound, party, not isfinite(time)))
    return bars


def main() -> None:
    """Draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", type=Path, nargs="+")
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    figures = pd.concat([pd.read_csv(path, comment="#") for path in options.figures], ignore_index=True)
    picture = svg(panels_of(figures.astype(object).where(figures.notna(), "").astype(str).to_dict("records")))
    options.out.write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
