"""Every verdict of the fixed list, each from traces written by hand."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from alrviz.fitting.recipe import Recipe
from alrviz.studies.race import verdict as verdict_module
from alrviz.studies.race.milestones import RacerSummary, milestones, paired_difference
from alrviz.studies.race.verdict import objective_key
from tests.headlines import check_headline

ROWS = 100.0


def verdict(racers, **settings):
    """The verdict on these racers; every headline of this module is checked here."""
    result = verdict_module.verdict(racers, **settings)
    check_headline(result)
    return result


def lane(name, values, outcome="converged", *, label=None, lead=0.5, heldout_loss=None, **more):
    """A racer whose objective per row goes through `values`."""
    values = np.asarray(values, float)
    steps = np.arange(len(values))
    frame = pd.DataFrame(
        {"index": steps, "passes": 1.0 + steps, "seconds": 0.5 * steps, "objective": ROWS * values, "lead": lead}
    )
    if heldout_loss is not None:
        frame["heldout_log_loss"] = heldout_loss
    return RacerSummary(name=name, label=label or name, frame=frame, n_rows=ROWS, outcome=outcome, **more)


def falling(near, nearest, floor=0.4, length=None):
    """Values that come within 1 % of `floor` at step `near` and within 0.1 % at step `nearest`, then reach it."""
    length = length or nearest + 2
    steps = np.arange(length)
    return np.where(steps < near, 2 * floor, np.where(steps < nearest, 1.005 * floor, 1.0005 * floor)) - np.where(
        steps == length - 1, 0.0005 * floor, 0
    )


def test_alr_is_faster():
    told = verdict([lane("lr", falling(40, 100)), lane("alr", falling(10, 25))])
    assert (told.code, told.winner, told.factor) == ("faster", "alr", 4.0)
    assert told.headline == "alr is within 0.1 % after 25 iterations, lr after 100."
    assert all(part in told.detail for part in ("0.1 %", "alr 25", "lr 100", "1 %", "alr 10", "lr 40"))


def test_lr_is_faster_and_order_of_racers_does_not_matter():
    lanes = [lane("lr", falling(10, 20)), lane("alr", falling(10, 62))]
    told = verdict(lanes)
    assert (told.code, told.winner) == ("faster", "lr")
    assert told.headline == "lr is within 0.1 % after 20 iterations, alr after 62."
    assert verdict(lanes[::-1]) == told


@pytest.mark.parametrize(("unit", "least"), [("passes", "1 pass"), ("seconds", "0.001 seconds")])
def test_a_milestone_met_at_the_start_is_not_a_billion_times_faster(unit, least):
    first, second = lane("alr", falling(0, 0)), lane("lr", falling(4, 4))
    frame = first.frame.assign(passes=first.frame["index"])  # that begins at 0
    told = verdict([replace(first, frame=frame), second], unit=unit)
    assert (told.code, told.winner) == ("faster", "alr")
    assert told.factor == (5 if unit == "passes" else 2000)
    assert f"after {least}," in told.headline


def test_faster_at_the_first_milestone_only():
    told = verdict([lane("lr", falling(40, 100)), lane("alr", falling(10, 100))])
    assert (told.code, told.winner, told.factor) == ("faster", "alr", 4.0)
    assert told.headline == "alr is within 1 % after 10 iterations, lr after 40."


@pytest.mark.parametrize(("slow", "code"), [(124, "none"), (125, "faster")])
def test_no_difference_below_a_factor_of_1_25(slow, code):
    told = verdict([lane("lr", falling(40, slow)), lane("alr", falling(40, 100))])
    assert told.code == code
    assert ("equally fast" in told.headline) == (code == "none")
    assert "0.1 %" in told.detail


def test_a_racer_that_never_came_near_counts_as_at_least():
    told = verdict([lane("lr", np.full(251, 0.41), "step limit"), lane("alr", falling(10, 25))])
    assert (told.code, told.winner, told.factor, told.at_least) == ("faster", "alr", 10.0, True)
    assert told.headline == "alr is within 0.1 % after 25 iterations, lr not after 250."
    assert "lr not after 250" in told.detail


def test_a_racer_that_gave_up_early_far_away_is_not_called_equal():
    told = verdict([lane("lr", np.full(11, 0.5)), lane("alr", falling(10, 25))])
    assert (told.code, told.winner, told.at_least) == ("faster", "alr", True)


def test_crossed():
    told = verdict([lane("lr", falling(10, 100)), lane("alr", falling(30, 50))])
    assert told.code == "crossed"
    assert told.headline == "lr is first within 1 %, but alr within 0.1 %."


def test_step_limit_lower_so_far():
    told = verdict([lane("lr", np.full(201, 0.45), "step limit"), lane("alr", np.full(201, 0.4), "step limit")])
    assert told.code == "step limit"
    assert "200 iterations" in told.headline
    assert "alr leads" in told.headline
    assert all(part in told.detail for part in ("0.4000", "0.0500 below lr"))


def test_step_limit_with_nothing_between_them():
    told = verdict([lane("lr", np.full(201, 0.4001), "step limit"), lane("alr", np.full(201, 0.4), "step limit")])
    assert (told.code, "within 0.1 %" in told.headline) == ("step limit", True)


def test_converged_above_a_racer_at_its_limit_is_no_win():
    told = verdict([lane("lr", falling(10, 20, floor=0.5)), lane("alr", np.full(201, 0.4), "step limit")])
    assert told.code == "step limit"


def test_different_objectives_with_a_tie_and_with_a_difference():
    rng = np.random.default_rng(0)
    base = rng.exponential(0.4, 400)
    near, far = base + rng.normal(0.001, 0.2, 400), base + 0.1
    racers = [
        lane("lr", falling(10, 20), objective=1, heldout_loss=0.41, heldout=near),
        lane("alr", falling(10, 20), objective=2, heldout_loss=0.40, heldout=base),
    ]
    told = verdict(racers)
    assert told.code == "different"
    assert "tie" in told.headline
    assert all(part in told.detail for part in ("alr 0.4000", "lr 0.4100", "a tie"))
    racers[0] = lane("lr", falling(10, 20), objective=1, heldout_loss=0.5, heldout=far)
    apart = verdict(racers)
    assert "alr has the lowest test loss" in apart.headline
    assert "(difference 0.1000, standard error 0.0000)" in apart.detail
    bare = [lane("lr", falling(10, 20), objective=1), lane("alr", falling(10, 20), objective=2)]
    assert "no test rows" in verdict(bare).headline


def test_perfect_fit_has_no_best_model_in_its_verdict():
    values = 0.5 ** np.arange(20)
    racers = [
        lane("lr", values, "separated", lead=1.0, heldout_loss=0.3),
        lane("alr", values, "step limit", lead=1.0, heldout_loss=0.2),
    ]
    told = verdict(racers)
    assert told.code == "perfect"
    assert told.headline == "Both fit the training rows perfectly."
    assert all(part in told.detail for part in ("No finite optimum", "alr 0.2000, lr 0.3000", "Try alpha 0.1."))
    assert verdict([*racers, lane("diagonal", values)]).headline.startswith("All 3 fit")


def test_a_hinge_is_compared_by_the_rows_it_gets_wrong():
    def racer(name, error, loss):
        made = lane(name, falling(10, 20), objective=name, loss=loss, heldout_loss=np.nan)
        made.frame["heldout_error"] = error
        return made

    told = verdict([racer("lr", 0.25, "nll"), racer("alr", 0.125, "hinge")])
    assert "alr has the lowest test loss" in told.headline
    assert told.detail.endswith("Test 0-1 loss (the hinge has no log loss): alr 0.1250, lr 0.2500.")
    bare = verdict([lane(name, falling(10, 20), objective=name, loss="hinge") for name in ("lr", "alr")])
    assert "no test rows" in bare.headline


def test_the_weights_of_a_hinge_that_fits_perfectly_need_not_grow_for_ever():
    told = verdict([lane(name, 0.5 ** np.arange(20), lead=1.0, loss="hinge") for name in ("lr", "alr")])
    assert told.code == "perfect"
    assert "equally good" in told.detail
    assert "grow" not in told.detail


def test_between_bounds_rows_that_all_lead_do_not_send_the_loss_to_zero():
    told = verdict([lane(name, falling(10, 20), lead=1.0, bounded=True) for name in ("lr", "alr")])
    assert told.code == "none"


def test_milestones_are_absolute_when_the_objective_falls_to_zero():
    values = 0.5 ** np.arange(20)
    marks = milestones([lane("lr", values, lead=np.minimum(1.0, 0.1 * np.arange(20)))])
    assert marks.to_zero
    assert (marks.count_at("lr", 0), marks.count_at("lr", 1)) == (7, 14)
    assert marks.count_at("lr", 0, "seconds") == 3.5
    penalised = milestones([lane("lr", values, lead=1.0, alpha=0.1)])
    assert not penalised.to_zero
    assert penalised.goal_texts[0] == "within 1 % of the lowest penalised training loss"


def test_diverged_failed_stopped_racing_waiting():
    good = lane("alr", falling(10, 25))
    diverged = lane("lr", [1, 2, np.nan], "diverged")
    assert verdict([diverged, good]).headline == "lr diverged after 2 iterations."
    failed = lane("lr", [1, 2], "failed", detail="Scores drifted apart.")
    told = verdict([failed, good])
    assert (told.headline, told.detail) == ("lr failed after 1 iteration.", "Scores drifted apart.")
    both = verdict([replace(diverged, name="gd"), failed, good])
    assert both.headline == "2 of 3 models diverged or failed."
    assert all(part in both.detail for part in ("gd diverged after 2 iterations.", "Scores drifted apart."))
    stopped = verdict([lane("lr", np.full(11, 0.5), "stopped"), good])
    assert stopped.headline == "Stopped by you after 26 iterations; alr leads."
    assert stopped.detail.startswith("lr 10 iterations, alr 26. ")
    theirs = verdict([lane("lr", np.full(11, 0.5), "stopped"), good], stopped_by="the server")
    assert theirs.headline == stopped.headline.replace("by you", "by the server")
    assert verdict([lane("lr", np.full(11, 0.5), None), good]).code == "racing"
    assert verdict([]).code == "waiting"
    assert verdict([lane("lr", [], None), good]).code == "waiting"
    assert verdict([lane("lr", [], "stopped"), lane("alr", [], "stopped")]).code == "stopped"


def test_more_racers_and_other_labels():
    told = verdict(
        [
            lane("lr", falling(40, 100)),
            lane("alr from zero", falling(9, 13), label="alr"),
            lane("alr from anje", falling(9, 12), label="alr"),
            lane("anje", [0.6], label="anje"),
        ]
    )
    assert (told.code, told.winner) == ("faster", "alr from anje")
    assert told.headline == "alr from anje is fastest: 12 iterations (lr 100)."
    assert all(part in told.detail for part in ("8.3 times", "About as fast: alr from zero."))
    assert "anje 0" not in told.detail


def test_rising_test_loss_is_reported():
    steps = np.arange(102)
    rising = 0.9 + 0.01 * np.abs(steps - 20)
    pair = [lane("lr", falling(40, 100), heldout_loss=rising), lane("alr", falling(40, 100), heldout_loss=rising + 0.2)]
    told = verdict(pair)
    assert "equally fast" in told.headline
    assert told.detail.endswith(
        ". Overfitting: the test loss of both rises after iteration 20 (lr 0.900 to 1.710, alr 1.100 to 1.910)."
    )
    falls = lane("alr", falling(40, 100), heldout_loss=1 / (1.0 + steps))
    one = verdict([pair[0], falls])
    assert one.detail.endswith(". Overfitting: the test loss of lr rises after iteration 20 (0.900 to 1.710).")
    assert "Overfitting" not in verdict([falls]).detail
    hardly = lane("lr", falling(40, 100), heldout_loss=np.where(steps == 50, 0.99, 1.0))  # within 2 %
    assert "Overfitting" not in verdict([hardly, falls]).detail
    alone = verdict([pair[0]])
    assert alone.headline == "lr converged after 101 iterations."
    assert alone.detail.endswith(". Overfitting: the test loss of lr rises after iteration 20 (0.900 to 1.710).")
    late = lane("gd", falling(40, 100), heldout_loss=rising[::-1])
    many = verdict([*pair, falls, late])
    assert many.detail.endswith("Overfitting: the test loss of 3 of 4 rises, that of lr after iteration 20.")
    limit = verdict([lane("lr", np.full(102, 0.4), "step limit", heldout_loss=rising)])
    assert limit.code == "step limit"
    assert "Overfitting: the test loss of lr rises" in limit.detail


def faster(ends, heldout=(None, None)):
    """The verdict of a race that alr wins, with these test losses at the end."""
    speeds = falling(40, 100), falling(10, 25)
    return verdict(
        [
            lane(name, speed, heldout_loss=np.full(len(speed), end), heldout=rows)
            for name, speed, end, rows in zip(("lr", "alr"), speeds, ends, heldout, strict=True)
        ]
    )


def test_verdict_names_a_faster_racer_that_is_worse_on_test_rows():
    told = faster((1.374, 1.498))
    assert (told.code, told.winner) == ("faster", "alr")
    assert "alr's test loss is higher" in told.headline
    assert all(part in told.detail for part in ("alr 1.498", "lr 1.374"))
    for ends in ((1.498, 1.374), (0.5, 0.5), (0.5, 0.501), (np.nan, np.nan)):
        assert "higher" not in faster(ends).headline
    lr = np.random.default_rng(0).exponential(1.3, 400)
    assert "higher" in faster((lr.mean(), lr.mean() + 0.01), (lr, lr + 0.01)).headline, "little, and beyond chance"
    alr = lr + np.random.default_rng(1).normal(0.01, 2.0, 400)
    tied = faster((lr.mean(), lr.mean() + 0.2), (lr, alr))
    assert "a tie" in tied.detail
    assert "higher" not in tied.headline


def test_a_racer_without_held_out_loss_hides_no_better_one():
    ends = {"hinge": (falling(50, 110), np.nan), "lr": (falling(40, 100), 1.374), "alr": (falling(10, 25), 1.498)}
    told = verdict([lane(name, values, heldout_loss=np.full(len(values), end)) for name, (values, end) in ends.items()])
    assert (told.code, told.winner) == ("faster", "alr")
    assert "alr's test loss is higher" in told.headline
    assert all(part in told.detail for part in ("alr 1.498", "lr 1.374"))


def test_counted_models_are_compared_on_test_rows():
    counted = lane("nb", [0.5], heldout_loss=[0.6])
    told = verdict([counted, lane("lr", falling(10, 20), heldout_loss=np.linspace(0.8, 0.5, 22))])
    assert told.headline == "lr converged after 21 iterations."
    assert told.detail.endswith(" Test log loss, nats per row: lr 0.5000, nb 0.6000.")


def numbers_in(told):
    return re.findall(r"(?<![\w.])\d+(?:\.\d+)?", told.headline)


def test_a_headline_about_many_racers_is_short_and_names_the_winner_first():
    names = ("lr", "alr", "gd", "adam", "tron", "sgd")
    apart = [lane(name, falling(10 * k, 25 * k)) for k, name in enumerate(names, 1)]
    told = verdict(apart)
    assert told.headline == "lr is fastest: 25 iterations (sgd 150)."
    assert "6 times" in told.detail
    same = verdict([lane(name, falling(10, 20)) for name in names])
    assert (same.code, "All 6 models" in same.headline) == ("none", True)
    crossed = verdict([lane("lr", falling(10, 200)), lane("alr", falling(30, 50)), lane("gd", falling(40, 210))])
    assert crossed.headline == "lr is first within 1 %, but alr within 0.1 %."
    stopped = verdict([lane(name, np.full(11 + k, 0.5 + k), "stopped") for k, name in enumerate(names)])
    assert stopped.headline == "Stopped by you after 15 iterations; lr leads."
    assert "1.0000 below alr, the next." in stopped.detail
    others = verdict(
        [lane(name, falling(10, 20), objective=k, heldout_loss=0.4 + k / 10) for k, name in enumerate(names)]
    )
    assert "lr has the lowest test loss" in others.headline
    assert others.detail.endswith("lr 0.4000 (lowest), sgd 0.9000 (highest).")
    assert all(len(numbers_in(of)) <= 3 for of in (told, same, crossed, stopped, others))


LONG_NAMES = "alr from AnJE #2", "lr alpha by inner folds on w"


@pytest.mark.parametrize("names", [LONG_NAMES, (*LONG_NAMES, "hlr to AnJE w by tuple m=0.5")])
@pytest.mark.parametrize(
    ("paths", "outcomes"),
    [
        ((falling(10, 100), falling(30, 50), falling(40, 210)), "converged"),  # crossed
        ((falling(10, 25), falling(40, 1000), falling(40, 500)), "converged"),  # faster
        ((falling(10, 20), falling(10, 20), falling(10, 20)), "converged"),  # no difference
        ((np.full(201, 0.4), np.full(201, 0.4001), np.full(201, 0.4001)), "step limit"),
        ((np.full(201, 0.4), np.full(201, 0.4001), np.full(201, 0.4001)), "stopped"),
        ((np.full(2001, 0.4), np.full(2001, 0.4), np.full(201, 0.4001)), None),
        ((np.full(2001, 0.4), np.full(2001, 0.4001), np.full(201, 0.4001)), None),
        (([1, np.nan], [1, np.nan], [1, np.nan]), "diverged"),
    ],
)
def test_headlines_of_models_with_long_names_are_short(names, paths, outcomes):
    """`verdict` checks them; with long names numbers move to the detail."""
    for objectives in ((None,) * 3, names):
        racers = [
            lane(name, path, outcomes, objective=objective, heldout_loss=np.linspace(1, 2 + len(name), len(path)))
            for name, path, objective in zip(names, paths, objectives, strict=False)
        ]
        assert verdict(racers, stopped_by="the server").detail


def test_one_racer_alone():
    alone = verdict([lane("lr", falling(10, 20))])
    assert alone.headline == "lr converged after 21 iterations."
    assert "0.4000 nats per row" in alone.detail


def test_objective_keys():
    lr, alr = Recipe("lr", alpha=0, penalty="phi"), Recipe("alr", alpha=0, penalty="phi")
    assert objective_key(lr) == objective_key(alr) == objective_key(lr.replace(scale="diagonal", start="anje"))
    assert objective_key(lr) != objective_key(lr.replace(order=1))
    assert objective_key(lr) != objective_key(lr.replace(seed=1))
    assert objective_key(lr.replace(alpha=0.1)) == objective_key(alr.replace(alpha=0.1))
    assert objective_key(lr.replace(alpha=0.1)) != objective_key(lr.replace(alpha=0.2))
    on_w = objective_key(alr.replace(alpha=0.1, penalty="w"))
    assert on_w != objective_key(lr.replace(alpha=0.1, penalty="w"))
    assert objective_key(lr.replace(alpha=0.1, penalty="w")) == objective_key(lr.replace(alpha=0.1, penalty="phi"))
    centers = {objective_key(alr.replace(alpha=0.1, center=center)) for center in (0, 1, "anje")}
    assert len(centers) == 3
    assert objective_key(Recipe("alr", order=1, alpha=1, penalty="phi", center=1)) == objective_key(
        Recipe("lr", order=1, alpha=1, penalty="phi", center="anje")
    )
    elr = Recipe("elr")
    assert objective_key(elr) == objective_key(elr.replace(max_iter=3)) != objective_key(Recipe("lr", order=1, alpha=0))
    others = [elr.replace(structure="tan"), elr.replace(structure={"b": "a"}), elr.replace(cross_tuning=False)]
    assert len({objective_key(recipe) for recipe in (elr, *others)}) == 4


def test_objective_keys_of_dlr():
    dlr = Recipe("dlr", alpha=10.0)
    assert objective_key(dlr) == objective_key(dlr.replace(start="one", max_iter=7, discretize=None))
    changes = ({"bandwidth": "paper"}, {"alpha": 0.5}, {"center": 1}, {"smoothing": 2.0}, {"seed": 1}, {"family": "lr"})
    assert len({objective_key(dlr.replace(**change)) for change in ({}, *changes)}) == 7


def test_objective_keys_of_shared_weights_and_of_alrj():
    alr = Recipe("alr", alpha=0, penalty="phi")
    alrj = alr.replace(scale="theta-gamma")
    assert objective_key(alr) == objective_key(alrj)
    for share in ("cell", "tuple", "all"):  # the same phi of all cells cannot be reached by other scales
        keys = [objective_key(recipe.replace(share=share)) for recipe in (alr, alrj, alr.replace(smoothing=0.5))]
        assert len({objective_key(alr), *keys}) == 4
    pulled = [recipe.replace(alpha=1, center=center) for recipe in (alr, alrj) for center in (1, "anje")]
    assert len(set(map(objective_key, pulled))) == 2  # in alrj 1 is AnJE, in alr it is not
    on_w = [objective_key(recipe.replace(alpha=1, penalty="w")) for recipe in (alr, alrj)]
    assert on_w[0] != on_w[1]


def test_an_objective_with_a_penalty_is_called_penalised():
    assert verdict([lane("lr", falling(10, 20), alpha=0.1)]).detail.startswith("Penalised training loss 0.4000")
    assert verdict([lane("lr", falling(10, 20))]).detail.startswith("Training loss 0.4000")


def test_paired_difference_against_a_hand_calculation():
    a, b = np.array([1.0, 2, 4]), np.array([1.0, 1, 1])
    gap = paired_difference(a, b)
    assert gap.mean == pytest.approx(4 / 3)
    assert gap.error == pytest.approx(np.sqrt((16 + 1 + 25) / 9 / 2 / 3))
    assert np.isnan(paired_difference(a[:1], b[:1]).error)
    assert paired_difference(a, a).tie
    assert not paired_difference(a + 1, a).tie


def test_while_it_runs_the_headline_says_who_leads_and_the_detail_by_how_much():
    lr, alr = lane("lr", [0.9, 0.7, 0.6], None), lane("alr", [0.9, 0.5, 0.45], None)
    told = verdict([lr, alr])
    assert told.headline == "Iteration 2: alr leads."
    assert told.detail == "Training loss 0.4500 nats per row, 0.1500 below lr."
    ended = lane("diagonal", [0.9, 0.5], "converged")
    assert verdict([lr, alr, ended]).detail.endswith("0.0500 below diagonal, the next.")
    level = [lane(name, [0.9], None) for name in ("lr", "alr")]
    assert verdict(level).headline == "Iteration 0: lr and alr are level."
    near = [0.9, *[0.6] * 60, 0.5004], [0.9, *[0.6] * 18, *[0.5] * 43]
    close = verdict([lane(name, path, None) for name, path in zip(("lr", "alr"), near, strict=True)])
    assert close.headline == "Iteration 61: alr's loss is lower; lr's is within 0.1 %."
    assert "alr since iteration 19, lr since 61" in close.detail, "a picture of the gap shows decades between them"
    assert verdict([alr]).headline == "Iteration 2: training loss 0.4500 nats per row."
    gone = lane("gd", [0.9, np.nan], "diverged")
    assert verdict([gone, lr, alr]) == verdict([lr, alr])


def test_while_it_runs_different_objectives_are_compared_on_test_rows():
    lanes = [lane("lr", [0.9, 0.7], None, objective=1), lane("alr", [0.9, 0.5], None, objective=2)]
    assert "no test rows" in verdict(lanes).detail
    lanes = [
        lane("lr", [0.9, 0.7], None, objective=1, heldout_loss=[0.9, 0.6]),
        lane("alr", [0.9, 0.5], None, objective=2, heldout_loss=[0.9, 0.8]),
    ]
    told = verdict(lanes)
    assert "different functions" in told.headline
    assert told.detail.endswith("lr 0.6000, alr 0.8000.")


def test_leader_is_named_by_the_shown_unit():
    """In iterations alr won, in seconds lr: the sentence spoke of iterations under a picture of seconds."""
    lr, alr = lane("lr", falling(40, 100)), lane("alr", falling(10, 25))
    slow = alr.frame.assign(seconds=lambda frame: 10 * frame["seconds"])
    lanes = [lr, RacerSummary(name="alr", label="alr", frame=slow, n_rows=ROWS, outcome="converged")]
    assert verdict(lanes).winner == "alr"
    told = verdict(lanes, unit="seconds")
    assert (told.winner, told.factor) == ("lr", 2.5)
    assert told.headline == "lr is within 0.1 % after 50 seconds, alr after 125."
    assert "lr 20 seconds, alr 50" in told.detail
    assert "passes, lr after" in verdict([lr, alr], unit="passes").headline
