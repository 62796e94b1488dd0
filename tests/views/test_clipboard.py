"""Copying from pages with and without HTTPS: what the scripts and the share box hold."""

from types import SimpleNamespace

import panel as pn
import pytest

from alrviz.explorer.shell.qr import local_hint, page_url
from alrviz.views.core.clipboard import copy_code


def test_the_script_has_a_way_without_a_clipboard():
    code = copy_code("source.data.value")
    assert "const text = source.data.value\n" in code
    assert code.index("if (navigator.clipboard)") < code.index("else { byCommand(); done() }")


@pytest.mark.parametrize("search", ["", "/", "?data=led#top", "#top?"])
def test_the_share_box_holds_the_whole_address(search, monkeypatch):
    here = SimpleNamespace(href=f"http://192.168.1.7:5006/alrviz{search}")
    monkeypatch.setattr(type(pn.state), "location", here)
    assert page_url("race/abc") == "http://192.168.1.7:5006/alrviz/race/abc"


@pytest.mark.parametrize("address", ["https://host/lab/", "https://host/lab"])
@pytest.mark.parametrize("ending", ["", "?data=led", "#top"])
def test_the_pages_own_address_keeps_its_final_slash(address, ending, monkeypatch):
    monkeypatch.setattr(type(pn.state), "location", SimpleNamespace(href=address + ending))
    assert page_url() == address


def test_a_page_without_an_address_keeps_the_link(monkeypatch):
    monkeypatch.setattr(type(pn.state), "location", None)
    assert page_url("race/abc") == "race/abc"
    assert page_url() == ""


@pytest.mark.parametrize(
    ("address", "local"),
    [("http://localhost:5006/explorer", True), ("http://127.0.0.1:5006/", True), ("http://[::1]:5006/?q=1", True),
     ("http://192.168.1.7:5006/explorer", False), ("https://localhost.example.org/explorer", False)],
)  # fmt: skip
def test_a_link_that_leads_others_elsewhere_says_so(address, local, monkeypatch):
    monkeypatch.setattr(type(pn.state), "location", SimpleNamespace(href=address))
    assert bool(local_hint()) is local
