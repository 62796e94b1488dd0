"""Passes on a Dask cluster: the same bits on 3 workers, 1 and none, whoever dies; what workers lack is said."""

import os
import pickle
import signal
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import alrviz
from alrviz import cli
from alrviz.data import splits
from alrviz.data.stream.table import open_table
from alrviz.errors import AlrvizError, RecipeError, Stopped, TableFileError
from alrviz.models.streamed import count_stream
from alrviz.passes import cluster as cluster_module
from alrviz.passes.cluster import ClusterChunks, connect, local_chunks
from alrviz.passes.stream import FANOUT, add_arrays
from alrviz.stop import NEVER, StopToken
from tests.conftest import wait_until
from tests.data.stream.test_stream import messy, written

distributed = pytest.importorskip("distributed", reason="the extra [dask] is not installed")
dask = pytest.importorskip("dask")
pytestmark = pytest.mark.dask


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A cluster of three workers, each a process that is started anew where it dies, in a home of their own."""
    home = str(tmp_path_factory.mktemp("home"))
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "3s"}),  # else who asks a dead worker asks for 30 s
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, dashboard_address=":0", memory_limit=None, env={"ALRVIZ_HOME": home}
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as made,
    ):
        yield made


@pytest.fixture
def coded(tmp_path, monkeypatch):
    """A table of some 20 chunks, each of which is a task after the first pass."""
    monkeypatch.setattr(cluster_module, "MIN_TASK_SECONDS", 0.0)
    with monkeypatch.context() as small:
        small.setattr(splits, "CHUNK", 150)
        path = written(tmp_path, messy(), "parquet")
        return open_table(path, "class", cache=tmp_path / "codes").coded(holdout=0.0)


def counted(coded, chunks, allowed: int = 2**24):
    return count_stream(coded.levels, 2, chunks, len(coded.classes), 1.0, allowed, 1)


def descended(streamed, passes: int) -> tuple[np.ndarray, list[float]]:
    """The weights after so many steps of gradient descent, a pass each, and the losses on the way."""
    table, bias = streamed.blank(None), np.zeros(streamed.tables.n_classes)
    losses = []
    for _ in range(passes):
        found = streamed.passes.loss_and_gradient(table, bias)
        table -= 1e-4 * found.gradient
        bias -= 1e-4 * found.total_residual
        losses.append(found.sums.nll)
    return table, losses


ALLOWED = {"dense": 2**24, "seen": 0}


def test_any_number_of_workers_gives_the_bits_of_one_process(client, coded):
    want = {kind: counted(coded, local_chunks(coded, "train"), allowed) for kind, allowed in ALLOWED.items()}
    descents = {kind: descended(streamed, 3) for kind, streamed in want.items()}
    assert descents["dense"][1][2] < descents["dense"][1][1] < descents["dense"][1][0]
    for workers in (3, 1):
        client.cluster.scale(workers)
        wait_until(lambda workers=workers: len(client.ncores()) == workers, 60, f"{workers} workers")
        for kind, allowed in ALLOWED.items():
            got = counted(coded, ClusterChunks(client, coded, "train"), allowed)
            np.testing.assert_array_equal(got.tables.counts, want[kind].tables.counts)
            np.testing.assert_array_equal(got.tables.seen_cells, want[kind].tables.seen_cells)
            table, losses = descended(got, 3)
            assert losses == descents[kind][1]
            np.testing.assert_array_equal(table, descents[kind][0])
    client.cluster.scale(3)


def test_validation_rows_are_excluded_on_a_cluster(client, coded):
    found = [
        counted(coded, made(40))
        for made in (partial(local_chunks, coded, "train"), ClusterChunks(client, coded, "train").without)
    ]
    np.testing.assert_array_equal(found[1].tables.counts, found[0].tables.counts)
    assert found[0].tables.class_counts.sum() == coded.cache.n_rows("train") - 40


def once_held(work, folder, chunks, n_jobs, stop):
    """Of a pass the first task to come tells its process and waits; others, and who does it again, do their work."""
    try:
        with (folder / "begun").open("x") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        return work(chunks, n_jobs, stop)
    while not (folder / "go").exists():
        time.sleep(0.01)
    return work(chunks, n_jobs, stop)


class Held(ClusterChunks):
    """Chunks of which a task waits in every pass."""

    folder: Path
    turn = 0

    def map_reduce(self, work, combine, n_jobs, stop):
        self.turn += 1
        folder = self.folder / str(self.turn)
        folder.mkdir()
        return super().map_reduce(partial(once_held, work, folder), combine, n_jobs, stop)


def begun(folder: Path) -> int:
    return wait_until(lambda: (folder / "begun").exists() and int((folder / "begun").read_text() or 0), 60, "a task")


def test_a_worker_killed_in_each_of_three_passes_costs_its_tasks_alone(client, coded, tmp_path):
    table, losses = descended(counted(coded, local_chunks(coded, "train")), 2)
    chunks = Held(client, coded, "train")
    chunks.folder = tmp_path
    killed = []

    def kill():
        for k in range(1, 4):
            wait_until((tmp_path / str(k)).exists, 600, "a pass")
            killed.append(begun(tmp_path / str(k)))
            os.kill(killed[-1], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    own, told = descended(counted(coded, chunks), 2)  # and one that counts
    killer.join()
    assert len(set(killed)) == 3
    assert told == losses
    np.testing.assert_array_equal(own, table)


def test_a_stop_ends_a_pass_that_is_under_way(client, coded, tmp_path):
    stop = StopToken()
    chunks = Held(client, coded, "train")
    chunks.folder = tmp_path

    def press():
        wait_until((tmp_path / "1").exists, 60, "a pass")
        begun(tmp_path / "1")
        stop.stop()

    presser = threading.Thread(target=press)
    presser.start()
    with pytest.raises(Stopped):
        count_stream(coded.levels, 2, chunks, 2, 1.0, 2**24, 1, stop)
    presser.join()
    (tmp_path / "1" / "go").touch()


def test_tasks_are_runs_of_chunks_as_long_as_a_second(client, coded, monkeypatch):
    chunks = ClusterChunks(client, coded, "train")
    monkeypatch.setattr(cluster_module, "MIN_TASK_SECONDS", 1.0)
    sent = []
    monkeypatch.setattr(
        chunks,
        "_submit",
        lambda work, *of, **options: sent.append((work, of)) or ClusterChunks._submit(chunks, work, *of, **options),
    )

    def shards(seconds: float) -> list[int]:
        sent.clear()
        chunks._chunk_seconds = seconds
        counted(coded, chunks)
        return [len(of[3]) for work, of in sent if work.__name__ == "_run_task"]

    number = chunks.n_chunks
    assert number > FANOUT**2
    assert shards(2.0) == [1] * number
    assert shards(0.3) == [FANOUT] * (number // FANOUT) + [number % FANOUT] * (number % FANOUT > 0)
    assert shards(1e-6) == [number]


@pytest.mark.parametrize("solver", ["averaged", "tron", "lbfgs"])
def test_a_run_on_a_cluster_is_the_run_of_one_process(client, tmp_path, solver):
    stream = open_table(written(tmp_path, messy(), "parquet"), "class", cache=tmp_path / "codes")
    recipe = alrviz.Recipe("alr", order=2, max_iter=3, holdout=0.2, solver=solver, alpha=1.0)
    runs = [alrviz.Run(stream, recipe, scheduler=where) for where in (None, client, client.scheduler.address)]
    steps = [[(step.objective, step.nll, step.extra["heldout_log_loss"]) for step in run.steps()] for run in runs]
    assert steps[0] == steps[1] == steps[2]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.model.phi, runs[0].model.phi)
        assert any("run on this machine" in note for note in run.notes) == (solver == "averaged")
    assert client.status == "running"  # who brings a client keeps it
    assert not any("machine" in note for note in runs[0].notes)


def test_the_command_line_fits_on_a_cluster(client, tmp_path, capsys):
    data = alrviz.load_demo("led", rows=500)
    data.frame.to_csv(tmp_path / "led.csv", index=False)
    given = ["fit", str(tmp_path / "led.csv"), "--passes", "2", "--cache", str(tmp_path / "codes"), "-o"]
    assert cli.main([*given, str(tmp_path / "a.zip")]) == 0
    assert cli.main([*given, str(tmp_path / "b.zip"), "--scheduler", client.scheduler.address]) == 0
    first, second = (alrviz.load_model(tmp_path / f"{name}.zip").predict_proba(data.X) for name in "ab")
    np.testing.assert_array_equal(first, second)
    assert cli.main([*given, str(tmp_path / "c.zip"), "--scheduler", "nowhere"]) == 2
    assert "no Dask scheduler answers at 'nowhere'" in capsys.readouterr().err


def elsewhere(coded, tmp_path):
    """The coded table as workers have it that do not see the folder of its codes."""
    return replace(coded, cache=replace(coded.cache, path=tmp_path / "not here" / f"{tmp_path.name}.codes"))


def test_workers_that_see_no_codes_make_their_own_of_the_files(client, tmp_path):
    coded = open_table(written(tmp_path, messy(), "csv"), "class", cache=tmp_path / "codes").coded(holdout=0.1)
    chunks = ClusterChunks(client, elsewhere(coded, tmp_path), "train")
    np.testing.assert_array_equal(
        counted(coded, chunks).tables.counts, counted(coded, local_chunks(coded, "train")).tables.counts
    )


def test_workers_that_lack_the_file_are_named_with_it(client, tmp_path):
    path = written(tmp_path, messy(), "csv")
    coded = open_table(path, "class", cache=tmp_path / "codes").coded()
    path.unlink()
    with pytest.raises(
        TableFileError, match=r"worker .* at tcp://.*: sees neither the file '.*table.csv' nor the codes"
    ):
        ClusterChunks(client, elsewhere(coded, tmp_path), "train")
    ClusterChunks(client, coded, "train")  # who sees the codes needs no files


def test_workers_whose_file_is_another_are_named(client, tmp_path):
    path = written(tmp_path, messy(), "csv")
    coded = open_table(path, "class", cache=tmp_path / "codes").coded()
    messy(500).to_csv(path, index=False)
    with pytest.raises(TableFileError, match=r"worker .* at tcp://.*: 'table.csv' has changed since it was opened"):
        ClusterChunks(client, elsewhere(coded, tmp_path), "train")
    cut = replace(coded, cache=replace(coded.cache, parts={"train": coded.cache.parts["train"][:-1]}))
    with pytest.raises(TableFileError, match=r"worker .* at .*: '.*codes' holds other rows than"):
        ClusterChunks(client, cut, "train")


def test_codes_that_are_damaged_are_made_anew_by_the_worker_that_finds_it(client, tmp_path):
    coded = open_table(written(tmp_path, messy(), "csv"), "class", cache=tmp_path / "codes").coded()
    want, path = counted(coded, local_chunks(coded, "train")).tables.counts, coded.cache.path
    chunks, whole = ClusterChunks(client, coded, "train"), path.read_bytes()
    path.write_bytes(whole[:100] + bytes([whole[100] ^ 4]) + whole[101:])
    np.testing.assert_array_equal(counted(coded, chunks).tables.counts, want)
    assert path.read_bytes() == whole


def refused(chunks, n_jobs, stop):
    raise ModuleNotFoundError("No module named 'alrviz'")


def fatal(chunks, n_jobs, stop):
    os.kill(os.getpid(), signal.SIGKILL)


def test_worker_errors_are_raised(client, coded, monkeypatch):
    chunks = ClusterChunks(client, coded, "train")
    with pytest.raises(AlrvizError, match=r"workers lack a package \(No module named 'alrviz'\)"):
        chunks.map_reduce(refused, add_arrays, 1, NEVER)
    with pytest.raises(AlrvizError, match="workers died one after the other at the same task"):
        chunks.map_reduce(fatal, add_arrays, 1, NEVER)
    wait_until(client.ncores, 60, "workers again")
    monkeypatch.setattr(cluster_module, "__version__", "0.0")
    with pytest.raises(AlrvizError, match=r"a worker has alrviz .* and this is 0.0; expected the same"):
        ClusterChunks(client, coded, "train")


def test_lost_scheduler_raises(client, coded, monkeypatch):
    chunks = ClusterChunks(client, coded, "train")

    def gone(*_, **__):
        raise OSError("Timed out trying to connect")

    monkeypatch.setattr(client, "ncores", gone)
    with pytest.raises(AlrvizError, match=r"the Dask scheduler is gone \(Timed out"):
        counted(coded, chunks)
    with pytest.raises(AlrvizError, match="the Dask scheduler is gone"):
        ClusterChunks(client, coded, "train")


def test_missing_cluster_or_worker_raises(coded, monkeypatch):
    monkeypatch.setattr(cluster_module, "TIMEOUT_SECONDS", 1.0)
    with (
        pytest.raises(AlrvizError, match=r"no Dask scheduler answers at 'tcp://127.0.0.1:1'"),
        connect("tcp://127.0.0.1:1"),
    ):
        pass
    with pytest.raises(RecipeError, match=r"scheduler=5 is no scheduler"), connect(5):
        pass
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster,
        connect(cluster.scheduler_address) as none,
        pytest.raises(AlrvizError, match="has had no worker for"),
    ):
        ClusterChunks(none, coded, "train")


def test_a_scheduler_is_for_tables_read_in_batches():
    with pytest.raises(RecipeError, match="is for tables read in batches"):
        alrviz.Run(alrviz.load_demo("led"), alrviz.Recipe("alr", order=1, alpha=1.0), scheduler="tcp://127.0.0.1:1")


def test_passes_leave_their_chunks_behind(coded):
    passes = pickle.loads(pickle.dumps(counted(coded, local_chunks(coded, "train")).passes))
    assert passes._chunks is None
