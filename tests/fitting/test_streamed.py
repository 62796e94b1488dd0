"""Fits over chunks of rows: counts, F and gradient are those of the fit in memory, AdaGrad's steps those of the naive
one, the bits the same for any number of threads and files, and the model the same after a process was killed.
"""

import numpy as np
import pandas as pd
import pytest

import alrviz
from alrviz.data.encoded import Encoded
from alrviz.data.stream.table import open_table
from alrviz.errors import AlrvizError, MemoryLimitError, RecipeError
from alrviz.fitting.families import cells as cells_module
from alrviz.fitting.objectives.streamed import CodedRows, StreamObjective, TrainValidationChunk
from alrviz.fitting.prepare import TrainingData
from alrviz.fitting.runs.pass_checkpoint import PassCheckpoint
from alrviz.models import streamed as streamed_module
from alrviz.models.cell_space import AllOrders
from alrviz.models.parameterisation import parameterise
from alrviz.models.streamed import count_stream
from alrviz.passes import stream as stream_module
from alrviz.passes.stream import FANOUT, SPAN_ROWS, DenseCells, LocalChunks, add_arrays, tree_sum
from tests.data.stream.test_stream import messy, written
from tests.oracles.stochastic import naive_adagrad

LEVELS, CLASSES = np.array([3, 4, 2, 5]), 3
ALLOWED = {"dense": 2**24, "seen": 0}


