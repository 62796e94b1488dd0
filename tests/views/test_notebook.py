"""Views in a notebook, without a browser: what an output keeps, what a page is sent and when, who takes turns.

The kernel and the page's comm are played here; tests/test_jupyterlab.py has real ones.
"""

import base64
import gzip
import io
import json
import re
import sys
import threading
import time
import traceback
from functools import partial
from itertools import count
from types import SimpleNamespace

import numpy as np
import panel as pn
import pytest
from bokeh.document import Document
from bokeh.protocol import Protocol
from bokeh.resources import INLINE
from IPython.core.formatters import DisplayFormatter
from PIL import Image

import alrviz
from alrviz.errors import AlrvizError
from alrviz.pictures.convergence import min_max
from alrviz.studies.density.gram import gram
from alrviz.views.core import kernel_lock, live_figure, notebook_comm, notebook_output
from alrviz.views.core.notebook import NotebookViewer
from alrviz.views.core.notebook_comm import MATERIAL_BUNDLE, Link, compressed_resource
from alrviz.views.core.notebook_output import EXEC_MIME
from tests.conftest import wait_until
from tests.races import ByHand
from tests.views.raced import finished


class PageComm:
    """A page's end of a comm: what it was sent, and what it says."""

    def __init__(self):
        self.sent, self.closed = [], False

    def on_msg(self, handler):
        self.handler = handler

    def send(self, data, buffers=()):
        self.sent.append((data, list(buffers)))

    def close(self):
        self.closed = True

    def say(self, **data):
        self.handler({"content": {"data": data}})

    def patches(self):
        """The events of all patches sent, in order."""
        found = [json.loads(data["patch"][2])["events"] for data, _ in self.sent if "patch" in data]
        return [event for events in found for event in events]

    def texts(self):
        """What panes were told to say."""
        return [event["new"] for event in self.patches() if event["attr"] == "text"]


@pytest.fixture
def kernel(monkeypatch):
    """A process that takes itself for a kernel; what it publishes, and its comm targets. No pump looks by itself."""
    monkeypatch.setattr("alrviz.views.core.pump._TickThread._run", lambda *_: None)
    made = SimpleNamespace(targets={}, published=[], before=[], cells=[])
    manager = SimpleNamespace(register_target=made.targets.__setitem__)
    calls = {"pre_run_cell": made.before, "post_run_cell": made.cells}
    events = SimpleNamespace(register=lambda name, call: calls[name].append(call))
    made.parent = {}
    shell = SimpleNamespace(kernel=SimpleNamespace(comm_manager=manager), events=events, get_parent=lambda: made.parent)
    shell.display_formatter = made.shows = DisplayFormatter()

    def publish(data, metadata=None, *, transient=None, update=False):
        made.published.append(SimpleNamespace(data=data, metadata=metadata, transient=transient, update=update))

    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    monkeypatch.setattr("IPython.display.publish_display_data", publish)
    monkeypatch.setattr(notebook_output.Output, "by_key", {})
    monkeypatch.setattr(notebook_output.Output, "listening", False)
    monkeypatch.setattr(notebook_output.Output, "in_cell", False)
    monkeypatch.setattr(notebook_comm, "links", set())
    monkeypatch.setattr(kernel_lock, "_callbacks", [])
    monkeypatch.setattr(notebook_comm.Comm, "_handle_msg", notebook_comm.Comm._handle_msg)
    return made


def small_race():
    recipes = [alrviz.Recipe("lr", alpha=0, max_iter=8), alrviz.Recipe("alr", alpha=0, max_iter=8)]
    return alrviz.race(alrviz.load_demo("led", rows=200), recipes)


def small_view():
    """A view with few parts: of what is sent and when, the view itself makes no difference."""
    return alrviz.GramMatrixView(gram(np.array([[[-1.0, -2.0, 1.5]]]), [0, 0, 1], ["no", "yes"]))


def text_of(bundle):
    return json.dumps({name: str(part) for name, part in bundle.items()})


