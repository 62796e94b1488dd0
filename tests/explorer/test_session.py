"""A session: tables come from threads, bad ones leave it working, runs are found again."""

import time

import pandas as pd
import panel as pn
import pytest

from alrviz.data.read import ReadOptions, read_columns
from alrviz.errors import TableError
from alrviz.explorer.server.limits import ServerLimits
from alrviz.explorer.server.run_registry import Registry
from alrviz.explorer.server.tables import FileLink, Upload
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import State
from alrviz.explorer.shell.shell import Shell
from alrviz.explorer.widgets.scripts import dataset_code
from alrviz.explorer.widgets.table_settings import split_options
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken
from alrviz.studies.race.race_store import FIT
from tests.conftest import wait_until
from tests.races import FakeRace

CSV = "size,colour,class\n" + "".join(f"{i / 7:.3f},{'rgb'[i % 3]},{'yes' if i % 2 else 'no'}\n" for i in range(60))


@pytest.fixture
def registry():
    return Registry(ServerLimits(), timer=False)


class FakePage:
    title = icon = slug = ""
    group = "Explore"

    def __init__(self, session):
        self.session = session

    def view(self):
        return pn.Column()

    def on_shown(self):
        pass

    def on_hidden(self):
        pass


FakePages = [type(slug, (FakePage,), {"slug": slug, "title": slug}) for slug in ("order", "data")]


def settle(session, seconds=90.0):
    end = time.monotonic() + seconds
    while session.pump() and session.table.loading is not None:
        assert time.monotonic() < end, "the session did not settle"
        time.sleep(0.005)
    return session


def opened(registry, owner="a" * 32, **state):
    session = Session(owner=owner, registry=registry)
    session.link.open(State(**state))
    return settle(session)


def test_the_first_screen_is_led(registry):
    session = opened(registry)
    assert (session.table.dataset.name, session.table.dataset.n_rows) == ("led", 3000)
    assert session.link.query == ""


def test_every_page_opens_on_its_own_demo_until_a_table_is_chosen(registry):
    session = opened(registry, page="boundaries")
    assert session.table.dataset.name == "four-gaussians"
    assert session.link.query == "?page=boundaries"
    session.go("data")
    assert settle(session).table.dataset.name == "four-gaussians"  # a page without one shows what is there
    session.go("convergence")
    assert (settle(session).table.dataset.name, session.table.dataset.n_rows, session.link.query) == ("led", 3000, "")
    session.table.load_demo("led")
    settle(session).go("boundaries")
    assert settle(session).table.dataset.name == "led"
    assert session.link.query == "?page=boundaries&data=led"
    again = opened(registry, **vars(session.link.state))
    again.go("convergence")
    assert settle(again).table.dataset.name == "led"


def test_each_page_has_its_own_tab_and_study_in_the_link(registry):
    lr, forest = Recipe("lr", alpha=0.3), Recipe("rf")
    session = opened(registry, page="order", data="monks-1", study_recipes=(lr,), folds="5")
    assert session.link.state_if_shown("order").study_recipes == (lr,)
    assert session.link.state_if_shown("bias").study_recipes == ()
    session.go("bias")
    assert session.link.query == "?page=bias&data=monks-1"
    session.param.update(study_recipes=(forest, lr), tab="learning-curve")
    assert session.link.query == "?page=bias&data=monks-1&tab=learning-curve&of=rf~lr"
    session.go("order")
    assert session.link.query == "?page=order&data=monks-1&of=lr&folds=5"
    session.go("bias")
    assert (session.study_recipes, session.tab, session.folds) == ((forest, lr), "learning-curve", "")


def test_a_file_that_a_link_asks_for_leads_back_to_the_page_the_link_is_about(registry):
    maker = opened(registry)
    maker.table.load_bytes("mine.csv", CSV)
    settle(maker)
    link = maker.table.source.file
    for number, (dropped, page) in enumerate(
        ((CSV, "order"), (CSV.replace("yes", "ja"), "data"), (CSV.replace(",class", ",k"), "data"))
    ):
        shell = Shell(opened(registry, owner=f"{number:032}", page="order", file=link, folds="5"), FakePages)
        session = shell.session
        assert session.table.requested_file == link
        shell._load_dropped("mine.csv", dropped.encode())
        settle(session)
        assert session.page == page
        if page == "order":
            assert (session.folds, session.table.dataset.n_rows) == ("5", 60)


@pytest.mark.parametrize("choice", ["file", "link", "race"])
def test_a_table_that_was_chosen_stays_on_every_page(registry, choice):
    session = opened(registry, page="boundaries", data="two-moons" if choice == "link" else "")
    if choice == "file":
        session.table.load_bytes("mine.csv", CSV)
        settle(session)
    before = session.table.dataset
    session.go("convergence", race=choice == "race")
    assert settle(session).table.dataset is before


