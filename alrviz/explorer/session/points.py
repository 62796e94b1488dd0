"""Drawn points as a table: the options to read their CSV, and the text for a link that carries the CSV itself.

The text is the compressed CSV, so that whoever opens the link reads the same bytes.
"""

import base64
import binascii
import csv
import io
import math
import zlib

from alrviz.data.options import ReadOptions

POINTS_FILE = "drawn.csv"
# Nothing is guessed, because a class may be called "NA" or "?".
READ_OPTIONS = ReadOptions(delimiter=",", encoding="utf-8", decimal=".", thousands="", missing=("",), header=True)
POINTS_KINDS = {0: "numeric", 1: "numeric", 2: "target"}
MAX_POINTS = 200  # in a link
MAX_TEXT_CHARS = 4_000  # mail programs and QR codes take no more
_MAX_CSV_BYTES = 40_000  # a small text may be unpacked to any size


def pack_points(table: str) -> str:
    """Return a CSV of two coordinates and a class as text that needs no escaping in a URL; "" if it is too long."""
    packed_text = base64.urlsafe_b64encode(zlib.compress(table.encode(), 9)).decode("ascii").rstrip("=")
    return packed_text if len(packed_text) <= MAX_TEXT_CHARS and unpack_points(packed_text) == table else ""


def unpack_points(text: str) -> str:
    """Return the CSV that `pack_points` has packed; "" for any other text."""
    if len(text) > MAX_TEXT_CHARS:
        return ""
    decompressor = zlib.decompressobj()
    try:
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        table = decompressor.decompress(packed, _MAX_CSV_BYTES).decode()
        return table if decompressor.eof and not decompressor.unused_data and _are_points(table) else ""
    except (ValueError, binascii.Error, zlib.error, csv.Error):
        return ""


def _are_points(table: str) -> bool:
    """Return whether a CSV is a row of three names, then points of at least two classes."""
    names, *rows = list(csv.reader(io.StringIO(table, newline=""), strict=True)) or [[]]
    return (
        len(set(names)) == 3
        and all(len(row) == len(names) == 3 and math.isfinite(float(row[0]) + float(row[1])) for row in rows)
        and 2 <= len(rows) <= MAX_POINTS
        and len({row[2] for row in rows}) >= 2
    )
