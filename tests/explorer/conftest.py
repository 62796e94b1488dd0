"""What tests of several pages share."""

import pytest

from tests.explorer.maps import open_page, settled, until


@pytest.fixture
def page():
    """The page of maps with a small table, settled; a module about another page has its own."""
    made = open_page()
    until(made, lambda: settled(made))
    yield made
    made.close()