def test_a_demo_comes_back_from_its_link(registry):
    session = opened(registry, data="monks-1", kinds=((1, "ignore"),))
    assert session.table.dataset.columns[1].kind == "ignore"
    again = opened(registry, **vars(session.link.state))
    assert again.table.dataset.hash == session.table.dataset.hash


def test_roles_are_kept_by_the_link_and_replace_another_rule_of_splits(registry):
    session = opened(registry)
    session.table.load_bytes("mine.csv", CSV.replace("colour", "w").translate(str.maketrans("rgb", "123")))
    settle(session)
    session.table.changes.set_split("together")
    settle(session)
    session.table.changes.set_kinds({"w": "group"})
    assert settle(session).problem is None
    dataset = session.table.dataset
    assert (session.table.source.split, dataset.splitting.words) == ("", "rows of one 'w' are kept together")
    assert list(split_options(dataset)) == ["together by w", "duplicates dropped"]
    assert dataset_code(session).endswith(".with_kinds(**{'w': 'group'})")
    assert opened(registry, **vars(session.link.state)).table.dataset.hash == dataset.hash
    session.table.changes.set_kinds({"w": "weight"})
    settle(session)
    assert session.table.dataset.weights.sum() == 120
    assert opened(registry, **vars(session.link.state)).table.dataset.weights.sum() == 120
    assert session.table.dataset.splitting.words == ""


def test_an_unknown_demo_names_the_nearest(registry):
    session = opened(registry, data="monks-7")
    assert "no demo set 'monks-7'; did you mean 'monks-" in str(session.problem)


@pytest.mark.parametrize("data", [CSV, CSV.encode()])
def test_a_dropped_file_is_read_and_found_again_by_its_owner_only(registry, data):
    session = opened(registry)
    session.table.load_bytes("C:\\home\\mine.csv", data)
    settle(session)
    assert (session.table.dataset.name, session.table.dataset.n_rows) == ("mine", 60)
    assert session.table.source.file.name == "mine.csv"
    assert "mine.csv" in session.link.query
    state = vars(session.link.state)
    assert opened(registry, **state).table.dataset.hash == session.table.dataset.hash
    stranger = opened(registry, owner="b" * 32, **state)
    assert stranger.table.dataset is None
    assert stranger.table.requested_file == session.table.source.file


def test_who_drops_the_file_a_link_is_about_sees_the_same(registry):
    session = opened(registry)
    session.table.load_bytes("mine.csv", CSV)
    settle(session)
    session.table.changes.set_kinds({"size": "ignore"})
    settle(session)
    stranger = opened(registry, owner="b" * 32, **vars(session.link.state))
    stranger.table.load_bytes("other name.csv", CSV)
    settle(stranger)
    assert stranger.table.dataset.hash == session.table.dataset.hash
    assert stranger.problem is None


def test_another_file_than_the_link_is_about_is_said(registry):
    link = FileLink("mine.csv", 60, 3, "0" * 16)
    session = opened(registry, data="", file=link)
    session.table.load_bytes("mine.csv", CSV)
    settle(session)
    assert link.hash in str(session.problem)
    assert session.table.dataset is not None


@pytest.mark.parametrize("bad", [b"", b"\x00\x01\x02" * 100, b"only,names\n", b"x\n1\n"])
def test_a_bad_file_is_a_problem_and_the_page_goes_on(registry, bad):
    session = opened(registry)
    before = session.table.dataset
    session.table.load_bytes("bad.csv", bad)
    settle(session)
    assert isinstance(session.problem, TableError)
    assert session.table.dataset is before
    session.table.load_bytes("good.csv", CSV)
    settle(session)
    assert session.problem is None
    assert session.table.dataset.name == "good"


def test_limits_are_the_servers():
    registry = Registry(ServerLimits(rows=20, uploads=10**6), timer=False)
    session = opened(registry)
    session.table.load_bytes("long.csv", CSV)
    settle(session)
    assert "more than the 20 rows allowed here" in str(session.problem)
    session.table.load_bytes("heavy.csv", b"x" * 2_000_000)
    assert "no room for another 2.0 MB" in str(session.problem)


def test_a_measured_target_asks_which_column_is_the_class(registry):
    session = opened(registry)
    frame = pd.DataFrame({"a": list("xy") * 50, "price": [i / 3 for i in range(100)]})
    session.table.load_bytes("prices.csv", frame.to_csv(index=False))
    settle(session)
    assert session.table.pending is not None
    assert session.problem is None
    session.table.changes.set_kinds({"price": "quartiles"})
    settle(session)
    assert session.table.pending is None
    assert session.table.dataset.n_classes == 4
    assert session.link.state.kinds == ((1, "quartiles"),)
    assert opened(registry, **vars(session.link.state)).table.dataset.hash == session.table.dataset.hash
    session.table.changes.set_kinds({"a": "target"})
    settle(session)
    assert (session.table.dataset.target, session.link.state.kinds) == ("a", ((0, "target"),))