def rows(n: int = 700, gaps: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Codes, some of which are no level, and classes that hang on them."""
    rng = np.random.default_rng(1)
    codes = np.array([rng.integers(0, top + gaps, n) for top in LEVELS]).astype(np.uint8)
    return codes, ((codes[0] + codes[1] * codes[2] + rng.integers(0, 2, n)) % CLASSES).astype(np.int32)


def chunked(codes, y, size: int = 96):
    parts = [(codes[:, k : k + size].copy(), y[k : k + size]) for k in range(0, len(y), size)]
    return LocalChunks(
        lambda order, stop: [parts[k] for k in (range(len(parts)) if order is None else order)], len(parts)
    )


def counted(codes, y, order: int, cells: str, n_jobs: int = 1, size: int = 96):
    return count_stream(LEVELS, order, chunked(codes, y, size), CLASSES, 1.0, ALLOWED[cells], n_jobs)


def in_memory(codes, y) -> TrainingData:
    names = tuple("abcd")
    return TrainingData(
        Encoded(codes, y, np.ones(len(y)), LEVELS, np.arange(CLASSES), names), None, n_jobs=1, merge=False
    )


def objective(streamed, family: str, codes, y, **params) -> StreamObjective:
    of = {"alpha": 0.7, "penalty": "w", "center": 1 if family == "alr" else 0, "unseen": None, **params}
    part = CodedRows(codes, y, CLASSES)
    return StreamObjective(
        streamed,
        parameterise(family, streamed.tables),
        trial=TrainValidationChunk(part, part),
        sample=TrainValidationChunk(part, part),
        **of,
    )


@pytest.mark.parametrize("cells", list(ALLOWED))
@pytest.mark.parametrize("order", [1, 2, 3, AllOrders(3), ((0,), (1, 2, 3), (2, 3))])
def test_counts_are_those_of_the_rows_in_memory(order, cells):
    codes, y = rows()
    tables, want = counted(codes, y, order, cells).tables, in_memory(codes, y).tables(order, 1.0)
    for name in ("seen_cells", "counts", "class_counts", "tuple_counts", "log_theta"):
        np.testing.assert_array_equal(getattr(tables, name), getattr(want, name), err_msg=name)


def test_tables_have_no_rows_for_cells_that_hardly_any_occurs_of(monkeypatch):
    codes, y = rows(20)
    dense = counted(codes, y, 3, "dense")
    assert isinstance(dense.passes.cells, DenseCells)
    monkeypatch.setattr(streamed_module, "MIN_SHARED_SUM_BYTES", 0)
    assert isinstance(counted(*rows(), 1, "dense").passes.cells, DenseCells)
    monkeypatch.setattr(streamed_module, "MAX_ROWS_PER_SEEN_CELL", 2)
    sparse = counted(codes, y, 3, "dense")
    assert sparse.passes.cells.n_rows < dense.passes.cells.n_rows / 2
    np.testing.assert_array_equal(sparse.tables.counts, dense.tables.counts)
    np.testing.assert_array_equal(
        sparse.passes.count_by_class()[sparse.rows], dense.passes.count_by_class()[dense.rows]
    )


@pytest.mark.parametrize("cells", list(ALLOWED))
@pytest.mark.parametrize("family", ["lr", "alr"])
@pytest.mark.parametrize("penalty", ["w", "phi"])
def test_value_and_gradient_are_those_of_the_fit_in_memory(cells, family, penalty):
    from alrviz.fitting.objectives.linear import LinearObjective

    codes, y = rows()
    streamed, prepared = counted(codes, y, 2, cells), in_memory(codes, y)
    own = objective(streamed, family, codes, y, penalty=penalty)
    covered = prepared.covered_rows(2)
    of = parameterise(family, prepared.tables(2, 1.0))
    whole = LinearObjective(
        covered.rows, covered.cover, of, alpha=0.7, penalty=penalty, center=1 if family == "alr" else 0
    )
    w = np.random.default_rng(0).normal(size=of.shape)
    got, want = own.value_grad(w), whole.value_grad(w)
    assert got.objective == pytest.approx(want.objective, rel=1e-12)
    np.testing.assert_allclose(got.gradient, want.gradient, rtol=1e-9, atol=1e-9 * np.abs(want.gradient).max())
    assert got.sums.wrong == want.sums.wrong
    np.testing.assert_allclose(
        own.scores(w, CodedRows(codes, y, CLASSES))[:, :CLASSES], whole.model(w).scores(codes), rtol=1e-10, atol=1e-10
    )


def test_the_bits_are_the_same_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr("alrviz.passes.threads.available_threads", lambda: 3)
    codes, y = rows(3 * SPAN_ROWS)
    w = np.random.default_rng(0).normal(size=(len(counted(codes, y, 2, "dense").tables.seen_cells) + 1, CLASSES))
    found = [
        objective(counted(codes, y, 2, "dense", jobs, size=SPAN_ROWS + 40), "alr", codes, y).value_grad(w)
        for jobs in (1, 2, 3)
    ]
    monkeypatch.setattr(stream_module, "MIN_SHARED_SUM_BYTES", 0)  # threads share a chunk
    for jobs in (1, 2, 3):
        own = objective(counted(codes, y, 2, "dense", jobs, size=SPAN_ROWS + 40), "alr", codes, y)
        found.append(own.value_grad(w))
    for other in found[1:]:
        assert other.objective == found[0].objective
        np.testing.assert_array_equal(other.gradient, found[0].gradient)


@pytest.mark.parametrize("cells", list(ALLOWED))
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_steps_are_those_of_naive_adagrad(cells, alpha):
    codes, y = rows(200)
    streamed = counted(codes, y, 2, cells)
    own, tables = objective(streamed, "alr", codes, y, alpha=alpha), streamed.tables
    # near 0: where a row is all but certain its slope is rounding in single precision, and a first step has length eta
    w0 = 0.05 * np.random.default_rng(0).normal(size=own.scale.shape)
    table, order = own.step_table(w0), np.random.default_rng(2).permutation(len(y))
    own.passes.visit(codes, y, order, table, 0.05)

    seen = {int(cell): place for place, cell in enumerate(tables.seen_cells)}
    space, places = tables.space, []
    for i in range(len(y)):
        levels = codes[:, i].astype(int)
        cells_of = [
            seen[int(space.first[t] + (levels[columns] * space.strides[t]).sum())]
            for t, columns in enumerate(space.tuples)
            if (levels[columns] < LEVELS[columns]).all()
        ]
        places.append([*cells_of, len(seen)])
    visits = np.append(tables.counts.sum(axis=1), len(y))[:, None] * np.ones(CLASSES)
    weight_index = np.arange(own.scale.size).reshape(own.scale.shape)
    want, _ = naive_adagrad(
        order, places, y, np.ones(len(y)), own.scale, weight_index, w0.ravel(), own.center.ravel(),
        (2 * alpha / visits).ravel(), 0.05,
    )  # fmt: skip
    np.testing.assert_allclose(own.weights_in(table), want.reshape(w0.shape), rtol=1e-4, atol=1e-5)


@pytest.fixture
def stream(tmp_path):
    return open_table(written(tmp_path, messy(), "parquet"), "class", cache=tmp_path / "codes")


def test_a_run_over_passes_learns_and_gives_a_model(stream, tmp_path):
    run = alrviz.Run(stream, alrviz.Recipe("alr", order=2, max_iter=4, holdout=0.2, solver="adagrad", alpha=1.0))
    losses = [step.extra["heldout_log_loss"] for step in run.steps()]
    assert [step.index for step in run.trace] == [0, 1, 2, 3, 4]
    assert losses[-1] < run.trace.baseline["heldout_class_shares"] < losses[0]
    assert run.outcome.code == "step limit"
    model = alrviz.estimator_of(run)
    new = messy()[:50].drop(columns="class")
    alrviz.save_model(model, tmp_path / "m.zip")
    predicted = alrviz.predict_table(tmp_path / "m.zip", new)
    whole = alrviz.read_table(written(tmp_path, messy(), "csv"), "class")
    rows = np.delete(np.arange(50), [5, 17])  # those have no class
    np.testing.assert_allclose(predicted["p(yes)"][rows], model.predict_proba(whole.X[:48])[:, 1], rtol=1e-12)


def test_anje_over_a_stream_is_anje_in_memory(stream):
    run = alrviz.Run(stream, alrviz.Recipe("anje", order=2, holdout=0.0))
    assert [step.index for step in run.steps()] == [0]
    whole = alrviz.read_table(stream.source.paths[0], "class")
    want = alrviz.AnJEClassifier(order=2).fit(whole.X, whole.y)
    np.testing.assert_allclose(alrviz.estimator_of(run).predict_proba(whole.X), want.predict_proba(whole.X), rtol=1e-10)


@pytest.mark.parametrize("solver", ["adagrad", "averaged", "lbfgs"])
def test_interrupted_fit_resumes_to_the_same_model(stream, tmp_path, monkeypatch, solver):
    recipe = alrviz.Recipe("alr", order=2, max_iter=5, solver=solver, alpha=1.0)
    whole = alrviz.Run(stream, recipe)
    list(whole.steps())
    kept = tmp_path / "kept"
    first = alrviz.Run(stream, recipe, checkpoint=kept, on_step=lambda step: step.index == 2)
    list(first.steps())
    second = alrviz.Run(stream, recipe, checkpoint=kept)
    assert [step.index for step in second.steps()] == [step.index for step in whole.trace][2:]
    np.testing.assert_array_equal(second.model.phi, whole.model.phi)
    with monkeypatch.context() as little:  # where less memory is free rows of tables are numbered otherwise
        little.setattr(streamed_module, "_space_with_no_level", lambda *of: None)
        third = alrviz.Run(stream, recipe, checkpoint=kept)
        assert [step.index for step in third.steps()] == [whole.trace[-1].index]
        assert type(third.objective.passes.cells) is not type(whole.objective.passes.cells)
    np.testing.assert_array_equal(third.model.phi, whole.model.phi)
    assert third.trace[-1].seconds > first.trace[-1].seconds
    with pytest.raises(AlrvizError, match=r"another fit: order was 2 and is 1, smoothing was 1\.0 and is 2\.0;"):
        next(alrviz.Run(stream, recipe.replace(order=1, smoothing=2), checkpoint=kept).steps())
    with pytest.raises(AlrvizError, match="another fit: seed was 0 and is 1;"):
        next(alrviz.Run(stream, recipe.replace(seed=1), checkpoint=kept).steps())
    other = stream.with_kinds(**{next(iter(stream.kinds)): "ignore"})
    with pytest.raises(AlrvizError, match="another fit: other files or rows;"):
        next(alrviz.Run(other, recipe, checkpoint=kept).steps())
    kept.write_bytes(kept.read_bytes()[:100])
    with pytest.raises(AlrvizError, match="is damaged"):
        next(alrviz.Run(stream, recipe, checkpoint=kept).steps())


def test_settings_unsupported_by_batches_raise(stream):
    for family in ("tan", "dlr"):
        with pytest.raises(RecipeError, match=r"expected one of 'lr', 'alr', .*'anje'|has no steps"):
            alrviz.Run(stream, alrviz.Recipe(family))
    for params in ({"solver": "sgd"}, {"objective": "mse"}, {"bounds": (0, 1), "solver": "auto"}):
        with pytest.raises(RecipeError, match="is not supported for a table read in batches"):
            alrviz.Run(stream, alrviz.Recipe("alr", order=1, alpha=1.0, **params))  # before anything is read
    with pytest.raises(RecipeError, match=r"order=9.*9 columns"):
        alrviz.Run(stream, alrviz.Recipe("hsalr", order=9, alpha=1.0))
    with pytest.raises(MemoryLimitError, match="may be used"):
        next(alrviz.Run(stream, alrviz.Recipe("alr", order=2, alpha=1.0), max_memory=1000).steps())


@pytest.mark.parametrize(
    ("name", "rows", "holdout"), [("tic-tac-toe", None, 0.05), ("led", 300, 0.05), ("led", 2000, 0.0)]
)
def test_a_small_table_is_learned_from_whatever_is_held_out(tmp_path, name, rows, holdout):
    data = alrviz.load_demo(name) if rows is None else alrviz.load_demo(name, rows=rows)
    data.frame.to_csv(tmp_path / "t.csv", index=False)
    stream = open_table(tmp_path / "t.csv", data.target, cache=tmp_path / "codes")
    run = alrviz.Run(stream, alrviz.Recipe("alr", order=1, max_iter=5, holdout=holdout, alpha=1.0))
    losses = [step.nll / run.trace.rows for step in run.steps()]
    whole = alrviz.Run(data, alrviz.Recipe("alr", order=1, holdout=0.0, alpha=1.0))
    *_, last = whole.steps()
    assert losses[-1] < 1.2 * last.nll / whole.trace.rows + 0.02


def test_runs_of_one_table_that_begin_at_once_code_it_once(tmp_path):
    stream = open_table(written(tmp_path, messy(), "parquet"), "class", cache=tmp_path / "codes")
    runs = [alrviz.Run(stream, alrviz.Recipe("alr", order=1, max_iter=1, alpha=1.0)) for _ in range(4)]
    for run in runs:
        run.start()
    assert all(run.join(60) for run in runs)
    assert {run.outcome.code for run in runs} == {"step limit"}
    assert len(list((tmp_path / "codes").iterdir())) == 1


def test_unknown_checkpoint_is_refused(tmp_path):
    with (tmp_path / "kept").open("wb") as file:
        np.savez(file, of=np.array("[1]"))
    with pytest.raises(AlrvizError, match="another fit: order was None and is 2"):
        PassCheckpoint(tmp_path / "kept", {"order": 2}).read()


def test_an_empty_checkpoint_is_damaged(stream, tmp_path):
    (tmp_path / "kept").write_bytes(b"")
    with pytest.raises(AlrvizError, match="is damaged"):
        next(alrviz.Run(stream, alrviz.Recipe("alr", order=1, alpha=1.0), checkpoint=str(tmp_path / "kept")).steps())


@pytest.mark.parametrize("number", [1, 3, 4, 5, 16, 17, 70])
def test_sums_of_neighbours_made_elsewhere_are_nodes_of_the_same_tree(number):
    rng = np.random.default_rng(number)
    parts = [(10.0 ** rng.integers(-8, 8, 50) * rng.normal(size=50),) for _ in range(number)]

    def some(begin: int, end: int):
        return tree_sum([(own.copy(),) for (own,) in parts[begin:end]])

    whole = some(0, number)[0]
    for size in (1, FANOUT, FANOUT**2):
        nodes = [some(k, min(k + size, number)) for k in range(0, number, size)]
        while len(nodes) > 1:
            nodes = [add_arrays(nodes[k : k + FANOUT]) for k in range(0, len(nodes), FANOUT)]
        np.testing.assert_array_equal(nodes[0][0], whole)
    if number > FANOUT + 1:
        assert (sum(own for (own,) in parts) != whole).any()  # there is something to get wrong


def test_tuples_that_are_too_many_are_refused_before_they_are_counted(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"c{j}": np.char.add("v", rng.integers(0, 60, 4000).astype(str)) for j in range(8)})
    frame.assign(**{"class": rng.choice(["p", "q"], 4000)}).to_parquet(tmp_path / "t.parquet", index=False)
    stream = open_table(tmp_path / "t.parquet", "class", cache=tmp_path / "codes")
    counted, original = [], cells_module.count_stream
    monkeypatch.setattr(cells_module, "count_stream", lambda *args: counted.append(args[1]) or original(*args))
    run = alrviz.Run(stream, alrviz.Recipe("salr", order=3, keep=0.1, alpha=1.0), max_memory=20 * 2**20)
    message = (
        r"counting 56 tuples of order 3 takes about \d+ MiB here, for some 15\d,\d+ cells; 20 MiB .* order=2, hsalr"
    )
    with pytest.raises(MemoryLimitError, match=message):
        run.advance()
    assert not counted
    run = alrviz.Run(stream, alrviz.Recipe("hsalr", order=3, keep=2, max_iter=1, alpha=1.0), max_memory=20 * 2**20)
    run.advance()
    assert [level.tuples.shape for level in run.levels] == [(8, 1), (13, 2), (11, 3)]


def test_columns_without_cuts_are_reported_for_batches(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"noise": rng.normal(size=900), "told": rng.choice(["a", "b"], 900)})
    frame.assign(**{"class": frame["told"] + "!"}).to_parquet(tmp_path / "t.parquet", index=False)
    run = alrviz.Run(
        open_table(tmp_path / "t.parquet", "class", cache=tmp_path / "c"), alrviz.Recipe("alr", order=1, alpha=1.0)
    )
    with pytest.warns(alrviz.LostColumnsWarning, match="t: MDL .* finds no cut in 1 of 1 numeric column: 'noise'"):
        run.advance()
