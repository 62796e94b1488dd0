"""What tests of several pages share."""

import pytest

from tests.explorer.maps import open_page, restore, settled, until


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty folder for what the explorer stores."""
    monkeypatch.setenv("ALRVIZ_HOME", str(tmp_path))


@pytest.fixture(scope="module")
def module_page():
    made = open_page()
    until(made, lambda: settled(made))
    yield made
    made.close()


@pytest.fixture
def shared(module_page):
    """The page of maps with a small table, for tests that neither change its settings nor its table."""
    yield module_page
    restore(module_page)


@pytest.fixture
def page():
    """The page of maps with a small table, settled; a module about another page has its own."""
    made = open_page()
    until(made, lambda: settled(made))
    yield made
    made.close()
