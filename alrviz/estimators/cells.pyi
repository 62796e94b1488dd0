"""Written by `python -m alrviz.estimators.stubs`."""

from typing import Any

from alrviz.estimators.base import CellClassifier
from alrviz.estimators.linear import LinearClassifier

__all__ = [
    "ALRClassifier",
    "AnJEClassifier",
    "HALRClassifier",
    "HLRClassifier",
    "HierarchicalSelectiveALRClassifier",
    "LRClassifier",
    "SelectiveALRClassifier",
]

CLASSIFIERS: tuple[type[CellClassifier], ...]

class LRClassifier(LinearClassifier):
    """LR^n, logistic regression over all cells of n columns."""

    scale: str
    def __init__(
        self,
        *,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        max_memory: int | None = None,
        verbose: bool | None = False,
        order: int | str = 2,
        smoothing: float = 1.0,
        missing: str = "level",
        unseen: str = "neutral",
        discretize: str | None = "mdl",
        n_bins: int = 10,
        alpha: float | str | tuple[float, ...] = 0.3,
        penalty: str = "phi",
        center: int | str = 0,
        start: str = "zero",
        share: str = "cell-class",
        objective: str = "nll",
        solver: str = "auto",
        bounds: tuple[int, int] | None = None,
        class_weight: Any = None,
        max_iter: int = 200,
        tol: float = 1e-06,
        memory: int = 10,
        random_state: Any = None,
        scale: str = "none",
    ) -> None: ...

class ALRClassifier(LinearClassifier):
    """ALR^n, LR^n whose weights multiply what counting knows already."""

    scale: str
    def __init__(
        self,
        *,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        max_memory: int | None = None,
        verbose: bool | None = False,
        order: int | str = 2,
        smoothing: float = 1.0,
        missing: str = "level",
        unseen: str = "neutral",
        discretize: str | None = "mdl",
        n_bins: int = 10,
        alpha: float | str | tuple[float, ...] = 1.0,
        penalty: str = "w",
        center: int | str = 0,
        start: str = "zero",
        share: str = "cell-class",
        objective: str = "nll",
        solver: str = "auto",
        bounds: tuple[int, int] | None = None,
        class_weight: Any = None,
        max_iter: int = 200,
        tol: float = 1e-06,
        memory: int = 10,
        random_state: Any = None,
        scale: str = "theta",
    ) -> None: ...

class HLRClassifier(LinearClassifier):
    """hLR^n, LR over the cells of one column, of two, ... and of n, all at once."""

    scale: str
    keep: float
    def __init__(
        self,
        *,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        max_memory: int | None = None,
        verbose: bool | None = False,
        order: int | str = 2,
        smoothing: float = 1.0,
        missing: str = "level",
        unseen: str = "neutral",
        discretize: str | None = "mdl",
        n_bins: int = 10,
        alpha: float | str | tuple[float, ...] = 0.3,
        penalty: str = "phi",
        center: int | str = 0,
        start: str = "zero",
        share: str = "cell-class",
        objective: str = "nll",
        solver: str = "auto",
        bounds: tuple[int, int] | None = None,
        class_weight: Any = None,
        max_iter: int = 200,
        tol: float = 1e-06,
        memory: int = 10,
        random_state: Any = None,
        scale: str = "none",
        keep: float = 1.0,
    ) -> None: ...

class HALRClassifier(LinearClassifier):
    """hALR^n, ALR over the cells of one column, of two, ... and of n, all at once."""

    scale: str
    keep: float
    def __init__(
        self,
        *,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        max_memory: int | None = None,
        verbose: bool | None = False,
        order: int | str = 2,
        smoothing: float = 1.0,
        missing: str = "level",
        unseen: str = "neutral",
        discretize: str | None = "mdl",
        n_bins: int = 10,
        alpha: float | str | tuple[float, ...] = 1.0,
        penalty: str = "w",
        center: int | str = 0,
        start: str = "zero",
        share: str = "cell-class",
        objective: str = "nll",
        solver: str = "auto",
        bounds: tuple[int, int] | None = None,
        class_weight: Any = None,
        max_iter: int = 200,
        tol: float = 1e-06,
        memory: int = 10,
        random_state: Any = None,
        scale: str = "theta",
        keep: float = 1.0,
    ) -> None: ...

class SelectiveALRClassifier(LinearClassifier):
    """sALR^n, ALR^n on the tuples that tell most about the class."""

    scale: str
    keep: float | str
    selection: str
    unit: str
    def __init__(
        self,
        *,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        max_memory: int | None = None,
        verbose: bool | None = False,
        order: int | str = 2,
        smoothing: float = 1.0,
        missing: str = "level",
        unseen: str = "neutral",
        discretize: str | None = "mdl",
        n_bins: int = 10,
        alpha: float | str | tuple[float, ...] = 1.0,
        penalty: str = "w",
        center: int | str = 0,
        start: str = "zero",
        share: str = "cell-class",
        objective: str = "nll",
        solver: str = "auto",
        bounds: tuple[int, int] | None = None,
        class_weight: Any = None,
        max_iter: int = 200,
        tol: float = 1e-06,
        memory: int = 10,
        random_state: Any = None,
        scale: str = "theta",
        keep: float | str = 0.6,
        selection: str = "mi",
        unit: str = "tuple",
    ) -> None: ...

class HierarchicalSelectiveALRClassifier(LinearClassifier):
    """hsALR^n, ALR^n on tuples that grow level after level."""

    scale: str
    keep: float | str
    selection: str
    unit: str
    grow: str
    def __init__(
        self,
        *,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        max_memory: int | None = None,
        verbose: bool | None = False,
        order: int | str = 2,
        smoothing: float = 1.0,
        missing: str = "level",
        unseen: str = "neutral",
        discretize: str | None = "mdl",
        n_bins: int = 10,
        alpha: float | str | tuple[float, ...] = 1.0,
        penalty: str = "w",
        center: int | str = 0,
        start: str = "zero",
        share: str = "cell-class",
        objective: str = "nll",
        solver: str = "auto",
        bounds: tuple[int, int] | None = None,
        class_weight: Any = None,
        max_iter: int = 200,
        tol: float = 1e-06,
        memory: int = 10,
        random_state: Any = None,
        scale: str = "theta",
        keep: float | str = 0.6,
        selection: str = "mi",
        unit: str = "tuple",
        grow: str = "weak",
    ) -> None: ...

class AnJEClassifier(CellClassifier):
    """AnJE, averaged n-join estimators: the generative model of order n."""

    def __init__(
        self,
        *,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        max_memory: int | None = None,
        verbose: bool | None = False,
        order: int | str = 2,
        smoothing: float = 1.0,
        missing: str = "level",
        unseen: str = "neutral",
        discretize: str | None = "mdl",
        n_bins: int = 10,
    ) -> None: ...
