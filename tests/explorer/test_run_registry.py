"""Runs of a process: whose they are, how many at once, who is next, and what ends unattended."""

from types import SimpleNamespace

import panel as pn
import pytest

from alrviz.explorer.server.classes import IDLE_CLASS_SECONDS
from alrviz.explorer.server.limits import ServerLimits
from alrviz.explorer.server.run_queue import ABOVE_SHARE, ROUND_SECONDS
from alrviz.explorer.server.run_registry import CapReached, Registry
from alrviz.explorer.server.visitor_ids import LOCAL
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.shell import Shell
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.cost.estimate import Estimate
from alrviz.passes.threads import available_threads
from alrviz.studies.core.study import Study
from tests.explorer.fakes import Clock
from tests.races import ByHand, FakeRace


def registry(**limits):
    clock = Clock()
    caps = {"runs": 2, "owner_runs": 1, "threads": 8, "memory": 1000, "kept": 3, "idle": 60} | limits
    return Registry(ServerLimits(**caps), clock, timer=False), clock


def entries(reg, *owners, **params):
    return [reg.add(FakeRace(), owner, **params) for owner in owners]


def test_only_its_owner_finds_a_run_by_id_and_anybody_by_its_secret():
    reg, _ = registry()
    (entry,) = entries(reg, "ann")
    assert reg.find(entry.id, "ann") is entry
    assert reg.find(entry.id, "bob") is None
    assert reg.find_by_token(entry.token) is entry
    assert reg.find_by_token(entry.id) is None


def test_a_free_place_is_taken_at_once():
    reg, _ = registry()
    (entry,) = entries(reg, "ann")
    entry.start()
    assert entry.job.calls == ["start"]
    assert entry.place == 0


def test_an_owner_has_one_run_under_way_and_the_next_waits_its_turn():
    reg, _ = registry()
    first, second = entries(reg, "ann", "ann")
    first.start()
    second.start()
    assert (second.job.calls, second.place) == ([], 1)
    first.job.stop()
    reg.sweep()
    assert (second.job.calls, second.place) == (["start"], 0)


def test_the_process_has_so_many_and_the_queue_is_fair():
    reg, _ = registry()
    a, b, c, d = entries(reg, "a", "b", "c", "d")
    for entry in (a, b, c, d):
        entry.start()
    assert [entry.place for entry in (a, b, c, d)] == [0, 0, 1, 2]
    b.job.stop()
    reg.sweep()
    assert [entry.place for entry in (c, d)] == [0, 1]


def test_who_waits_for_an_own_run_does_not_hold_up_the_others():
    reg, _ = registry()
    first, second, other = entries(reg, "ann", "ann", "bob")
    for entry in (first, second, other):
        entry.start()
    assert (second.place, other.place) == (1, 0)


def test_threads_and_memory_are_capped_too():
    reg, _ = registry(runs=9, owner_runs=9)
    a, b = entries(reg, "a", "b", threads=5)
    a.start()
    b.start()
    assert b.place == 1
    reg, _ = registry(runs=9, owner_runs=9)
    a, b = entries(reg, "a", "b", bytes=600)
    a.start()
    a.job.pause()  # it holds its memory
    b.start()
    assert b.place == 1


def test_what_departed_owners_left_makes_room_ended_runs_first():
    reg, clock = registry(runs=9, owner_runs=9, memory=1000)
    ended, paused, mine = entries(reg, "a", "b", "c", bytes=400)
    for entry in (ended, paused):
        entry.start()
    ended.job.stop()
    paused.job.pause()
    mine.start()
    assert mine.job.calls == ["start"]
    assert (reg.find(ended.id, "a"), reg.find(paused.id, "b")) == (None, paused)
    (more,) = entries(reg, "d", bytes=400)
    more.start()
    assert more.place == 1  # the paused one was looked at a moment ago
    clock.now += 61
    reg.note_look(mine)
    reg.note_look(more)
    reg.sweep()
    assert more.job.calls == ["start"]
    assert paused.job.ended


def test_the_tables_that_models_score_rows_with_are_booked():
    reg, _ = registry()
    (entry,) = entries(reg, "a")
    entry.job.runs = (
        SimpleNamespace(estimate=Estimate(Cost(2, 600), 1, 10**6, model_bytes=50), trace=SimpleNamespace(bytes=7)),
    )
    assert entry.n_bytes == 657


def grow(entry, bytes):
    entry.job.runs = (SimpleNamespace(estimate=None, trace=SimpleNamespace(bytes=bytes)),)


