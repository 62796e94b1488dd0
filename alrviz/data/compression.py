"""Files that are packed: gzip, bzip2, xz, Zstandard, and a zip archive with one table in it.

Unpacked piece by piece, with the limits asked at each: a bomb gets no further than one piece beyond them.
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
ZIPS = (b"PK\x03\x04", b"PK\x05\x06")  # the second of an empty one
BESIDE_TABLES = {".md", ".pdf", ".html", ".htm", ".doc", ".docx", ".rtf", ".png", ".jpg", ".names", ""}
DAMAGES = (EOFError, OSError, ValueError, RuntimeError, NotImplementedError, zlib.error, lzma.LZMAError)


# By how a file begins: its compression, and the function that opens a file so compressed for reading.
PACKERS: dict[bytes, tuple[str, Callable[[BinaryIO], Any]]] = {
    b"\x1f\x8b": ("gzip", lambda file: gzip.GzipFile(fileobj=file)),
    b"BZh": ("bzip2", bz2.BZ2File),
    b"\xfd7zXZ": ("xz", lzma.LZMAFile),
    b"\x28\xb5\x2f\xfd": ("Zstandard", lambda file: pa.CompressedInputStream(file, "zstd")),
}


def is_packed(data: Buffer) -> bool:
    """Whether a file is compressed, or a zip archive (workbooks are)."""
    return data.startswith((*PACKERS, *ZIPS))


def unpack(
    data: Buffer, limits: Limits, stop: StopToken, drain: Drain, notes: list[str], member: str | int | None = None
) -> Buffer:
    """Return what is packed in `data`, or `data` itself; `drain` takes all bytes of an open file within the limits.

    Of a zip archive of several tables the `member` is read. What of an archive was passed over is added to `notes`.

    Raises:
        TableError: damaged, too large, or a zip archive of no table, or of several none of which is the `member`.
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
    return _of_zip(data, limits, stop, drain, notes, member) if data.startswith(ZIPS) else data


def _of_zip(
    data: Buffer, limits: Limits, stop: StopToken, drain: Drain, notes: list[str], member: str | int | None
) -> Buffer:
    """Return the only table of a zip archive, or the chosen one; a workbook, which is a zip too, stays as it is."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
            if "xl/workbook.xml" in names or "content.xml" in names:
                return data
            if "xl/workbook.bin" in names:
                raise TableError("this is a binary workbook (.xlsb); save it as .xlsx or CSV")
            files = [name for name in names if "__MACOSX" not in name and not PurePosixPath(name).name.startswith(".")]
            tables = [name for name in files if not _is_beside(name)] or files
            if member in files:
                tables = [str(member)]
            if not tables:
                raise TableError("this zip archive holds no file; a table was expected in it")
            if len(tables) > 1:
                several = f"this zip archive holds {len(tables):,} files, {listed(tables)}; one table was expected: "
                raise TableError(
                    Sentence(
                        f"{several}say which, as options=ReadOptions(sheet={tables[0]!r})",
                        f"{several}unpack it and take the file that you mean",
                    )
                )
            if beside := [name for name in files if name != tables[0]]:
                passed = f"{listed(beside)} {'was' if len(beside) == 1 else 'were'} passed over"
                notes.append(f"of the zip archive {tables[0]!r} was read, and {passed}; unpack it for another of them")
            with archive.open(tables[0]) as file:
                return drain(file, limits, stop)
    except TableError:
        raise
    except (zipfile.BadZipFile, *DAMAGES) as error:
        raise TableError(f"the workbook or zip archive is damaged ({error}); fetch it again") from error


def _is_beside(name: str) -> bool:
    path = PurePosixPath(name)
    return path.suffix.lower() in BESIDE_TABLES or path.stem.lower() in ("readme", "license", "licence", "index")
