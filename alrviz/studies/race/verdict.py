"""The verdict on a race: one sentence from a fixed list, as a pure function of the racers' traces.

| code | condition (the first that holds) |
|---|---|
| "waiting", "racing" | nothing has been drawn yet; some racer has not ended (race_summary.py: who leads) |
| "diverged" | some racer's objective became NaN or infinite, or its fit failed |
| "stopped" | some racer was stopped (the caller says by whom) |
| "different" | the racers minimise different functions: only test losses can be compared |
| "perfect" | no penalty, and the training rows can be fitted perfectly: F has no minimum above 0 |
| "step limit" | no racer near the lowest objective has converged |
| "none" | at both milestones every pair of racers is within a factor 1.25 |
| "faster" | one racer needs the fewest iterations (the tighter milestone decides) |
| "crossed" | one leads at the first milestone, another at the second, both by 1.25 or more |

The iteration ratio of a and b at a milestone is max(b, 1) / max(a, 1); passes are compared likewise, seconds from one
millisecond on. A racer that never reached a milestone counts as "at least" its last iteration. Differences of test log
loss below two paired standard errors are ties. A sentence that calls a racer faster also says if it ends worse on
test rows than another. A further sentence names racers whose test log loss ends more than 2 % above its lowest, and one
the alphas that racers have chosen for alpha="auto".

With more than two racers a sentence names the winner and its factor, not the numbers of every racer.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import isnan

import numpy as np

from alrviz.fitting.recipe import Recipe
from alrviz.studies.race.milestones import UNITS, Milestones, RacerSummary, by_objective, falls_to_zero, milestones
from alrviz.studies.race.race_summary import (
    MAX_DETAILED,
    MIN_FACTOR,
    alpha_sentences,
    heldout_words,
    leader_text,
    objective_text,
    paired_heldout,
    standing_text,
)

_MIN_COUNT = {"iterations": 1.0, "passes": 1.0, "seconds": 1e-3}  # smaller counts are treated as equal
OVERFIT_RATIO = 1.02  # last test log loss over its lowest: a smaller rise is noise
NOTHING_TO_FIT = ("anje", "nb")


@dataclass(frozen=True, slots=True)
class RaceVerdict:
    """The verdict on a race.

    Attributes:
        code: the row of the module's table.
        sentence: the verdict in words.
        winner: the racer called faster, if any.
        factor: how many times fewer iterations the winner needs than the slowest; a lower bound where `at_least`.
    """

    code: str
    sentence: str
    winner: str | None = None
    factor: float | None = None
    at_least: bool = False


def objective_key(recipe: Recipe) -> Hashable:
    """Return a key that is equal for recipes that minimise the same function over the same cells and rows."""
    return recipe.definition.objective_key(recipe)


def verdict(racers: Sequence[RacerSummary], *, by: str = "you", unit: str = "iterations") -> RaceVerdict:
    """Return the verdict; racers with nothing to fit (AnJE, naive Bayes) are only compared on test rows.

    by: who stopped the race, if it was stopped: "you", "the server", "its owner". unit: unit of "faster", a key of
    `UNITS`; use the picture's axis, or sentence and picture might name two winners.
    """
    result = _verdict_on(racers, by, unit)
    has_alphas = result.code not in ("waiting", "racing")
    return replace(result, sentence=result.sentence + alpha_sentences(racers)) if has_alphas else result


def _verdict_on(racers: Sequence[RacerSummary], by: str, unit: str) -> RaceVerdict:
    """Return the first verdict of the module's table whose condition holds for the racers; by, unit: as for
    `verdict`.
    """
    counted_racers = [racer for racer in racers if racer.label in NOTHING_TO_FIT and not racer.empty]
    racers = [racer for racer in racers if racer.label not in NOTHING_TO_FIT]
    if not racers or any(racer.empty for racer in racers):
        failures = ("failed", "stopped", "diverged")
        failed_racers = [racer for racer in racers if racer.outcome in failures and racer.empty]
        return (
            _early_end_verdict(failed_racers, by)
            if failed_racers
            else RaceVerdict("waiting", "Press Run to start the race.")
        )
    if any(racer.outcome is None for racer in racers):
        return RaceVerdict("racing", leader_text(racers))
    if any(racer.outcome in ("diverged", "failed") for racer in racers):
        return _diverged_verdict(racers)
    if any(racer.outcome == "stopped" for racer in racers):
        if len(racers) > MAX_DETAILED:
            counts_text = f"{max(racer.iterations for racer in racers)} iterations"
        else:
            counts_text = _with_unit(f"{racer.name} {racer.iterations}" for racer in racers)
        return RaceVerdict("stopped", f"Stopped by {by} after {counts_text}; {standing_text(racers)}")
    if len(by_objective(racers)) > 1:
        return RaceVerdict(
            "different",
            f"Different objectives: the curves have no common minimum, so compare test losses. {heldout_words(racers)}",
        )
    if falls_to_zero(racers):
        return _perfect_fit_verdict(racers)
    result = _compare_speed(racers, milestones(racers, unit))
    has_room = (
        counted_racers
        and len(racers) + len(counted_racers) <= MAX_DETAILED
        and "heldout_log_loss" in counted_racers[0].frame
    )
    comparison = f" {heldout_words([*racers, *counted_racers])}" if has_room else ""
    return replace(result, sentence=result.sentence + worse_heldout_words(racers) + comparison)


def _early_end_verdict(racers: Sequence[RacerSummary], by: str) -> RaceVerdict:
    racer = racers[0]
    if racer.outcome == "stopped":
        return RaceVerdict("stopped", f"Stopped by {by} before the first step.")
    return RaceVerdict("diverged", f"{racer.name} failed before the first step. {racer.detail}".rstrip())


def _diverged_verdict(racers: Sequence[RacerSummary]) -> RaceVerdict:
    sentences = []
    for racer in racers:
        if racer.outcome == "diverged":
            sentences.append(
                f"{racer.name} diverged after {_iterations(racer)}: its objective is no longer a number, and "
                "later steps do not count."
            )
        elif racer.outcome == "failed":
            sentences.append(f"{racer.name} failed after {_iterations(racer)}. {racer.detail}".rstrip())
    return RaceVerdict("diverged", " ".join(sentences))


def _perfect_fit_verdict(racers: Sequence[RacerSummary]) -> RaceVerdict:
    verb = {1: "fits", 2: "Both fit"}.get(len(racers), f"All {len(racers)} fit")
    subject_text = f"{racers[0].name} {verb}" if len(racers) == 1 else verb
    if racers[0].loss == "hinge":  # 0 once the class of every row leads by 1: the weights need not grow without end
        reason = "F falls to 0, where many models are equally good"
    else:
        reason = "no finite optimum exists, the weights grow without end"
    return RaceVerdict(
        "perfect",
        f"{subject_text} the training rows perfectly: {reason}, and the race only tells how fast. "
        f"{heldout_words(racers)} "
        "Try alpha 0.1.",
    )


def _compare_speed(racers: Sequence[RacerSummary], goals: Milestones) -> RaceVerdict:
    """Return the verdict of racers that converged or reached their step limit: who is faster, or nobody."""
    racers_near_best = [racer for racer in racers if racer.best <= goals.goals[-1]]
    if all(racer.outcome == "step limit" for racer in racers_near_best):
        return RaceVerdict("step limit", f"Step limit: no racer has converged; {standing_text(racers)}")
    if len(racers) == 1:
        racer = racers[0]
        end_text = f"{_iterations(racer)} at {objective_text(racers, racer)}"
        return RaceVerdict("none", f"{racer.name} converged after {end_text}.")
    tight, loose = (_ranking(racers, goals, goal) for goal in (1, 0))
    if max(tight.factor, loose.factor) < MIN_FACTOR:
        if len(racers) > MAX_DETAILED:
            result_text = f"all {len(racers)} racers come near the best about as soon"
            return RaceVerdict("none", f"No difference in speed: {result_text}.")
        return RaceVerdict("none", f"No difference in speed. {_both_milestones(racers, goals, 0)}")
    decided_ranks = [rank for rank in (tight, loose) if rank.factor >= MIN_FACTOR]
    if len(decided_ranks) == 2 and tight.first.name != loose.first.name and _each_leads_once(tight, loose, goals):
        counts_texts = [
            "" if len(racers) > MAX_DETAILED else f" ({_counts_text(racers, goals, goal)})" for goal in (0, 1)
        ]
        leads_text = f"{loose.first.name} is first {goals.goal_texts[0]}{counts_texts[0]}"
        leads_text += f", {tight.first.name} {_short_goal_text(goals, 1)}{counts_texts[1]}"
        return RaceVerdict(
            "crossed", f"{'Each leads' if len(racers) <= MAX_DETAILED else 'Two lead'} once: {leads_text}."
        )
    return _faster_verdict(racers, goals, decided_ranks[0])


@dataclass(frozen=True, slots=True)
class _Ranking:
    goal: int
    first: RacerSummary
    last: RacerSummary
    factor: float
    at_least: bool


def _count_to_goal(racer: RacerSummary, goals: Milestones, goal: int) -> float:
    """Return when a racer reached a goal, in the milestones' unit; its last count if it did not."""
    count_to_goal = goals.at(racer.name, goal)
    count_to_goal = racer.last_of(UNITS[goals.unit]) if count_to_goal is None else count_to_goal
    return max(count_to_goal, _MIN_COUNT[goals.unit])


