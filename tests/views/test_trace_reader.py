"""What is read of a trace: a row of a racer's columns is an iteration, whatever else its solver reports."""

from dataclasses import replace

import numpy as np
import pytest

from alrviz.fitting.recipe import Recipe
from alrviz.views.core.trace_reader import RaceReader, value_at
from alrviz.views.race.player import Player
from alrviz.views.race.player_status import button_state
from alrviz.views.race.texts import TABLE_ROWS, ends_html, numbers_html, separation_html, values_html
from tests.races import ByHand, a_step, searching

TRIALS = 12


@pytest.fixture
def race():
    """lbfgs at iteration 6, and sgd at iteration 3 after it has searched its step length."""
    found = ByHand(Recipe("alr", alpha=0), Recipe("alr", alpha=0, solver="sgd"))
    found.take(7, racer=0)
    steps = found.runs[1].trace
    steps.append(a_step(0, 2.0))
    for _ in range(TRIALS):
        steps.append(replace(a_step(0, 2.0, search_rmse=0.5), kind="search"))
    for index in (1, 2, 3):
        steps.append(a_step(index, 2.0 - index / 4, eta0=0.1))
    found.end()
    return found


def watched_at(race, head):
    watched = RaceReader(race)
    watched.pull()
    watched.move(head)
    return watched


def test_the_head_is_an_iteration_and_no_place_in_the_trace(race):
    watched = watched_at(race, 2)
    searched = watched.racers[1]
    assert searched.columns["index"].tolist() == [0, 1, 2, 3]
    assert searched.trial_fits == TRIALS
    assert watched.last == 6
    assert value_at(searched, "index", watched.head) == 2
    assert value_at(searched, "nll", watched.head) == pytest.approx(15.0)
    assert searched.summary(upto=watched.last_shown).iterations == 2
    assert watched.curves()[1].columns["index"].tolist() == [0, 1, 2]


def test_columns_grow_and_what_was_drawn_stays_as_it_was(race):
    watched = watched_at(race, 6)
    racer, early = watched.racers[0], watched.curves()[0].columns
    before = {name: column.tolist() for name, column in early.items()}
    racer.run.trace.closed = False
    for index in range(7, 200):
        racer.run.trace.append(a_step(index, 1.0 / index))
        if index % 50 == 0:
            watched.pull()
    watched.pull()
    assert racer.columns["index"].tolist() == list(range(200))
    assert racer.columns["objective"][7:].tolist() == [step.objective for step in racer.run.trace.since(7)]
    assert racer.lowest == racer.columns["objective"].min()
    assert {name: column.tolist() for name, column in early.items()} == before


def test_everything_was_shown_at_the_last_iteration(race):
    watched = watched_at(race, 6)
    assert watched.is_finished
    assert watched.pull() == 0, "trial fits were read twice"
    race.runs[1].trace.closed = False
    race.runs[1].trace.append(a_step(4, 1.0))
    assert not watched.is_finished


def test_the_table_has_a_row_an_iteration(race):
    lines = numbers_html(watched_at(race, 6)).split("<tr><td>")[1:]
    assert [line.split("</td>")[0] for line in lines] == [str(k) for k in range(7)]
    assert "<td>1.750000</td>" in lines[1]


def test_the_table_begins_with_how_every_racer_ended_and_when_it_came_near_the_best():
    race = ByHand()
    race.take(12)
    race.end()
    watched = watched_at(race, 11)
    table = ends_html(watched)
    assert table.count("<tr>") == 1 + len(watched.racers)
    assert "<th>0.1 %</th>" in table or "10⁻⁴" in table
    assert table.count("<td>11</td>") >= len(watched.racers)
    assert all(f"<td>{racer.outcome.code}</td>" in table for racer in watched.racers)


def test_milestones_of_a_race_that_goes_on_are_said_to_be_of_the_best_so_far():
    race = ByHand(Recipe("lr", alpha=0, order=1), Recipe("alr", alpha=0, order=1))
    race.take(12)
    assert "share of the lowest training loss <b>so far</b>" in values_html(watched_at(race, 11))
    assert "share of the lowest training loss <b>so far</b>" in ends_html(watched_at(race, 11))
    race.end()
    watched = watched_at(race, 11)
    assert watched.is_finished
    assert "until within this share of the lowest training loss</p>" in values_html(watched)
    assert "so far" not in ends_html(watched)


def test_a_search_under_way_is_told_beside_its_racer(race):
    assert "trial fit" not in values_html(watched_at(race, 6))
    early = ByHand(*race.recipes)
    early.take(3, racer=0)
    early.runs[1].trace.append(a_step(0, 2.0))
    early.runs[1].trace.append(replace(a_step(0, 2.0), kind="search"))
    assert "step length: 1 trial fit<" in values_html(watched_at(early, 2))


