"""Fixtures of several files on models."""

import pytest

from alrviz.passes import sources
from tests.models.densities import GRIDS


@pytest.fixture
def gridded(monkeypatch):
    monkeypatch.setattr(sources, "_VOTE_NS", GRIDS)