def size(png):
    return Image.open(io.BytesIO(base64.b64decode(png))).size


def test_an_output_holds_picture_words_and_a_script_and_no_view(kernel):
    view = alrviz.RaceView(small_race())
    view._ipython_display_()
    (shown,) = kernel.published
    assert set(shown.data) == {"text/plain", "image/png", "text/html", EXEC_MIME}
    assert "Press Run" in shown.data["text/plain"]
    assert size(shown.data["image/png"])[0] > 1000
    assert shown.metadata[EXEC_MIME]["id"] in shown.data["text/html"]
    assert len(text_of(shown.data)) < 150_000
    assert "https://" not in shown.data["text/html"].replace(shown.data["image/png"], "")


def test_after_a_cell_the_picture_and_words_are_those_of_the_end(kernel):
    race = small_race()
    view = alrviz.RaceView(race)
    view._ipython_display_()
    before = kernel.published[0].data["image/png"]
    view.press_run()
    race.join()
    end_cell(kernel)
    last = kernel.published[-1]
    assert last.update
    assert last.transient == kernel.published[0].transient
    assert last.data["image/png"] != before
    assert "iterations, the limit" in last.data["text/plain"]
    published = len(kernel.published)
    end_cell(kernel)
    assert len(kernel.published) == published, "nothing has changed"


def end_cell(kernel):
    for after_cell in kernel.cells:
        after_cell(None)


def small_study():
    recipe = alrviz.Recipe("lr", alpha=0.1, max_iter=8)
    return alrviz.choose_order(alrviz.load_demo("monks-1", rows=100), recipe, orders=(0, 1), repeats=1, n_jobs=1)


def test_a_view_of_which_nothing_moves_is_left_alone(kernel):
    """Looking at what it shows, to keep its picture, does not wake it."""
    study = small_study()
    view = alrviz.OrderStudyView(study)
    view._ipython_display_()
    study.run()
    view.standalone_pump.look()  # while its cell runs, which may start anything
    assert view.standalone_pump.running
    end_cell(kernel)
    assert not view.standalone_pump.running
    assert len(kernel.published) == 2
    view.png()
    assert not view.standalone_pump.running


def test_while_a_cell_runs_every_view_follows_what_it_may_start(kernel):
    study = small_study()
    view = alrviz.OrderStudyView(study)
    page = opened(kernel, view)
    page.say(ready=True)
    end_cell(kernel)
    assert not view.standalone_pump.running
    for before_cell in kernel.before:
        before_cell(None)
    view.standalone_pump._tick()  # the study has not begun yet
    assert view.standalone_pump.running
    study.run()
    view.standalone_pump._tick()
    page.say(done=True)
    assert any("fits" in text for text in page.texts())
    assert not view.standalone_pump.moving


def test_a_cell_that_is_run_again_lets_go_of_what_it_showed_before(kernel):
    def shown(cell, run):
        kernel.parent = {"metadata": {"cellId": cell}, "header": {"msg_id": run}}
        alrviz.GramMatrixView()._ipython_display_()

    shown("first", "1")
    shown("first", "1")  # two views of one cell
    shown("second", "2")
    assert len(notebook_output.Output.by_key) == 3
    shown("first", "3")
    assert [output.cell for output in notebook_output.Output.by_key.values()] == ["second", "first"]


def test_an_end_of_a_turn_that_fails_holds_up_no_other(kernel, caplog):
    done = []
    kernel_lock.call_after_turns(lambda: 1 / 0)
    kernel_lock.call_after_turns(lambda: done.append(1))
    for _ in range(2):
        with kernel_lock.turn(), kernel_lock.turn():
            pass
    assert done == [1, 1]
    assert "ZeroDivisionError" in caplog.text


def opened(kernel, view, page=None):
    view._ipython_display_()
    page = page or PageComm()
    (key,) = [key for key, output in notebook_output.Output.by_key.items() if output.view is view]
    kernel.targets["alrviz"](page, {"content": {"data": {"key": key}}})
    return page


