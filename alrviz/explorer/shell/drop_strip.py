"""The drop strip: "your data: drop a file", on every page.

The browser sends a file in pieces below the websocket's message limit. The server does not trust the browser's numbers:
it counts bytes as they arrive, and accepts one file at a time. Any file may be dropped; the reader judges it by its
content, and reports what is not a table.
"""

from collections.abc import Callable
from typing import Any

import panel_material_ui as pmui

from alrviz.errors import TableError
from alrviz.explorer.server.tables import MemoryReservation, safe_name
from alrviz.explorer.session.incoming_file import IncomingFile, too_large
from alrviz.explorer.session.session import Session

PIECE_BYTES = 1_000_000  # a message of the page may have 2 MB, and small pieces keep the event loop free
LABEL = "Your data: drop a file, or browse"
FILE_DESCRIPTION = "CSV, JSON, Parquet, Excel, SPSS, Stata ..., or compressed (gzip, zip). Held in memory, not stored."


class DropStrip(pmui.FileInput):
    """A button that is also a drop zone.

    It does not show the name of the file, because it would still show the name of a refused one; the notice and the
    header do.

    Args:
        limit: maximum bytes of a file, or None.
        on_begin: returns the object that takes the pieces of the next file.
        on_file: called with the file's name and bytes.
        on_error: called with a `TableError`.
        words: the label.
        description: accepted kinds of files.
    """

    def __init__(
        self,
        limit: int | None,
        on_begin: Callable[[], IncomingFile],
        on_file: Callable[[str, bytes], None],
        on_error: Callable[[Exception], None],
        words: str = LABEL,
        description: str = FILE_DESCRIPTION,
        **params: object,
    ):
        self._limit, self._on_begin, self._on_file, self._on_error = limit, on_begin, on_file, on_error
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
            self._receive_piece(msg)
        elif status == "finished":
            self._finish_file()
        elif status == "error":
            error = str(msg.get("error"))[:200]
            if self._limit is not None and "exceeds maximum" in error:
                self._refuse(too_large("the file", self._limit))
            else:
                self._refuse(TableError(f"the browser could not send the file: {error}"))

    def _begin(self) -> IncomingFile:
        self._arrival = self._on_begin()
        return self._arrival

    def _receive_piece(self, msg: dict[str, Any]) -> None:
        """Append a piece. msg: `data`, `name` of the file, and the numbers of `_arrived_share`."""
        try:
            piece_bytes = memoryview(msg["data"]).tobytes()  # not `bytes`, which makes zeros of a number
        except (KeyError, TypeError):
            return
        arrival = self._arrival or self._begin()
        try:
            arrival.add(safe_name(str(msg.get("name", ""))), piece_bytes, _arrived_share(msg))
        except TableError as error:
            self._refuse(error)

    def _refuse(self, error: TableError) -> None:
        if self._arrival is not None:
            self._arrival.cancel()  # later pieces are ignored
        self._on_error(error)

    def _finish_file(self) -> None:
        """Hand over the file that has arrived, unless it was refused."""
        arrival, self._arrival = self._arrival, None
        self._send_msg({"status": "finished"})
        if arrival is not None and not arrival.is_closed:
            self._on_file(arrival.name or "table", arrival.finish())


class FileStrip(DropStrip):
    """A strip for files other than the session's table; their bytes count against the server's limit."""

    def __init__(
        self,
        session: Session,
        on_file: Callable[[str, bytes], None],
        on_error: Callable[[Exception], None],
        words: str,
        description: str = FILE_DESCRIPTION,
        **params: object,
    ):
        self._session = session
        self._latest: IncomingFile | None = None
        super().__init__(session.registry.limits.bytes, self._receive, on_file, on_error, words, description, **params)

    def _receive(self) -> IncomingFile:
        registry, owner = self._session.registry, self._session.owner
        self._latest = IncomingFile(MemoryReservation(registry.tables, owner), registry.limits.bytes, self._on_error)
        self._session.wake()
        return self._latest

    def pump(self) -> bool:
        """Return whether a file is arriving; cancel one whose pieces have stopped."""
        return self._latest is not None and self._latest.poll()

    def cancel(self) -> None:
        """Cancel the file that is arriving."""
        if self._latest is not None:
            self._latest.cancel()


def _arrived_share(msg: dict[str, Any]) -> float:
    """Return the share of a file that has arrived with this piece, by the browser's numbers."""
    piece_index, n_pieces = msg.get("chunk"), msg.get("total_chunks")
    if isinstance(piece_index, int) and isinstance(n_pieces, int) and 0 < piece_index <= n_pieces < 1_000_000:
        return piece_index / n_pieces
    return 0.0
