"""An axis whose places are levels: level k from k to k + 1, its name below the middle.

In names from data Bokeh looks for no TeX: they are labels that a formatter returns, or `PlainText`.
"""

from collections.abc import Sequence

from bokeh.models import CustomJSTickFormatter, FixedTicker
from bokeh.models.axes import Axis

MAX_LEVEL_CHARS = 14  # letters of a level's name
# Not the axis' own overrides of labels: BokehJS makes views of them later than it paints, and shows 10.5 until then.
_WORDS = "return words[Math.floor(tick)] ?? ''"
TILT_RADIANS = 0.8  # lines of 15 px need 21 px from one to the next, which 16 levels have in the narrowest page
_MAX_TICKS = 40  # of more levels only every n-th is named; tooltips name all
_MAX_NAMES_CHARS = 44  # characters beside each other below the narrowest picture


def level_axis(
    axis: Axis,
    labels: Sequence[str],
    *,
    tilts: bool = True,
    room: int = _MAX_NAMES_CHARS,
    cut: int = MAX_LEVEL_CHARS,
    max_ticks: int = _MAX_TICKS,
) -> None:
    """Show these labels of levels on an axis.

    Args:
        axis: the figure's axis.
        labels: of all levels.
        tilts: whether names that would touch are tilted.
        room: total number of characters beyond which they would touch.
        cut: number of characters that a name is cut to.
        max_ticks: number of ticks; of more levels only every second, third, ... is named.
    """
    names = [short(label, cut) for label in labels]
    axis.update(
        ticker=FixedTicker(ticks=[k + 0.5 for k in range(0, len(names), -(-len(names) // max_ticks) or 1)]),
        formatter=CustomJSTickFormatter(args={"words": names}, code=_WORDS),
    )
    if tilts:
        axis.major_label_orientation = TILT_RADIANS if max(map(len, names), default=0) * len(names) > room else 0.0


def short(text: str, max_chars: int = MAX_LEVEL_CHARS) -> str:
    """Return a text, cut to at most `max_chars` characters."""
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"