def test_trials_of_alphas_are_steps_between_iterations_0_and_1():
    watched = watched_at(searching((10.0, 10.0), (0.5, 40.0)), 2)
    plain, searched = watched.racers
    assert searched.columns["index"].tolist() == [0, 0, 0, 1, 2, 3]
    assert searched.columns["alpha_2"][1:].tolist() == [10.0, 40.0, 40.0, 40.0, 40.0]
    assert (watched.last, watched.step_name, searched.trials(2), plain.trials(3)) == (5, "step", 2, 0)
    assert value_at(searched, "heldout_log_loss", watched.head) == value_at(searched, "nll", watched.head) / 10 + 0.1, (
        "as at iteration 0"
    )
    assert ">2 trials<" in values_html(watched)
    assert "step length" not in values_html(watched)
    assert searched.summary(upto=2).alphas == ()
    assert searched.summary().alphas == (0.5, 40.0)
    assert "trial" not in values_html(watched_at(searching((10.0, 10.0)), 3))
    assert "<td>3</td>" in ends_html(watched_at(searching((10.0, 10.0)), 4)), "iterations, not steps"


def test_what_was_tried_for_an_order_is_played_before_the_first_iteration():
    race = ByHand(Recipe("hlr", order="auto", alpha="auto"))
    run = race.runs[0]
    run.trials = [
        {"order": 1, "alpha_1": 9.0, "log_loss": 0.4},
        {"order": 2, "alpha_1": 9.0, "alpha_2": 7.0, "log_loss": 0.5},
    ]
    run.recipe = run.recipe.replace(order=1, alpha=(3.0,))
    race.take(3)
    (racer,) = watched_at(race, 1).racers
    assert racer.columns["index"].tolist() == [0, 0, 0, 1, 2]
    np.testing.assert_array_equal(racer.columns["alpha_1"], [np.nan, 9.0, 9.0, 3.0, 3.0])
    np.testing.assert_array_equal(racer.columns["alpha_2"], [np.nan, np.nan, 7.0, np.nan, np.nan])
    assert (racer.summary().alphas, racer.summary().order, racer.trials()) == ((3.0,), 1, 2)
    assert len(racer) + racer.trial_fits == len(run.trace)
    race.take(2)
    racer.pull()
    assert racer.columns["index"].tolist() == [0, 0, 0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("family", "more", "told"),
    [
        ("lr", {}, True),
        ("lr", {"alpha": 1}, False),
        ("alr", {"share": "tuple"}, False),
        ("alr", {"bounds": (0, 1), "start": "zero"}, False),
        ("alr", {"objective": "hinge"}, False),
    ],
)
def test_empty_pairs_are_told_where_they_send_a_weight_to_infinity(family, more, told):
    race = ByHand(Recipe(family, **{"alpha": 0, **more}))
    race.take(2)
    assert ("25.0 % of the combinations of values" in separation_html(watched_at(race, 1))) == told


def test_rows_that_all_lead_send_a_free_racer_to_zero_but_not_a_bounded_one():
    for bounds in (None, (0, 1)):
        race = ByHand(Recipe("alr", alpha=0, bounds=bounds, start="zero"))
        race.runs[0].trace.append(a_step(0, 1.0, lead=1.0))
        watched = watched_at(race, 0)
        assert watched.to_zero == (bounds is None)
        assert watched.racers[0].summary().bounded == (bounds is not None)


def test_racers_of_two_objectives_have_the_milestones_of_their_own():
    """One order can rank every row right and falls to 0, another cannot."""
    race = ByHand(Recipe("lr", alpha=0, order=1), Recipe("lr", alpha=0, order=2))
    race.take(3)
    alike = values_html(watched_at(race, 2))
    assert ">1 %</abbr>" in alike
    assert "≤" not in alike
    race.runs[1].trace.append(a_step(3, 0.001, lead=1.0))
    both = values_html(watched_at(race, 3))
    assert ">1 % or ≤ 0.01</abbr>" in both
    assert "within 1 % of the lowest training loss or training loss per row ≤ 0.01" in both
    assert "share of the lowest training loss of its own objective <b>so far</b>" in both
    assert "; ≤: iterations until the training loss, which falls to 0, is that low" in both
    race.runs, race.recipes = race.runs[1:], race.recipes[1:]
    alone = values_html(watched_at(race, 3))
    assert ">≤ 0.01</abbr>" in alone
    assert "1 %" not in alone


def test_the_slider_ends_at_the_last_iteration(race):
    player = Player()
    player.load_race(race)
    assert button_state(player).last == 6


def test_a_long_table_is_spread_over_the_iterations():
    long = ByHand(Recipe("alr", alpha=0))
    long.take(500, racer=0)
    rows = numbers_html(watched_at(long, 499)).split("<tr><td>")[1:]
    shown = [int(row.split("</td>")[0]) for row in rows]
    assert (len(shown), shown[0], shown[-1]) == (TABLE_ROWS, 0, 499)
    assert f"{TABLE_ROWS} of 500 iterations" in numbers_html(watched_at(long, 499))
