"""The page of a picture that is saved as SVG without a browser: its size, ground and text, in light and dark."""

from collections.abc import Iterable
from xml.sax.saxutils import escape

_STYLE = """
text { font: 12px system-ui, sans-serif; fill: #222 } .title { font-size: 14px; font-weight: 600 } .quiet { fill: #666 }
line { stroke: #ddd } rect.page { fill: #fff } .hollow { fill: #fff }
@media (prefers-color-scheme: dark) {
  text { fill: #e6e6e6 } .quiet { fill: #a0a0a0 } line { stroke: #444 } rect.page { fill: #0d1117 }
  .hollow { fill: #0d1117 }
}
"""


def page(parts: Iterable[str], width: float, height: float) -> str:
    """Return the SVG that shows `parts` on a ground of `width` by `height` pixels."""
    size = f'width="{width:g}" height="{height:g}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" {size}>'
        f'<style>{_STYLE}</style><rect class="page" {size} rx="6"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def text(words: str, x: float, y: float, *, kind: str = "", anchor: str = "start") -> str:
    """Return words at (x, y), the left end of their base line unless `anchor` is "middle" or "end"."""
    style = f' class="{kind}"' if kind else ""
    return f'<text{style} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def line(x: tuple[float, float], y: tuple[float, float], colour: str = "", width: float = 1.0) -> str:
    """Return a straight line; without a colour it is as faint as a grid's."""
    style = f' style="stroke:{colour};stroke-width:{width:g}"' if colour else ""
    return f'<line x1="{x[0]:.1f}" y1="{y[0]:.1f}" x2="{x[1]:.1f}" y2="{y[1]:.1f}"{style}/>'
