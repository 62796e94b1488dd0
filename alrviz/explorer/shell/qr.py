"""A link as a QR code, to be photographed from the projector of a lecture room."""

from urllib.parse import urlsplit

import panel as pn
import segno

from alrviz.views.core.style import safe

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_LOCAL_ADDRESS_HINT = (
    "<p>This address works only on this machine. To share it, serve the explorer to the network (<code>panel "
    "serve</code> with <code>--allow-websocket-origin NAME:PORT</code>, or <code>alrviz explore --address 0.0.0.0 "
    "--origin NAME</code>), open it by the machine's name there, and share the link from that page.</p>"
)
_TOO_LONG = (
    "<p>This link is too long for a QR code: it holds points, names of tables or many recipes. Copy it instead.</p>"
)


def qr_html(link: str, *, show_link: bool = True, max_height: str = "30vh") -> str:
    """Return the QR code of a link as SVG, black on white in any theme; a hint if the link is too long.

    show_link: whether the link is printed below. max_height: a CSS length.
    """
    try:
        qr_code = segno.make(link, error="m", micro=False)
    except segno.DataOverflowError:
        return _TOO_LONG
    svg = qr_code.svg_inline(omitsize=True, light="#fff", border=4)
    # By default a dialog with its text fits on a projector of 720 lines.
    style = f"max-width:min(100%,{max_height}); margin:0 auto"
    picture_html = f"<div role='img' aria-label='QR code of the link' style='{style}'>{svg}</div>"
    link_html = f"<p class='quiet' style='overflow-wrap:anywhere; text-align:center'>{safe(link, 400)}</p>"
    return picture_html + (link_html if show_link else "")


def page_url(path: str = "") -> str:
    """Return the address of this page, or of a path below it; relative if the page's address is unknown."""
    location = pn.state.location
    base = "" if location is None else location.href.split("?")[0].split("#")[0]
    # The final "/" of the page itself stays: behind a proxy with a prefix its route may need it.
    return f"{base.rstrip('/')}/{path}" if base and path else base or path


def local_hint() -> str:
    """Return a hint as HTML if the address of this page works on this machine only; else ""."""
    return _LOCAL_ADDRESS_HINT if urlsplit(page_url()).hostname in LOCAL_HOSTS else ""
