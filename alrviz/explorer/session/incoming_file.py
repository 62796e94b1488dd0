"""A file that arrives from a browser piece by piece: counted, shown and cancelled like any other work.

It has the face of a `LatestJob` (title, seconds, share, waiting, poll, cancel), so that the notice and the pump
treat the two alike. Its bytes count against what the server holds from the first piece on: many who drop files at the
same time must not fill the memory before any of them is read.
"""

import time
from collections.abc import Callable

from alrviz.data.limits import size_text
from alrviz.errors import TableError
from alrviz.explorer.server.tables import UploadClaim

PATIENCE_SECONDS = 60.0  # seconds without a piece: the browser, or the way to it, is gone


class IncomingFile:
    """The pieces of one file.

    Args:
        claim: the room in the server's memory; grows with the pieces, and is given back at the end.
        limit: bytes a file may have, or None.
        failed: called with a `TableError` when the pieces stop coming.
    """

    waiting = False

    def __init__(
        self,
        claim: UploadClaim,
        limit: int | None,
        failed: Callable[[Exception], None],
        clock: Callable[[], float] = time.monotonic,
    ):
        self._claim, self._limit, self._failed, self._clock = claim, limit, failed, clock
        self._begun = self._heard = clock()
        self._pieces: list[bytes] = []
        self.name = ""
        self.share: float | None = None
        self.over = False

    @property
    def title(self) -> str:
        """What is being done, for people."""
        return f"receiving {self.name or 'the file'}"

    @property
    def seconds(self) -> float:
        """How long it has been under way."""
        return self._clock() - self._begun

    def add(self, name: str, data: bytes, share: float) -> None:
        """Take the next piece, after which `share` of the file is there; raises `TableError` where it is too much.

        One file at a time: pieces of another name than the first one's are not taken.
        """
        if self.over or (self.name and name != self.name):
            return
        self.name, self._heard = name, self._clock()
        size = self._claim.size + len(data)
        if self._limit is not None and size > self._limit:
            raise too_large(name, self._limit)
        self._claim.resize(size)
        self._pieces.append(data)
        self.share = share

    def finish(self) -> bytes:
        """End it and return the file."""
        data = b"".join(self._pieces)
        self.cancel()
        return data

    def cancel(self) -> None:
        """End it; further pieces are not taken."""
        self.over = True
        self._pieces.clear()
        self._claim.release()

    def poll(self) -> bool:
        """Return whether it is still to be waited for; gives up when nothing came for a minute."""
        if not self.over and self._clock() - self._heard > PATIENCE_SECONDS:
            size = size_text(self._claim.size)
            self.cancel()
            self._failed(TableError(f"{self.name or 'the file'} stopped coming after {size}; drop it again"))
        return not self.over


def too_large(name: str, limit: int) -> TableError:
    """Return the error about a file of more bytes than are allowed."""
    return TableError(
        f"{name} has more than the {size_text(limit)} allowed here; take a sample of its rows, or leave out columns"
    )
