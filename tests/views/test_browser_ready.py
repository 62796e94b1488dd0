"""When changes reach the browser: not before every view is built, which the document's last root tells."""

import pytest
from bokeh.document import Document
from bokeh.models import Div
from panel.models.browser import BrowserInfo

from alrviz.views.core import browser_ready


@pytest.fixture
def document(monkeypatch):
    """A served page's document, not loaded yet; what it is told."""
    document = Document()
    document.add_root(Div())
    document.add_root(BrowserInfo())

    class State:
        loaded, curdoc = False, document

        def _on_load(self, which):
            assert which is document
            self.loaded = True

    monkeypatch.setattr(browser_ready.pn, "state", State())
    monkeypatch.setattr(browser_ready, "is_connected", lambda: True)
    return document


def test_a_page_is_ready_once_its_views_are_built(document):
    assert not browser_ready.page_ready()
    document.roots[1].timezone_offset = 0.0  # Greenwich
    assert browser_ready.page_ready()
    assert browser_ready.pn.state.loaded


def test_a_page_without_a_browser_is_not_ready(document, monkeypatch):
    monkeypatch.setattr(browser_ready, "is_connected", lambda: False)
    document.roots[1].timezone_offset = 60.0
    assert not browser_ready.page_ready()
    assert not browser_ready.pn.state.loaded


def test_a_page_whose_roots_tell_nothing_is_taken_for_built(document):
    document.remove_root(document.roots[1])
    assert browser_ready.page_ready()
