"""The frame without a browser: pages built once, the rail, the notice, the pump, what is never outside the server."""

import gc
import time
import weakref

import panel as pn
import panel_material_ui as pmui
import pytest
from bokeh.document import Document
from panel.io.state import set_curdoc
from panel.util import edit_readonly

import alrviz
from alrviz.errors import TableError
from alrviz.explorer.server.limits import ServerLimits
from alrviz.explorer.server.run_registry import Registry
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.sketch import Sketch
from alrviz.explorer.shell import shell as shells
from alrviz.explorer.shell import theme
from alrviz.explorer.shell.button_list import ButtonList
from alrviz.explorer.shell.glossary import TERMS, explain, glossary_html, term_html
from alrviz.explorer.shell.notices import problem_html, time_text
from alrviz.explorer.shell.shell import DRAW_SECONDS, Shell
from alrviz.fitting.families import FAMILIES
from tests.races import FakeRace


class _Page:
    def __init__(self, session):
        self.session, self.calls, self.wants = session, [], False

    @property
    def marker(self):
        return f"view of {self.slug}"

    def view(self):
        self.calls.append("view")
        return pn.Column(name=self.marker, sizing_mode="stretch_width")

    def drawer(self):
        self.calls.append("drawer")
        return pn.pane.HTML("settings")

    def on_shown(self):
        self.calls.append("shown")

    def on_hidden(self):
        self.calls.append("hidden")

    def pump(self):
        self.calls.append("pump")
        return self.wants

    def close(self):
        self.calls.append("close")


class First(_Page):
    title, icon, group, slug = "First", "looks_one", "Explore", "first"


class Second(_Page):
    title, icon, group, slug = "Second", "looks_two", "Data", "second"


@pytest.fixture
def shell():
    session = Session(owner="a" * 32, registry=Registry(ServerLimits(), timer=False))
    return Shell(session, [First, Second])


def test_an_unknown_page_is_the_first(shell):
    assert shell.session.page == "first"
    shell.session.go("nowhere")
    assert shell.session.page == "first"


def test_a_page_is_built_on_its_first_visit_and_once(shell):
    second = shell.pages["second"]
    assert second.calls == []
    shell.session.go("second")
    shell.session.go("first")
    shell.session.go("second")
    assert second.calls == ["view", "shown", "hidden", "shown"]


def test_only_the_page_shown_is_in_the_document(shell):
    """Hidden figures cost the browser a layout each: the document holds one page, however many were visited."""
    document = Document()
    with set_curdoc(document):
        shell.root.server_doc(document)
        counts = []
        for slug in ("second", "first") * 3:
            shell.session.go(slug)
            counts.append(len(document.models))
    first, second = (shell.pages[slug].marker for slug in ("first", "second"))
    shown = {model.name for model in document.models}
    assert first in shown
    assert second not in shown
    assert counts[0::2] == [counts[0]] * 3
    assert counts[1::2] == [counts[1]] * 3


def test_a_place_is_opened_as_by_a_load_and_nothing_of_the_page_before_is_told_any_more(shell):
    session, before = shell.session, shell.pages["first"]
    heard = []
    session.subscribe(heard.append, "dark")
    session.param.update(measure="rmse", seed=3)
    shell.open_place("?page=first&seed=5")
    assert before.calls[-2:] == ["hidden", "close"]
    assert shell.pages["first"].calls == ["view", "shown"]
    assert list(shell.frame._area) == [shell._views["first"]]
    assert (session.seed, session.measure) == (5, "")
    session.dark = True
    assert not heard
    session.go("second")
    second = shell.pages["second"]
    shell.open_place("?page=first&seed=6")
    assert second.calls[-1] == "close", "a page behind the one that is opened shows what is no longer there"
    assert list(shell.frame._area) == [shell._views["first"]]


