"""The hostile set: nothing hangs, only errors of alrviz's own, and what is lost of a table is said."""

import faulthandler
import io
import warnings
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from alrviz import AnDEClassifier, DLRClassifier, KDBClassifier, NaiveBayesClassifier, load_model
from alrviz.data.apply_spec import read_new_rows
from alrviz.data.dataset import Dataset
from alrviz.data.encode import Encoder
from alrviz.data.limits import Limits
from alrviz.data.read import read_columns, read_table
from alrviz.errors import AlrvizError
from alrviz.explorer.server.table_process import Readers
from alrviz.stop import StopToken
from tests.data.test_parse_spec import same
from tests.estimators.model_files import file_of
from tests.estimators.tables import drawn, mixed
from tests.hostile.generate import Hostile, model_files, tables, uploads

HANGS = 120  # seconds after which a case is said to hang: the process ends with a traceback of it
MEMORY = 100_000_000  # what reading one may take, by its own reckoning
LIMITS = Limits(bytes=30_000_000, rows=1_000_000, columns=2_000, levels=100_000, classes=1_000)
TABLES = tables()


@pytest.fixture(autouse=True)
def hangs():
    faulthandler.dump_traceback_later(HANGS, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def test_the_set_is_large_and_its_names_differ():
    assert len(TABLES) >= 300
    assert [name for name, count in Counter(table.name for table in TABLES).items() if count > 1] == []
    assert len(uploads()) == 20


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_table_is_read_whole_or_refused_in_words(table: Hostile, tmp_path: Path):
    try:
        dataset = read_table(table.make(tmp_path), limits=LIMITS, max_memory=MEMORY)
        read, notes = dataset.table, dataset.notes
    except AlrvizError:  # without a class, or beyond the limits
        (tmp_path / "again").mkdir(exist_ok=True)
        try:
            read = read_columns(table.make(tmp_path / "again"), max_memory=MEMORY)
            notes = read.notes
        except AlrvizError:
            return
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            if dataset.X.shape[1]:
                Encoder().fit(dataset.X, dataset.y)
        check_again(dataset, table.make(tmp_path / "once more"))
        by_spec = read_table(table.make(tmp_path / "spec"), spec=dataset.spec, limits=LIMITS, max_memory=MEMORY)
        assert same(by_spec, dataset)
    if table.truth is None:
        return
    assert read.n_rows == table.truth.rows or any("row" in note for note in notes), notes
    found = {column.name: column.series for column in read.values}
    for name, levels in table.truth.levels.items():
        assert name in found, (name, list(found))
        agree = found[name].nunique() == levels
        assert agree or any(repr(name) in note for note in notes), (name, found[name].nunique(), levels, notes)


def check_again(dataset: Dataset, source: object) -> None:
    """What is read as a table was read is that table."""
    again = read_new_rows(source, dataset.spec, limits=LIMITS.within_memory(MEMORY))
    of = dataset.table.values[dataset.table.names.index(dataset.target)].series
    found = again.X[of.notna().to_numpy()].reset_index(drop=True)
    assert list(found) == list(dataset.X)
    for name, column in dataset.X.items():
        pd.testing.assert_series_equal(
            found[name].astype(object).where(found[name].notna(), None),
            column.astype(object).where(column.notna(), None),
        )
    assert not again.unread


@pytest.fixture(scope="module")
def readers():
    found = Readers()
    yield found
    found.close()


def test_uploads_end_one_way_or_another_and_the_process_goes_on(readers):
    outcomes = []
    for name, data in uploads():
        try:
            outcomes.append(readers.read(data, name, None, LIMITS, StopToken(), 60).n_rows)
        except AlrvizError as error:
            outcomes.append(str(error))
    assert outcomes[:2] == [60, 60]
    assert len(outcomes) == 20
    assert not any("unexpected" in str(outcome) or "crashed the process" in str(outcome) for outcome in outcomes)


MODELS = {
    "linear": (NaiveBayesClassifier, drawn),
    "network": (KDBClassifier, drawn),
    "average": (AnDEClassifier, drawn),
    "density": (DLRClassifier, mixed),
}
EACH = 26


@cache
def sound(form: str) -> tuple[bytes, object]:
    make, data = MODELS[form]
    X, y = data(60)
    return file_of(make().fit(X, y)).getvalue(), X


@pytest.mark.parametrize("form", MODELS)
def test_changed_model_files_are_refused_in_words_or_score_numbers(form: str):
    good, X = sound(form)
    for name, data in model_files(good, seed=len(form), count=EACH):
        faulthandler.dump_traceback_later(HANGS, exit=True)
        try:
            model = load_model(io.BytesIO(data), max_memory=MEMORY)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                p = model.predict_proba(X)
        except AlrvizError:
            continue
        except Exception as error:
            raise AssertionError(f"{form} {name}: {type(error).__name__}") from error
        assert np.isfinite(p).all(), (form, name)
        np.testing.assert_allclose(p.sum(axis=1), 1, err_msg=f"{form} {name}")
