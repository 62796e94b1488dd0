"""The verdict on a race: a headline from a fixed list and its numbers, as a pure function of the racers' traces.

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
loss below two paired standard errors are ties. A headline that calls a racer faster also says if it ends worse on
test rows than another. The detail has the counts at both milestones and the test losses, names racers whose test log
loss ends more than 2 % above its lowest, and the alphas that racers have chosen for alpha="auto".

With more than two racers the detail does not list the numbers of every racer; the table beside the picture does.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import isnan

import numpy as np

from alrviz.errors import capitalize, join_words
from alrviz.fitting.families import FAMILIES
from alrviz.fitting.recipe import Recipe
from alrviz.studies.race.milestones import UNITS, Milestones, RacerSummary, by_objective, falls_to_zero, milestones
from alrviz.studies.race.race_summary import (
    MAX_DETAILED,
    MIN_FACTOR,
    alpha_sentences,
    best_on_test_rows,
    heldout_words,
    leading_verdict,
    objective_text,
    paired_heldout,
    standing,
)
from alrviz.studies.statistics.verdict import Verdict, first_headline

_MIN_COUNT = {"iterations": 1.0, "passes": 1.0, "seconds": 1e-3}  # smaller counts are treated as equal
OVERFIT_RATIO = 1.02  # last test log loss over its lowest: a smaller rise is noise
# Labels of the families that only count (the keys of `colours` are a family's labels).
NOTHING_TO_FIT = {
    label
    for family in FAMILIES.values()
    if family.has_steps and "max_iter" not in family.params
    for label in family.colours
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceVerdict(Verdict):
    """A verdict on a race.

    Attributes:
        code: the row of the module's table.
        winner: the racer called faster, if any.
        factor: how many times fewer iterations the winner needs than the slowest; a lower bound where `at_least`.
    """

    code: str
    winner: str | None = None
    factor: float | None = None
    at_least: bool = False


def objective_key(recipe: Recipe) -> Hashable:
    """Return a key that is equal for recipes that minimise the same function over the same cells and rows."""
    return recipe.definition.objective_key(recipe)


def verdict(racers: Sequence[RacerSummary], *, stopped_by: str = "you", unit: str = "iterations") -> RaceVerdict:
    """Return the verdict; racers with nothing to fit (AnJE, naive Bayes) are only compared on test rows.

    stopped_by: who stopped the race, if it was stopped: "you", "the server", "its owner". unit: unit of "faster", a key
    of `UNITS`; use the picture's axis, or sentence and picture might name two winners.
    """
    result = _verdict_on(racers, stopped_by, unit)
    if result.code in ("waiting", "racing"):
        return result
    return replace(result, detail=f"{result.detail}{alpha_sentences(racers)}".strip())


def _verdict_on(racers: Sequence[RacerSummary], stopped_by: str, unit: str) -> RaceVerdict:
    """Return the first verdict of the module's table whose condition holds for the racers; stopped_by, unit: as for
    `verdict`.
    """
    counted_racers = [racer for racer in racers if racer.label in NOTHING_TO_FIT and not racer.empty]
    racers = [racer for racer in racers if racer.label not in NOTHING_TO_FIT]
    outcomes, empty_racers = {racer.outcome for racer in racers}, [racer for racer in racers if racer.empty]
    if not racers or empty_racers:
        failed_racers = [racer for racer in empty_racers if racer.outcome in ("failed", "stopped", "diverged")]
        if failed_racers:
            return _early_end_verdict(failed_racers, stopped_by)
        return RaceVerdict("Press Run to start the race.", code="waiting")
    if None in outcomes:
        leading = leading_verdict(racers)
        return RaceVerdict(leading.headline, leading.detail, code="racing")
    if outcomes & {"diverged", "failed"}:
        return _diverged_verdict(racers)
    if "stopped" in outcomes:
        return _stopped_verdict(racers, stopped_by)
    if len(by_objective(racers)) > 1:
        return _different_verdict(racers)
    if falls_to_zero(racers):
        return _perfect_fit_verdict(racers)
    result = _compare_speed(racers, milestones(racers, unit))
    details = f"{result.detail}{worse_heldout_words(racers)}{_generative_words(racers, counted_racers)}"
    return replace(result, detail=details.strip())


def _generative_words(racers: Sequence[RacerSummary], counted_racers: Sequence[RacerSummary]) -> str:
    """Return the comparison on test rows with the racers that only count; "" without them, or for too many racers."""
    if not counted_racers or len(racers) + len(counted_racers) > MAX_DETAILED:
        return ""
    return f" {heldout_words([*racers, *counted_racers])}" if "heldout_log_loss" in counted_racers[0].frame else ""


def _early_end_verdict(racers: Sequence[RacerSummary], stopped_by: str) -> RaceVerdict:
    racer = racers[0]
    if racer.outcome == "stopped":
        return RaceVerdict(f"Stopped by {stopped_by} before the first iteration.", code="stopped")
    return RaceVerdict(f"{racer.name} failed before the first iteration.", racer.detail, code="diverged")


def _diverged_verdict(racers: Sequence[RacerSummary]) -> RaceVerdict:
    headlines, details = [], []
    for racer in racers:
        if racer.outcome == "diverged":
            headlines.append(f"{racer.name} diverged after {_iterations(racer)}.")
            details.append("Its training loss is no longer a number, and later iterations do not count.")
        elif racer.outcome == "failed":
            headlines.append(f"{racer.name} failed after {_iterations(racer)}.")
            details.append(racer.detail)
    if len(headlines) == 1:
        return RaceVerdict(headlines[0], details[0], code="diverged")
    detail = " ".join(f"{headline} {detail}".rstrip() for headline, detail in zip(headlines, details, strict=True))
    return RaceVerdict(f"{len(headlines)} of {len(racers)} models diverged or failed.", detail, code="diverged")


def _stopped_verdict(racers: Sequence[RacerSummary], stopped_by: str) -> RaceVerdict:
    stopped_text = f"Stopped by {stopped_by} after {max(racer.iterations for racer in racers)} iterations"
    result = standing(racers)
    headline = first_headline(f"{stopped_text}; {result.headline}", f"{stopped_text}.")
    counts_text = ""
    if 1 < len(racers) <= MAX_DETAILED:
        counts_text = _with_unit(f"{racer.name} {racer.iterations}" for racer in racers) + ". "
    return RaceVerdict(headline, f"{counts_text}{result.detail}", code="stopped")


def _different_verdict(racers: Sequence[RacerSummary]) -> RaceVerdict:
    """Return the verdict on models that minimise different functions: the test losses, if there are any."""
    test_text = heldout_words(racers)
    best, tied = best_on_test_rows(racers)
    if best is None:
        headline = "The models minimise different functions, and there are no test rows."
    elif tied:
        headline = "The models minimise different functions; their test losses tie."
    else:
        headline = first_headline(
            f"The models minimise different functions; {best.name} has the lowest test loss.",
            "The models minimise different functions; compare their test losses.",
        )
    return RaceVerdict(headline, f"The curves have no common minimum. {test_text}", code="different")


def _perfect_fit_verdict(racers: Sequence[RacerSummary]) -> RaceVerdict:
    verb = {1: "fits", 2: "Both fit"}.get(len(racers), f"All {len(racers)} fit")
    subject_text = f"{racers[0].name} {verb}" if len(racers) == 1 else verb
    if racers[0].loss == "hinge":  # 0 once the class of every row leads by 1: the weights need not grow without end
        reason = "The training loss falls to 0, where many models are equally good"
    else:
        reason = "No finite optimum exists: the weights grow without end"
    return RaceVerdict(
        f"{subject_text} the training rows perfectly.",
        f"{reason}, and the race only tells how fast. {heldout_words(racers)} Try alpha 0.1.",
        code="perfect",
    )


def _compare_speed(racers: Sequence[RacerSummary], goals: Milestones) -> RaceVerdict:
    """Return the verdict of racers that converged or reached their step limit: who is faster, or nobody."""
    racers_near_best = [racer for racer in racers if racer.best <= goals.goals[-1]]
    if all(racer.outcome == "step limit" for racer in racers_near_best):
        result = standing(racers)
        limit_text = f"{max(racer.iterations for racer in racers)} iterations, the limit, are too few"
        return RaceVerdict(
            first_headline(f"{limit_text}; {result.headline}", f"{limit_text}."),
            f"No model has converged. {result.detail}",
            code="step limit",
        )
    if len(racers) == 1:
        racer = racers[0]
        objective = f"{capitalize(objective_text(racers, racer))}."
        return RaceVerdict(f"{racer.name} converged after {_iterations(racer)}.", objective, code="none")
    tight, loose = (_ranking(racers, goals, goal) for goal in (1, 0))
    if max(tight.factor, loose.factor) < MIN_FACTOR:
        if len(racers) > MAX_DETAILED:
            return RaceVerdict(f"All {len(racers)} models are about equally fast.", code="none")
        names_text = f"{racers[0].name} and {racers[1].name}"
        headline = first_headline(f"{names_text} are about equally fast.", "Both models are about equally fast.")
        return RaceVerdict(headline, _both_milestones(racers, goals, 0), code="none")
    decided_ranks = [rank for rank in (tight, loose) if rank.factor >= MIN_FACTOR]
    if len(decided_ranks) == 2 and tight.first.name != loose.first.name and _each_leads_once(tight, loose, goals):
        loose_text, tight_text = (_short_goal_text(goals, goal) for goal in (0, 1))
        headline = first_headline(
            f"{loose.first.name} is first {loose_text}, but {tight.first.name} {tight_text}.",
            "One model is first far from the lowest training loss, another near it.",
        )
        detail = _both_milestones(racers, goals, 0) if len(racers) <= MAX_DETAILED else ""
        return RaceVerdict(headline, detail, code="crossed")
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
    count_to_goal = goals.count_at(racer.name, goal)
    count_to_goal = racer.last_of(UNITS[goals.unit]) if count_to_goal is None else count_to_goal
    return max(count_to_goal, _MIN_COUNT[goals.unit])


def _ranking(racers: Sequence[RacerSummary], goals: Milestones, goal: int) -> _Ranking:
    """Return which racers are first and last at a goal (0 or 1), by how much, and whether the factor is a lower
    bound.
    """

    def key(racer: RacerSummary) -> tuple[bool, float, str]:
        return goals.count_at(racer.name, goal) is None, _count_to_goal(racer, goals, goal), racer.name

    ranked_lanes = sorted(racers, key=key)
    fastest, slowest = ranked_lanes[0], ranked_lanes[-1]
    racers_without_goal = [racer for racer in ranked_lanes if goals.count_at(racer.name, goal) is None]
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
    racers_at_goal = [racer for racer in racers if goals.count_at(racer.name, goal) is not None]
    racers_without_goal = [racer for racer in racers if goals.count_at(racer.name, goal) is None]
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
    """Return both milestones as a sentence that begins with goal number `goal`."""
    goal_text, other_text = capitalize(goals.goal_texts[goal]), _short_goal_text(goals, 1 - goal)
    return f"{goal_text}: {_counts_text(racers, goals, goal)}; {other_text}: {_counts_text(racers, goals, 1 - goal)}."


def _short_goal_text(goals: Milestones, goal: int) -> str:
    return goals.goal_texts[goal].split(" of ")[0]


def _with_unit(count_texts: Iterable[str], unit: str = "iterations") -> str:
    """Return the texts of counts as a list in words; the first has the unit."""
    first_text, *other_texts = count_texts
    return ", ".join([f"{first_text} {unit}", *other_texts])


def _faster_verdict(racers: Sequence[RacerSummary], goals: Milestones, rank: _Ranking) -> RaceVerdict:
    """Return the verdict that one racer is faster; rank: the ranking that decides."""
    first, last, unit, goal = rank.first, rank.last, goals.unit, rank.goal
    first_text, last_text = (_count_text(_count_to_goal(racer, goals, goal), unit) for racer in (first, last))
    first_unit = {"passes": "pass"}.get(unit, unit.removesuffix("s")) if first_text == "1" else unit
    factor_text = f"{'at least ' if rank.at_least else ''}{_factor_text(rank.factor)} times"
    if len(racers) <= MAX_DETAILED:
        after_text = "not after" if rank.at_least else "after"
        speed_text = (
            f"{first.name} is {_short_goal_text(goals, goal)} after {first_text} {first_unit}, "
            f"{last.name} {after_text} {last_text}"
        )
        detail = _both_milestones(racers, goals, goal)
    else:
        last_text = f"more than {last_text}" if rank.at_least else last_text
        speed_text = f"{first.name} is fastest: {first_text} {first_unit} ({last.name} {last_text})"
        goal_text = capitalize(goals.goal_texts[goal])
        detail = f"{goal_text}; {last.name}, the slowest, needs {factor_text} as many {unit}."
        equally_fast_names = [
            racer.name
            for racer in racers
            if racer is not first
            and goals.count_at(racer.name, goal) is not None
            and _count_to_goal(racer, goals, goal) < MIN_FACTOR * _count_to_goal(first, goals, goal)
        ]
        detail += f" About as fast: {join_words(equally_fast_names)}." if equally_fast_names else ""
    is_worse, losses_text = _winner_heldout_words(racers, first)
    worse_text = f"; {first.name}'s test loss is higher" if is_worse else ""
    headline = first_headline(
        f"{speed_text}{worse_text}.",
        f"{first.name} is {factor_text} faster{worse_text}.",
        f"{first.name} is fastest{worse_text}.",
    )
    return RaceVerdict(
        headline,
        f"{detail}{losses_text}",
        code="faster", winner=first.name, factor=rank.factor, at_least=rank.at_least,
    )  # fmt: skip


def _winner_heldout_words(racers: Sequence[RacerSummary], winner: RacerSummary) -> tuple[bool, str]:
    """Return whether the fastest racer ends worse on test rows than another, and a sentence with both losses or "".

    A difference counts from two paired standard errors on; from 2 % on if the losses of single rows are unknown.
    """
    with_loss = [racer for racer in racers if not isnan(racer.last_of("heldout_log_loss"))]  # `min` may return NaN
    best_lane = min(with_loss, key=lambda racer: racer.last_of("heldout_log_loss"), default=winner)
    winner_loss, best_loss = (racer.last_of("heldout_log_loss") for racer in (winner, best_lane))
    if not winner_loss > best_loss:  # also if it is NaN
        return False, ""
    losses_text = f"{winner.name} {winner_loss:.3f}, {best_lane.name} {best_loss:.3f}"
    gap = paired_heldout(winner, best_lane)
    if gap is not None and gap.tie:
        return False, f" Test log loss: {losses_text}, a tie (standard error {gap.error:.3f})."
    is_worse = gap is not None or winner_loss > OVERFIT_RATIO * best_loss
    return is_worse, f" Test log loss: {losses_text}." if is_worse else ""


def _iterations(racer: RacerSummary) -> str:
    return "1 iteration" if racer.iterations == 1 else f"{racer.iterations} iterations"


def _factor_text(factor: float) -> str:
    return f"{factor:.0f}" if factor >= 10 else f"{factor:.1f}".removesuffix(".0")


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