def test_what_is_not_on_the_first_screen_is_built_when_it_is_opened(shell):
    frame, page = shell.frame, shell.pages["first"]
    assert page.calls == ["view", "shown"]
    shell.open_drawer()
    assert page.calls == ["view", "shown", "drawer"]
    assert (frame._drawer.open, frame._drawer[0].object) == (True, "settings")
    shell.open_drawer(False)
    assert not frame._drawer.open
    shell.open_drawer()
    assert page.calls == ["view", "shown", "drawer"]
    shell.session.go("second")
    assert (frame._drawer.open, list(frame._drawer)) == (False, [])  # another page's settings
    assert list(frame._help.place) == []
    frame._help.close()
    frame._help.open()
    assert [dialog.open for dialog in frame._help.place] == [True]
    frame._help.close()
    assert [dialog.open for dialog in frame._help.place] == [False]
    frame._help.open()
    assert [dialog.open for dialog in frame._help.place] == [True]


def test_the_rail_shows_a_group_only_when_it_has_a_page(shell):
    (rail,) = shell.root.sidebar
    assert [(button["title"], button["label"]) for button in rail.buttons] == [
        ("Explore", "First"),
        ("Data", "Second"),
    ]
    rail._handle_msg("second")
    assert (shell.session.page, rail.here) == ("second", "second")
    rail._handle_msg("nowhere")  # a browser may say anything
    assert shell.session.page == "second"


def test_a_page_of_a_new_group_stands_last_in_the_rail():
    third = type("Third", (_Page,), {"title": "Third", "icon": "looks_3", "group": "Repair", "slug": "third"})
    shell = Shell(Session(owner="a" * 32, registry=Registry(ServerLimits(), timer=False)), [First, third, Second])
    (rail,) = shell.root.sidebar
    assert [button["label"] for button in rail.buttons] == ["First", "Second", "Third"]


def test_the_frames_buttons_cost_no_react_tree_each(shell):
    menu, tools = shell.root.header[0].select(ButtonList)
    assert not list(shell.root.select(lambda part: isinstance(part, pmui.Button | pmui.IconButton)))
    assert [button["label"] for button in menu.buttons] == ["Pages"]
    tools._handle_msg("theme")  # the browser's own
    assert list(shell.frame._help.place) == list(shell.frame._code_dialog.place) == []
    tools._handle_msg("help")
    assert [dialog.open for dialog in shell.frame._help.place] == [True]
    tools._handle_msg("code")
    assert [dialog.open for dialog in shell.frame._code_dialog.place] == [True]


def test_the_page_does_not_follow_panels_busy_flag(shell):
    with edit_readonly(pn.state):
        pn.state.busy = True
    try:
        assert shell.root.busy is False
    finally:
        with edit_readonly(pn.state):
            pn.state.busy = False


def test_nothing_of_the_process_holds_a_page_whose_visitor_has_gone():
    shell = Shell(Session(owner="a" * 32, registry=Registry(ServerLimits(), timer=False)), [First, Second])
    gone = weakref.ref(shell)
    del shell
    gc.collect()
    assert gone() is None


def test_a_tick_asks_the_page_shown_and_says_that_the_run_is_looked_at(shell):
    race = shell.session.runs.adopt(FakeRace())
    race.entry.start()
    shell.session.runs.entry.last_look = 0.0
    shell.pump()
    assert shell.session.runs.entry.last_look > 0
    assert shell.pages["first"].calls[-1] == "pump"
    assert "pump" not in shell.pages["second"].calls


def test_the_notice_says_what_went_wrong_until_it_is_dismissed(shell):
    shell.session.problem = TableError("the table <b>t</b> has no rows")
    assert shell.notice.panel.visible
    assert "The table &lt;b&gt;t&lt;/b&gt; has no rows" in shell.notice._text.object
    shell.notice._close.clicks += 1
    assert not shell.notice.panel.visible


def test_the_notice_shows_how_far_work_is_and_what_was_cancelled(shell):
    shell.session.table.load_demo("iris")
    assert not shell.notice.panel.visible  # what is done at once needs no announcement
    arrival = shell.session.table.receive()
    assert shell.notice.panel.visible
    arrival.add("<b>t.csv", b"a", 0.25)
    arrival._start_time -= 10
    shell.notice.show()
    assert shell.notice.panel.visible
    assert (shell.notice._bar.variant, shell.notice._bar.value) == ("determinate", 25)
    assert "Receiving &lt;b&gt;t.csv" in shell.notice._text.object
    assert "about 30 s left" in shell.notice._text.object
    assert "left" not in shell.notice.heard.object  # what changes all the while is not read out
    shell.notice._cancel.clicks += 1
    assert not shell.notice._cancel.visible
    assert "was cancelled" in shell.notice._text.object
    assert "was cancelled" in shell.notice.heard.object
    shell.notice._close.clicks += 1
    assert not shell.notice.panel.visible