def test_a_column_may_be_called_anything(registry):
    session = opened(registry)
    session.table.load_bytes("odd.csv", CSV.replace("size", "self").replace("colour", "target"))
    settle(session)
    session.table.changes.set_kinds({"self": "ignore"})
    settle(session)
    assert session.table.dataset.kinds["self"] == "ignore"


def test_read_again_with_other_options(registry):
    session = opened(registry)
    session.table.load_bytes("mine.csv", CSV)
    settle(session)
    session.table.reread(ReadOptions(missing=("", "r")))
    settle(session)
    assert next(c for c in session.table.dataset.columns if c.name == "colour").missing == 20


def test_cancel_hands_nothing_over(registry):
    session = opened(registry)
    before = session.table.dataset
    session.table.load_bytes("mine.csv", CSV)
    loading = session.table.loading
    session.table.cancel()
    wait_until(lambda: loading.join(0), 10, "the end of its thread")
    settle(session)
    assert (session.table.dataset, session.table.loading, session.problem) == (before, None, None)


def test_what_the_visitor_cancelled_is_told_until_something_begins(registry):
    session = opened(registry)
    session.table.give_up()
    assert session.message == ""  # there was nothing to cancel
    session.table.load_bytes("mine.csv", CSV)
    assert registry.tables.bytes == len(CSV)
    session.table.give_up()
    assert session.message == "Reading mine.csv was cancelled; led is still here."
    assert (session.table.loading, registry.tables.bytes) == (None, 0)
    session.table.load_demo("iris")
    assert session.message == ""
    settle(session)


def test_a_file_that_arrives_is_work_like_any_other(registry):
    session = opened(registry)
    arrival = session.table.receive()
    arrival.add("mine.csv", b"a,b", 0.5)
    assert session.busy
    assert session.pump()
    session.table.give_up()
    assert arrival.is_closed
    assert "Receiving mine.csv was cancelled" in session.message
    again = session.table.receive()
    again.add("mine.csv", CSV.encode(), 1.0)
    session.table.load_bytes(again.name, again.finish())
    settle(session)
    assert session.table.dataset.name == "mine"
    assert registry.tables.bytes == len(CSV)  # held once, claimed no more


def test_a_table_without_a_class_can_be_put_away(registry):
    session = opened(registry, data="iris")
    before = session.table.dataset, session.link.query
    for name in ("prices.csv", "others.csv"):  # the second comes while the first still waits for its class
        frame = pd.DataFrame({"a": list("xy") * 50, "price": [i / 3 for i in range(100)]})
        session.table.load_bytes(name, frame.to_csv(index=False))
        settle(session)
    assert session.link.state.file.name == "others.csv"
    session.table.discard_pending()
    assert (session.table.pending, session.table.source.upload) == (None, None)
    assert (session.table.dataset, session.link.query) == before
    session.table.discard_pending()
    assert (session.table.dataset, session.link.query) == before


def test_reading_says_how_far_it_is():
    shares = []

    class Told(StopToken):
        def report(self, share):
            shares.append(share)

    read_columns(CSV.encode(), stop=Told())
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] < 1


def test_a_run_is_found_again_by_its_owner_alone(registry):
    session = opened(registry)
    race = session.runs.adopt(FakeRace())
    race.entry.start()
    assert session.link.state.run == session.runs.entry.id
    again = opened(registry, **vars(session.link.state))
    assert again.runs.race.entry is session.runs.entry
    again.runs.race.entry.pause()
    assert session.runs.race.phase == "paused"
    stranger = opened(registry, owner="b" * 32, run=session.runs.entry.id)
    assert stranger.runs.race is None


def test_a_link_that_was_given_away_leads_on_to_the_next_race_but_not_from_one_that_continues(registry):
    session = opened(registry)
    session.runs.adopt(FakeRace())
    secret = registry.share_link(session.runs.entry)
    session.runs.adopt(FakeRace())
    assert registry.find_by_token(secret) is session.runs.entry
    kept = session.runs.entry
    kept.keep = True
    session.runs.adopt(FakeRace())
    assert registry.find_by_token(secret) is kept


def test_a_new_race_takes_the_place_of_the_one_shown(registry):
    session = opened(registry)
    first = session.runs.adopt(FakeRace())
    first.start()
    session.runs.adopt(FakeRace())
    assert first.ended
    kept = session.runs.race
    kept.start()
    session.runs.entry.keep = True
    session.runs.adopt(FakeRace())
    assert not kept.ended


