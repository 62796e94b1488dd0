"""The drop strip: "your data: drop a file", on every page.

The browser sends a file in pieces below the websocket's message limit. Pieces come from a stranger, so the server
counts bytes as they arrive, whatever the browser claims, and takes one file at a time. Any file may be dropped: its
content decides whether it is a table, and the reader says what it is instead.
"""

from collections.abc import Callable
from typing import Any

import panel_material_ui as pmui

from alrviz.errors import TableError
from alrviz.explorer.server.tables import safe_name
from alrviz.explorer.session.incoming_file import IncomingFile, too_large
from alrviz.explorer.session.session import Session

PIECE_BYTES = 1_000_000  # a message of the page may have 2 MB, and small pieces keep the event loop free
WORDS = "Your data: drop a file, or browse"
TABLES = "CSV, JSON, Parquet, Excel, SPSS, Stata ..., also packed (gzip, zip). It stays in this server's memory."


class DropStrip(pmui.FileInput):
    """A button that is also a drop zone; hands over the whole file or says why not.

    What becomes of a file is said by the notice and by the header: the strip's own icon and label would go on naming a
    file that was refused.

    Args:
        limit: bytes a file may have, or None.
        begun: returns the arrival that takes the pieces of the next file.
        taken: called with the file's name and bytes.
        refused: called with a `TableError`.
        words: what is on it. description: of the files that are taken.
    """

    def __init__(
        self,
        limit: int | None,
        begun: Callable[[], IncomingFile],
        taken: Callable[[str, bytes], None],
        refused: Callable[[Exception], None],
        words: str = WORDS,
        description: str = TABLES,
        **params: object,
    ):
        self._limit, self._begun, self._taken, self._refused = limit, begun, taken, refused
        self._arrival: IncomingFile | None = None
        super().__init__(
            label=words,
            uploaded_label=words,
            icon="upload_file",
            chunk_size=PIECE_BYTES,
            max_file_size=limit,
            multiple=False,
            variant="outlined",
            color="primary",
            description=description,
            sx={
                "borderStyle": "dashed",
                "borderRadius": "8px",
                "py": "4px",
                "whiteSpace": "nowrap",
                "overflow": "hidden",
                "&:focus-within": {"outline": "3px solid", "outlineColor": "primary.main", "outlineOffset": "2px"},
            },
            **params,
        )

    def _handle_msg(self, msg: Any) -> None:
        status = msg.get("status") if isinstance(msg, dict) else None
        if status == "initializing":
            self._begin()
        elif status == "upload_event":
            self._piece(msg)
        elif status == "finished":
            self._finish()
        elif status == "error":
            error = str(msg.get("error"))[:200]
            if self._limit is not None and "exceeds maximum" in error:
                self._refuse(too_large("the file", self._limit))
            else:
                self._refuse(TableError(f"the browser could not send the file: {error}"))

    def _begin(self) -> IncomingFile:
        self._arrival = self._begun()
        return self._arrival

    def _piece(self, msg: dict[str, Any]) -> None:
        try:
            data = memoryview(msg["data"]).tobytes()  # `bytes` of a stranger's number would be as many zeros
        except (KeyError, TypeError):
            return
        arrival = self._arrival or self._begin()
        try:
            arrival.add(safe_name(str(msg.get("name", ""))), data, _share(msg))
        except TableError as error:
            self._refuse(error)

    def _refuse(self, error: TableError) -> None:
        if self._arrival is not None:
            self._arrival.cancel()  # what still comes of it is not taken
        self._refused(error)

    def _finish(self) -> None:
        arrival, self._arrival = self._arrival, None
        self._send_msg({"status": "finished"})
        if arrival is not None and not arrival.is_closed:
            self._taken(arrival.name or "table", arrival.finish())


class FileStrip(DropStrip):
    """A strip for files that are not to become the session's table; its bytes count against what the server holds."""

    def __init__(
        self,
        session: Session,
        taken: Callable[[str, bytes], None],
        refused: Callable[[Exception], None],
        words: str,
        description: str = TABLES,
        **params: object,
    ):
        self._session = session
        self._latest: IncomingFile | None = None
        super().__init__(session.registry.limits.bytes, self._receive, taken, refused, words, description, **params)

    def _receive(self) -> IncomingFile:
        registry, owner = self._session.registry, self._session.owner
        self._latest = IncomingFile(registry.tables.claim(owner), registry.limits.bytes, self._refused)
        self._session.wake()
        return self._latest

    def pump(self) -> bool:
        """Give up a file that stopped coming; returns whether one is still coming."""
        return self._latest is not None and self._latest.poll()

    def cancel(self) -> None:
        """Take no more of the file that is coming."""
        if self._latest is not None:
            self._latest.cancel()


def _share(msg: dict[str, Any]) -> float:
    """Return how much of a file is there with this piece, by the numbers that the browser gives."""
    piece, pieces = msg.get("chunk"), msg.get("total_chunks")
    if isinstance(piece, int) and isinstance(pieces, int) and 0 < piece <= pieces < 1_000_000:
        return piece / pieces
    return 0.0