def test_steps_take_memory_and_what_rests_makes_room_for_them():
    reg, _ = registry(runs=9, owner_runs=9, memory=1000)
    left, mine, other = entries(reg, "a", "b", "c", bytes=300)
    for entry in (left, mine, other):
        entry.start()
    left.job.stop()
    grow(mine, 100)
    reg.sweep()
    assert reg.find(left.id, "a") is left, "there is room for all"
    grow(mine, 101)
    reg.sweep()
    assert reg.find(left.id, "a") is None
    assert (mine.job.ended, other.job.ended) == (False, False)


def test_a_run_whose_steps_fill_the_memory_is_ended_and_says_why():
    reg, _ = registry(runs=9, owner_runs=9, memory=1000)
    small, large, study = entries(reg, "a", "b", "c", bytes=300)
    for entry in (small, large, study):
        entry.start()
    grow(small, 50)
    grow(large, 51)
    reg.sweep()
    assert [entry.job.ended for entry in (small, large, study)] == [False, True, False]
    assert large.note == "stopped: the server's memory for runs is full"
    assert large.stopped_by == "the server, whose memory for runs is full,"
    assert small.stopped_by == "you"
    reg.sweep()
    assert [entry.job.ended for entry in (small, large, study)] == [False, True, False], "one was enough"


def test_steps_of_a_race_count_for_whoever_waits():
    reg, _ = registry(runs=9, owner_runs=9, memory=100_000)
    race = ByHand()
    first, second = reg.add(race, "a", bytes=49_000), reg.add(FakeRace(), "b", bytes=49_000)
    first.start()
    race.take(100)
    assert first.n_bytes == 49_000 + sum(run.trace.bytes for run in race.runs) > 60_000
    second.start()
    assert second.place == 1
    first.stop()
    assert second.job.calls == ["start"]


def test_the_first_step_waits_for_a_place_and_the_next_does_not():
    reg, _ = registry(runs=1, owner_runs=9)
    a, b = entries(reg, "a", "b")
    stepper = b
    a.start()
    stepper.step()
    stepper.step(2)
    assert (b.job.calls, stepper.phase) == ([], "queued")
    a.job.stop()
    reg.sweep()
    assert b.job.calls == ["step 3"]
    stepper.step()
    assert b.job.calls == ["step 3", "step 1"]


def test_run_instead_of_a_step_that_waits():
    reg, _ = registry(runs=1, owner_runs=9)
    a, b = entries(reg, "a", "b")
    a.start()
    b.step()
    b.start()
    a.job.stop()
    reg.sweep()
    assert b.job.calls == ["start"]


def test_a_single_race_may_ask_for_more_threads_than_there_are():
    reg, _ = registry(threads=2)
    (entry,) = entries(reg, "a", threads=64)
    entry.start()
    assert entry.job.calls == ["start"]


def test_a_race_that_never_fits_is_refused_with_the_numbers():
    reg, _ = registry(memory=10**9)
    with pytest.raises(CapReached, match=r"needs about 3\.0 GB.* 1\.0 GB"):
        reg.add(FakeRace(), "ann", bytes=3 * 10**9)


def test_a_study_that_never_fits_is_refused_in_words_of_studies():
    reg, _ = registry(memory=10**9)
    with pytest.raises(CapReached, match=r"workers of this study need about 3\.0 GB.* smaller table"):
        reg.add(Study.__new__(Study), "ann", bytes=3 * 10**9)


def test_nobody_looks_for_a_minute_and_the_run_is_stopped_and_kept():
    reg, clock = registry()
    (entry,) = entries(reg, "ann")
    entry.start()
    clock.now += 59
    reg.note_look(entry)
    clock.now += 59
    reg.sweep()
    assert not entry.job.ended
    clock.now += 2
    reg.sweep()
    assert entry.job.ended
    assert "nobody looked" in entry.note
    assert reg.find(entry.id, "ann") is entry


def test_a_waiting_run_that_nobody_looks_at_leaves_the_queue():
    reg, clock = registry(runs=1)
    a, b = entries(reg, "a", "b")
    a.start()
    b.start()
    clock.now += 61
    reg.note_look(a)
    reg.sweep()
    assert (b.place, b.job.ended, a.job.ended) == (0, True, False)


def test_continue_when_i_close():
    reg, clock = registry()
    (entry,) = entries(reg, "ann")
    entry.keep = True
    entry.start()
    clock.now += 12 * 3600
    reg.sweep()
    assert not entry.job.ended
    clock.now += 1
    reg.sweep()
    assert entry.job.ended
    assert entry.note == "stopped: nobody looked at it for 12 h"


