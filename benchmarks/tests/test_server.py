"""The server of the benchmarks: what its process is given, and what is left of it."""

import os
from multiprocessing import Pipe
from pathlib import Path
from types import SimpleNamespace

from benchmarks import _server


def test_what_is_raced_is_kept_in_a_folder_that_goes_with_the_server(tmp_path, monkeypatch):
    monkeypatch.setenv("ALRVIZ_HOME", str(tmp_path))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    environment, joins = {}, []

    def process(*, args, **_):
        def start():
            environment.update(os.environ)
            args[0].send("http://127.0.0.1:1/")

        return SimpleNamespace(start=start, terminate=lambda: None, join=lambda: joins.append(True))

    monkeypatch.setattr(_server, "get_context", lambda kind: SimpleNamespace(Pipe=Pipe, Process=process))
    with _server.serving(None, NUMBA_CACHE_DIR="kernels") as server:
        home = Path(environment["ALRVIZ_HOME"])
        assert home.is_dir()
        assert home != tmp_path
        assert (server.url, environment["NUMBA_CACHE_DIR"]) == ("http://127.0.0.1:1/", "kernels")
        assert (os.environ["ALRVIZ_HOME"], os.environ.get("NUMBA_CACHE_DIR")) == (str(tmp_path), None)
    assert joins == [True]
    assert not home.exists()
