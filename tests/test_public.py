"""The front door: cheap to open, and everything it names is there."""

import inspect
import json
import subprocess
import sys

import pytest

import alrviz

HEAVY = ["numpy", "pandas", "scipy", "numba", "sklearn", "panel", "bokeh", "pyarrow"]


def loaded_after(statement):
    """Names of the modules a fresh interpreter holds after `statement`."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    return set(json.loads(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout))


def test_the_import_loads_no_library():
    assert loaded_after("import alrviz; dir(alrviz); alrviz.__version__").isdisjoint(HEAVY)


def test_estimators_load_no_page():
    loaded = loaded_after("import alrviz; alrviz.ALRClassifier; alrviz.read_table; alrviz.race")
    assert "sklearn" in loaded
    assert loaded.isdisjoint(["panel", "bokeh"])


@pytest.mark.parametrize("name", alrviz.__all__)
def test_every_public_name_is_there(name):
    value = getattr(alrviz, name)
    assert name == "__version__" or value.__module__.startswith("alrviz."), "a name of ours, from a module of ours"
    assert name == "__version__" or (value.__doc__ or "").strip(), f"{name} has no docstring"
    alone = name == "__version__" or (isinstance(value, type) and issubclass(value, Exception | Warning))
    assert alone or ">>> " in value.__doc__, f"{name} has no example"


def test_dir_lists_the_public_names():
    assert dir(alrviz) == sorted(alrviz.__all__)


def test_unknown_name_raises():
    with pytest.raises(AttributeError, match="No alrviz attribute HSALRClassifier"):
        _ = alrviz.HSALRClassifier


def test_a_star_import_gives_the_public_names():
    names: dict = {}
    exec("from alrviz import *", names)
    assert set(alrviz.__all__) <= set(names)


def test_a_typed_script_of_a_user_runs():
    from tests.typed_user import use

    assert not len(use())


def test_signatures_show_no_object_by_its_address():
    public = [getattr(alrviz, name) for name in alrviz.__all__]
    shown = {of.__name__: str(inspect.signature(of)) for of in public if inspect.isfunction(of)}
    assert not [name for name, text in shown.items() if " object at 0x" in text]