def test_who_stopped_it():
    reg, clock = registry(owner_runs=2)
    mine, left = entries(reg, "ann", "ann")
    for entry in (mine, left):
        entry.start()
    mine.stop()
    clock.now += 61
    reg.sweep()
    assert [entry.stopped_by for entry in (mine, left)] == ["you", "the server"]


def test_the_defaults_let_two_races_go_that_have_all_threads_each():
    reg = Registry(ServerLimits(), timer=False)
    pair = entries(reg, "ann", "ann", threads=available_threads())
    for entry in pair:
        entry.start()
    assert [entry.place for entry in pair] == [0, 0]


def test_a_paused_run_is_not_stopped_and_gives_its_place():
    reg, clock = registry(runs=1)
    a, b = entries(reg, "a", "b")
    a.start()
    b.start()
    a.pause()
    assert b.job.calls == ["start"]
    clock.now += 61
    reg.note_look(b)
    reg.sweep()
    assert not a.job.ended
    a.start()
    assert (a.phase, a.place) == ("queued", 1)
    b.job.stop()
    reg.sweep()
    assert (a.job.calls, a.phase) == (["start", "pause", "start"], "running")


def test_the_oldest_ended_runs_are_dropped_but_none_under_way():
    reg, _ = registry(owner_runs=9)
    made = entries(reg, *["ann"] * 3)
    made[0].start()
    made += entries(reg, *["ann"] * 3)
    assert reg.find(made[0].id, "ann") is made[0]
    assert reg.find(made[1].id, "ann") is None
    assert [reg.find(entry.id, "ann") for entry in made[3:]] == made[3:]


def test_the_own_timer_hands_on_places():
    reg = Registry(ServerLimits(runs=1, owner_runs=1), timer=True)
    a, b = entries(reg, "a", "b")
    a.start()
    b.start()
    a.job.stop()
    for _ in range(100):
        if b.job.calls:
            break
        __import__("time").sleep(0.05)
    assert b.job.calls == ["start"]
    b.job.stop()


def test_a_sweep_ends_idle_classes():
    reg, clock = registry()
    reg.classes.open("ann")
    clock.now += IDLE_CLASS_SECONDS + 1
    reg.sweep()
    assert reg.classes.count == 0


def shared_out(reg, clock, seconds):
    """Let the time pass in sweeps; the seconds that each entry was under way."""
    for _ in range(seconds):
        clock.now += 1.0
        for entry in reg.entry_by_id.values():
            reg.note_look(entry)
        reg.sweep()
    return {entry.owner: entry.busy_seconds for entry in reg.entry_by_id.values()}


def test_long_runs_take_turns_and_everybody_has_as_much():
    reg, clock = registry(runs=4, owner_runs=2, memory=None, threads=None)
    owners = [f"owner {k}" for k in range(30)]
    for entry in entries(reg, *owners):
        entry.start()
    first = shared_out(reg, clock, 40)
    assert min(first.values()) > 0, "somebody had no turn within a round"
    used = shared_out(reg, clock, 560)
    assert sum(used.values()) == pytest.approx(4 * 600, rel=0.02), "no place was left empty"
    assert max(used.values()) < 1.5 * min(used.values())


def test_short_runs_end_within_their_first_turn():
    reg, clock = registry(runs=2, owner_runs=2, memory=None, threads=None)
    made = entries(reg, "a", "b", "c")
    for entry in made:
        entry.start()
    shared_out(reg, clock, 5)
    assert [entry.job.calls for entry in made] == [["start"], ["start"], []]
    for entry in made[:2]:
        entry.job.stop()
    reg.sweep()
    assert made[2].job.calls == ["start"]


def test_who_comes_new_waits_for_the_end_of_a_turn_only():
    reg, clock = registry(runs=2, owner_runs=2, memory=None, threads=None)
    for entry in entries(reg, *(f"owner {k}" for k in range(10))):
        entry.start()
    shared_out(reg, clock, 120)
    (new,) = entries(reg, "new")
    new.start()
    assert new.place == 1
    shared_out(reg, clock, 10)
    assert new.busy_seconds > 0


def test_six_cookies_of_one_address_are_not_six_visitors():
    reg, clock = registry(runs=2, owner_runs=2, memory=None, threads=None)
    cookies = [f"cookie {k}" for k in range(6)]
    for owner in cookies:
        reg.note_address(owner, "10.0.0.1")
    reg.note_address("visitor", "10.0.0.2")
    for entry in entries(reg, *cookies, *cookies, "visitor"):
        entry.start()
    used = shared_out(reg, clock, 900)
    assert used["visitor"] > 0.25 * 1800 * 0.9, "of seven the seventh part only"