def test_a_page_gets_the_view_as_it_is_when_it_asks_and_then_every_change_once(kernel):
    """What changed before the page was there is in the view; what changes while it is built comes after, in order."""
    race = small_race()
    race.start()
    race.join()
    view = alrviz.RaceView()
    view.watch(race)
    page = opened(kernel, view)
    (sent, _) = page.sent[0]
    assert "iterations, the limit" in sent["document"]
    assert set(sent["needs"]) == {"scripts", "font", "state-sync", MATERIAL_BUNDLE}
    assert len(sent["document"]) < 1_000_000
    assert "cdn.holoviz" not in sent["document"]

    view.sentence.object = "one"
    view.side.object = "two"
    assert not page.patches(), "the page builds its views: nothing may come yet"
    view.sentence.object = "three"
    page.say(ready=True)
    assert page.texts() == ["three", "two"]
    with kernel_lock.turn():
        view.sentence.object = "four"
    assert len(page.texts()) == 2, "the last message is not answered"
    page.say(done=True)
    assert page.texts() == ["three", "two", "four"]


class ReadingPage(PageComm):
    """A page that reads what it is sent as BokehJS does: the models it has after every message."""

    def send(self, data, buffers=()):
        super().send(data, buffers)
        if "document" in data:
            ((_, made),) = json.loads(data["document"]).items()
            self.document = Document.from_json(made)
            self.say(ready=True)
        elif "patch" in data:
            header, metadata, content, *rest = data["patch"]
            message = Protocol().assemble(header, metadata, content)
            rest = iter([buffers.pop(0) if part is None else part for part in rest])
            for ref, payload in zip(rest, rest, strict=True):
                message.assemble_buffer(json.loads(ref), payload)
            self.document.apply_json_patch(message.payload)
            self.say(done=True)

    def points(self, sources):
        """What the page has in these sources."""
        there = [self.document.get_model_by_id(source.id).data for source in sources]
        return [{name: list(column) for name, column in dict(data).items()} for data in there]


def test_a_long_race_is_read_right_whoever_moves_it_at_the_same_time(kernel, monkeypatch):
    """Buttons, cells and the pump are of three threads; one source that two of them feed at once loses its points."""
    entered, feed = [], live_figure.feed

    def slowly(source, line):
        entered.append(threading.get_ident())
        time.sleep(0.0005)  # another thread may come now
        done = feed(source, line)
        assert entered.pop() == threading.get_ident(), "two threads feed one picture"
        return done

    monkeypatch.setattr(live_figure, "feed", slowly)
    # A long line is thinned anew again and again, and shorter each time.
    monkeypatch.setattr("alrviz.pictures.convergence.min_max", partial(min_max, limit=60))
    recipes = [alrviz.Recipe(name, alpha=0, max_iter=100_000, tol=1e-300) for name in ("lr", "alr")]
    race = alrviz.race(alrviz.load_demo("led", rows=200), recipes)
    view = alrviz.RaceView(race)
    page = opened(kernel, view, ReadingPage())
    failed, over = [], threading.Event()

    def again(step):
        try:
            for k in count():
                if over.is_set():
                    return
                step(k)
                time.sleep(0.002)  # the race needs the interpreter too
        except Exception:
            failed.append(traceback.format_exc())

    def cell(k):
        view.param.update(axis=["iterations", "passes"][k % 2])

    def hand(k):
        with kernel_lock.turn():  # as the kernel's comms take one
            view.transport.slider.value = k % 50
        view.press_run()  # the slider has paused it

    view.press_run()
    threads = [
        threading.Thread(target=again, args=(step,)) for step in (lambda _: view.standalone_pump._tick(), cell, hand)
    ]
    for thread in threads:
        thread.start()
    wait_until(lambda: failed or len(race.runs[0].trace) > 400, 120, "a long race")
    over.set()
    for thread in threads:
        thread.join()
    assert not failed, failed[0]
    view.press_stop()
    race.join()
    view.standalone_pump.look()
    sources = [renderer.data_source for figure in view.figures() for renderer in figure.renderers]
    # A line is thinned to half of its limit or less.
    assert max(len(source.data["x"]) for source in sources if "x" in source.data) > 15
    kernels = [{name: list(column) for name, column in dict(source.data).items()} for source in sources]
    assert json.dumps(page.points(sources), default=float) == json.dumps(kernels, default=float)


