"""From what a user hands over to plain bytes, and what kind of file they are.

Contents decide, never the name's ending: a table renamed or uploaded without a name reads the same. Bytes are taken in
pieces of a few MB, with the stop token and the limit on size asked at each, so that neither a huge file nor a gzip bomb
gets further than one piece beyond what is allowed.
"""

import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from alrviz.data.compression import unpack
from alrviz.data.limits import Limits, check_bytes
from alrviz.data.text import Buffer
from alrviz.errors import FOREIGN_FORMAT, MissingFileError, TableError, TableFileError, nearest
from alrviz.stop import StopToken

PIECE = 1 << 21  # bytes at a time: a few milliseconds from disk, 10-20 ms of decompression

# What people drop by mistake, by the first bytes. Anything else that is binary is only said to be so.
FOREIGN = {
    b"%PDF": "a PDF document",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"SQLite format 3": "an SQLite database",
    b"\x89HDF": "an HDF5 file",
    b"\x7fELF": "a program",
    b"MZ\x90": "a program",
    b"7z\xbc\xaf": "a 7z archive; unpack it first",
    b"Rar!": "a RAR archive; unpack it first",
    b"FEA1": "an old Feather file; save it as Parquet",
    b"\x80\x04\x95": "a Python pickle, which is never opened",
    b"\x80\x05\x95": "a Python pickle, which is never opened",
}
MARKUP_START = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html|head|body|table|\?xml)\b", re.IGNORECASE)
WORKBOOK_STARTS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # .xlsx and .ods; .xls, and .xlsx with a password
# By how a file begins: what it is, and the function of pyreadstat that reads it.
STAT_STARTS = {
    re.compile(rb"\$FL[23]"): ("an SPSS file", "read_sav"),
    re.compile(rb"<stata_dta>|[\x69-\x73][\x01\x02]\x01\x00"): ("a Stata file", "read_dta"),
    re.compile(rb"\x00{12}\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92"): ("a SAS data set", "read_sas7bdat"),
    re.compile(rb"HEADER RECORD\*{7}LIB"): ("a SAS transport file", "read_xport"),
    re.compile(rb"(?s).{40}ASCII SPSS PORT FILE"): ("a portable SPSS file", "read_por"),
}
# An object that has a name with its colon, or is empty and followed by another object, the list's end or nothing: a CSV
# whose first cell is "{}" is none.
JSON_START = re.compile(
    rb'\A(?:\xef\xbb\xbf)?\s*(?:\[\s*)?\{\s*(?:"(?:[^"\\]|\\.)*"\s*:|\}[\s,]*(?:[\]{]|\Z))', re.DOTALL
)
ENDINGS = re.compile(
    r"\.(gz|bz2|xz|zst|zip|csv|tsv|txt|tab|data|parquet|pq|arff|xls|xlsx|xlsm|ods|json|jsonl|ndjson|feather|arrow|ipc)\b",
    re.IGNORECASE,
)
ARFF_START = re.compile(rb"\A(?:\xef\xbb\xbf)?(?:\s|%[^\n]*\n)*@(?:relation|attribute)\b", re.IGNORECASE)


LONGEST_PATH = 4096  # characters; longer ones are no path anywhere
NO_FILES = {
    stat.S_ISDIR: "a folder",
    stat.S_ISFIFO: "a pipe",
    stat.S_ISSOCK: "a socket",
    stat.S_ISCHR: "a device",
    stat.S_ISBLK: "a device",
}


class Readable(Protocol):
    """An open file, as far as it is used here."""

    def read(self, size: int, /) -> bytes | str:
        """Return up to `size` bytes or characters, none at the end."""
        ...


def default_name(source: object) -> str:
    """Return the name a table gets from where it came: the file's name without its endings."""
    if not isinstance(source, str | os.PathLike):
        return "table"
    return ENDINGS.sub("", Path(source).name) or "table"


def load_bytes(
    source: object, limits: Limits, stop: StopToken, notes: list[str], member: str | int | None = None
) -> Buffer:
    """Return the decompressed bytes of a path, of bytes, or of an open file; text comes as UTF-8.

    Of a zip archive of several tables the `member` is read. What of an archive was passed over is added to `notes`.

    Raises `TableError` where the bytes are too many, or the compression is damaged, and `TableFileError` for what is no
    file that can be read, `MissingFileError` with the nearest name in that folder.
    """
    data: Buffer
    if isinstance(source, bytes | bytearray | memoryview):
        check_bytes(len(source), limits)
        data = bytes(source)
    elif isinstance(source, str | os.PathLike):
        data = _load_file(source, limits, stop, notes)
    elif hasattr(source, "read"):
        data = _drain(source, limits, stop, unpacked=False)
    else:
        raise TableError(
            f"a table cannot be read from {type(source).__name__}; a path or a list of paths, bytes, an open file, a "
            "data frame, an array of rows and columns, or a dict of columns was expected"
        )
    return unpack(data, limits, stop, lambda file, *checks: _drain(file, *checks, unpacked=True), notes, member)


