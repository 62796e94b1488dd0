"""A fitted model as a file that runs anywhere: a zip of JSON and Parquet, and a script that predicts with it.

    model.json        the recipe, the encoder (columns, kinds, levels, cuts, missing, classes), versions, data hash,
                      how the table was read (units, dates, spellings, missing values, sheet, delimiter ...)
    *.parquet         tuples and cells: columns, levels, counts, log theta, w, phi (model_tables.py names every column)
    score.py          predicts a CSV or Parquet file of new rows with numpy and pyarrow alone

Loading runs no code from the file: `load_model` parses, checks and computes. A file may come from a stranger, so sizes
are added up before anything is unpacked, names are matched and never become paths, and every array is checked.
"""

import json
import os
import re
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from alrviz.errors import AlrvizError, MemoryLimitError, ModelFileError
from alrviz.estimators.model_form import SavedModel
from alrviz.estimators.model_parts import FORMS, parts_of, restore
from alrviz.estimators.model_tables import ModelTable, Pieces
from alrviz.estimators.recipes import RecipeClassifier
from alrviz.estimators.score_script import FORMAT
from alrviz.memory import free_memory

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

SCRIPT, METADATA = "score.py", "model.json"
# Bytes of the JSON; as Python objects it takes about ten times as much.
_MAX_JSON_BYTES = 2**27
# A table of up to a MiB may unpack to any multiple of its size, a larger one to a hundred times.
_MIN_CHECKED_BYTES, _MAX_UNPACKED_RATIO = 2**20, 100
# Columns that are not read back: texts for people, and what is computed again from counts.
_SKIPPED_COLUMNS = ("columns", "levels", "name", "log_theta_")
# The modules in score.py, in the order of their imports; no two may define the same name.
SCRIPT_MODULES = (
    *("errors", "stop", "data.options", "data.limits", "data.parse_values", "data.doubts", "data.parse_spec"),
    *("data.text", "data.source", "data.quotes", "data.records", "data.charset", "data.parse_cells", "data.layout"),
    *("data.find_table", "data.delimited", "data.long_form", "data.apply_layout", "estimators.score_forms"),
)
_PACKAGE_IMPORT = re.compile(r"(?m)^from alrviz\.[\w.]+ import (?:\([^)]*\)|.*)\n")


def save_model(model: RecipeClassifier, path: Any, *, dataset: "Dataset | None" = None) -> None:
    """Write a fitted model as a zip of JSON and Parquet with a script that predicts without this package; no pickle.

    Parameters
    ----------
    model : a fitted lr, alr (wanbia-c), anje (naive Bayes), tan, kdb, elr, ande or dlr classifier of this package
        A dlr file holds the training rows' numbers, each column sorted by itself: predictions sum over them.
    path : path of the zip, or a file opened for writing in binary mode
    dataset : Dataset, optional
        The data set it was fitted on. Its name and hash are written, and how its columns were read: `predict_table` and
        the script read new rows in the same way. Without it only a model of a run (`estimator_of`) knows how.

    Raises
    ------
    ModelFileError
        A ValueError: a model of another kind (rf, svm, scikit-learn's own), for which joblib works; a folder that does
        not exist; a data set with other columns.
    NotFittedError
        From scikit-learn: the model is not fitted.

    Examples
    --------
    >>> import alrviz, io
    >>> data, file = alrviz.load_demo("led", rows=300), io.BytesIO()
    >>> model = alrviz.NaiveBayesClassifier().fit(data.X, data.y)
    >>> alrviz.save_model(model, file, dataset=data)
    >>> alrviz.load_model(file)
    NaiveBayesClassifier()
    """
    contents = parts_of(model, dataset)
    if dataset is not None:
        contents.metadata["data"] = {"name": dataset.name, "hash": dataset.hash, "rows": dataset.n_rows}
    with write_atomically(path, "model.zip") as file:
        _write(contents, file)


@contextmanager
def write_atomically(path: Any, example: str) -> Iterator[BinaryIO]:
    """Open a file that gets its name once it is complete; `path` itself if it is an open file.

    Raises:
        ModelFileError: the folder does not exist, or `path` is a folder; `example` is suggested as a file name in it.
    """
    if hasattr(path, "write"):
        yield path
        return
    target = Path(path).expanduser()
    if not target.parent.is_dir():
        raise ModelFileError(f"no folder {str(target.parent)!r} to write {target.name!r} to; create it first")
    if target.is_dir():
        raise ModelFileError(f"{str(target)!r} is a folder; a file was expected, such as {str(target / example)!r}")
    temporary_path = target.with_name(target.name + ".part")  # an existing file stays until the new one is complete
    try:
        with temporary_path.open("wb") as file:
            yield file
        os.replace(temporary_path, target)
    finally:
        temporary_path.unlink(missing_ok=True)


