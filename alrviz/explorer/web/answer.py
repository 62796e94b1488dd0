"""A short page of plain HTML in place of the explorer, such as an error."""

from urllib.parse import quote, urlencode

from tornado.httputil import HTTPServerRequest
from tornado.web import RequestHandler


class Answer(RequestHandler):
    """A short answer in place of the page, whatever the method."""

    def say(self, status: int, title: str, html: str) -> None:
        """Answer with this status, title (plain text) and HTML."""
        self.set_status(status)
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        self.finish(
            f"<!doctype html><html lang=en><meta name=viewport content='width=device-width'><title>{title}</title>"
            "<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:36em;"
            f"margin:15vh auto;padding:0 1em}}</style><main><h1>{title}</h1>{html}</main>"
        )


def address_without(request: HTTPServerRequest, *names: str) -> str:
    """Return a request's own address without these arguments; relative, for a proxy may have another path."""
    left = urlencode([(name, one) for name, all in request.arguments.items() if name not in names for one in all])
    # "./", for a last part with a colon ("javascript:...", "https:...") would be an address of its own.
    return "./" + quote(request.path.rpartition("/")[2], safe="%") + (f"?{left}" if left else "")
