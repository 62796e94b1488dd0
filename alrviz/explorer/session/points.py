"""Drawn points as a table: how their CSV is read, and a few of them as the text of a link.

The text is the CSV itself, packed: who opens the link reads the very same bytes.
"""

import base64
import binascii
import csv
import io
import math
import zlib

from alrviz.data.options import ReadOptions

FILE = "drawn.csv"
# Nothing is guessed, and a class may be called "NA" or "?". The kinds are by position.
AS_WRITTEN = ReadOptions(delimiter=",", encoding="utf-8", decimal=".", thousands="", missing=("",), header=True)
KINDS = {0: "numeric", 1: "numeric", 2: "target"}
MAX_POINTS = 200  # points of a link
MAX_TEXT_CHARS = 4_000  # characters: mail programs and QR codes take no more
_MAX_CSV_BYTES = 40_000  # of the CSV: a small text may be unpacked to any size


def pack(table: str) -> str:
    """Return a CSV of two coordinates and a class as text that needs no escaping in a URL; "" where it is too much."""
    text = base64.urlsafe_b64encode(zlib.compress(table.encode(), 9)).decode("ascii").rstrip("=")
    return text if len(text) <= MAX_TEXT_CHARS and unpack(text) == table else ""


def unpack(text: str) -> str:
    """Return the CSV that `pack` was given; "" for text that it did not make, whatever that is."""
    if len(text) > MAX_TEXT_CHARS:
        return ""
    inflating = zlib.decompressobj()
    try:
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        table = inflating.decompress(packed, _MAX_CSV_BYTES).decode()
        return table if inflating.eof and not inflating.unused_data and _are_points(table) else ""
    except (ValueError, binascii.Error, zlib.error, csv.Error):  # of them the decoders' own
        return ""


def _are_points(table: str) -> bool:
    """Whether it is a row of three names, and points of at least two classes."""
    names, *rows = list(csv.reader(io.StringIO(table, newline=""), strict=True)) or [[]]
    return (
        len(set(names)) == 3
        and all(len(row) == len(names) == 3 and math.isfinite(float(row[0]) + float(row[1])) for row in rows)
        and 2 <= len(rows) <= MAX_POINTS
        and len({row[2] for row in rows}) >= 2
    )