def _ranking(racers: Sequence[RacerSummary], goals: Milestones, goal: int) -> _Ranking:
    """Return which racers are first and last at a goal (0 or 1), by how much, and whether the factor is a lower
    bound.
    """

    def key(racer: RacerSummary) -> tuple[bool, float, str]:
        return goals.at(racer.name, goal) is None, _count_to_goal(racer, goals, goal), racer.name

    ranked_lanes = sorted(racers, key=key)
    fastest, slowest = ranked_lanes[0], ranked_lanes[-1]
    racers_without_goal = [racer for racer in ranked_lanes if goals.at(racer.name, goal) is None]
    factor = _count_to_goal(slowest, goals, goal) / _count_to_goal(fastest, goals, goal)
    # A racer that never came near is slower than its own count says, even if it stopped early.
    return _Ranking(
        goal, fastest, slowest, max(factor, MIN_FACTOR) if racers_without_goal else factor, bool(racers_without_goal)
    )


def _each_leads_once(tight: _Ranking, loose: _Ranking, goals: Milestones) -> bool:
    """Return whether the leader of each milestone is clearly behind at the other; tight, loose: their rankings."""
    pairs = ((tight.first, loose.first, 1), (loose.first, tight.first, 0))
    return all(
        _count_to_goal(follower, goals, goal) >= MIN_FACTOR * _count_to_goal(leader, goals, goal)
        for leader, follower, goal in pairs
    )


