"""How far a study is, and how long it will take still."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from alrviz.studies.cells import Cell, Result


@dataclass(frozen=True)
class Progress:
    """How far a study is: cells done and in all, those that failed, and seconds left (None while unknown)."""

    done: int
    total: int
    failed: int
    seconds_left: float | None


def progress_of(cells: Sequence[Cell], results: Mapping[int, Result], finished: Mapping[int, float]) -> Progress:
    """Return the progress, given the results by place, and for those of this sitting the seconds until they came."""
    failed = sum(result.failed for result in results.values())
    return Progress(len(results), len(cells), failed, _left(cells, results, finished))


def _left(cells: Sequence[Cell], results: Mapping[int, Result], finished: Mapping[int, float]) -> float | None:
    """The mean time between two results, for each cell left as much more as its recipe's cells cost more."""
    timed = [place for place in finished if place in results]
    if not timed:
        return None
    each = max(finished.values()) / len(timed)
    cost: dict[str, list[float]] = defaultdict(list)
    for place in timed:
        cost[cells[place].recipe].append(_seconds(results[place]))
    mean = sum(map(sum, cost.values())) / len(timed) or 1.0
    left = [cell.recipe for place, cell in enumerate(cells) if place not in results]
    return each * sum(sum(cost[text]) / len(cost[text]) / mean if text in cost else 1.0 for text in left)


def _seconds(result: Result) -> float:
    """What a cell took, up to a factor that cells of a study share."""
    return sum(float(value) for row in result.rows for name, value in row.items() if name.endswith("seconds")) or 1e-3
