"""A fitted model as a file that runs anywhere: a zip of JSON and Parquet, and the script that scores rows with it.

    model.json        the recipe, the encoder (columns, kinds, levels, cuts, missing, classes), versions, data hash,
                      how the table was read (units, dates, spellings, what is missing, sheet, delimiter ...)
    *.parquet         tuples and cells: columns, levels, counts, log theta, w, phi (model_tables.py names every column)
    score.py          scores a CSV or Parquet file of new rows with numpy and pyarrow alone

Nothing in it is code that loading runs: `load_model` parses, checks and computes. A file may come from a stranger, so
sizes are counted before anything is unpacked, names are matched and never become paths, and every array is checked.
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

SCRIPT, ABOUT = "score.py", "model.json"
# Of the JSON: what it takes as Python's objects is about ten times as much.
_MOST_TEXT = 2**27
# Bytes of a table that is unpacked whatever its packing; times that a larger one may become larger.
_SMALL, _MOST_PACKED = 2**20, 100
# Words for people, and what is computed again from counts: not read back.
_NOT_READ = ("columns", "levels", "name", "log_theta_")
# What score.py holds, in the order of what they import of each other; no two may have a name of a module in common.
SCRIPT_MODULES = (
    *("errors", "stop", "data.options", "data.limits", "data.parse_values", "data.doubts", "data.text", "data.quotes"),
    *("data.records", "data.charset", "data.parse_spec", "data.parse_cells", "data.layout", "data.find_table"),
    *("data.delimited", "data.apply_layout", "estimators.score_forms"),
)
_OWN_IMPORT = re.compile(r"(?m)^from alrviz\.[\w.]+ import (?:\([^)]*\)|.*)\n")


def save_model(model: RecipeClassifier, path: Any, *, dataset: "Dataset | None" = None) -> None:
    """Write a fitted model as a zip of JSON and Parquet, with a script that predicts without this package; no pickle.

    Parameters
    ----------
    model : a fitted lr, alr (wanbia-c), anje (naive Bayes), tan, kdb, elr, ande or dlr classifier of this package
        That of dlr holds the training rows' numbers, each column by itself: they are what its prediction sums over.
    path : path of the zip, or a file opened for writing in binary mode
    dataset : Dataset, optional
        What it was fitted on. Its name and hash are written beside the model, and how its columns were read:
        `predict_table` and the script read new rows so. Without it a model knows that only of a run (`estimator_of`).

    Raises
    ------
    ModelFileError
        A ValueError: no model of ours (rf, svm, scikit-learn's own), for which joblib is the way; a folder that does
        not exist; a data set of other columns.
    NotFittedError
        From scikit-learn: it was not fitted yet.

    Examples
    --------
    >>> import alrviz, io
    >>> data, file = alrviz.load_demo("led", rows=300), io.BytesIO()
    >>> model = alrviz.NaiveBayesClassifier().fit(data.X, data.y)
    >>> alrviz.save_model(model, file, dataset=data)
    >>> alrviz.load_model(file)
    NaiveBayesClassifier()
    """
    parts = parts_of(model, dataset)
    if dataset is not None:
        parts.about["data"] = {"name": dataset.name, "hash": dataset.hash, "rows": dataset.n_rows}
    with write_whole(path, "model.zip") as file:
        _write(parts, file)


@contextmanager
def write_whole(path: Any, example: str) -> Iterator[BinaryIO]:
    """Give a file to write to that has its name once it is whole, or `path` itself where that is an open file.

    `ModelFileError` where there is no such folder, or a folder of that name; `example` is a name for a file in it.
    """
    if hasattr(path, "write"):
        yield path
        return
    target = Path(path).expanduser()
    if not target.parent.is_dir():
        raise ModelFileError(f"no folder {str(target.parent)!r} to write {target.name!r} to; make it first")
    if target.is_dir():
        raise ModelFileError(f"{str(target)!r} is a folder; a file was expected, such as {str(target / example)!r}")
    part = target.with_name(target.name + ".part")  # what is there already stays until there is something whole
    try:
        with part.open("wb") as file:
            yield file
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def _write(parts: SavedModel, file: BinaryIO) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zipped:
        rows = {name: _write_table(zipped, name, pieces) for name, pieces in parts.tables.items()}
        try:
            text = json.dumps({**parts.about, "rows": rows}, indent=1, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"the model cannot be written as JSON: {error}; joblib.dump keeps it") from error
        zipped.writestr(ABOUT, text)
        zipped.writestr(SCRIPT, _script())


def _script() -> str:
    """The script as one file: the modules that it uses stand where it imports them."""
    script, *modules = (_source(module) for module in ("estimators.score_script", *SCRIPT_MODULES))
    first = _OWN_IMPORT.search(script)
    assert first is not None
    without = [_OWN_IMPORT.sub("", text) for text in modules]
    return script[: first.start()] + "\n\n".join(without) + _OWN_IMPORT.sub("", script[first.start() :])


def _source(module: str) -> str:
    return (files("alrviz") / f"{module.replace('.', '/')}.py").read_text("utf-8")


def _write_table(zipped: zipfile.ZipFile, name: str, pieces: Pieces) -> int:
    """Write a table piece by piece; return its lines."""
    rows = 0
    with tempfile.TemporaryFile() as room:
        first = next(pieces)
        with pq.ParquetWriter(room, first.schema, compression="zstd") as writer:
            for piece in chain((first,), pieces):
                writer.write_table(piece)
                rows += piece.num_rows
        room.seek(0)
        info = zipfile.ZipInfo(name)  # Parquet is compressed already
        with zipped.open(info, "w", force_zip64=True) as out:
            shutil.copyfileobj(room, out)
    return rows


def load_model(path: Any, *, max_memory: int | None = None) -> RecipeClassifier:
    """Read what `save_model` wrote: the fitted classifier, whose predictions are those of the one that was saved.

    How the fit went is not in the file (no `trace_`). The file may be anybody's: nothing in it is run or unpickled.

    Parameters
    ----------
    path : path of the zip, or a file opened for reading in binary mode
    max_memory : int, optional
        Bytes that it may take; default half of what is free.

    Raises
    ------
    ModelFileError
        A ValueError: no such zip, damaged, cut short, of another format, or holding what no model has.
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
    allowed = free_memory() // 2 if max_memory is None else max_memory
    with _damage_told(path), zipfile.ZipFile(path) as zipped:
        sizes = _checked_names(zipped)
        _require(sum(sizes.values()) + 9 * sizes[ABOUT], allowed)
        _check_packing(zipped)
        about = _read_about(zipped, sizes[ABOUT])
        wanted = FORMS[about["form"]].files
        missing = [name for name in wanted if name not in sizes]
        if missing:
            raise ModelFileError(f"the file has no {missing[0]}, which a {about['form']} model needs")
        n_classes = len(about["bias"])
        tables = {name: _read_table(name, _bytes(zipped, name, sizes[name]), n_classes, allowed) for name in wanted}
        return restore(about, tables)


@contextmanager
def _damage_told(path: Any) -> Iterator[None]:
    """Say of whatever goes wrong in reading that the file is no model."""
    try:
        yield
    except (AlrvizError, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except (OSError, ValueError, LookupError, TypeError, AttributeError, EOFError, OverflowError, RuntimeError,
            NotImplementedError, zipfile.BadZipFile, zlib.error, struct.error, pa.ArrowException) as error:  # fmt: skip
        where = path if isinstance(path, (str, os.PathLike)) else "the file"
        raise ModelFileError(
            f"{where} is damaged, cut short or no model: {error or type(error).__name__}; expected a zip as "
            "alrviz.save_model writes it"
        ) from error


def _require(needed: int, allowed: int) -> None:
    if needed > allowed:
        raise MemoryLimitError(
            f"the model takes about {needed / 2**20:,.0f} MiB, and {allowed / 2**20:,.0f} MiB may be used; pass "
            "max_memory to allow more",
            needed,
            allowed,
        )


def _checked_names(zipped: zipfile.ZipFile) -> dict[str, int]:
    """Return what is in the zip and how large it says it is; reading (`_bytes`) stops at that size."""
    known = {SCRIPT, ABOUT, *(name for form in FORMS.values() for name in (*form.files, *form.script_only))}
    sizes: dict[str, int] = {}
    for info in zipped.infolist():
        if info.filename not in known:
            raise ModelFileError(f"the zip holds {info.filename!r}, which no model has; nothing was unpacked")
        if info.filename in sizes or info.flag_bits & 1:
            raise ModelFileError(f"the zip holds {info.filename} twice or encrypted; nothing was unpacked")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others unpack all or nothing
            raise ModelFileError(f"{info.filename} is packed another way than save_model does; nothing was unpacked")
        sizes[info.filename] = info.file_size
    if ABOUT not in sizes:
        raise ModelFileError(f"the zip has no {ABOUT}; expected a zip as alrviz.save_model writes it")
    return sizes


def _check_packing(zipped: zipfile.ZipFile) -> None:
    """Refuse a table that a zip makes a hundred times smaller: Parquet is packed already, and this would be a bomb."""
    for info in zipped.infolist():
        if info.filename.endswith(".parquet") and info.file_size > max(_SMALL, _MOST_PACKED * info.compress_size):
            raise ModelFileError(
                f"{info.filename} unpacks to {info.file_size // max(1, info.compress_size):,} times its size, which no "
                "model's table does; nothing was unpacked"
            )


def _bytes(zipped: zipfile.ZipFile, name: str, size: int) -> bytes:
    """Read as much as the zip says there is: `ZipFile.read` unpacks all that is there before it cuts it off."""
    with zipped.open(name) as file:
        return file.read(size)


def _read_about(zipped: zipfile.ZipFile, size: int) -> dict[str, Any]:
    if size > _MOST_TEXT:
        raise ModelFileError(f"{ABOUT} has {size:,} bytes; at most {_MOST_TEXT:,} are read")

    def refuse(constant: str) -> Any:
        raise ModelFileError(f"{ABOUT} holds {constant}, which is no number")

    about = json.loads(_bytes(zipped, ABOUT, size), parse_constant=refuse)
    if not isinstance(about, Mapping) or "format" not in about:
        raise ModelFileError(f"{ABOUT} does not say its format; expected a zip as alrviz.save_model writes it")
    if about["format"] != FORMAT or isinstance(about["format"], bool):
        made = about.get("versions")
        by = f", written by {made}" if isinstance(made, Mapping) else ""
        raise ModelFileError(
            f"the model has format {about['format']!r}{by}; this version of alrviz reads format {FORMAT}: use a "
            "version that knows it, or fit again"
        )
    if about.get("form") not in FORMS:
        raise ModelFileError(f"form {about.get('form')!r} is none of {', '.join(FORMS)}")
    if not isinstance(about.get("bias"), list) or not 2 <= len(about["bias"]) <= 2**20:
        raise ModelFileError("'bias' must be a list of numbers, one a class, two at least")
    return dict(about)


def _read_table(name: str, data: bytes, n_classes: int, allowed: int) -> ModelTable:
    """Read a table without its words, after its own figures say that it fits.

    What is packed well in Parquet is small there (one list of a million zeros, one text a million times): values are
    counted, not bytes alone, and only numbers and lists of them are read.
    """
    file = pq.ParquetFile(pa.BufferReader(data))
    chosen = [field for field in file.schema_arrow if not field.name.startswith(_NOT_READ)]
    if len(chosen) > 8 + 4 * n_classes:
        raise ModelFileError(f"{name} has {len(chosen)} columns, more than {n_classes} classes need")
    for field in chosen:
        own = field.type.value_type if pa.types.is_list(field.type) else field.type
        if not pa.types.is_integer(own) and not pa.types.is_floating(own):
            raise ModelFileError(f"{name}: {field.name!r} holds {field.type}; numbers were expected")
    told = [file.metadata.row_group(k) for k in range(file.metadata.num_row_groups)]
    values = sum(group.column(j).num_values for group in told for j in range(group.num_columns))
    _require(max(sum(group.total_byte_size for group in told), 3 * 8 * values), allowed)
    return ModelTable(name, file.read(columns=[field.name for field in chosen]), n_classes)
