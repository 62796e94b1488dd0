"""The Boundaries page without a browser: it is opened, and waited for until all that was asked for is drawn."""

from functools import partial

from alrviz.explorer.pages.boundaries.page import BoundariesPage
from tests.explorer.pages import OWNER, opened
from tests.explorer.pages import until as until_said

SMALL = "?page=boundaries&data=four-gaussians&rows=200"


def open_page(link=SMALL, owner=OWNER, registry=None):
    page = opened(BoundariesPage, link, owner, registry)
    page.drawer()
    return page


def settled(page):
    """Whether all that was asked for is drawn."""
    tab = page.tab
    if page.session.tab == "any":
        done = tab.peer.reference is not None if tab.name else tab.player.ended
        return done and tab.map.surface is not None and not tab.map.busy and not tab._stale
    maps = (tab.pictures.map, tab.pictures.peer_map)
    drawn = all(view.surface is not None and not view.busy for view in maps)
    followed = tab.frame is not None and not tab.frames.busy and not tab.frames.stale
    return drawn and followed and not tab.peer.is_fitting and (tab.drawing.is_drawing or tab.player.ended)


def restore(page):
    """Forget drawn points and dragged bandwidths, and go to the end of the fit."""
    tab = page.tab
    tab.drawing.discard()
    tab.drawing.points_set_aside = None
    tab.player.scrub(tab.player.racer.run.trace[-1].index)
    tab.redraw()
    until(page, lambda: settled(page) and not tab.frame.by_hand and tab.frame.run is not None)


def said(page):
    """The sentence above the maps."""
    return page.tab.words.object


until = partial(until_said, said=said)