def _write(contents: SavedModel, file: BinaryIO) -> None:
    """Write the tables, then model.json with their numbers of lines, then the script."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zipped:
        n_lines_by_table = {name: _write_table(zipped, name, pieces) for name, pieces in contents.tables.items()}
        try:
            text = json.dumps({**contents.metadata, "rows": n_lines_by_table}, indent=1, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"the model cannot be written as JSON: {error}; joblib.dump may save it") from error
        zipped.writestr(METADATA, text)
        zipped.writestr(SCRIPT, _script())


def _script() -> str:
    """Return the script as one file, the modules it uses in place of their imports."""
    script, *modules = (_source(module) for module in ("estimators.score_script", *SCRIPT_MODULES))
    import_match = _PACKAGE_IMPORT.search(script)
    assert import_match is not None
    bodies = [_PACKAGE_IMPORT.sub("", text) for text in modules]
    return (
        script[: import_match.start()] + "\n\n".join(bodies) + _PACKAGE_IMPORT.sub("", script[import_match.start() :])
    )


def _source(module: str) -> str:
    return (files("alrviz") / f"{module.replace('.', '/')}.py").read_text("utf-8")


def _write_table(zipped: zipfile.ZipFile, name: str, pieces: Pieces) -> int:
    """Write the pieces of the table `name` into a zip, one by one; return its number of lines."""
    n_lines = 0
    with tempfile.TemporaryFile() as buffer:
        first_piece = next(pieces)
        with pq.ParquetWriter(buffer, first_piece.schema, compression="zstd") as writer:
            for piece in chain((first_piece,), pieces):
                writer.write_table(piece)
                n_lines += piece.num_rows
        buffer.seek(0)
        info = zipfile.ZipInfo(name)  # Parquet is compressed already
        with zipped.open(info, "w", force_zip64=True) as stream:
            shutil.copyfileobj(buffer, stream)
    return n_lines


def load_model(path: Any, *, max_memory: int | None = None) -> RecipeClassifier:
    """Read what `save_model` wrote: a fitted classifier with the same predictions as the one that was saved.

    How the fit went is not in the file (no `trace_`). A file from a stranger is safe: nothing in it is run or
    unpickled.

    Parameters
    ----------
    path : path of the zip, or a file opened for reading in binary mode
    max_memory : int, optional
        Bytes the model may take; default half of the free memory.

    Raises
    ------
    ModelFileError
        A ValueError: the file is damaged, incomplete, of another format, or has values that no model has.
    MemoryLimitError
        A MemoryError, raised before anything is unpacked.

    Examples
    --------
    >>> import alrviz, io
    >>> data, file = alrviz.load_demo("led", rows=300), io.BytesIO()
    >>> model = alrviz.LRClassifier(order=1).fit(data.X, data.y)
    >>> alrviz.save_model(model, file)
    >>> bool((alrviz.load_model(file).predict(data.X) == model.predict(data.X)).all())
    True
    """
    max_bytes = free_memory() // 2 if max_memory is None else max_memory
    with _reading_errors(path), zipfile.ZipFile(path) as zipped:
        sizes = _checked_sizes(zipped)
        _require_memory(sum(sizes.values()) + 9 * sizes[METADATA], max_bytes)
        _check_compression(zipped)
        metadata = _read_metadata(zipped, sizes[METADATA])
        file_names = FORMS[metadata["form"]].files
        missing_names = [name for name in file_names if name not in sizes]
        if missing_names:
            raise ModelFileError(f"the file has no {missing_names[0]}, which a {metadata['form']} model needs")
        n_classes = len(metadata["bias"])
        tables = {
            name: _read_table(name, _read_bytes(zipped, name, sizes[name]), n_classes, max_bytes) for name in file_names
        }
        return restore(metadata, tables)


@contextmanager
def _reading_errors(path: Any) -> Iterator[None]:
    """Raise `ModelFileError` in place of any error that a damaged file causes."""
    try:
        yield
    except (AlrvizError, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except (OSError, ValueError, LookupError, TypeError, AttributeError, EOFError, OverflowError, RuntimeError,
            NotImplementedError, zipfile.BadZipFile, zlib.error, struct.error, pa.ArrowException) as error:  # fmt: skip
        source = path if isinstance(path, (str, os.PathLike)) else "the file"
        raise ModelFileError(
            f"{source} is damaged, incomplete or no model: {error or type(error).__name__}; expected a zip that "
            "alrviz.save_model wrote"
        ) from error


def _require_memory(needed_bytes: int, max_bytes: int) -> None:
    """Raise `MemoryLimitError` if a model needs more than `max_bytes`."""
    if needed_bytes > max_bytes:
        raise MemoryLimitError(
            f"the model takes about {needed_bytes / 2**20:,.0f} MiB, and {max_bytes / 2**20:,.0f} MiB may be used; "
            "pass max_memory to allow more",
            needed_bytes,
            max_bytes,
        )


def _checked_sizes(zipped: zipfile.ZipFile) -> dict[str, int]:
    """Return the size of each file in the zip, as the zip states it; `_read_bytes` reads no more than that."""
    allowed_names = {SCRIPT, METADATA, *(name for form in FORMS.values() for name in (*form.files, *form.script_only))}
    sizes: dict[str, int] = {}
    for info in zipped.infolist():
        if info.filename not in allowed_names:
            raise ModelFileError(f"the zip holds {info.filename!r}, which no model has; nothing was unpacked")
        if info.filename in sizes or info.flag_bits & 1:
            raise ModelFileError(f"the zip holds {info.filename} twice or encrypted; nothing was unpacked")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # other methods cannot be read in part
            raise ModelFileError(
                f"{info.filename} is compressed in another way than by save_model; nothing was unpacked"
            )
        sizes[info.filename] = info.file_size
    if METADATA not in sizes:
        raise ModelFileError(f"the zip has no {METADATA}; expected a zip that alrviz.save_model wrote")
    return sizes


def _check_compression(zipped: zipfile.ZipFile) -> None:
    """Refuse a table that unpacks to over a hundred times its size: Parquet is compressed already, so it is a bomb."""
    for info in zipped.infolist():
        if info.filename.endswith(".parquet") and info.file_size > max(
            _MIN_CHECKED_BYTES, _MAX_UNPACKED_RATIO * info.compress_size
        ):
            raise ModelFileError(
                f"{info.filename} unpacks to {info.file_size // max(1, info.compress_size):,} times its size, which no "
                "model's table does; nothing was unpacked"
            )


def _read_bytes(zipped: zipfile.ZipFile, name: str, n_bytes: int) -> bytes:
    """Return the bytes of the file `name` in a zip, at most n_bytes, as many as the zip states.

    `ZipFile.read` would unpack everything before cutting.
    """
    with zipped.open(name) as file:
        return file.read(n_bytes)


def _read_metadata(zipped: zipfile.ZipFile, n_bytes: int) -> dict[str, Any]:
    """Return a zip's model.json, `n_bytes` long, once its format, form and bias are valid."""
    if n_bytes > _MAX_JSON_BYTES:
        raise ModelFileError(f"{METADATA} has {n_bytes:,} bytes; at most {_MAX_JSON_BYTES:,} are read")

    def refuse(constant: str) -> Any:
        raise ModelFileError(f"{METADATA} holds {constant}; expected numbers")

    metadata = json.loads(_read_bytes(zipped, METADATA, n_bytes), parse_constant=refuse)
    if not isinstance(metadata, Mapping) or "format" not in metadata:
        raise ModelFileError(f"{METADATA} has no field 'format'; expected a zip that alrviz.save_model wrote")
    if metadata["format"] != FORMAT or isinstance(metadata["format"], bool):
        written_by = metadata.get("versions")
        writer_text = f", written by {written_by}" if isinstance(written_by, Mapping) else ""
        raise ModelFileError(
            f"the model has format {metadata['format']!r}{writer_text}; this version of alrviz reads format "
            f"{FORMAT}: use a "
            "version that reads it, or fit again"
        )
    if metadata.get("form") not in FORMS:
        raise ModelFileError(f"form {metadata.get('form')!r} is unknown; expected one of {', '.join(FORMS)}")
    if not isinstance(metadata.get("bias"), list) or not 2 <= len(metadata["bias"]) <= 2**20:
        raise ModelFileError("'bias' must be a list of numbers, one per class, at least two")
    return dict(metadata)


