"""From bytes to UTF-8: the encoding of a text, found by its mark, by trying UTF-8, or else taken as Western European.

UTF-8 is strict enough that text which decodes as it is it. What does not is cp1252, whose rival Latin-1 differs in
control characters only, unless it holds one of the five bytes that cp1252 leaves undefined.
"""

import codecs
from collections.abc import Iterator

from alrviz.data.source import Buffer
from alrviz.errors import Sentence, TableError
from alrviz.stop import StopToken

PIECE = 1 << 21  # bytes decoded between two looks at the stop token: a few milliseconds
HEAD = 1 << 18  # bytes asked whether they are text at all
CONTROLS = bytes(set(range(1, 32)) - {9, 10, 12, 13, 26, 27})  # what text does not hold; NUL bytes are counted apart


def to_utf8(data: Buffer, encoding: str | None, stop: StopToken) -> tuple[Buffer, str, list[str]]:
    """Return the text in UTF-8 without mark, the encoding it was in, and notes."""
    notes: list[str] = []
    if encoding is None:
        encoding = _detect_encoding(data, stop)
        if encoding in ("cp1252", "latin-1"):
            notes.append(f"the text is not UTF-8, so it was read as {encoding} (Western European); look at its accents")
    if codecs.lookup(encoding).name not in ("utf-8", "ascii"):
        data = b"".join(text.encode("utf-8", "replace") for text in _decoded(data, encoding, stop))
    else:
        for _ in _decoded(data, "utf-8", stop):
            pass
    if data.startswith(codecs.BOM_UTF8):
        data = data[3:]
    if nulls := _count(data, b"\0", stop):
        if nulls > len(data) // 10:
            text = f"{nulls:,} of {len(data):,} bytes are NUL: this is not a table, or UTF-16 without its mark; "
            utf16 = text + "saved as UTF-8 it can be read"
            raise TableError(Sentence(text + "for the latter pass ReadOptions(encoding='utf-16-le')", utf16))
        data = data.replace(b"\0", b"")
        notes.append(f"{nulls:,} NUL {'byte was' if nulls == 1 else 'bytes were'} removed")
    return data, encoding, notes


def _count(data: Buffer, byte: bytes, stop: StopToken) -> int:
    total = 0
    for start in range(0, len(data), PIECE):
        stop.check()
        total += data.count(byte, start, start + PIECE)
    return total


def _detect_encoding(data: Buffer, stop: StopToken) -> str:
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(mark):
            return encoding
    head = data[:HEAD]
    controls = len(head) - len(head.translate(None, CONTROLS))
    if controls > len(head) // 50:
        raise TableError(
            f"this is binary data, not a table ({100 * controls // len(head)} % of its bytes are control characters); "
            "CSV, TSV, JSON, Parquet, Arrow, ARFF or xlsx was expected"
        )
    try:
        for _ in _decoded(data, "utf-8", stop):
            pass
        return "utf-8"
    except TableError:
        undefined = any(byte in data for byte in b"\x81\x8d\x8f\x90\x9d")
        return "latin-1" if undefined else "cp1252"


def _decoded(data: Buffer, encoding: str, stop: StopToken) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding)()
    for start in range(0, len(data), PIECE):
        stop.check()
        piece = data[start : start + PIECE]
        try:
            yield decoder.decode(piece, final=start + PIECE >= len(data))
        except UnicodeError as error:
            line = data.count(b"\n", 0, start + getattr(error, "start", 0)) + 1
            reason = getattr(error, "reason", error)
            raise TableError(
                f"the text is not {encoding}: {reason} in line {line:,}; leave the encoding open to detect it, or try "
                f"{'cp1252' if encoding.startswith('utf') else 'utf-8'}"
            ) from error
