"""The drop strip: "your data: drop a file", on every page.

The browser sends a file in pieces below the websocket's message limit. Pieces come from a stranger, so the server
counts bytes as they arrive, whatever the browser claims, and takes one file at a time.
"""

from collections.abc import Callable
from typing import Any

import panel_material_ui as pmui

from alrviz.errors import TableError
from alrviz.explorer.state import safe_name

ACCEPTED = ".csv,.tsv,.txt,.data,.tab,.gz,.parquet,.pq,.arff,.xlsx"
PIECE = 4_000_000  # bytes a message; Bokeh's limit is 20 MB, and smaller pieces keep the event loop free


class DropStrip(pmui.FileInput):
    """A button that is also a drop zone; hands over the whole file or says why not.

    Args:
        limit: bytes a file may have, or None.
        taken: called with the file's name and bytes.
        refused: called with a `TableError`.
    """

    def __init__(
        self,
        limit: int | None,
        taken: Callable[[str, bytes], None],
        refused: Callable[[Exception], None],
        **params: Any,
    ):
        self._limit, self._taken, self._refused = limit, taken, refused
        self._name, self._size, self._dropped = "", 0, False
        self._pieces: list[bytes] = []
        super().__init__(
            label="Your data: drop a file, or browse",
            uploaded_label="Your data: {filename}; drop another",
            accept=ACCEPTED,
            chunk_size=PIECE,
            max_file_size=limit,
            multiple=False,
            variant="outlined",
            color="primary",
            description="CSV, TSV, Parquet, ARFF or xlsx, gzip as well. It stays in this server's memory.",
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
            self._begin("")
        elif status == "upload_event":
            self._piece(msg)
        elif status == "finished":
            self._finish()
        elif status == "error":
            error = str(msg.get("error"))[:200]
            too_large = "exceeds maximum" in error
            self._refuse(self._too_large("the file") if too_large else f"the browser could not send the file: {error}")

    def _begin(self, name: str) -> None:
        self._name, self._pieces, self._size, self._dropped = name, [], 0, False

    def _piece(self, msg: dict[str, Any]) -> None:
        if self._dropped:
            return
        try:
            data = memoryview(msg["data"]).tobytes()  # `bytes` of a stranger's number would be as many zeros
        except (KeyError, TypeError):
            return
        name = safe_name(str(msg.get("name", "")))
        if self._name and name != self._name:
            return  # one table at a time: the first file of several
        self._name = name
        self._pieces.append(data)
        self._size += len(data)
        if self._limit is not None and self._size > self._limit:
            self._refuse(self._too_large(name))

    def _too_large(self, name: str) -> str:
        return (
            f"{name} has more than the {(self._limit or 0) / 1e6:,.0f} MB allowed here; "
            "take a sample of its rows, or leave out columns"
        )

    def _refuse(self, text: str) -> None:
        self._pieces, self._dropped = [], True
        self._refused(TableError(text))

    def _finish(self) -> None:
        name, data, dropped = self._name, b"".join(self._pieces), self._dropped
        self._begin("")
        self._send_msg({"status": "finished"})
        if not dropped:
            self._taken(name or "table", data)