def _load_file(source: str | os.PathLike[str], limits: Limits, stop: StopToken, notes: list[str]) -> Buffer:
    text = os.fsdecode(source)
    if "\n" in text or "\r" in text:
        raise TableFileError("this is the text of a table, not the path of one; pass io.StringIO(text)")
    if "\0" in text or len(text) > LONGEST_PATH:
        raise TableFileError(f"{_cut(text)} is no path; a table's text is passed as io.StringIO(text)")
    path = Path(text)
    with suppress(RuntimeError):  # no home
        path = path.expanduser()
    try:
        mode = path.stat().st_mode
        for is_kind, what in NO_FILES.items():
            if is_kind(mode):
                raise TableFileError(f"{_cut(text)} is {what}; a file was expected" + _inside(path))
        before = path.stat()
        check_bytes(before.st_size, limits)
        with path.open("rb") as file:
            data = _drain(file, limits, stop, unpacked=False)
            after = os.fstat(file.fileno())
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            notes.append(
                "the file changed while it was read, so its last rows may be cut: read it again once it is whole"
            )
        return data
    except TableFileError:
        raise
    except (FileNotFoundError, NotADirectoryError) as error:
        raise MissingFileError(f"no file {_cut(text)}{nearest(path.name, _names(path.parent))}") from error
    except (OSError, UnicodeError) as error:  # no permission, a name too long, links in a circle, a disk that fails
        raise TableFileError(
            f"{_cut(text)} cannot be read: {getattr(error, 'strerror', None) or error}; if this is the text of a "
            "table, pass io.StringIO(text)"
        ) from error


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return os.listdir()


def _inside(path: Path) -> str:
    """Name a file in a folder that was given instead of one."""
    inside = sorted(name for name in _names(path) if not name.startswith(".")) if path.is_dir() else []
    return f", such as {_cut(os.path.join(path, inside[0]))}" if inside else ""


def _cut(text: str) -> str:
    return repr(text) if len(text) <= 300 else repr(text[:150] + "…" + text[-50:])


def _drain(file: Readable, limits: Limits, stop: StopToken, *, unpacked: bool) -> Buffer:
    data = bytearray()  # grows in place: joining pieces would stand still for as long as one big copy takes
    while True:
        stop.check()
        try:
            piece = file.read(PIECE)
        except Exception as error:  # a stream may be anything: a connection, a member of an archive
            if unpacked:
                raise  # `unpack` says what it means
            raise TableFileError(f"the table's stream broke off ({type(error).__name__}: {error})") from error
        if isinstance(piece, str):
            piece = piece.encode("utf-8", "backslashreplace")
        if not isinstance(piece, bytes | bytearray | memoryview):
            raise TableError(f"the stream's read gives {type(piece).__name__}; bytes or text were expected")
        if not len(piece):
            return data
        check_bytes(len(data) + len(piece), limits, unpacked=unpacked)
        data += piece


def first_lines(data: bytes, n_bytes: int) -> bytes:
    """Return the whole lines within the first bytes of a text; all of it if it is shorter, or one line."""
    if len(data) <= n_bytes:
        return data
    line_end = {b"\xff\xfe": b"\n\0", b"\xfe\xff": b"\0\n"}.get(data[:2], b"\n")  # UTF-16 has two bytes a character
    place = data.rfind(line_end, 0, n_bytes)
    return data if place < 0 else data[: place + len(line_end)]


def sniff_format(data: Buffer) -> str:
    """Return "parquet", "arrow", "workbook", "stat", "arff", "json" or "delimited".

    Raises:
        TableError: what is no table.
    """
    if data.startswith(b"PAR1"):
        return "parquet"
    if data.startswith(WORKBOOK_STARTS):
        return "workbook"
    if data.startswith(b"ARROW1"):
        return "arrow"
    if any(start.match(data) for start in STAT_STARTS):
        return "stat"
    what = next((what for start, what in FOREIGN.items() if data.startswith(start)), "")
    if MARKUP_START.match(data[:PIECE]):
        what = "an HTML page or XML"
    if what:
        raise TableError(
            f"this is {what}, not a table; CSV, TSV, JSON, Parquet, Arrow, ARFF or a workbook was expected",
            code=FOREIGN_FORMAT,
        )
    if ARFF_START.match(data[:PIECE]):
        return "arff"
    if JSON_START.match(data[:PIECE]):
        return "json"
    return "delimited"
