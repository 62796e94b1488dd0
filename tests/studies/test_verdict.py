"""Every sentence of the fixed list, each from traces written by hand."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from alrviz.fitting.recipe import Recipe
from alrviz.studies.race.milestones import RacerSummary, milestones, paired_difference
from alrviz.studies.race.verdict import objective_key, verdict

ROWS = 100.0


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
    assert told.sentence == (
        "alr is 4 times faster (iterations). Within 0.1 % of the best NLL: alr 25 iterations, lr 100; "
        "within 1 %: alr 10 iterations, lr 40."
    )


def test_lr_is_faster_and_order_of_racers_does_not_matter():
    lanes = [lane("lr", falling(10, 20)), lane("alr", falling(10, 62))]
    told = verdict(lanes)
    assert (told.code, told.winner) == ("faster", "lr")
    assert told.sentence.startswith("lr is 3.1 times faster (iterations). Within 0.1 %")
    assert verdict(lanes[::-1]).sentence == told.sentence


@pytest.mark.parametrize(("unit", "least"), [("passes", "1 passes"), ("seconds", "0.001 seconds")])
def test_a_milestone_met_at_the_start_is_not_a_billion_times_faster(unit, least):
    first, second = lane("alr", falling(0, 0)), lane("lr", falling(4, 4))
    frame = first.frame.assign(passes=first.frame["index"])  # that begins at 0
    told = verdict([replace(first, frame=frame), second], unit=unit)
    assert (told.code, told.winner) == ("faster", "alr")
    assert told.factor == (5 if unit == "passes" else 2000)
    assert f"alr {least}" in told.sentence


def test_faster_at_the_first_milestone_only():
    told = verdict([lane("lr", falling(40, 100)), lane("alr", falling(10, 100))])
    assert (told.code, told.winner, told.factor) == ("faster", "alr", 4.0)
    assert told.sentence.startswith("alr is 4 times faster (iterations). Within 1 % of the best NLL: alr 10 iter")


@pytest.mark.parametrize(("slow", "code"), [(124, "none"), (125, "faster")])
def test_no_difference_below_a_factor_of_1_25(slow, code):
    told = verdict([lane("lr", falling(40, slow)), lane("alr", falling(40, 100))])
    assert told.code == code
    assert told.sentence.startswith("No difference in speed. Within 1 %") == (code == "none")


def test_a_racer_that_never_came_near_counts_as_at_least():
    told = verdict([lane("lr", np.full(251, 0.41), "step limit"), lane("alr", falling(10, 25))])
    assert (told.code, told.winner, told.factor, told.at_least) == ("faster", "alr", 10.0, True)
    assert (
        "at least 10 times faster (iterations). Within 0.1 % of the best NLL: alr 25 iterations, lr not after 250"
        in (told.sentence)
    )


def test_a_racer_that_gave_up_early_far_away_is_not_called_equal():
    told = verdict([lane("lr", np.full(11, 0.5)), lane("alr", falling(10, 25))])
    assert (told.code, told.winner, told.at_least) == ("faster", "alr", True)


def test_crossed():
    told = verdict([lane("lr", falling(10, 100)), lane("alr", falling(30, 50))])
    assert told.code == "crossed"
    assert "lr is first within 1 %" in told.sentence
    assert "alr within 0.1 %" in told.sentence


def test_step_limit_lower_so_far():
    told = verdict([lane("lr", np.full(201, 0.45), "step limit"), lane("alr", np.full(201, 0.4), "step limit")])
    assert told.code == "step limit"
    assert told.sentence == ("Step limit: no racer has converged; alr leads, NLL 0.4000 nats per row, 0.0500 below lr.")


def test_step_limit_with_nothing_between_them():
    told = verdict([lane("lr", np.full(201, 0.4001), "step limit"), lane("alr", np.full(201, 0.4), "step limit")])
    assert (
        told.sentence
        == "Step limit: no racer has converged; alr is lower, NLL 0.4000 nats per row, lr within 0.1 % of it."
    )


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
    assert "compare test losses. Test log loss, nats per row: alr 0.4000, lr 0.4100 (a tie" in told.sentence
    racers[0] = lane("lr", falling(10, 20), objective=1, heldout_loss=0.5, heldout=far)
    assert "(difference 0.1000, standard error 0.0000)" in verdict(racers).sentence
    bare = [lane("lr", falling(10, 20), objective=1), lane("alr", falling(10, 20), objective=2)]
    assert verdict(bare).sentence.endswith("There are no test rows to compare them on.")


def test_perfect_fit_says_that_there_is_no_best_model():
    values = 0.5 ** np.arange(20)
    racers = [
        lane("lr", values, "separated", lead=1.0, heldout_loss=0.3),
        lane("alr", values, "step limit", lead=1.0, heldout_loss=0.2),
    ]
    told = verdict(racers)
    assert told.code == "perfect"
    assert told.sentence == (
        "Both fit the training rows perfectly: no finite optimum exists, the weights grow without end, and the race "
        "only tells how fast. Test log loss, nats per row: alr 0.2000, lr 0.3000. Try alpha 0.1."
    )
    assert verdict([*racers, lane("diagonal", values)]).sentence.startswith("All 3 fit")


def test_a_hinge_is_compared_by_the_rows_it_gets_wrong():
    def racer(name, error, loss):
        made = lane(name, falling(10, 20), objective=name, loss=loss, heldout_loss=np.nan)
        made.frame["heldout_error"] = error
        return made

    told = verdict([racer("lr", 0.25, "nll"), racer("alr", 0.125, "hinge")])
    assert told.sentence.endswith("Test 0-1 loss (the hinge has no log loss): alr 0.1250, lr 0.2500.")
    bare = verdict([lane(name, falling(10, 20), objective=name, loss="hinge") for name in ("lr", "alr")])
    assert bare.sentence.endswith("There are no test rows to compare them on.")


def test_the_weights_of_a_hinge_that_fits_perfectly_need_not_grow_for_ever():
    told = verdict([lane(name, 0.5 ** np.arange(20), lead=1.0, loss="hinge") for name in ("lr", "alr")])
    assert told.code == "perfect"
    assert told.sentence.startswith("Both fit the training rows perfectly: F falls to 0, where many models are equally")
    assert "grow" not in told.sentence


def test_between_bounds_rows_that_all_lead_do_not_send_the_loss_to_zero():
    told = verdict([lane(name, falling(10, 20), lead=1.0, bounded=True) for name in ("lr", "alr")])
    assert told.code == "none"
    assert told.sentence.startswith("No difference in speed. Within 1 % of the best NLL")


def test_milestones_are_absolute_when_the_objective_falls_to_zero():
    values = 0.5 ** np.arange(20)
    marks = milestones([lane("lr", values, lead=np.minimum(1.0, 0.1 * np.arange(20)))])
    assert marks.to_zero
    assert (marks.at("lr", 0), marks.at("lr", 1)) == (7, 14)
    assert marks.at("lr", 0, "seconds") == 3.5
    penalised = milestones([lane("lr", values, lead=1.0, alpha=0.1)])
    assert not penalised.to_zero
    assert penalised.goal_texts[0] == "within 1 % of the best F"


def test_diverged_failed_stopped_racing_waiting():
    good = lane("alr", falling(10, 25))
    assert verdict([lane("lr", [1, 2, np.nan], "diverged"), good]).sentence.startswith("lr diverged after 2 iterations")
    failed = lane("lr", [1, 2], "failed", detail="Scores drifted apart.")
    assert verdict([failed, good]).sentence == "lr failed after 1 iteration. Scores drifted apart."
    stopped = verdict([lane("lr", np.full(11, 0.5), "stopped"), good])
    assert stopped.sentence.startswith("Stopped by you after lr 10 iterations, alr 26; alr leads, NLL")
    theirs = verdict([lane("lr", np.full(11, 0.5), "stopped"), good], by="the server")
    assert theirs.sentence == stopped.sentence.replace("by you", "by the server")
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
    assert told.sentence == (
        "alr from anje is 8.3 times faster (iterations) than lr, the slowest (alr from zero about as fast)."
    )
    assert "anje 0" not in told.sentence


def test_a_held_out_loss_that_rises_again_is_not_kept_silent():
    steps = np.arange(102)
    rising = 0.9 + 0.01 * np.abs(steps - 20)
    pair = [lane("lr", falling(40, 100), heldout_loss=rising), lane("alr", falling(40, 100), heldout_loss=rising + 0.2)]
    told = verdict(pair)
    assert told.sentence.startswith("No difference in speed. Within 1 % of the best NLL:")
    assert told.sentence.endswith(
        ". Overfitting: the test loss of both rises after iteration 20 (lr 0.900 to 1.710, alr 1.100 to 1.910)."
    )
    falls = lane("alr", falling(40, 100), heldout_loss=1 / (1.0 + steps))
    one = verdict([pair[0], falls])
    assert one.sentence.endswith(". Overfitting: the test loss of lr rises after iteration 20 (0.900 to 1.710).")
    assert "Overfitting" not in verdict([falls]).sentence
    hardly = lane("lr", falling(40, 100), heldout_loss=np.where(steps == 50, 0.99, 1.0))  # within 2 %
    assert "Overfitting" not in verdict([hardly, falls]).sentence
    alone = verdict([pair[0]])
    assert alone.sentence.startswith("lr converged after 101 iterations")
    assert alone.sentence.endswith(". Overfitting: the test loss of lr rises after iteration 20 (0.900 to 1.710).")
    late = lane("gd", falling(40, 100), heldout_loss=rising[::-1])
    many = verdict([*pair, falls, late])
    assert many.sentence.endswith(" Overfitting: the test loss of 3 of 4 rises, that of lr after iteration 20.")
    limit = verdict([lane("lr", np.full(102, 0.4), "step limit", heldout_loss=rising)])
    assert "Step limit" in limit.sentence
    assert "Overfitting: the test loss of lr rises" in limit.sentence


def faster(ends, heldout=(None, None)):
    """The verdict of a race that alr wins, with these test losses at the end."""
    speeds = falling(40, 100), falling(10, 25)
    return verdict(
        [
            lane(name, speed, heldout_loss=np.full(len(speed), end), heldout=rows)
            for name, speed, end, rows in zip(("lr", "alr"), speeds, ends, heldout, strict=True)
        ]
    )


def test_a_faster_racer_that_ends_worse_on_held_out_rows_is_told_so_at_once():
    told = faster((1.374, 1.498))
    first = told.sentence.split(". ")[0]
    assert (told.code, told.winner) == ("faster", "alr")
    assert all(part in first for part in ("times faster", "worse on test rows", "1.498", "1.374 of lr"))
    for ends in ((1.498, 1.374), (0.5, 0.5), (0.5, 0.501), (np.nan, np.nan)):
        assert "worse" not in faster(ends).sentence
    lr = np.random.default_rng(0).exponential(1.3, 400)
    assert "worse" in faster((lr.mean(), lr.mean() + 0.01), (lr, lr + 0.01)).sentence, "little, and beyond chance"
    alr = lr + np.random.default_rng(1).normal(0.01, 2.0, 400)
    tied = faster((lr.mean(), lr.mean() + 0.2), (lr, alr)).sentence
    assert "a tie" in tied
    assert "worse" not in tied


def test_a_racer_without_held_out_loss_hides_no_better_one():
    ends = {"hinge": (falling(50, 110), np.nan), "lr": (falling(40, 100), 1.374), "alr": (falling(10, 25), 1.498)}
    told = verdict([lane(name, values, heldout_loss=np.full(len(values), end)) for name, (values, end) in ends.items()])
    assert (told.code, told.winner) == ("faster", "alr")
    assert all(part in told.sentence for part in ("worse on test rows", "1.498", "1.374 of lr"))


def test_what_is_only_counted_is_compared_held_out_with_what_is_fitted():
    counted = lane("nb", [0.5], heldout_loss=[0.6])
    told = verdict([counted, lane("lr", falling(10, 20), heldout_loss=np.linspace(0.8, 0.5, 22))])
    assert told.sentence.startswith("lr converged after 21 iterations")
    assert told.sentence.endswith(" Test log loss, nats per row: lr 0.5000, nb 0.6000.")


def numbers_in(told):
    return re.findall(r"(?<![\w.])\d+(?:\.\d+)?", told.sentence)


def test_a_sentence_about_many_racers_is_short_and_names_the_winner_first():
    names = ("lr", "alr", "gd", "adam", "tron", "sgd")
    apart = [lane(name, falling(10 * k, 25 * k)) for k, name in enumerate(names, 1)]
    told = verdict(apart)
    assert told.sentence == "lr is 6 times faster (iterations) than sgd, the slowest."
    same = verdict([lane(name, falling(10, 20)) for name in names])
    assert same.sentence == "No difference in speed: all 6 racers come near the best about as soon."
    crossed = verdict([lane("lr", falling(10, 200)), lane("alr", falling(30, 50)), lane("gd", falling(40, 210))])
    assert crossed.sentence == "Two lead once: lr is first within 1 % of the best NLL, alr within 0.1 %."
    stopped = verdict([lane(name, np.full(11 + k, 0.5 + k), "stopped") for k, name in enumerate(names)])
    assert stopped.sentence == (
        "Stopped by you after 15 iterations; lr leads, NLL 0.5000 nats per row, 1.0000 below alr, the next."
    )
    others = verdict(
        [lane(name, falling(10, 20), objective=k, heldout_loss=0.4 + k / 10) for k, name in enumerate(names)]
    )
    assert others.sentence.endswith("Test log loss, nats per row: lr 0.4000 (lowest), sgd 0.9000 (highest).")
    assert all(len(numbers_in(of)) <= 3 for of in (told, same, crossed, stopped, others))


def test_one_racer_alone():
    assert (
        verdict([lane("lr", falling(10, 20))]).sentence
        == "lr converged after 21 iterations at NLL 0.4000 nats per row."
    )


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
    dlr = Recipe("dlr")
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


def test_an_objective_that_is_not_nll_is_called_f():
    told = verdict([lane("lr", falling(10, 20), alpha=0.1)])
    assert told.sentence == "lr converged after 21 iterations at F 0.4000 nats per row."
    assert "best F: " in verdict([lane("lr", falling(40, 99), loss="mse"), lane("alr", falling(9, 9))]).sentence


def test_paired_difference_against_a_hand_calculation():
    a, b = np.array([1.0, 2, 4]), np.array([1.0, 1, 1])
    gap = paired_difference(a, b)
    assert gap.mean == pytest.approx(4 / 3)
    assert gap.error == pytest.approx(np.sqrt((16 + 1 + 25) / 9 / 2 / 3))
    assert np.isnan(paired_difference(a[:1], b[:1]).error)
    assert paired_difference(a, a).tie
    assert not paired_difference(a + 1, a).tie


def test_while_it_goes_on_it_says_who_leads_and_by_how_much():
    lr, alr = lane("lr", [0.9, 0.7, 0.6], None), lane("alr", [0.9, 0.5, 0.45], None)
    assert verdict([lr, alr]).sentence == (
        "At iteration 2: alr leads, NLL 0.4500 nats per row, 0.1500 below lr."
    )  # fmt: skip
    ended = lane("diagonal", [0.9, 0.5], "converged")
    assert verdict([lr, alr, ended]).sentence.endswith(
        "alr leads, NLL 0.4500 nats per row, 0.0500 below diagonal, the next."
    )
    level = [lane(name, [0.9], None) for name in ("lr", "alr")]
    assert verdict(level).sentence == ("At iteration 0: lr and alr are level at NLL 0.9000 nats per row.")
    near = [0.9, *[0.6] * 60, 0.5004], [0.9, *[0.6] * 18, *[0.5] * 43]
    assert verdict([lane(name, path, None) for name, path in zip(("lr", "alr"), near, strict=True)]).sentence == (
        "At iteration 61: alr is lower, NLL 0.5000 nats per row, lr within 0.1 % of it "
        "(since iteration 61; alr since 19)."
    ), "a picture of the gap shows decades between them"
    assert verdict([alr]).sentence == "At iteration 2: NLL 0.4500 nats per row."
    gone = lane("gd", [0.9, np.nan], "diverged")
    assert verdict([gone, lr, alr]).sentence == verdict([lr, alr]).sentence


def test_while_it_goes_on_different_objectives_are_compared_held_out():
    lanes = [lane("lr", [0.9, 0.7], None, objective=1), lane("alr", [0.9, 0.5], None, objective=2)]
    assert verdict(lanes).sentence.endswith("no test rows to compare them on.")
    lanes = [
        lane("lr", [0.9, 0.7], None, objective=1, heldout_loss=[0.9, 0.6]),
        lane("alr", [0.9, 0.5], None, objective=2, heldout_loss=[0.9, 0.8]),
    ]
    assert verdict(lanes).sentence == (
        "At iteration 1: different objectives. Test log loss, nats per row: lr 0.6000, alr 0.8000."
    )


def test_who_leads_is_told_along_the_axis_that_is_shown():
    """In iterations alr won, in seconds lr: the sentence spoke of iterations under a picture of seconds."""
    lr, alr = lane("lr", falling(40, 100)), lane("alr", falling(10, 25))
    slow = alr.frame.assign(seconds=lambda frame: 10 * frame["seconds"])
    lanes = [lr, RacerSummary(name="alr", label="alr", frame=slow, n_rows=ROWS, outcome="converged")]
    assert verdict(lanes).winner == "alr"
    told = verdict(lanes, unit="seconds")
    assert (told.winner, told.factor) == ("lr", 2.5)
    assert told.sentence == (
        "lr is 2.5 times faster (seconds). Within 0.1 % of the best NLL: lr 50 seconds, alr 125; "
        "within 1 %: lr 20 seconds, alr 50."
    )
    assert "(passes)" in verdict([lr, alr], unit="passes").sentence