def test_a_message_that_is_never_answered_holds_back_nothing_for_long(kernel, monkeypatch):
    view = small_view()
    page = opened(kernel, view)
    page.say(ready=True)
    page.say(done=True)
    for word in ("one", "two"):
        with kernel_lock.turn():
            view.sentence.object = word
    assert page.texts() == ["one"]
    monkeypatch.setattr(notebook_comm, "ACK_TIMEOUT_SECONDS", 0.0)
    notebook_comm.flush()
    assert page.texts() == ["one", "two"]


def test_what_the_page_changes_reaches_the_view_and_does_not_come_back(kernel):
    race = small_race()
    race.start()
    race.join()
    view = alrviz.RaceView(race)
    page = opened(kernel, view)
    page.say(ready=True)
    page.say(done=True)
    ((link),) = notebook_comm.links
    model, _ = view.transport.slider._models[link._root.ref["id"]]
    event = {"kind": "ModelChanged", "model": {"id": model.data.id}, "attr": "value", "new": 3}
    page.say(patch=json.dumps({"events": [event]}))
    assert not [data["error"] for data, _ in page.sent if "error" in data]
    assert view.player.reader.head == 3
    own = [event for event in page.patches() if event["model"]["id"] == model.data.id and event["attr"] == "value"]
    assert not own
    assert page.sent[-1][0] == {"done": True}


def test_an_error_of_a_handler_reaches_the_page(kernel):
    page = opened(kernel, small_view())
    page.say(patch="no JSON")
    assert "JSONDecodeError" in next(data["error"] for data, _ in page.sent if "error" in data)


def test_a_page_that_could_not_read_a_change_gets_the_whole_view(kernel):
    view = small_view()
    page = opened(kernel, view)
    page.say(ready=True)
    view.sentence.object = "said since"
    page.say(failed="reference isn't known")
    assert "said since" in page.sent[-1][0]["document"]


def test_a_page_that_has_gone_leaves_nothing_behind(kernel):
    before = dict(pn.state._views)
    view = small_view()
    page = opened(kernel, view)
    page.say(bye=True)
    assert not notebook_comm.links
    assert dict(pn.state._views) == before
    assert not view.picture.pane._models


def test_a_view_of_another_kernel_is_not_found(kernel):
    opened(kernel, small_view())
    page = PageComm()
    kernel.targets["alrviz"](page, {"content": {"data": {"key": "of yesterday"}}})
    assert page.closed
    assert not page.sent


def test_style_sheets_that_a_change_brings_are_of_this_machine(kernel):
    view = alrviz.RaceView()
    page = opened(kernel, view)
    page.say(ready=True)
    view.outdated = True  # changes styles; Panel's theme names its sheets again
    assert page.patches()
    assert "https://cdn" not in json.dumps(page.patches())


def test_what_pages_load_comes_packed_from_this_machine(kernel):
    page = opened(kernel, small_view())
    for name in ("scripts", "font", MATERIAL_BUNDLE):
        page.say(want=name)
        data, (buffer,) = page.sent[-1]
        assert data == {"resource": name}
        assert len(gzip.decompress(buffer)) > 100_000
    font = gzip.decompress(compressed_resource("font"))
    assert b"data:font/woff2;base64,d09GMg" in font, "a woff2 file begins with wOF2"


def test_the_rules_of_material_are_text_that_moves_with_a_view():
    assert re.findall(r"this\.isSpeedy=[^,]+", notebook_comm.resource(MATERIAL_BUNDLE)) == ["this.isSpeedy=!1"]


