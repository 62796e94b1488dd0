"""The Boundaries page without a browser: it is opened, and waited for until all that was asked for is drawn."""

import time

from alrviz.explorer.boundaries import BoundariesPage
from alrviz.explorer.limits import ServerLimits
from alrviz.explorer.registry import Registry
from alrviz.explorer.session import Session
from alrviz.explorer.state import read_link

SMALL = "?page=boundaries&data=four-gaussians&rows=200"


def open_page(link=SMALL, owner="a" * 32, registry=None):
    session = Session(owner=owner, registry=registry or Registry(ServerLimits(), timer=False))
    session.apply(read_link(link))
    page = BoundariesPage(session)
    page.view()
    page.drawer()
    return page


def until(page, condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, (page.session.problem, said(page))
        page.session.pump()
        page.pump()
        time.sleep(0.005)


def settled(page):
    """Whether all that was asked for is drawn."""
    tab = page.tab
    if page.session.tab == "any":
        done = tab.peer.found is not None if tab.name else tab.part.player.ended
        return done and tab.map.surface is not None and not tab.map.busy and not tab._stale
    maps = (tab.pictures.map, tab.pictures.other)
    drawn = all(view.surface is not None and not view.busy for view in maps)
    followed = tab.moment is not None and not tab.asking.busy and not tab._stale
    return drawn and followed and not tab.peer.waiting and (tab.drawing.on or tab.part.player.ended)


def said(page):
    """The sentence above the maps."""
    tab = page.tab
    return (tab.words if page.session.tab == "any" else tab.card.words).object
