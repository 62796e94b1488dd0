"""A file that arrives from a browser piece by piece: counted, shown and cancelled like any other work.

It has the attributes of a `LatestJob` (title, seconds, share, waiting, poll, cancel), so that the notice and the pump
need not tell the two apart. Its bytes count against the server's limit from the first piece on: many visitors who drop
files at the same time must not fill the memory before any file is read.
"""

import time
from collections.abc import Callable

from alrviz.data.limits import size_text
from alrviz.errors import TableError
from alrviz.explorer.server.tables import MemoryReservation

PATIENCE_SECONDS = 60.0  # without a piece for so long, the browser or the connection is gone


class IncomingFile:
    """The pieces of one file.

    Args:
        reservation: reserves the server's memory; grows with the pieces and is released at the end.
        limit: maximum bytes of a file, or None.
        on_failure: called with a `TableError` when no more pieces come.

    Attributes:
        name: of the file; "" before the first piece.
        share: of the file that has arrived, from 0 to 1; None before the first piece.
        is_closed: whether further pieces are ignored.
    """

    waiting = False

    def __init__(
        self,
        reservation: MemoryReservation,
        limit: int | None,
        on_failure: Callable[[Exception], None],
        clock: Callable[[], float] = time.monotonic,
    ):
        self._reservation, self._limit, self._on_failure, self._clock = reservation, limit, on_failure, clock
        self._start_time = self._last_piece_time = clock()
        self._pieces: list[bytes] = []
        self.name = ""
        self.share: float | None = None
        self.is_closed = False

    @property
    def title(self) -> str:
        """The work as the notice calls it."""
        return f"receiving {self.name or 'the file'}"

    @property
    def seconds(self) -> float:
        """Seconds since the first piece was announced."""
        return self._clock() - self._start_time

    def add(self, name: str, data: bytes, share: float) -> None:
        """Append a piece, after which `share` of the file has arrived.

        Pieces of a second file, with another name, are ignored.

        Raises:
            TableError: if the file exceeds its limit, or the server has no room.
        """
        if self.is_closed or (self.name and name != self.name):
            return
        self.name, self._last_piece_time = name, self._clock()
        n_bytes = self._reservation.size + len(data)
        if self._limit is not None and n_bytes > self._limit:
            raise too_large(name, self._limit)
        self._reservation.resize(n_bytes)
        self._pieces.append(data)
        self.share = share

    def finish(self) -> bytes:
        """Return the file's bytes and release their reservation."""
        file_bytes = b"".join(self._pieces)
        self.cancel()
        return file_bytes

    def cancel(self) -> None:
        """Discard the pieces; later ones are ignored."""
        self.is_closed = True
        self._pieces.clear()
        self._reservation.release()

    def poll(self) -> bool:
        """Return whether more pieces are expected; give up `PATIENCE_SECONDS` after the last one."""
        if not self.is_closed and self._clock() - self._last_piece_time > PATIENCE_SECONDS:
            arrived = size_text(self._reservation.size)
            self.cancel()
            self._on_failure(TableError(f"{self.name or 'the file'} stopped coming after {arrived}; drop it again"))
        return not self.is_closed


def too_large(name: str, limit: int) -> TableError:
    """Return the error about a file with more bytes than allowed."""
    return TableError(
        f"{name} has more than the {size_text(limit)} allowed here; take a sample of its rows, or leave out columns"
    )