def test_threads_take_turns(kernel):
    inside, most = [], []

    class Slow(NotebookViewer):
        def change(self):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.01)
            inside.pop()

    view = Slow()
    threads = [threading.Thread(target=view.change) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1, 1, 1]


def test_a_turn_within_a_turn_sends_once(kernel):
    sent = []
    kernel_lock.call_after_turns(lambda: sent.append(1))
    with kernel_lock.turn(), kernel_lock.turn():
        assert not sent
    assert sent == [1]


@pytest.mark.parametrize("name", [name for name in alrviz.__all__ if name.endswith("View")])
def test_no_view_hides_what_panel_gives_every_viewer(name):
    view = getattr(alrviz, name)
    for panels in ("show", "servable"):
        assert getattr(view, panels) is getattr(pn.viewable.Viewer, panels)


def test_a_view_is_saved_as_a_page_or_a_picture(tmp_path):
    race = small_race()
    race.start()
    race.join()
    view = alrviz.RaceView(race)
    view.save(tmp_path / "race.png")
    with Image.open(tmp_path / "race.png") as picture:
        assert picture.size[0] > 1000
    view.save(str(tmp_path / "race.html"))
    page = (tmp_path / "race.html").read_text(encoding="utf-8")
    assert "iterations, the limit" in page
    fetched = re.findall(r"(?:js_urls|js_modules|css_urls) = \[([^\]]*)\]", page)
    assert fetched  # the lists of what Panel's scripts would fetch
    assert not any("http" in urls for urls in fetched)
    out = io.StringIO()
    view.save(out, title="<a race>")
    assert "<title>&lt;a race&gt;</title>" in out.getvalue()
    with pytest.raises(AlrvizError, match=r"\.html or \.png; got 'race\.pdf'"):
        view.save(tmp_path / "race.pdf")


def small_film():
    recipe = alrviz.Recipe("dlr", bandwidth="loo", max_iter=3, alpha=10.0)
    return alrviz.race(alrviz.load_demo("two-moons", rows=60), [recipe])


def small_path():
    recipe = alrviz.Recipe("alr", order=1, center="anje", max_iter=3, alpha=1.0)
    return alrviz.alpha_path(alrviz.load_demo("led", 100), [recipe], n_jobs=1)


def computed(job):
    """Compute a race or a study to its end, as a script does."""
    if isinstance(job, alrviz.Race):
        job.start()
        job.join()
    else:
        job.run()


def points(view):
    """How many points the figures of a view have."""
    sources = [renderer.data_source for figure in view.figures() for renderer in figure.renderers]
    return sum(len(column) for source in sources for column in source.data.values())


@pytest.mark.parametrize(
    ("make", "view_class"),
    [
        (small_race, alrviz.RaceView),
        (small_film, alrviz.DensityFilmView),
        (small_study, alrviz.OrderStudyView),
        (small_path, alrviz.PathView),
    ],
)
def test_a_script_shows_what_it_has_computed_without_an_event_loop(make, view_class, tmp_path):
    job = make()
    view = view_class(job)
    before, words = view.png(), view.text()
    computed(job)
    view.save(tmp_path / "view.png")
    assert len((tmp_path / "view.png").read_bytes()) > len(before)
    assert view.text() != words
    later = view_class(job)  # a view that was made after the end has no more
    assert points(view) >= points(later) > 0
    assert len(view.elements()) == len(view.figures()) > 0


def test_a_script_maps_a_model_without_an_event_loop():
    data = alrviz.load_demo("iris")
    model = alrviz.NaiveBayesClassifier().fit(data.X, data.y)
    assert list(alrviz.DecisionMapView(model, data.X, data.y).elements()) == ["map"]


def test_a_race_that_runs_is_saved_as_far_as_it_is():
    race = ByHand()
    view = alrviz.RaceView(race)
    race.start()
    race.take(40)
    assert view.png()
    assert (view.player.reader.head, view.player.playing) == (39, True)
    race.take(3)
    view.scrub(7)  # a hand holds it there
    assert view.png()
    assert view.player.reader.head == 7