def test_the_reading_of_a_file_is_announced_at_once(shell):
    shell.session.table.load_bytes("mine.csv", "a,class\n1,x\n2,y\n")
    assert shell.notice.panel.visible
    assert "Reading mine.csv" in shell.notice._text.object
    assert "Reading mine.csv" in shell.notice.heard.object


def test_what_is_said_is_read_out(shell):
    model = shell.notice.heard.get_root()
    assert model.html_attributes == {"role": "status", "aria-live": "polite"}


@pytest.mark.parametrize(
    ("seconds", "share", "text"),
    [
        (4, None, "4 s"),
        (0.5, 0.5, "0 s"),
        (4, 0.01, "4 s"),
        (4, 0.5, "4 s, about 4 s left"),
        (60, 0.1, "60 s, about 9 min left"),
    ],
)
def test_time_left(seconds, share, text):
    assert time_text(seconds, share) == text


def test_a_dropped_file_leads_to_the_data_page(shell):
    shell._load_dropped("t.csv", b"a,class\n1,x\n2,y\n")
    assert shell.session.table.loading is not None
    shell.session.table.cancel()


def test_work_begins_when_the_page_is_drawn(shell, monkeypatch):
    now = [10.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr("alrviz.explorer.server.process_tuning.tune_process", lambda context: None)
    session = shell.session
    session.hold_tasks()
    session.table.load_demo("xor")
    for _ in range(3):
        shell.pump()
        assert session.holds_tasks
        assert session.table.loading.seconds == 0
        now[0] += DRAW_SECONDS / 3 + 0.001
    shell.pump()
    assert not session.holds_tasks
    session.table.loading.wait(30)
    shell.pump()
    assert session.table.dataset.name == "xor"


def test_a_visitor_who_has_gone_has_nothing_computed(shell):
    shell._load_dropped("t.csv", b"a,class\n1,x\n2,y\n")
    loading = shell.session.table.loading
    shell.close()
    assert not loading.busy
    assert loading.token.stopped
    assert [page.calls[-1] for page in shell.pages.values()] == ["close", "close"]


def test_what_went_wrong_elsewhere_is_told_without_a_traceback():
    assert "(KeyError: " in problem_html(KeyError("<x>"))
    assert "<x>" not in problem_html(KeyError("<x>"))
    assert "not enough memory" in problem_html(MemoryError())


def test_no_part_of_the_look_comes_from_elsewhere():
    for text in (theme.TEMPLATE, theme.RAW_CSS, theme.PANE_CSS):
        assert "http://" not in text
        assert "https://" not in text
        assert "@import" not in text
    assert theme.FAVICON.startswith("data:")


def test_every_term_has_one_line():
    for term in ("NLL", "nats", "test rows", "level", "tuple", "cell", "order", "theta", "AnJE", "start", "center"):
        assert explain(term)
    for term in ("alpha", "complete separation", "MDL", "pass", "prequential", "plug-in", "ALR"):
        assert explain(term)
    assert "accelerated" in explain("ALR").lower()
    assert all("\n" not in text and len(text) < 220 for text in TERMS.values())
    assert glossary_html().count("<dt>") == len(TERMS)
    assert "title=" in term_html("order", "n")
    with pytest.raises(KeyError):
        explain("nonsense")


def test_what_a_menu_offers_and_a_verdict_says_is_explained():
    terms = {term.lower().replace("-", "") for term in TERMS}
    solvers = set(FAMILIES["lr"].params["solver"].choices) - {"auto"}
    families = {"rf": "random forest", "hgb": "gradient boosting"}
    assert {families.get(name, name) for name in FAMILIES} | solvers <= terms
    for term in (
        "F",
        "phi",
        "infimum",
        "loss above the lowest",
        "preconditioner",
        "Silverman",
        "Kohavi-Wolpert",
        "Domingos",
    ):
        assert term in TERMS
    assert list(TERMS) == sorted(TERMS, key=str.lower), "the file is in order, and has no term twice"


def test_what_unfolds_pushes_what_comes_next(shell):
    """Panel's columns are at most as high as what holds them unless they are told otherwise."""
    shell.show_page()
    assert shell.frame._area.styles["max-height"] == shell.frame._outer.styles["max-height"] == "none"


class Third(_Page):
    title, icon, group, slug = "Third", "looks_3", "Explore", "third"


@pytest.fixture
def watched(monkeypatch):
    """A shell in a document that a browser shows, and what runs the document's callbacks that are due."""
    shell = Shell(Session(owner="a" * 32, registry=Registry(ServerLimits(), timer=False)), [First, Second, Third])
    monkeypatch.setattr(shells, "server_session", object)
    monkeypatch.setattr(shells, "page_ready", lambda: True)
    document = Document()

    def tick():
        for callback in document.session_callbacks:
            document.remove_timeout_callback(callback)
            callback.callback()

    with set_curdoc(document):
        yield shell, tick


def _front(shell):
    return list(shell.frame._area)


def test_a_page_that_is_to_be_built_is_said_to_open_before_it_is_built(watched):
    shell, tick = watched
    second = shell.pages["second"]
    shell.session.go("second")
    assert (second.calls, shell.pages["first"].calls[-1]) == ([], "hidden")
    assert shell.frame._rail.here == "second"
    (seen,) = _front(shell)
    assert "Opening Second" in seen.object
    assert "progressbar" in seen.object
    shell.open_drawer()  # nothing to open yet
    shell.pump()
    assert second.calls == []
    tick()
    assert second.calls == ["view", "shown"]
    assert _front(shell) == [shell._views["second"]]
    shell.session.go("first")  # which was built before
    tick()
    assert _front(shell) == [shell._views["first"]]


def test_who_goes_on_while_a_page_opens_gets_the_page_asked_for_last(watched):
    shell, tick = watched
    for slug in ("second", "third", "first", "third"):
        shell.session.go(slug)
    tick()
    assert shell.pages["second"].calls == []
    assert shell.pages["third"].calls == ["view", "shown"]
    assert shell.pages["first"].calls == ["view", "shown", "hidden"]
    assert _front(shell) == [shell._views["third"]]
    shell.session.go("second")
    shell.session.go("first")
    tick()
    assert _front(shell) == [shell._views["first"]]
    assert shell.pages["second"].calls == []


def test_a_page_that_cannot_be_built_says_so_and_is_tried_again(watched):
    shell, tick = watched
    second, built = shell.pages["second"], shell.pages["second"].view
    second.view = lambda: 1 / 0
    shell.session.go("second")
    with pytest.raises(ZeroDivisionError):
        tick()
    assert "could not be opened" in _front(shell)[0].object
    second.view = built
    shell.session.go("first")
    shell.session.go("second")
    tick()
    assert _front(shell) == [shell._views["second"]]


class Maps(_Page):
    title, icon, group, slug = "Maps", "looks_3", "Explore", "boundaries"


def test_the_header_says_whose_points_are_drawn_where_they_are_shown():
    session = Session(owner="a" * 32, registry=Registry(ServerLimits(), timer=False))
    about = Shell(session, [First, Maps]).frame._table_text
    session.table.dataset = alrviz.load_demo("iris")
    sketch = Sketch.from_dataset(alrviz.load_demo("two-moons", rows=60), ("x1", "x2"))
    session.param.update(page="boundaries", sketch=sketch)
    assert "60 points" in about.object
    assert "begun from two-moons" in about.object
    session.sketch = Sketch.blank()
    assert "4 points" in about.object
    assert "begun" not in about.object
    session.param.update(page="first")  # which is about the table
    assert "150 rows" in about.object


def test_a_page_that_cannot_be_built_says_what_to_do(monkeypatch, caplog):
    from alrviz.explorer import app
    from alrviz.explorer.shell import shell

    def broken(*given):
        raise RuntimeError("no room")

    monkeypatch.setattr(shell, "build", broken)
    pane = app.application()
    assert "could not be opened" in pane.object
    assert "Try again" in pane.object
    assert "no room" in caplog.text
