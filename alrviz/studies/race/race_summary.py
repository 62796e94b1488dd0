"""Sentences on the state of a race: who leads at the last step, and how test losses compare."""

from collections.abc import Sequence
from math import isfinite, isnan

from alrviz.errors import capitalize
from alrviz.studies.race.milestones import (
    RELATIVE_GOALS,
    Difference,
    RacerSummary,
    by_objective,
    milestones,
    objective_noun,
    paired_difference,
)
from alrviz.studies.statistics.verdict import Verdict, first_headline

UNDECIDED = Verdict("Nothing is decided yet.")
NEAR = RELATIVE_GOALS[-1]  # relative difference of objectives below which leaders are compared by their milestones
MIN_FACTOR = 1.25  # counts of iterations that differ by a smaller factor are called equal
MAX_DETAILED = 2  # racers whose numbers fit into a sentence; the table under the picture has those of more
MAX_LEVEL_RELATIVE_DIFFERENCE = 1e-9  # of objectives; no picture of the gap shows it, whatever its decades


def leading_verdict(racers: Sequence[RacerSummary]) -> Verdict:
    """Return who leads at the last iteration of a running race, and by how much."""
    racers = [racer for racer in racers if not racer.empty and isfinite(racer.last)]
    if racers and any(racer.trials for racer in racers) and not any(racer.iterations for racer in racers):
        return Verdict("The models are looking for alpha.", alpha_sentences(racers).strip())  # none has left its start
    if not racers:
        return UNDECIDED
    iteration_text, result = f"Iteration {max(racer.iterations for racer in racers)}", standing(racers)
    headline = first_headline(f"{iteration_text}: {result.headline}", f"{iteration_text}.")
    return Verdict(headline, f"{result.detail}{alpha_sentences(racers)}")


def standing(racers: Sequence[RacerSummary]) -> Verdict:
    """Return who leads at the racers' last iterations, as the rest of a headline, and by how much."""
    if len(racers) == 1:
        loss_text = objective_text(racers, racers[0])
        return Verdict(f"{loss_text}.", "")
    if len(by_objective(racers)) > 1:
        return Verdict("the models minimise different functions.", heldout_words(racers))
    leader, runner_up, *other_racers = sorted(racers, key=lambda racer: racer.last)
    loss_text = objective_text(racers, leader)
    detail = capitalize(loss_text)
    if runner_up.last - leader.last < NEAR * abs(runner_up.last):
        return _close_race(leader, runner_up, detail)
    gap_text = f"{runner_up.last - leader.last:.4f} below {runner_up.name}{', the next' if other_racers else ''}"
    return Verdict(f"{leader.name} leads.", f"{detail}, {gap_text}.")


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
    chosen_text = ""
    if chosen_texts:
        chosen_text = f" Alpha chosen by validation folds{each_order_text}: {'; '.join(chosen_texts)}."
    return chosen_text + (f" Looking for alpha: {', '.join(searching_names)}." if searching_names else "")


def _close_race(first: RacerSummary, second: RacerSummary, detail: str) -> Verdict:
    """Compare two leaders within 0.1 % of each other: who is lower, and when each came near the best.

    Their gaps to the optimum may differ by decades, which the picture shows, so they are not called equal. detail: the
    leader's loss, to which the iterations are added.
    """
    if second.last - first.last <= MAX_LEVEL_RELATIVE_DIFFERENCE * abs(second.last):
        return Verdict(f"{first.name} and {second.name} are level.", f"{detail}.")
    goal_counts = milestones([first, second])
    iterations_to_goal = [goal_counts.count_at(racer.name, -1) or 0.0 for racer in (first, second)]
    since_text = ""
    if max(iterations_to_goal) >= MIN_FACTOR * max(min(iterations_to_goal), 1.0):
        since_text = f"; within 0.1 %: {first.name} since iteration {iterations_to_goal[0]:.0f}, " + (
            f"{second.name} since {iterations_to_goal[1]:.0f}"
        )
    return Verdict(f"{first.name}'s loss is lower; {second.name}'s is within 0.1 %.", f"{detail}{since_text}.")


def objective_text(racers: Sequence[RacerSummary], racer: RacerSummary) -> str:
    """Return a racer's last objective with name and unit, such as "training loss 0.4 nats per row"."""
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


def best_on_test_rows(racers: Sequence[RacerSummary]) -> tuple[RacerSummary | None, bool]:
    """Return the racer with the lowest test loss, None without test rows, and whether the highest ties with it."""
    column = "heldout_error" if any(racer.loss == "hinge" for racer in racers) else "heldout_log_loss"
    ranked = sorted(racers, key=lambda racer: racer.last_of(column))
    if any(isnan(racer.last_of(column)) for racer in racers):
        return None, False
    gap = None if column == "heldout_error" else paired_heldout(ranked[-1], ranked[0])
    is_equal = ranked[0].last_of(column) == ranked[-1].last_of(column)
    return ranked[0], is_equal or (gap is not None and gap.tie)


def _tie_text(best: RacerSummary, worst: RacerSummary) -> str:
    gap = paired_heldout(worst, best)
    if gap is None:
        return ""
    if gap.tie:
        return f" (a tie: the difference {gap.mean:.4f} is below two standard errors of {gap.error:.4f})"
    return f" (difference {gap.mean:.4f}, standard error {gap.error:.4f})"