def test_another_place_in_the_same_session_stops_what_runs_unless_a_screen_has_it_or_it_was_to_go_on(registry):
    for keep, screens, stops in ((False, (), True), (True, (), False), (False, (7,), False)):
        session = opened(registry)
        race = session.runs.adopt(FakeRace())
        race.entry.start()
        session.runs.entry.keep, session.runs.entry.screens = keep, set(screens)
        session.link.open(session.link.state)  # the same place: its link has the run
        assert not race.ended
        session.link.open(session.link.state.replace(run="", seed=5))
        assert race.ended is stops


def test_the_run_of_a_map_stands_beside_the_race_and_is_found_again(registry):
    session = opened(registry, tab="any", axes=(2, 0), peer="svm-rbf", others="row", row=7)
    race = session.runs.adopt(FakeRace())
    race.entry.start()
    fit = session.runs.adopt(FakeRace(), FIT)
    fit.start()
    assert not race.ended
    assert session.busy
    session.runs.map_entry.last_look = session.runs.entry.last_look = 0.0
    session.pump(is_watched=True)
    assert min(session.runs.map_entry.last_look, session.runs.entry.last_look) > 0.0
    again = opened(registry, **vars(session.link.state))
    assert again.link.state == session.link.state
    assert again.runs.map_race.entry is session.runs.map_entry
    assert opened(registry, owner="b" * 32, **vars(session.link.state)).runs.map_race is None
    session.runs.adopt(FakeRace(), FIT)
    assert fit.ended
    assert not race.ended
    race.entry.stop()
    assert not session.busy


def test_looking_is_what_the_pump_does_while_a_browser_is_there(registry):
    session = opened(registry)
    session.runs.adopt(FakeRace()).entry.start()
    session.runs.entry.last_look = 0.0
    session.pump(is_watched=False)
    assert session.runs.entry.last_look == 0.0
    session.pump(is_watched=True)
    assert session.runs.entry.last_look > 0.0


def test_a_table_the_server_was_started_with(registry):
    from alrviz.data.read import read_table

    served = read_table(CSV.encode(), name="served")
    session = Session(owner="a" * 32, registry=registry, served=served)
    session.link.open(State())
    assert session.table.dataset is served
    again = Session(owner="b" * 32, registry=registry, served=served)
    again.link.open(session.link.state)
    assert again.table.dataset is served
    demo = Session(owner="b" * 32, registry=registry, served=served)
    demo.link.open(State(data="monks-1"))
    assert settle(demo).table.dataset.name == "monks-1"


def test_the_class_and_the_splits_of_the_table_the_server_was_started_with_outlast_a_change_of_kinds(registry):
    from alrviz.data.read import read_table

    served = read_table(CSV.encode(), "colour").split_by(groups="class")
    session = Session(owner="a" * 32, registry=registry, served=served)
    session.link.open(State())
    session.table.changes.set_kinds({"size": "ignore"})
    dataset = settle(session).table.dataset
    assert dataset.kinds["size"] == "ignore"
    assert dataset.target == "colour", "the class that was said, not the one that is guessed"
    assert dataset.splitting.words == served.splitting.words
    linked = Session(owner="b" * 32, registry=registry, served=served)
    linked.link.open(session.link.state)
    assert settle(linked).table.dataset.hash == dataset.hash
    session.table.changes.set_split("t0")
    assert settle(session).table.dataset.splitting.times is not None, "what a visitor says of splits comes first"


def test_a_file_whose_class_is_to_be_chosen_can_be_what_the_server_was_started_with(registry):
    rows = "".join(f"{i * 3 % 17}.5,{i}.25\n" for i in range(60))
    upload = Upload.from_file("measured.csv", f"a,b\n{rows}".encode())
    session = settle(opened_with(registry, upload))
    assert session.table.dataset is None
    assert session.table.pending.names == ("a", "b")
    session.table.changes.set_kinds({"b": "quartiles"})
    assert settle(session).table.dataset.n_classes == 4


def opened_with(registry, upload):
    session = Session(owner="a" * 32, registry=registry, served=upload)
    session.link.open(State(page="data"))
    return session


def test_a_change_leaves_the_other_kinds_of_a_demo_as_its_maker_said(registry):
    session = opened(registry, data="poker-hand")
    before = session.table.dataset.kinds
    name = next(iter(before))
    session.table.changes.set_kinds({name: "ignore"})
    settle(session)
    assert session.table.dataset.kinds == {**before, name: "ignore"}
    second = list(before)[1]
    session.table.changes.set_kinds({second: "ignore"})
    settle(session)
    assert session.table.dataset.kinds == {**before, name: "ignore", second: "ignore"}
    assert opened(registry, **vars(session.link.state)).table.dataset.hash == session.table.dataset.hash