def _read_table(name: str, data: bytes, n_classes: int, max_bytes: int) -> ModelTable:
    """Return the table in a Parquet file's data, after its metadata says that its numbers fit into max_bytes.

    name: of the file, for messages; n_classes: C. Parquet compresses well (a list of a million zeros, one text a
    million times), so the values are counted as well as the bytes, and only numbers and lists of numbers are read.
    """
    file = pq.ParquetFile(pa.BufferReader(data))
    number_fields = [field for field in file.schema_arrow if not field.name.startswith(_SKIPPED_COLUMNS)]
    if len(number_fields) > 8 + 4 * n_classes:
        raise ModelFileError(f"{name} has {len(number_fields)} columns, more than {n_classes} classes need")
    for field in number_fields:
        value_type = field.type.value_type if pa.types.is_list(field.type) else field.type
        if not pa.types.is_integer(value_type) and not pa.types.is_floating(value_type):
            raise ModelFileError(f"{name}: {field.name!r} holds {field.type}; expected numbers")
    row_groups = [file.metadata.row_group(k) for k in range(file.metadata.num_row_groups)]
    n_values = sum(group.column(j).num_values for group in row_groups for j in range(group.num_columns))
    _require_memory(max(sum(group.total_byte_size for group in row_groups), 3 * 8 * n_values), max_bytes)
    return ModelTable(name, file.read(columns=[field.name for field in number_fields]), n_classes)
