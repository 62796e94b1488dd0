"""A link as a QR code, to be photographed from the projector of a lecture room."""

from urllib.parse import urlsplit

import panel as pn
import segno

from alrviz.views.core.style import safe

LOCAL = ("localhost", "127.0.0.1", "::1")
NOT_HERE = (
    "<p>This address is of this machine alone. For others serve the explorer to the network (<code>panel serve</code> "
    "with <code>--allow-websocket-origin NAME:PORT</code>, or <code>alrviz explore --address 0.0.0.0 --origin "
    "NAME</code>), open it by the machine's name there, and share the link from that page.</p>"
)
_TOO_LONG = (
    "<p>This link is too long for a QR code: it holds points, names of tables or many recipes. Copy it instead.</p>"
)


def qr_html(link: str, *, named: bool = True, high: str = "30vh") -> str:
    """Return the code of a link as an SVG, black on white on any ground; words where it is too long.

    named: whether the link stands below it. high: how large it is at most, as CSS has it.
    """
    try:
        code = segno.make(link, error="m", micro=False)
    except segno.DataOverflowError:
        return _TOO_LONG
    svg = code.svg_inline(omitsize=True, light="#fff", border=4)
    # So large that a dialog with all its words fits a projector of 720 lines.
    style = f"max-width:min(100%,{high}); margin:0 auto"
    picture = f"<div role='img' aria-label='QR code of the link' style='{style}'>{svg}</div>"
    words = f"<p class='quiet' style='overflow-wrap:anywhere; text-align:center'>{safe(link, 400)}</p>"
    return picture + (words if named else "")


def is_local() -> bool:
    """Whether the browser opened this page at an address that leads other machines elsewhere."""
    return pn.state.location is not None and urlsplit(pn.state.location.href).hostname in LOCAL
