"""Demo sets of classes in a plane: four Gaussians, three classes, two moons, rings.

Each class is a mixture of normal distributions ("clouds") with equal shares, so that the truth is known:

    p(k | x) = s_k p_k(x) / sum_j s_j p_j(x),     p_k(x) = mean over its centres m of N(x; m, diag(spread^2))

Moons and rings are blurred arcs, with centres so dense that the blur merges them.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import logsumexp, softmax

COLUMNS = ["x1", "x2"]
_CENTRES = 240  # of an arc: at most 0.08 apart, a quarter of the blur


@dataclass(frozen=True, eq=False)
class Cloud:
    """One class: label, share of the rows, centres (M, 2) and standard deviations (M, 2) of its normal clouds."""

    label: str
    share: float
    centres: np.ndarray
    spreads: np.ndarray

    def draw(self, rows: int, rng: np.random.Generator) -> np.ndarray:
        """Return points (rows, 2), the same number from each centre up to a remainder."""
        first_centre = rng.integers(len(self.centres))
        indices = (first_centre + np.arange(rows) * len(self.centres) // max(rows, 1)) % len(self.centres)
        return self.centres[indices] + self.spreads[indices] * rng.normal(size=(rows, 2))

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Return log p_k at points (N, 2)."""
        z = (x[:, None, :] - self.centres) / self.spreads
        norm = np.log(2 * np.pi * self.spreads.prod(axis=1) * len(self.centres))
        return np.asarray(logsumexp(-0.5 * (z * z).sum(axis=2) - norm, axis=1))


def cloud(label: str, share: float, centres: list[tuple[float, float]], spreads: list[tuple[float, float]]) -> Cloud:
    """Return a class of few clouds."""
    return Cloud(label, share, np.array(centres, dtype=float), np.array(spreads, dtype=float))


def arc(label: str, centre: tuple[float, float], radius: float, begin: float, end: float, blur: float) -> Cloud:
    """Return a class of half of the rows along an arc; angles in radians."""
    angles = begin + (end - begin) * (np.arange(_CENTRES) + 0.5) / _CENTRES
    centres = np.array(centre) + radius * np.column_stack([np.cos(angles), np.sin(angles)])
    return Cloud(label, 0.5, centres, np.full((_CENTRES, 2), blur))


# The toy example of [DLR]: 4 x 300 points, two clouds of each class crossing those of the other.
FOUR_GAUSSIANS = (
    cloud("A", 0.5, [(-10, 0), (10, 0)], [(1, 10), (1, 10)]),
    cloud("B", 0.5, [(0, -10), (0, 10)], [(10, 1), (10, 1)]),
)
# One class is between the halves of another, so that no column is monotone; the third is wide, above both.
THREE_CLASSES = (
    cloud("inside", 0.3, [(0, 0)], [(0.8, 1)]),
    cloud("outside", 0.4, [(-3, 0), (3, 0)], [(0.8, 1), (0.8, 1)]),
    cloud("above", 0.3, [(0, 3)], [(2.2, 0.8)]),
)
TWO_MOONS = (arc("upper", (0, 0), 1, 0, np.pi, 0.2), arc("lower", (1, 0.5), 1, np.pi, 2 * np.pi, 0.2))
RINGS = (arc("inner", (0, 0), 1, 0, 2 * np.pi, 0.35), arc("outer", (0, 0), 2, 0, 2 * np.pi, 0.35))


def draw(clouds: tuple[Cloud, ...], rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return points of these classes, each with its rounded share of the rows, in random order."""
    row_ends = np.rint(rows * np.cumsum([class_cloud.share for class_cloud in clouds])).astype(int)
    counts = np.diff(row_ends, prepend=0)
    points = np.vstack([class_cloud.draw(count, rng) for class_cloud, count in zip(clouds, counts, strict=True)])
    classes = np.repeat(np.array([class_cloud.label for class_cloud in clouds], dtype=object), counts)
    order = rng.permutation(rows)
    frame = pd.DataFrame(points[order].round(3), columns=COLUMNS)
    return frame.assign(**{"class": classes[order]})


def truth(clouds: tuple[Cloud, ...], frame: pd.DataFrame) -> np.ndarray:
    """Return p(class | x1, x2) of every row, (N, C), the classes sorted by their labels."""
    x = frame[COLUMNS].to_numpy(dtype=float)
    sorted_clouds = sorted(clouds, key=lambda class_cloud: class_cloud.label)
    return softmax(
        np.column_stack([np.log(class_cloud.share) + class_cloud.log_density(x) for class_cloud in sorted_clouds]),
        axis=1,
    )
