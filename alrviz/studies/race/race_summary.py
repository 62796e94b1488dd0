"""Sentences on the state of a race: who leads at the last step, and how test losses compare."""

from collections.abc import Sequence
from math import isfinite

from alrviz.studies.race.milestones import (
    RELATIVE_GOALS,
    Difference,
    RacerSummary,
    by_objective,
    milestones,
    objective_noun,
    paired_difference,
)

UNDECIDED = "Nothing is decided yet."
NEAR = RELATIVE_GOALS[-1]  # relative difference of objectives below which leaders are compared by their milestones
MIN_FACTOR = 1.25  # counts of iterations that differ by a smaller factor are called equal
MAX_DETAILED = 2  # racers whose numbers fit into a sentence; the table under the picture has those of more
MAX_LEVEL_RELATIVE_DIFFERENCE = 1e-9  # of objectives; no picture of the gap shows it, whatever its decades


def leader_text(racers: Sequence[RacerSummary]) -> str:
    """Return which of the racers leads at the last iteration of a running race, and by how much."""
    racers = [racer for racer in racers if not racer.empty and isfinite(racer.last)]
    if racers and any(racer.trials for racer in racers) and not any(racer.iterations for racer in racers):
        return alpha_sentences(racers).strip()  # no racer has left its start
    if not racers:
        return UNDECIDED
    return f"At iteration {max(racer.iterations for racer in racers)}: {standing_text(racers)}{alpha_sentences(racers)}"


def standing_text(racers: Sequence[RacerSummary]) -> str:
    """Return who leads at the racers' last steps and by how much, as the rest of a sentence."""
    if len(racers) == 1:
        return f"{objective_text(racers, racers[0])}."
    if len(by_objective(racers)) > 1:
        return f"different objectives. {heldout_words(racers)}"
    leader, runner_up, *other_racers = sorted(racers, key=lambda racer: racer.last)
    if runner_up.last - leader.last < NEAR * abs(runner_up.last):
        return f"{close_race_text(racers, leader, runner_up)}."
    gap_text = f"{runner_up.last - leader.last:.4f} below {runner_up.name}{', the next' if other_racers else ''}"
    return f"{leader.name} leads, {objective_text(racers, leader)}, {gap_text}."


def alpha_sentences(racers: Sequence[RacerSummary]) -> str:
    """Return the alphas that racers have chosen, and who is still searching, as further sentences; "" for none.

    >>> import pandas as pd
    >>> racer = RacerSummary(name="hlr", label="hlr", frame=pd.DataFrame({"index": [0]}), n_rows=1, trials=9)
    >>> alpha_sentences([racer, racer])
    ' Looking for alpha: hlr (9 trials), hlr (9 trials).'
    """
    chosen_texts = [
        f"{racer.name}{f' (n = {racer.order})' if racer.order else ''} {', '.join(f'{a:.2g}' for a in racer.alphas)}"
        for racer in racers
        if racer.alphas
    ]
    searching_names = [f"{racer.name} ({racer.trials} trial{'s' if racer.trials > 1 else ''})" for racer in racers
                 if racer.trials and not racer.alphas]  # fmt: skip
    each_order_text = ", one for each order" if any(len(racer.alphas) > 1 for racer in racers) else ""
    chosen = f" Alpha chosen by validation folds{each_order_text}: {'; '.join(chosen_texts)}." if chosen_texts else ""
    return chosen + (f" Looking for alpha: {', '.join(searching_names)}." if searching_names else "")


def close_race_text(racers: Sequence[RacerSummary], first: RacerSummary, second: RacerSummary) -> str:
    """Compare two leaders of the racers, within 0.1 % of each other: who is lower, and when each came near the best.

    Their gaps to the optimum may differ by decades, which the picture shows, so they are not called equal.
    """
    if second.last - first.last <= MAX_LEVEL_RELATIVE_DIFFERENCE * abs(second.last):
        return f"{first.name} and {second.name} are level at {objective_text(racers, first)}"
    goal_counts = milestones([first, second])
    iterations_to_goal = [goal_counts.at(racer.name, -1) or 0.0 for racer in (first, second)]
    lower_text = f"{first.name} is lower, {objective_text(racers, first)}, {second.name} within 0.1 % of it"
    if max(iterations_to_goal) < MIN_FACTOR * max(min(iterations_to_goal), 1.0):
        return lower_text
    return f"{lower_text} (since iteration {iterations_to_goal[1]:.0f}; {first.name} since {iterations_to_goal[0]:.0f})"


def objective_text(racers: Sequence[RacerSummary], racer: RacerSummary) -> str:
    """Return a racer's last objective with name and unit; the name is NLL if no racer has a penalty."""
    return f"{objective_noun(racers)} {racer.last:.4f} nats per row"


def heldout_words(racers: Sequence[RacerSummary]) -> str:
    """Return the test log loss of each racer at its last step (of more than two the lowest and the highest), and
    whether the best and the worst are a tie; 0-1 loss if a racer has no probabilities.
    """
    has_hinge = any(racer.loss == "hinge" for racer in racers)
    losses = [(racer.last_of("heldout_error" if has_hinge else "heldout_log_loss"), racer) for racer in racers]
    if any(loss != loss for loss, _ in losses):
        return "There are no test rows to compare them on."
    losses.sort(key=lambda pair: pair[0])
    ends = losses if len(racers) <= MAX_DETAILED else [losses[0], losses[-1]]
    mark_texts = ("", "") if len(racers) <= MAX_DETAILED else (" (lowest)", " (highest)")
    texts = ", ".join(f"{racer.name} {loss:.4f}{note}" for (loss, racer), note in zip(ends, mark_texts, strict=False))
    if has_hinge:
        return f"Test 0-1 loss (the hinge has no log loss): {texts}."
    return f"Test log loss, nats per row: {texts}{_tie_text(losses[0][1], losses[-1][1])}."


def paired_heldout(a: RacerSummary, b: RacerSummary) -> Difference | None:
    """Return the difference of test log loss, a minus b; None if the losses of single rows are unknown."""
    if a is b or a.heldout is None or b.heldout is None or len(a.heldout) != len(b.heldout):
        return None
    return paired_difference(a.heldout, b.heldout)


def _tie_text(best: RacerSummary, worst: RacerSummary) -> str:
    gap = paired_heldout(worst, best)
    if gap is None:
        return ""
    if gap.tie:
        return f" (a tie: the difference {gap.mean:.4f} is below two standard errors of {gap.error:.4f})"
    return f" (difference {gap.mean:.4f}, standard error {gap.error:.4f})"
