"""A short page of plain HTML in place of the explorer, such as an error."""

from urllib.parse import quote, urlencode

from tornado.httputil import HTTPServerRequest
from tornado.web import RequestHandler


class PlainPage(RequestHandler):
    """A handler that answers any request with a short page."""

    def write_html(self, status: int, title: str, html: str) -> None:
        """Answer with a status, a title (plain text) and a body (HTML)."""
        self.set_status(status)
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        self.finish(
            f"<!doctype html><html lang=en><meta name=viewport content='width=device-width'><title>{title}</title>"
            "<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:36em;"
            f"margin:15vh auto;padding:0 1em}}</style><main><h1>{title}</h1>{html}</main>"
        )


def address_without(request: HTTPServerRequest, *names: str) -> str:
    """Return the address of a request without some arguments; relative, because a proxy may use another path."""
    arguments = [(name, value) for name, values in request.arguments.items() if name not in names for value in values]
    query = urlencode(arguments)
    # With "./", because a last part such as "javascript:..." would be an absolute address.
    return "./" + quote(request.path.rpartition("/")[2], safe="%") + (f"?{query}" if query else "")
