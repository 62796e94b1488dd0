"""Load a source as decompressed bytes, and detect the format.

Decompressed are gzip, bzip2, xz, Zstandard, and a zip archive that contains one table.

The content decides, never the name's ending, so that a renamed table, or an upload without a name, reads the same.
Bytes are read in pieces of a few MB; the stop token and the limit on size are checked after each, so that a huge file
or a gzip bomb exceeds the limit by at most one piece.
"""

import bz2
import gzip
import io
import lzma
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Protocol

import pyarrow as pa

from alrviz.data.text import Buffer, ReadRequest
from alrviz.errors import FOREIGN_FORMAT, MissingFileError, Sentence, TableError, TableFileError, listed, nearest

LOADED_BYTES = 1 << 21  # read at a time: a few milliseconds from disk, 10-20 ms of decompression

# Formats by their first bytes that users load by mistake; the error names them.
FOREIGN_STARTS = {
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
# The quantifiers of comments are possessive (*+), as backtracking would take time exponential in their number.
SQL_START = re.compile(
    rb"\A(?:\xef\xbb\xbf)?(?:\s|--[^\n]*+\n|/\*(?:[^*]|\*(?!/))*+\*/;?)*+"
    rb"(?:set|use|begin|start|drop|create|insert|lock|pragma|select|alter)\s[^\n]*(?:;|\(|`)",
    re.IGNORECASE,
)
# At the start of a statement, hence not in a cell: behind the end of another statement or a comment, or at the top.
SQL_INSERT = re.compile(
    rb"(?:\A(?:\xef\xbb\xbf)?|(?:;|\*/|^--[^\n]*|^go)[ \t\r]*\n)\s*insert\s+into\s", re.IGNORECASE | re.MULTILINE
)
# The common log format: 127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 2326
SERVER_LOG_START = re.compile(
    rb'(?:\xef\xbb\xbf)?(?:\S+ )?\S+ \S+ [^\[\n]{1,64} \[\d{1,2}/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] "'
)
WORKBOOK_STARTS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # .xlsx and .ods; .xls, and .xlsx with a password
# The format of a file by its first bytes, and the function of pyreadstat that reads it.
STAT_STARTS = {
    re.compile(rb"\$FL[23]"): ("an SPSS file", "read_sav"),
    re.compile(rb"<stata_dta>|[\x69-\x73][\x01\x02]\x01\x00"): ("a Stata file", "read_dta"),
    re.compile(rb"\x00{12}\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92"): ("a SAS data set", "read_sas7bdat"),
    re.compile(rb"HEADER RECORD\*{7}LIB"): ("a SAS transport file", "read_xport"),
    re.compile(rb"(?s).{40}ASCII SPSS PORT FILE"): ("a portable SPSS file", "read_por"),
}
# An object with a name and a colon, or an empty one followed by another object, the end of a list or of the file; not a
# CSV whose first cell is "{}".
JSON_START = re.compile(
    rb'\A(?:\xef\xbb\xbf)?\s*(?:\[\s*)?\{\s*(?:"(?:[^"\\]|\\.)*"\s*:|\}[\s,]*(?:[\]{]|\Z))', re.DOTALL
)
ENDINGS = re.compile(
    r"\.(gz|bz2|xz|zst|zip|csv|tsv|txt|tab|data|parquet|pq|arff|xls|xlsx|xlsm|ods|json|jsonl|ndjson|feather|arrow|ipc)\b",
    re.IGNORECASE,
)
ARFF_START = re.compile(rb"\A(?:\xef\xbb\xbf)?(?:\s|%[^\n]*\n)*@(?:relation|attribute)\b", re.IGNORECASE)
ZIPS = (b"PK\x03\x04", b"PK\x05\x06")  # the second begins an empty archive
DOCUMENT_NAMES = ("readme", "license", "licence", "index")
DOCUMENT_SUFFIXES = {".md", ".pdf", ".html", ".htm", ".doc", ".docx", ".rtf", ".png", ".jpg", ".names", ""}
DAMAGES = (EOFError, OSError, ValueError, RuntimeError, NotImplementedError, zlib.error, lzma.LZMAError)

# The compression of a file by its first bytes, and the function that opens it for reading.
PACKERS: dict[bytes, tuple[str, Callable[[BinaryIO], Any]]] = {
    b"\x1f\x8b": ("gzip", lambda file: gzip.GzipFile(fileobj=file)),
    b"BZh": ("bzip2", bz2.BZ2File),
    b"\xfd7zXZ": ("xz", lzma.LZMAFile),
    b"\x28\xb5\x2f\xfd": ("Zstandard", lambda file: pa.CompressedInputStream(file, "zstd")),
}
PARQUET_START = b"PAR1"
MAX_PATH_LENGTH = 4096  # characters of a path on any system
FILE_TYPES = {
    stat.S_ISDIR: "a folder",
    stat.S_ISFIFO: "a pipe",
    stat.S_ISSOCK: "a socket",
    stat.S_ISCHR: "a device",
    stat.S_ISBLK: "a device",
}

# Formats in words, for programs that read only some of them.
FORMAT_NAMES = {
    "workbook": "a workbook or a zip archive",
    "stat": "a file of SPSS, Stata or SAS",
    "json": "JSON",
    "arff": "an ARFF file",
    "arrow": "an Arrow file",
}


class Readable(Protocol):
    """An open file of bytes or text."""

    def read(self, size: int, /) -> bytes | str:
        """Return up to `size` bytes or characters; an empty result means the end."""
        ...


def default_name(source: object) -> str:
    """Return the default name of a table: the file's name without its suffixes, "table" for other sources."""
    if not isinstance(source, str | os.PathLike):
        return "table"
    return ENDINGS.sub("", Path(source).name) or "table"


def load_bytes(source: object, request: ReadRequest) -> tuple[Buffer, list[str]]:
    """Return the decompressed bytes of a path, of bytes, or of an open file, and notes; text is encoded as UTF-8.

    Of a zip archive of several tables the one that the option `sheet` names is read.

    Raises:
        TableError: too many bytes, or damaged compression.
        TableFileError: a source that cannot be read; `MissingFileError`, with the nearest name, if there is no file.
    """
    data: Buffer
    notes = list[str]()
    if isinstance(source, bytes | bytearray | memoryview):
        request.limits.check(n_bytes=len(source))
        data = bytes(source)
    elif isinstance(source, str | os.PathLike):
        data = _load_file(source, request, notes)
    elif hasattr(source, "read"):
        data = _drain(source, request)
    else:
        raise TableError(
            f"a table cannot be read from {type(source).__name__}; a path or a list of paths, bytes, an open file, a "
            "data frame, an array of rows and columns, or a dict of columns was expected"
        )
    return _unpack(data, request, notes), notes


def _load_file(source: str | os.PathLike[str], request: ReadRequest, notes: list[str]) -> Buffer:
    text = os.fsdecode(source)
    if "\n" in text or "\r" in text:
        raise TableFileError("this is the text of a table, not the path of one; pass io.StringIO(text)")
    if "\0" in text or len(text) > MAX_PATH_LENGTH:
        raise TableFileError(f"{_cut(text)} is no path; a table's text is passed as io.StringIO(text)")
    path = Path(text)
    with suppress(RuntimeError):  # the user has no home folder
        path = path.expanduser()
    try:
        mode = path.stat().st_mode
        for is_kind, type_name in FILE_TYPES.items():
            if is_kind(mode):
                names = sorted(name for name in _names(path) if not name.startswith(".")) if path.is_dir() else []
                example = f", such as {_cut(os.path.join(path, names[0]))}" if names else ""
                raise TableFileError(f"{_cut(text)} is {type_name}; a file was expected{example}")
        status = path.stat()
        request.limits.check(n_bytes=status.st_size)
        with path.open("rb") as file:
            data = _drain(file, request)
            status_after = os.fstat(file.fileno())
        if (status.st_size, status.st_mtime_ns) != (status_after.st_size, status_after.st_mtime_ns):
            notes.append(
                "the file changed while it was read, so its last rows may be cut: read it again once it is whole"
            )
        return data
    except TableFileError:
        raise
    except (FileNotFoundError, NotADirectoryError) as error:
        raise MissingFileError(f"no file {_cut(text)}{nearest(path.name, _names(path.parent))}") from error
    except (OSError, UnicodeError) as error:  # no permission, too long a name, circular links, a failing disk
        raise TableFileError(
            f"{_cut(text)} cannot be read: {getattr(error, 'strerror', None) or error}; if this is the text of a "
            "table, pass io.StringIO(text)"
        ) from error


def _names(folder: Path) -> list[str]:
    """Return the names in a folder, or in the current one if it cannot be read."""
    try:
        return os.listdir(folder)
    except OSError:
        return os.listdir()


def _cut(text: str) -> str:
    return repr(text) if len(text) <= 300 else repr(text[:150] + "…" + text[-50:])


def _drain(file: Readable, request: ReadRequest, *, unpacked: bool = False) -> Buffer:
    """Return all bytes of a file, within the limits; `unpacked` says which of them apply."""
    data = bytearray()  # grows in place: joining pieces at the end would block for the time of a large copy
    while True:
        request.stop.check()
        try:
            piece = file.read(LOADED_BYTES)
        except Exception as error:  # a stream may raise anything: a connection, a member of an archive
            if unpacked:
                raise  # `_unpack` explains it
            raise TableFileError(f"the table's stream broke off ({type(error).__name__}: {error})") from error
        if isinstance(piece, str):
            piece = piece.encode("utf-8", "backslashreplace")
        if not isinstance(piece, bytes | bytearray | memoryview):
            raise TableError(f"the stream's read gives {type(piece).__name__}; bytes or text were expected")
        if not len(piece):
            return data
        request.limits.check(n_bytes=len(data) + len(piece), unpacked=unpacked)
        data += piece


def is_packed(data: Buffer) -> bool:
    """Return whether a file is compressed or a zip archive, as workbooks are."""
    return data.startswith((*PACKERS, *ZIPS))


def _unpack(data: Buffer, request: ReadRequest, notes: list[str]) -> Buffer:
    """Return decompressed bytes, or `data` itself if it is not compressed; a note on an archive is added to `notes`.

    Raises:
        TableError: damaged or too large data; a zip archive without a table, or of several if the option `sheet` names
            none of them.
    """
    for magic, (name, opener) in PACKERS.items():
        if data.startswith(magic):
            try:
                with opener(io.BytesIO(data)) as file:
                    return _drain(file, request, unpacked=True)
            except TableError:
                raise
            except DAMAGES as error:
                raise TableError(f"the {name} file is damaged or cut short ({error}); fetch it again") from error
    return _table_of_zip(data, request, notes) if data.startswith(ZIPS) else data


def _table_of_zip(data: Buffer, request: ReadRequest, notes: list[str]) -> Buffer:
    """Return the only table of a zip archive, or the one that `sheet` names; a workbook is returned unchanged."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
            if _is_workbook(names):
                return data
            if "xl/workbook.bin" in names:
                raise TableError("this is a binary workbook (.xlsb); save it as .xlsx or CSV")
            files, tables = _tables_among(names)
            if request.options.sheet in files:
                tables = [str(request.options.sheet)]
            if not tables:
                raise TableError("this zip archive holds no file; a table was expected in it")
            if len(tables) > 1:
                several = f"this zip archive holds {len(tables):,} files, {listed(tables)}; one table was expected: "
                raise TableError(
                    Sentence(
                        f"{several}choose one by options=ReadOptions(sheet={tables[0]!r})",
                        f'{several}choose one by "Say how to read it", "Sheet"',
                    )
                )
            if other_names := [name for name in files if name != tables[0]]:
                clause = f"{listed(other_names)} {'was' if len(other_names) == 1 else 'were'} ignored"
                notes.append(f"of the zip archive {tables[0]!r} was read, and {clause}; unpack it for another of them")
            with archive.open(tables[0]) as file:
                return _drain(file, request, unpacked=True)
    except TableError:
        raise
    except (zipfile.BadZipFile, *DAMAGES) as error:
        raise TableError(f"the workbook or zip archive is damaged ({error}); fetch it again") from error


def tables_of_zip(data: Buffer) -> tuple[str, ...]:
    """Return the names of several tables in a zip archive; () for one table, other files and damaged archives."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
    except (zipfile.BadZipFile, *DAMAGES):
        return ()
    tables = [] if _is_workbook(names) else _tables_among(names)[1]
    return tuple(tables) if len(tables) > 1 else ()


def _is_workbook(names: Sequence[str]) -> bool:
    return "xl/workbook.xml" in names or "content.xml" in names


def _tables_among(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the files of an archive that are not the system's, and those that are not documents."""
    files = [name for name in names if "__MACOSX" not in name and not PurePosixPath(name).name.startswith(".")]
    paths = {name: PurePosixPath(name.lower()) for name in files}
    documents = {n for n, path in paths.items() if path.suffix in DOCUMENT_SUFFIXES or path.stem in DOCUMENT_NAMES}
    return files, [name for name in files if name not in documents] or files


def first_lines(data: bytes, n_bytes: int) -> bytes:
    """Return the complete lines within the first bytes of a text; all of it if it is shorter or a single line."""
    if len(data) <= n_bytes:
        return data
    line_end = {b"\xff\xfe": b"\n\0", b"\xfe\xff": b"\0\n"}.get(data[:2], b"\n")  # two bytes in UTF-16
    last_line_end = data.rfind(line_end, 0, n_bytes)
    return data if last_line_end < 0 else data[: last_line_end + len(line_end)]


def sniff_format(data: Buffer) -> str:
    """Return "parquet", "arrow", "workbook", "stat", "arff", "json" or "delimited".

    Raises `TableError` for a format that is no table, such as PDF.
    """
    starts = {"parquet": (PARQUET_START,), "workbook": WORKBOOK_STARTS, "arrow": (b"ARROW1",)}
    if known_format := next((name for name, start in starts.items() if data.startswith(start)), ""):
        return known_format
    if any(start.match(data) for start in STAT_STARTS):
        return "stat"
    head = data[:LOADED_BYTES]
    format_name = next((format_name for start, format_name in FOREIGN_STARTS.items() if data.startswith(start)), "")
    if MARKUP_START.match(head):
        format_name = "an HTML page or XML"
    if SQL_START.match(head) and SQL_INSERT.search(head):
        format_name = "an SQL dump; load it into its database and export the table as CSV"
    if SERVER_LOG_START.match(head):
        format_name = "the log of a web server; save its fields as CSV, with a row of names"
    if format_name:
        name, _, advice = format_name.partition("; ")
        raise TableError(
            f"this is {name}, not a table; CSV, TSV, JSON, Parquet, Arrow, ARFF or a workbook was expected"
            + (f": {advice}" if advice else ""),
            code=FOREIGN_FORMAT,
        )
    return "arff" if ARFF_START.match(head) else "json" if JSON_START.match(head) else "delimited"
