"""A short page of plain HTML: what is said in place of a page."""

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
