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
    paired,
)

UNDECIDED = "Nothing is decided yet."
NEAR = RELATIVE_GOALS[-1]  # relative difference of objectives below which leaders are compared by their milestones
MIN_FACTOR = 1.25  # counts of iterations that differ by a smaller factor are called equal
MAX_DETAILED = 2  # racers whose numbers fit into a sentence; the table under the picture has those of more
MAX_LEVEL_RELATIVE_DIFFERENCE = 1e-9  # of objectives; no picture of the gap shows it, whatever its decades


def leader_text(lanes: Sequence[RacerSummary]) -> str:
    """Return who leads at the last iteration of a running race, and by how much."""
    lanes = [lane for lane in lanes if not lane.empty and isfinite(lane.last)]
    if lanes and any(lane.trials for lane in lanes) and not any(lane.iterations for lane in lanes):
        return alpha_sentences(lanes).strip()  # no racer has left its start
    if not lanes:
        return UNDECIDED
    return f"At iteration {max(lane.iterations for lane in lanes)}: {standing_text(lanes)}{alpha_sentences(lanes)}"


def standing_text(lanes: Sequence[RacerSummary]) -> str:
    """Return who leads at the racers' last steps and by how much, as the rest of a sentence."""
    if len(lanes) == 1:
        return f"{objective_text(lanes, lanes[0])}."
    if len(by_objective(lanes)) > 1:
        return f"different objectives. {heldout_words(lanes)}"
    leader, runner_up, *other_lanes = sorted(lanes, key=lambda lane: lane.last)
    if runner_up.last - leader.last < NEAR * abs(runner_up.last):
        return f"{close_race_text(lanes, leader, runner_up)}."
    gap_text = f"{runner_up.last - leader.last:.4f} below {runner_up.name}{', the next' if other_lanes else ''}"
    return f"{leader.name} leads, {objective_text(lanes, leader)}, {gap_text}."


def alpha_sentences(lanes: Sequence[RacerSummary]) -> str:
    """Return the alphas that racers have chosen, and who is still searching, as further sentences; "" for none.

    >>> import pandas as pd
    >>> lane = RacerSummary(name="hlr", label="hlr", frame=pd.DataFrame({"index": [0]}), n_rows=1, trials=9)
    >>> alpha_sentences([lane, lane])
    ' Looking for alpha: hlr (9 trials), hlr (9 trials).'
    """
    chosen_texts = [
        f"{lane.name}{f' (n = {lane.order})' if lane.order else ''} {', '.join(f'{a:.2g}' for a in lane.alphas)}"
        for lane in lanes
        if lane.alphas
    ]
    searching_names = [f"{lane.name} ({lane.trials} trial{'s' if lane.trials > 1 else ''})" for lane in lanes
                 if lane.trials and not lane.alphas]  # fmt: skip
    each_order_text = ", one for each order" if any(len(lane.alphas) > 1 for lane in lanes) else ""
    chosen = f" Alpha chosen by validation folds{each_order_text}: {'; '.join(chosen_texts)}." if chosen_texts else ""
    return chosen + (f" Looking for alpha: {', '.join(searching_names)}." if searching_names else "")


def close_race_text(lanes: Sequence[RacerSummary], first: RacerSummary, second: RacerSummary) -> str:
    """Compare two leaders within 0.1 % of each other: who is lower, and after how many steps each came near the best.

    Their gaps to the optimum may differ by decades, which the picture shows, so they are not called equal.
    """
    if second.last - first.last <= MAX_LEVEL_RELATIVE_DIFFERENCE * abs(second.last):
        return f"{first.name} and {second.name} are level at {objective_text(lanes, first)}"
    goal_counts = milestones([first, second])
    iterations_to_goal = [goal_counts.at(lane.name, -1) or 0.0 for lane in (first, second)]
    lower_text = f"{first.name} is lower, {objective_text(lanes, first)}, {second.name} within 0.1 % of it"
    if max(iterations_to_goal) < MIN_FACTOR * max(min(iterations_to_goal), 1.0):
        return lower_text
    return f"{lower_text} (since iteration {iterations_to_goal[1]:.0f}; {first.name} since {iterations_to_goal[0]:.0f})"


def objective_text(lanes: Sequence[RacerSummary], lane: RacerSummary) -> str:
    """Return a lane's last objective with name and unit; the name is NLL if no lane has a penalty."""
    return f"{objective_noun(lanes)} {lane.last:.4f} nats per row"


def heldout_words(lanes: Sequence[RacerSummary]) -> str:
    """Return the test log loss of each racer at its last step (of more than two the lowest and the highest), and
    whether the best and the worst are a tie; 0-1 loss if a racer has no probabilities.
    """
    has_hinge = any(lane.loss == "hinge" for lane in lanes)
    losses = [(lane.last_of("heldout_error" if has_hinge else "heldout_log_loss"), lane) for lane in lanes]
    if any(loss != loss for loss, _ in losses):
        return "There are no test rows to compare them on."
    losses.sort(key=lambda pair: pair[0])
    shown_losses = losses if len(lanes) <= MAX_DETAILED else [losses[0], losses[-1]]
    notes = ("", "") if len(lanes) <= MAX_DETAILED else (" (lowest)", " (highest)")
    texts = ", ".join(f"{lane.name} {loss:.4f}{note}" for (loss, lane), note in zip(shown_losses, notes, strict=False))
    if has_hinge:
        return f"Test 0-1 loss (the hinge has no log loss): {texts}."
    return f"Test log loss, nats per row: {texts}{_tie_text(losses[0][1], losses[-1][1])}."


def paired_heldout(a: RacerSummary, b: RacerSummary) -> Difference | None:
    """Return the difference of test log loss, a minus b; None if the losses of single rows are unknown."""
    if a is b or a.heldout is None or b.heldout is None or len(a.heldout) != len(b.heldout):
        return None
    return paired(a.heldout, b.heldout)


def _tie_text(best_lane: RacerSummary, worst_lane: RacerSummary) -> str:
    gap = paired_heldout(worst_lane, best_lane)
    if gap is None:
        return ""
    if gap.tie:
        return f" (a tie: the difference {gap.mean:.4f} is below two standard errors of {gap.error:.4f})"
    return f" (difference {gap.mean:.4f}, standard error {gap.error:.4f})"
