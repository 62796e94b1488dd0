"""Tests here keep nothing in the home of the user who runs them."""

from tests.conftest import _own_home  # noqa: F401  # a fixture that pytest finds by its name