def test_a_run_that_waits_for_its_turn_can_be_paused_stopped_and_says_where_it_is():
    reg, clock = registry(runs=1, owner_runs=1, memory=None, threads=None)
    first, second = entries(reg, "a", "b")
    shown = first
    first.start()
    second.start()
    shared_out(reg, clock, 16)
    assert (first.rotated_out, shown.phase, shown.turn) == (True, "preparing", 1)
    shown.pause()
    assert (first.rotated_out, first.in_queue, shown.phase) == (False, False, "paused")
    assert shared_out(reg, clock, 30)["a"] < 20
    shown.start()
    shared_out(reg, clock, 3)
    assert first.under_way, "who has had less goes before"
    assert second.rotated_out
    second.stop()
    assert second.job.ended
    shared_out(reg, clock, 30)
    assert first.under_way


def kept(entry):
    entry.keeper = SimpleNamespace(problem="", stored=True)
    return entry


class Quiet:
    """A page that nothing moves on."""

    title, icon, group, slug = "Quiet", "bedtime", "Explore", "convergence"

    def __init__(self, session):
        pass

    def view(self):
        return pn.Column()

    def on_shown(self):
        pass

    pump = on_hidden = close = on_shown


def test_when_nobody_is_there_what_is_on_disk_is_let_go_and_found_there():
    reg, clock = registry(runs=9, owner_runs=9)
    ended, unkept, shared, local, running = entries(reg, "a", "b", "c", LOCAL, "d")
    for entry in (ended, shared, local, running):
        kept(entry)
    for entry in (ended, unkept, shared, local, running):
        entry.start()
        if entry is not running:
            entry.job.stop()
    reg.share_link(shared)
    clock.now += 50
    reg.note_visit("somebody")
    clock.now += 50
    reg.sweep()
    assert reg.find(ended.id, "a") is ended, "somebody was there a moment ago"
    clock.now += 11
    reg.sweep()  # what runs unattended is stopped now
    reg.sweep()
    assert [bool(reg.entries(owner)) for owner in ("a", "b", "c", LOCAL, "d")] == [False, True, True, True, False]


def test_what_an_open_page_shows_is_not_let_go_however_long_nothing_moves_there():
    reg, clock = registry(runs=9, owner_runs=9)
    session = Session("a", reg)
    shell = Shell(session, [Quiet])
    race, fit, study, other = entries(reg, *"aaab")
    session.runs.entry, session.runs.map_entry, session.runs.studies["x"] = race, fit, study
    for entry in (race, fit, study, other):
        kept(entry).start()
        entry.job.stop()
    shell.pump()
    clock.now += 61  # the page rests: its pump says nothing of it
    reg.sweep()
    assert reg.entries("a") == [race, fit, study]
    assert reg.entries("b") == [], "nobody shows it"
    assert reg.find_by_token(reg.share_link(race)) is race
    reg.revoke_link(race)
    shell.close()
    reg.sweep()
    assert reg.entries("a") == []


@pytest.mark.parametrize("wanted", ["share", "start", "step"])
def test_a_run_that_was_dropped_and_is_wanted_again_is_one_of_the_process(wanted):
    reg, clock = registry(kept=1)
    shown, later = entries(reg, "a", "a")
    assert reg.entries("a") == [later], "the older one made room"
    shown.job = FakeRace()  # of a study: what was stopped may go on
    reg.share_link(shown) if wanted == "share" else getattr(shown, wanted)()
    assert reg.find(shown.id, "a") is shown
    assert reg.find_by_token(shown.token) is shown
    assert shown.job.calls == {"share": [], "start": ["start"], "step": ["step 1"]}[wanted]
    if wanted == "start":
        assert shown.under_way
        clock.now += 61
        reg.sweep()
        assert shown.job.ended, "nobody looks at it"


def test_a_race_is_let_go_only_once_all_of_it_is_on_disk():
    reg, clock = registry()
    (entry,) = entries(reg, "a")
    kept(entry).keeper.stored = False
    entry.start()
    entry.job.stop()
    clock.now += 61
    reg.sweep()
    assert reg.find(entry.id, "a") is entry
    entry.keeper.stored = True
    reg.sweep()
    assert reg.find(entry.id, "a") is None


