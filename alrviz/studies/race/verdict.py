"""The one sentence under a race, from a fixed list, as a pure function of what the racers' traces say.

| code | when (the first that holds) |
|---|---|
| "waiting", "racing" | nothing has been drawn yet; some racer has not ended (race_summary.py: who leads) |
| "diverged" | some racer's objective stopped being a number, or its fit failed |
| "stopped" | some racer was stopped, by whom is the caller's to say |
| "different" | the racers minimise different functions: only a test loss compares them |
| "perfect" | no penalty, and the training rows can be fitted perfectly: F has no minimum above 0 |
| "step limit" | no racer near the lowest objective has converged |
| "none" | at both milestones every pair of racers is within a factor 1.25 |
| "faster" | one racer needs the fewest iterations (the tighter milestone decides) |
| "crossed" | one leads at the first milestone, another at the second, both by 1.25 or more |

An iteration ratio of a and b at a milestone is max(b, 1) / max(a, 1); passes are compared likewise, and seconds from a
millisecond on: what is below is no racer's merit. A racer that never met the milestone counts as "at least" its last
iteration. Differences of test log loss below two paired standard errors are called a tie. A sentence that calls a
racer faster says in the same breath where it ends worse on test rows than another. Where racers are told apart by
speed, a last sentence says whose test log loss ends more than 2 % above its lowest, and since when.

What racers have found for alpha="auto" is a further sentence.

A sentence is short: of more than two racers it names the winner and by how much, and no number of every racer.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import isnan

import numpy as np

from alrviz.fitting.recipe import Recipe
from alrviz.studies.race.milestones import (
    UNITS,
    Difference,
    Milestones,
    RacerSummary,
    by_objective,
    falls_to_zero,
    milestones,
    paired,
)
from alrviz.studies.race.race_summary import APART, NEAR, alpha_words, level_words, near_words, racing_words

NO_DIFFERENCE = APART
_LEAST = {"iterations": 1.0, "passes": 1.0, "seconds": 1e-3}  # what less is not told apart from
RISEN = 1.02  # times its lowest: test log loss has got worse, not just moved
FEW = 2  # racers whose numbers have room in a sentence; those of more are in the table under the picture
NOTHING_TO_FIT = ("anje", "nb")


@dataclass(frozen=True, slots=True)
class RaceVerdict:
    """code: which sentence of the fixed list. sentence: its words. winner: the racer it names as faster, if any.

    factor: how many times fewer iterations the winner needs than the slowest; a lower bound where `at_least`.
    """

    code: str
    sentence: str
    winner: str | None = None
    factor: float | None = None
    at_least: bool = False


def objective_key(recipe: Recipe) -> Hashable:
    """Equal for two recipes that minimise the same function over the same cells on the same rows."""
    return recipe.definition.objective_key(recipe)


def verdict(lanes: Sequence[RacerSummary], *, by: str = "you", unit: str = "iterations") -> RaceVerdict:
    """The sentence for a race; racers with nothing to fit (AnJE, naive Bayes) are only compared on test rows.

    `by` is who stopped it, should it have been stopped: "you", "the server", "its owner". `unit`: what "faster" is
    counted in, a key of `UNITS`; the picture's axis, or sentence and picture could name two winners.
    """
    told = _told(lanes, by, unit)
    return told if told.code in ("waiting", "racing") else replace(told, sentence=told.sentence + alpha_words(lanes))


def _told(lanes: Sequence[RacerSummary], by: str, unit: str) -> RaceVerdict:
    counted = [lane for lane in lanes if lane.label in NOTHING_TO_FIT and not lane.empty]
    lanes = [lane for lane in lanes if lane.label not in NOTHING_TO_FIT]
    if not lanes or any(lane.empty for lane in lanes):
        broken = [lane for lane in lanes if lane.outcome in ("failed", "stopped", "diverged") and lane.empty]
        return _ended_early(broken, by) if broken else RaceVerdict("waiting", "Press Run to start the race.")
    if any(lane.outcome is None for lane in lanes):
        return RaceVerdict("racing", racing_words(lanes))
    if any(lane.outcome in ("diverged", "failed") for lane in lanes):
        return _broken(lanes)
    if any(lane.outcome == "stopped" for lane in lanes):
        if len(lanes) > FEW:
            counts = f"{max(lane.iterations for lane in lanes)} iterations"
        else:
            counts = _with_unit(f"{lane.name} {lane.iterations}" for lane in lanes)
        return RaceVerdict("stopped", f"Stopped by {by} after {counts}{_so_far(lanes)}.")
    if len(by_objective(lanes)) > 1:
        return RaceVerdict(
            "different",
            f"Different objectives: the curves have no common minimum, so compare test losses. {heldout_words(lanes)}",
        )
    if falls_to_zero(lanes):
        return _perfect(lanes)
    told = _raced(lanes, milestones(lanes, unit))
    told_apart = counted and len(lanes) + len(counted) <= FEW and "heldout_log_loss" in counted[0].frame
    beside = f" {heldout_words([*lanes, *counted])}" if told_apart else ""
    return replace(told, sentence=told.sentence + worse_heldout_words(lanes) + beside)


def _ended_early(lanes: Sequence[RacerSummary], by: str) -> RaceVerdict:
    lane = lanes[0]
    if lane.outcome == "stopped":
        return RaceVerdict("stopped", f"Stopped by {by} before the first step.")
    return RaceVerdict("diverged", f"{lane.name} failed before the first step. {lane.detail}".rstrip())


def _broken(lanes: Sequence[RacerSummary]) -> RaceVerdict:
    parts = []
    for lane in lanes:
        if lane.outcome == "diverged":
            parts.append(
                f"{lane.name} diverged after {_iterations(lane)}: its objective is no longer a number, and "
                "nothing after that counts."
            )
        elif lane.outcome == "failed":
            parts.append(f"{lane.name} failed after {_iterations(lane)}. {lane.detail}".rstrip())
    return RaceVerdict("diverged", " ".join(parts))


def _so_far(lanes: Sequence[RacerSummary]) -> str:
    """Who is lower so far, as the end of a sentence; empty where it cannot be said."""
    if len(lanes) < 2:
        return f"; {level_words(lanes, lanes[0])} so far"
    if len(by_objective(lanes)) > 1:
        return "; the objectives differ, so compare test losses"
    order = sorted(lanes, key=lambda lane: lane.last)
    low, high = order[0], order[-1]
    if high.last - low.last < NEAR * abs(high.last):
        return f"; {near_words(lanes, low, high)}"
    others = f"{order[1].name} {order[1].last:.4f}{', the next' if len(lanes) > FEW else ''}"
    return f"; {low.name} is lower so far ({level_words(lanes, low)} against {others})"


def _perfect(lanes: Sequence[RacerSummary]) -> RaceVerdict:
    many = {1: "fits", 2: "Both fit"}.get(len(lanes), f"All {len(lanes)} fit")
    who = f"{lanes[0].name} {many}" if len(lanes) == 1 else many
    if lanes[0].loss == "hinge":  # 0 as soon as every row's own class leads by 1: the weights need not grow for ever
        why = "F falls to 0, where many models are equally good"
    else:
        why = "no finite optimum exists, the weights grow without end"
    return RaceVerdict(
        "perfect",
        f"{who} the training rows perfectly: {why}, and the race only tells how fast. {heldout_words(lanes)} "
        "Try alpha 0.1.",
    )


def _raced(lanes: Sequence[RacerSummary], marks: Milestones) -> RaceVerdict:
    near = [lane for lane in lanes if lane.best <= marks.goals[-1]]
    if all(lane.outcome == "step limit" for lane in near):
        return RaceVerdict("step limit", f"Step limit: no racer has converged{_so_far(lanes)}.")
    if len(lanes) == 1:
        lane = lanes[0]
        return RaceVerdict("none", f"{lane.name} converged after {_iterations(lane)} at {level_words(lanes, lane)}.")
    tight, loose = (_ranking(lanes, marks, goal) for goal in (1, 0))
    if max(tight.factor, loose.factor) < NO_DIFFERENCE:
        if len(lanes) > FEW:
            alike = f"all {len(lanes)} racers come near the best about as soon"
            return RaceVerdict("none", f"No difference in speed: {alike}.")
        return RaceVerdict("none", f"No difference in speed. {_both(lanes, marks, 0)}")
    decided = [rank for rank in (tight, loose) if rank.factor >= NO_DIFFERENCE]
    if len(decided) == 2 and tight.first.name != loose.first.name and _opposed(tight, loose, marks):
        at = ["" if len(lanes) > FEW else f" ({_counts(lanes, marks, goal)})" for goal in (0, 1)]
        who = f"{loose.first.name} is first {marks.words[0]}{at[0]}, {tight.first.name} {_short(marks, 1)}{at[1]}"
        return RaceVerdict("crossed", f"{'Each leads' if len(lanes) <= FEW else 'Two lead'} once: {who}.")
    rank = decided[0]
    return _faster(lanes, marks, rank)


@dataclass(frozen=True, slots=True)
class _Ranking:
    goal: int
    first: RacerSummary
    last: RacerSummary
    factor: float
    at_least: bool


def _count(lane: RacerSummary, marks: Milestones, goal: int) -> float:
    met = marks.at(lane.name, goal)
    spent = lane.last_of(UNITS[marks.unit]) if met is None else met
    return max(spent, _LEAST[marks.unit])


def _ranking(lanes: Sequence[RacerSummary], marks: Milestones, goal: int) -> _Ranking:
    def key(lane: RacerSummary) -> tuple[bool, float, str]:
        return marks.at(lane.name, goal) is None, _count(lane, marks, goal), lane.name

    order = sorted(lanes, key=key)
    first, last = order[0], order[-1]
    missed = [lane for lane in order if marks.at(lane.name, goal) is None]
    factor = _count(last, marks, goal) / _count(first, marks, goal)
    # Whoever never came near is slower by more than its own iterations say, even when it gave up sooner.
    return _Ranking(goal, first, last, max(factor, NO_DIFFERENCE) if missed else factor, bool(missed))


def _opposed(tight: _Ranking, loose: _Ranking, marks: Milestones) -> bool:
    """Whether the leader of one milestone is clearly behind at the other, and the reverse."""
    pairs = ((tight.first, loose.first, 1), (loose.first, tight.first, 0))
    return all(_count(b, marks, goal) >= NO_DIFFERENCE * _count(a, marks, goal) for a, b, goal in pairs)


def _counts(lanes: Sequence[RacerSummary], marks: Milestones, goal: int) -> str:
    """Who met a milestone when: "alr 20 iterations, lr 52, gd not after 100"."""
    met = [lane for lane in lanes if marks.at(lane.name, goal) is not None]
    missed = [lane for lane in lanes if marks.at(lane.name, goal) is None]
    met.sort(key=lambda lane: (_count(lane, marks, goal), lane.name))
    words = [f"{lane.name} {_amount(_count(lane, marks, goal), marks.unit)}" for lane in met]
    late = [f"{lane.name} not after {_amount(_count(lane, marks, goal), marks.unit)}" for lane in missed]
    return _with_unit([*words, *late], marks.unit)


def _amount(count: float, unit: str) -> str:
    return f"{count:.0f}" if unit == "iterations" else f"{count:.3g}"


def _both(lanes: Sequence[RacerSummary], marks: Milestones, goal: int) -> str:
    """Both milestones as a sentence, beginning with number `goal`."""
    first, second = marks.words[goal], _short(marks, 1 - goal)
    first = first[:1].upper() + first[1:]
    return f"{first}: {_counts(lanes, marks, goal)}; {second}: {_counts(lanes, marks, 1 - goal)}."


def _short(marks: Milestones, goal: int) -> str:
    return marks.words[goal].split(" of ")[0]


def _with_unit(counts: Iterable[str], unit: str = "iterations") -> str:
    """A list of counts; the first says the unit."""
    first, *others = counts
    return ", ".join([f"{first} {unit}", *others])


def _faster(lanes: Sequence[RacerSummary], marks: Milestones, rank: _Ranking) -> RaceVerdict:
    bound = "at least " if rank.at_least else ""
    rivals = "" if len(lanes) <= FEW else f" than {rank.last.name}, the slowest"
    equals = [
        lane.name
        for lane in lanes
        if lane is not rank.first
        and marks.at(lane.name, rank.goal) is not None
        and _count(lane, marks, rank.goal) < NO_DIFFERENCE * _count(rank.first, marks, rank.goal)
    ]
    level = f" ({_list(equals)} about as fast)" if equals else ""
    counts = "" if len(lanes) > FEW else f" {_both(lanes, marks, rank.goal)}"
    speed = f"{rank.first.name} is {bound}{_times(rank.factor)} times faster ({marks.unit}){rivals}{level}"
    return RaceVerdict(
        "faster",
        f"{speed}{_winner_heldout_words(lanes, rank.first)}.{counts}",
        rank.first.name,
        rank.factor,
        rank.at_least,
    )


def _winner_heldout_words(lanes: Sequence[RacerSummary], winner: RacerSummary) -> str:
    """Where the fastest racer ends worse on test rows than another, as the end of its sentence; else "".

    A difference counts from two paired standard errors on; where the losses of single rows are unknown, from 2 % on.
    """
    known = [lane for lane in lanes if not isnan(lane.last_of("heldout_log_loss"))]  # `min` may return NaN
    lowest = min(known, key=lambda lane: lane.last_of("heldout_log_loss"), default=winner)
    own, other = (lane.last_of("heldout_log_loss") for lane in (winner, lowest))
    if not own > other:  # also where its own is not known
        return ""
    losses = f"log loss {own:.3f} against {other:.3f} of {lowest.name}"
    gap = _paired_heldout(winner, lowest)
    if gap is not None and gap.tie:
        return f"; on test rows they end in a tie ({losses}, standard error {gap.error:.3f})"
    worse = own > RISEN * other if gap is None else True
    return f", but ends worse on test rows ({losses})" if worse else ""


def _iterations(lane: RacerSummary) -> str:
    return "1 iteration" if lane.iterations == 1 else f"{lane.iterations} iterations"


def _times(factor: float) -> str:
    return f"{factor:.0f}" if factor >= 10 else f"{factor:.1f}".removesuffix(".0")


def _list(words: Iterable[str]) -> str:
    parts = list(words)
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def heldout_words(lanes: Sequence[RacerSummary]) -> str:
    """Test log loss of every racer at its last step (of many the lowest and the highest), and whether the best and
    the worst are a tie.

    0-1 loss where a racer's loss gives no probabilities.
    """
    hinged = any(lane.loss == "hinge" for lane in lanes)
    losses = [(lane.last_of("heldout_error" if hinged else "heldout_log_loss"), lane) for lane in lanes]
    if any(loss != loss for loss, _ in losses):
        return "There are no test rows to compare them on."
    losses.sort(key=lambda pair: pair[0])
    ends = losses if len(lanes) <= FEW else [losses[0], losses[-1]]
    marks = ("", "") if len(lanes) <= FEW else (" (lowest)", " (highest)")
    words = ", ".join(f"{lane.name} {loss:.4f}{mark}" for (loss, lane), mark in zip(ends, marks, strict=False))
    if hinged:
        return f"Test 0-1 loss (the hinge has no log loss): {words}."
    return f"Test log loss, nats per row: {words}{_tie(losses[0][1], losses[-1][1])}."


def worse_heldout_words(lanes: Sequence[RacerSummary]) -> str:
    """Whose test log loss has risen again while the race went on, as a further sentence; "" for nobody's."""
    risen = []
    for lane in lanes:
        losses = lane.of("heldout_log_loss") if "heldout_log_loss" in lane.frame else np.array([])
        if np.isfinite(losses[-1:]).any() and losses[-1] > RISEN * np.nanmin(losses):
            lowest = int(np.nanargmin(losses))
            risen.append((lane.name, int(lane.of("index")[lowest]), losses[lowest], losses[-1]))
    if not risen:
        return ""
    if len(lanes) > FEW:
        first = min(risen, key=lambda one: one[1])
        who = f"all {len(lanes)}" if len(risen) == len(lanes) else f"{len(risen)} of {len(lanes)}"
        return f" Overfitting: the test loss of {who} rises, that of {first[0]} after iteration {first[1]}."
    who = "both" if len(risen) == FEW else risen[0][0]
    steps = " and ".join(dict.fromkeys(str(step) for _, step, _, _ in risen))
    called = [f"{name} " if len(risen) == FEW else "" for name, *_ in risen]
    ends = ", ".join(f"{name}{low:.3f} to {last:.3f}" for name, (_, _, low, last) in zip(called, risen, strict=True))
    return f" Overfitting: the test loss of {who} rises after iteration {steps} ({ends})."


def _paired_heldout(a: RacerSummary, b: RacerSummary) -> Difference | None:
    """The difference of test log loss, a minus b; None where the losses of single rows are not known."""
    if a is b or a.heldout is None or b.heldout is None or len(a.heldout) != len(b.heldout):
        return None
    return paired(a.heldout, b.heldout)


def _tie(best: RacerSummary, worst: RacerSummary) -> str:
    gap = _paired_heldout(worst, best)
    if gap is None:
        return ""
    if gap.tie:
        return f" (a tie: the difference {gap.mean:.4f} is below two standard errors of {gap.error:.4f})"
    return f" (difference {gap.mean:.4f}, standard error {gap.error:.4f})"
