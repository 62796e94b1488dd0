"""Decompress gzip, bzip2, xz, Zstandard, and a zip archive that contains one table.

Limits are checked after every piece, so that a decompression bomb exceeds them by at most one piece.
"""

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any, BinaryIO

import pyarrow as pa

from alrviz.data.limits import Limits
from alrviz.data.text import Buffer
from alrviz.errors import Sentence, TableError, listed
from alrviz.stop import StopToken

Drain = Callable[[Any, Limits, StopToken], Buffer]
ZIPS = (b"PK\x03\x04", b"PK\x05\x06")  # the second begins an empty archive
DOCUMENT_SUFFIXES = {".md", ".pdf", ".html", ".htm", ".doc", ".docx", ".rtf", ".png", ".jpg", ".names", ""}
DAMAGES = (EOFError, OSError, ValueError, RuntimeError, NotImplementedError, zlib.error, lzma.LZMAError)


# The compression of a file by its first bytes, and the function that opens it for reading.
PACKERS: dict[bytes, tuple[str, Callable[[BinaryIO], Any]]] = {
    b"\x1f\x8b": ("gzip", lambda file: gzip.GzipFile(fileobj=file)),
    b"BZh": ("bzip2", bz2.BZ2File),
    b"\xfd7zXZ": ("xz", lzma.LZMAFile),
    b"\x28\xb5\x2f\xfd": ("Zstandard", lambda file: pa.CompressedInputStream(file, "zstd")),
}


def is_packed(data: Buffer) -> bool:
    """Return whether a file is compressed or a zip archive, as workbooks are."""
    return data.startswith((*PACKERS, *ZIPS))


def unpack(
    data: Buffer, limits: Limits, stop: StopToken, drain: Drain, notes: list[str], member: str | int | None = None
) -> Buffer:
    """Return decompressed bytes, or `data` itself if it is not compressed.

    Args:
        data: the file's bytes.
        limits: checked after every piece.
        stop: ends it from another thread.
        drain: reads all bytes of an open file within the limits.
        notes: a note on other files of a zip archive is added.
        member: the file to read from a zip archive of several tables.

    Raises:
        TableError: damaged or too large data; a zip archive without a table, or of several without that `member`.
    """
    for start, (name, opener) in PACKERS.items():
        if data.startswith(start):
            try:
                with opener(io.BytesIO(data)) as file:
                    return drain(file, limits, stop)
            except TableError:
                raise
            except DAMAGES as error:
                raise TableError(f"the {name} file is damaged or cut short ({error}); fetch it again") from error
    return _table_of_zip(data, limits, stop, drain, notes, member) if data.startswith(ZIPS) else data


def _table_of_zip(
    data: Buffer, limits: Limits, stop: StopToken, drain: Drain, notes: list[str], member: str | int | None
) -> Buffer:
    """Return the only table of a zip archive, or the `member`; a workbook, also a zip, is returned unchanged."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
            if "xl/workbook.xml" in names or "content.xml" in names:
                return data
            if "xl/workbook.bin" in names:
                raise TableError("this is a binary workbook (.xlsb); save it as .xlsx or CSV")
            files = [name for name in names if "__MACOSX" not in name and not PurePosixPath(name).name.startswith(".")]
            tables = [name for name in files if not _is_document(name)] or files
            if member in files:
                tables = [str(member)]
            if not tables:
                raise TableError("this zip archive holds no file; a table was expected in it")
            if len(tables) > 1:
                several = f"this zip archive holds {len(tables):,} files, {listed(tables)}; one table was expected: "
                raise TableError(
                    Sentence(
                        f"{several}choose one by options=ReadOptions(sheet={tables[0]!r})",
                        f"{several}unpack it and choose a file",
                    )
                )
            if other_names := [name for name in files if name != tables[0]]:
                clause = f"{listed(other_names)} {'was' if len(other_names) == 1 else 'were'} ignored"
                notes.append(f"of the zip archive {tables[0]!r} was read, and {clause}; unpack it for another of them")
            with archive.open(tables[0]) as file:
                return drain(file, limits, stop)
    except TableError:
        raise
    except (zipfile.BadZipFile, *DAMAGES) as error:
        raise TableError(f"the workbook or zip archive is damaged ({error}); fetch it again") from error


def _is_document(name: str) -> bool:
    path = PurePosixPath(name)
    return path.suffix.lower() in DOCUMENT_SUFFIXES or path.stem.lower() in ("readme", "license", "licence", "index")