def _counts_text(racers: Sequence[RacerSummary], goals: Milestones, goal: int) -> str:
    """Return which racers reached a goal (0 or 1) when: "alr 20 iterations, lr 52, gd not after 100"."""
    racers_at_goal = [racer for racer in racers if goals.at(racer.name, goal) is not None]
    racers_without_goal = [racer for racer in racers if goals.at(racer.name, goal) is None]
    racers_at_goal.sort(key=lambda racer: (_count_to_goal(racer, goals, goal), racer.name))
    count_texts = [
        f"{racer.name} {_count_text(_count_to_goal(racer, goals, goal), goals.unit)}" for racer in racers_at_goal
    ]
    count_texts += [
        f"{racer.name} not after {_count_text(_count_to_goal(racer, goals, goal), goals.unit)}"
        for racer in racers_without_goal
    ]
    return _with_unit(count_texts, goals.unit)


def _count_text(count: float, unit: str) -> str:
    return f"{count:.0f}" if unit == "iterations" else f"{count:.3g}"


def _both_milestones(racers: Sequence[RacerSummary], goals: Milestones, goal: int) -> str:
    """Return when the racers reached both milestones, as a sentence that begins with goal number `goal`."""
    goal_text, other_text = goals.goal_texts[goal], _short_goal_text(goals, 1 - goal)
    goal_text = goal_text[:1].upper() + goal_text[1:]
    return f"{goal_text}: {_counts_text(racers, goals, goal)}; {other_text}: {_counts_text(racers, goals, 1 - goal)}."


def _short_goal_text(goals: Milestones, goal: int) -> str:
    return goals.goal_texts[goal].split(" of ")[0]


def _with_unit(count_texts: Iterable[str], unit: str = "iterations") -> str:
    """Return the texts of counts as a list in words; the first has the unit."""
    first_text, *other_texts = count_texts
    return ", ".join([f"{first_text} {unit}", *other_texts])