def test_paused_runs_above_their_owners_share_give_way_to_a_small_run():
    reg, clock = registry(runs=9, owner_runs=9, memory=1000)
    first, second = entries(reg, "ann", "ann", bytes=500)
    for entry in (first, second):
        entry.start()
        entry.job.pause()
        clock.now += 1
    (small,) = entries(reg, "bob", bytes=100)
    reg.note_look(first)  # its page is open
    reg.note_look(second)
    small.start()
    assert small.job.calls == ["start"]
    assert (first.job.ended, second.job.ended) == (True, False), "the one was enough"
    assert (first.note, "share" in first.stopped_by) == (ABOVE_SHARE, True)


def test_a_run_above_its_own_share_ends_nobody_elses():
    reg, _ = registry(runs=9, owner_runs=9, memory=1000)
    held, large = reg.add(FakeRace(), "ann", bytes=600), reg.add(FakeRace(), "bob", bytes=600)
    held.start()
    held.job.pause()
    large.start()
    assert (large.place, held.job.ended) == (1, False)


def test_runs_under_way_above_the_share_end_after_a_round():
    reg, clock = registry(runs=9, owner_runs=9, memory=1000, idle=None)
    first, second = entries(reg, "ann", "ann", bytes=500)
    (small,) = entries(reg, "bob", bytes=100)
    for entry in (first, second, small):
        entry.start()
    assert small.place == 1
    clock.now += ROUND_SECONDS + 1
    reg.sweep()
    assert (small.place, small.job.calls) == (0, ["start"])
    assert [first.job.ended, second.job.ended].count(True) == 1


def test_runs_that_wait_for_their_turn_have_computed_for_a_round_before_they_give_way():
    reg, clock = registry(runs=1, owner_runs=1, memory=1000)
    first, second = entries(reg, "ann", "ann", bytes=400)
    (small,) = entries(reg, "bob", bytes=300)
    for entry in (first, second):
        entry.start()
    shared_out(reg, clock, 12)
    assert (first.rotated_out, second.under_way) == (True, True)
    small.start()
    shared_out(reg, clock, 14)
    assert (first.job.ended, second.job.ended, small.job.calls) == (False, False, []), "neither had a round"
    shared_out(reg, clock, 60)
    assert "start" in small.job.calls
    ended = [entry for entry in (first, second) if entry.job.ended]
    assert [(entry.note, entry.job.calls[-1]) for entry in ended] == [(ABOVE_SHARE, "stop")]


def test_a_waiting_run_that_was_ended_to_make_room_is_not_resumed():
    reg, clock = registry(runs=2, owner_runs=2, memory=1000)
    held = [reg.add(FakeRace(), "ann", bytes=bytes) for bytes in (100, 850)]
    others = entries(reg, "cat", "dan", bytes=25)
    for entry in (*held, *others):
        entry.start()
    for _ in range(200):
        shared_out(reg, clock, 1)
        if all(entry.rotated_out and entry.busy_seconds >= ROUND_SECONDS for entry in held):
            break
    (small,) = entries(reg, "bob", bytes=200)
    small.start()
    for entry in others:  # two places at once; the first that ends would fit beside the small one
        entry.job.stop()
    reg.sweep()
    assert small.job.calls == ["start"]
    assert [(entry.note, entry.job.calls[-1]) for entry in held] == [(ABOVE_SHARE, "stop")] * 2


def memory_of_one_address(n_cookies, bytes, **limits):
    """A registry whose memory runs of cookies at one address hold, each paused, and these runs."""
    reg, _ = registry(runs=9, owner_runs=9, memory=1000, **limits)
    held = [reg.add(FakeRace(), f"cookie {k}", bytes=bytes) for k in range(n_cookies)]
    for entry in held:
        reg.note_address(entry.owner, "10.0.0.1")
        entry.start()
        entry.job.pause()
    return reg, held


def test_cookies_of_one_address_shrink_nobodys_share_of_the_memory():
    reg, held = memory_of_one_address(n_cookies=9, bytes=110)
    visitor = reg.add(FakeRace(), "visitor", bytes=400)
    reg.note_address("visitor", "10.0.0.2")
    visitor.start()
    assert visitor.job.calls == ["start"]
    assert sum(entry.job.ended for entry in held) == 4, "as many as make room"


def test_visitors_behind_one_router_divide_the_memory_equally():
    reg, (large, small) = memory_of_one_address(n_cookies=2, bytes=450)
    large.bytes, small.bytes = 600, 300
    neighbour = reg.add(FakeRace(), "neighbour", bytes=200)
    reg.note_address("neighbour", "10.0.0.1")
    neighbour.start()
    assert (neighbour.job.calls, large.job.ended, small.job.ended) == (["start"], True, False)