def test_a_race_in_a_loop_is_saved_at_its_end():
    view = alrviz.RaceView(finished(8), loop=True)
    for _ in range(10):
        view.pump()
        assert view.png()
        assert view.player.reader.head == 7


def test_a_layout_with_views_in_it_is_shown_as_views_are(kernel):
    """What a notebook lays out beside other things loses no message either, and keeps its picture."""
    study = small_study()
    layout = pn.Column("# Two at once", pn.Row(alrviz.OrderStudyView(study), small_view()))
    assert kernel.shows.format(layout) == ({}, {})
    (shown,) = kernel.published
    assert shown.data["text/plain"].startswith("OrderStudyView, GramMatrixView: Press Run")
    assert len(text_of(shown.data)) < 300_000
    (key,) = notebook_output.Output.by_key
    page = PageComm()
    kernel.targets["alrviz"](page, {"content": {"data": {"key": key}}})
    assert "Two at once" in page.sent[0][0]["document"]
    page.say(ready=True)
    study.run()
    end_cell(kernel)
    page.say(done=True)
    assert any("fits" in text for text in page.texts())
    assert kernel.published[-1].update
    assert kernel.published[-1].data["text/plain"] != shown.data["text/plain"]
    page.say(bye=True)
    assert not notebook_comm.links


def without_jupyter_bokeh(monkeypatch):
    monkeypatch.setitem(sys.modules, "jupyter_bokeh", None)  # as if it were not installed
    monkeypatch.setitem(sys.modules, "jupyter_bokeh.widgets", None)
    monkeypatch.setattr(pn.config, "comms", "ipywidgets")


def test_where_panel_lacks_what_it_needs_a_picture_is_shown_and_the_package_named(kernel, monkeypatch):
    without_jupyter_bokeh(monkeypatch)
    alrviz.RaceView(small_race())._ipython_display_()
    (shown,) = kernel.published
    assert "pip install jupyter_bokeh" in shown.data["text/html"]
    assert "pip install jupyter_bokeh" in shown.data["text/plain"]
    assert size(shown.data["image/png"])[0] > 1000
    assert EXEC_MIME not in shown.data


def test_where_nobody_connects_a_picture_is_shown(monkeypatch):
    """Neither marimo nor a kernel-less shell has a connection; marimo asks for `_display_` and then for `_mime_`."""
    monkeypatch.setattr(pn.extension, "_loaded", False)
    race = small_race()
    computed(race)
    view = alrviz.RaceView(race)
    kind, html = view._display_()._mime_()
    assert kind == "text/html"
    assert "src='data:image/png;base64," in html
    assert "iterations, the limit" in html
    bundle, _ = view._repr_mimebundle_()
    assert bundle["text/html"] == html


def test_layouts_without_views_are_shown_as_panel_does(kernel):
    alrviz.RaceView()
    bundle, _ = kernel.shows.format(pn.Row("nothing of ours"))
    assert not kernel.published
    assert "text/plain" in bundle
    view = alrviz.RaceView(small_race())
    kernel.shows.format(pn.panel(view))
    (shown,) = kernel.published
    assert shown.data["text/plain"].startswith("RaceView: ")


def test_what_panel_makes_of_a_view_is_saved_with_all_inside(tmp_path):
    race = small_race()
    race.start()
    race.join()
    view = alrviz.RaceView(race)
    pn.panel(view).save(tmp_path / "race.html", title="mine", resources=INLINE)
    page = (tmp_path / "race.html").read_text(encoding="utf-8")
    assert "<title>mine</title>" in page
    assert "panel-material-ui.bundle.js" not in page


def test_link_shows_nothing_of_panel_that_was_not_asked_for(kernel):
    """A view that is laid out beside other things keeps Panel's own way."""
    view = small_view()
    root = pn.Row(view).get_root()
    assert root.tags == []
    Link(view, PageComm())
    assert root.tags == []