def _faster_verdict(racers: Sequence[RacerSummary], goals: Milestones, rank: _Ranking) -> RaceVerdict:
    """Return the verdict that one racer is faster; rank: the ranking that decides."""
    bound_text = "at least " if rank.at_least else ""
    rivals_text = "" if len(racers) <= MAX_DETAILED else f" than {rank.last.name}, the slowest"
    equally_fast_names = [
        racer.name
        for racer in racers
        if racer is not rank.first
        and goals.at(racer.name, rank.goal) is not None
        and _count_to_goal(racer, goals, rank.goal) < MIN_FACTOR * _count_to_goal(rank.first, goals, rank.goal)
    ]
    equal_text = f" ({_join_names(equally_fast_names)} about as fast)" if equally_fast_names else ""
    counts_text = "" if len(racers) > MAX_DETAILED else f" {_both_milestones(racers, goals, rank.goal)}"
    factor_text = f"{bound_text}{_factor_text(rank.factor)} times faster"
    speed_text = f"{rank.first.name} is {factor_text} ({goals.unit}){rivals_text}{equal_text}"
    return RaceVerdict(
        "faster",
        f"{speed_text}{_winner_heldout_words(racers, rank.first)}.{counts_text}",
        rank.first.name,
        rank.factor,
        rank.at_least,
    )


def _winner_heldout_words(racers: Sequence[RacerSummary], winner: RacerSummary) -> str:
    """Return that the fastest racer ends worse on test rows than another, as the end of its sentence; else "".

    A difference counts from two paired standard errors on; from 2 % on if the losses of single rows are unknown.
    """
    with_loss = [racer for racer in racers if not isnan(racer.last_of("heldout_log_loss"))]  # `min` may return NaN
    best_lane = min(with_loss, key=lambda racer: racer.last_of("heldout_log_loss"), default=winner)
    winner_loss, best_loss = (racer.last_of("heldout_log_loss") for racer in (winner, best_lane))
    if not winner_loss > best_loss:  # also if it is NaN
        return ""
    losses_text = f"log loss {winner_loss:.3f} against {best_loss:.3f} of {best_lane.name}"
    gap = paired_heldout(winner, best_lane)
    if gap is not None and gap.tie:
        return f"; on test rows they end in a tie ({losses_text}, standard error {gap.error:.3f})"
    is_worse = gap is not None or winner_loss > OVERFIT_RATIO * best_loss
    return f", but ends worse on test rows ({losses_text})" if is_worse else ""


def _iterations(racer: RacerSummary) -> str:
    return "1 iteration" if racer.iterations == 1 else f"{racer.iterations} iterations"


def _factor_text(factor: float) -> str:
    return f"{factor:.0f}" if factor >= 10 else f"{factor:.1f}".removesuffix(".0")


def _join_names(names: Iterable[str]) -> str:
    name_list = list(names)
    return name_list[0] if len(name_list) == 1 else f"{', '.join(name_list[:-1])} and {name_list[-1]}"


def worse_heldout_words(racers: Sequence[RacerSummary]) -> str:
    """Return which racers' test log loss has risen again during the race, as a further sentence; "" if nobody's."""
    risen = []
    for racer in racers:
        losses = racer.values_of("heldout_log_loss") if "heldout_log_loss" in racer.frame else np.array([])
        if np.isfinite(losses[-1:]).any() and losses[-1] > OVERFIT_RATIO * np.nanmin(losses):
            lowest_index = int(np.nanargmin(losses))
            risen.append((racer.name, int(racer.values_of("index")[lowest_index]), losses[lowest_index], losses[-1]))
    if not risen:
        return ""
    if len(racers) > MAX_DETAILED:
        first = min(risen, key=lambda entry: entry[1])
        racers_text = f"all {len(racers)}" if len(risen) == len(racers) else f"{len(risen)} of {len(racers)}"
        return f" Overfitting: the test loss of {racers_text} rises, that of {first[0]} after iteration {first[1]}."
    racers_text = "both" if len(risen) == MAX_DETAILED else risen[0][0]
    steps_text = " and ".join(dict.fromkeys(str(step) for _, step, _, _ in risen))
    name_prefixes = [f"{name} " if len(risen) == MAX_DETAILED else "" for name, *_ in risen]
    losses_text = ", ".join(
        f"{name}{low:.3f} to {last_loss:.3f}" for name, (_, _, low, last_loss) in zip(name_prefixes, risen, strict=True)
    )
    return f" Overfitting: the test loss of {racers_text} rises after iteration {steps_text} ({losses_text})."
