"""What the system says of memory: of the machine, and of the container in it."""

import os
import platform
import subprocess
import sys

import pytest

from alrviz import memory
from alrviz.explorer.server.limits import ServerLimits


@pytest.fixture
def group(tmp_path, monkeypatch):
    """A function that makes a control group with a limit, of which so much is in use."""
    monkeypatch.setattr(memory, "_GROUPS", tmp_path)

    def make(path, limit, used, cached=0, names=("memory.max", "memory.current")):
        folder = tmp_path / path
        folder.mkdir(parents=True, exist_ok=True)
        (folder / names[0]).write_text(f"{limit}\n")
        (folder / names[1]).write_text(f"{used}\n")
        (folder / "memory.stat").write_text(f"anon 5\ninactive_file {cached}\n")
        return folder

    return make


def in_group(monkeypatch, text):
    read = memory.Path.read_text

    def read_text(self, *given, **named):
        return text if str(self) == "/proc/self/cgroup" else read(self, *given, **named)

    monkeypatch.setattr(memory.Path, "read_text", read_text)


@pytest.mark.parametrize(
    ("said", "path", "names"),
    [
        ("0::/box/inner\n", "box", ("memory.max", "memory.current")),
        ("3:cpu:/\n5:memory:/box\n", "memory/box", ("memory.limit_in_bytes", "memory.usage_in_bytes")),
    ],
)
def test_a_containers_limit_counts_as_the_machines(group, monkeypatch, said, path, names):
    in_group(monkeypatch, said)
    group(path, 300 * 2**20, 120 * 2**20, cached=20 * 2**20, names=names)
    assert memory.total_memory() == 300 * 2**20
    assert memory.free_memory() == 200 * 2**20
    assert ServerLimits().memory == 150 * 2**20


def test_without_a_limit_the_machine_counts(group, monkeypatch):
    in_group(monkeypatch, "")
    machine = memory.total_memory()
    in_group(monkeypatch, "0::/box\n")
    group("box", "max", 5)
    assert memory.total_memory() == machine
    memory.give_back()


ARENAS = """
import ctypes, sys, threading
from alrviz.memory import few_arenas
if sys.argv[2] == "few":
    few_arenas()
begun = threading.Barrier(12)
def allocate():
    begun.wait()
    held = [bytearray(5000) for _ in range(200)]
    begun.wait()
threads = [threading.Thread(target=allocate) for _ in range(12)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(sys.argv[1].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="arenas are glibc's")
@pytest.mark.parametrize(("environment", "at_most"), [({}, 2), ({"MALLOC_ARENA_MAX": "4"}, 4)])
def test_threads_of_a_server_allocate_from_few_arenas(tmp_path, environment, at_most):
    def arenas(how, environment):
        clean = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
        told = tmp_path / how
        subprocess.run([sys.executable, "-c", ARENAS, told, how], env=clean | environment, check=True)
        return told.read_text().count("<heap nr=")

    assert arenas("few", environment) <= at_most < arenas("all", {})
