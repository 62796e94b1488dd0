"""The sentence of a race that goes on: who leads at its last iteration, and by how much."""

from collections.abc import Sequence
from math import isfinite

from alrviz.studies.race.milestones import RELATIVE, RacerSummary, by_objective, milestones, objective_noun

UNDECIDED = "Nothing is decided yet."
NEAR = RELATIVE[-1]  # leaders whose objectives are closer, relative to the second's, are told apart by when they came
APART = 1.25  # counts of iterations that differ less are no difference
LEVEL = 1e-9  # and these are level: a picture of the gap shows the same of both, whatever its decades


def racing_words(lanes: Sequence[RacerSummary]) -> str:
    """Who leads at the last iteration of a race that goes on, and by how much.

    >>> racing_words([])
    'Nothing is decided yet.'
    """
    lanes = [lane for lane in lanes if not lane.empty and isfinite(lane.last)]
    if lanes and any(lane.trials for lane in lanes) and not any(lane.iterations for lane in lanes):
        return alpha_words(lanes).strip()  # nobody has moved yet
    return _leader(lanes) + alpha_words(lanes) if lanes else UNDECIDED


def _leader(lanes: Sequence[RacerSummary]) -> str:
    at = f"At iteration {max(lane.iterations for lane in lanes)}:"
    if len(lanes) == 1:
        return f"{at} {level_words(lanes, lanes[0])}."
    if len(by_objective(lanes)) > 1:
        return f"{at} {_heldout(lanes)}"
    first, second, *others = sorted(lanes, key=lambda lane: lane.last)
    if second.last - first.last < NEAR * abs(second.last):
        return f"{at} {near_words(lanes, first, second)}."
    rest = ", the next" if others else ""
    gap = f"{second.last - first.last:.4f} below {second.name}{rest}"
    return f"{at} {first.name} leads, {level_words(lanes, first)}, {gap}."


def alpha_words(lanes: Sequence[RacerSummary]) -> str:
    """The alphas that racers have found by themselves, and who is still looking, as further sentences; "" for nobody.

    >>> import pandas as pd
    >>> lane = RacerSummary(name="hlr", label="hlr", frame=pd.DataFrame({"index": [0]}), n_rows=1, trials=9)
    >>> alpha_words([lane, lane])
    ' Looking for alpha: hlr (9 trials), hlr (9 trials).'
    """
    found = [
        f"{lane.name}{f' (n = {lane.order})' if lane.order else ''} {', '.join(f'{alpha:.2g}' for alpha in lane.found)}"
        for lane in lanes
        if lane.found
    ]
    looking = [f"{lane.name} ({lane.trials} trial{'s' if lane.trials > 1 else ''})" for lane in lanes
               if lane.trials and not lane.found]  # fmt: skip
    each = ", one for each order" if any(len(lane.found) > 1 for lane in lanes) else ""
    told = f" Alpha chosen by validation folds{each}: {'; '.join(found)}." if found else ""
    return told + (f" Looking for alpha: {', '.join(looking)}." if looking else "")


def near_words(lanes: Sequence[RacerSummary], first: RacerSummary, second: RacerSummary) -> str:
    """Of two leaders within 0.1 % of each other: who is lower, and who came near the best so far after how many steps.

    Where they go on to differ by decades of the gap, that is what a reader sees, and not that they are level.
    """
    if second.last - first.last <= LEVEL * abs(second.last):
        return f"{first.name} and {second.name} are level at {level_words(lanes, first)}"
    marks = milestones([first, second])
    met = [marks.at(lane.name, -1) or 0.0 for lane in (first, second)]
    lower = f"{first.name} is lower, {level_words(lanes, first)}, {second.name} within 0.1 % of it"
    if max(met) < APART * max(min(met), 1.0):
        return lower
    return f"{lower} (since iteration {met[1]:.0f}; {first.name} since {met[0]:.0f})"


def level_words(lanes: Sequence[RacerSummary], lane: RacerSummary) -> str:
    """The last objective of a lane with its name and unit; it is NLL where no lane has a penalty."""
    return f"{objective_noun(lanes)} {lane.last:.4f} nats per row"


def _heldout(lanes: Sequence[RacerSummary]) -> str:
    hinged = any(lane.loss == "hinge" for lane in lanes)
    what, unit = ("0-1 loss", "") if hinged else ("log loss", " nats per row")
    losses = [(lane.last_of("heldout_error" if hinged else "heldout_log_loss"), lane.name) for lane in lanes]
    if any(loss != loss for loss, _ in losses):
        return "the objectives differ, and there are no test rows to compare them on."
    (low, first), (high, second), *_ = sorted(losses)
    return f"different objectives; test {what} {first} {low:.4f}, {second} {high:.4f}{unit}."
