"""Fits at the alpha of a slider, on a thread: one at a time, then the latest one requested.

A running fit is not interrupted by the next request. Otherwise a reader who drags faster than fits finish would see
none.
"""

import json
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from alrviz.job import LatestJob
from alrviz.studies.protocols.alpha_path import LiveAlphaPath, is_quick
from alrviz.studies.protocols.alpha_path_verdict import paths_of

if TYPE_CHECKING:
    from alrviz.fitting.recipe import Recipe
    from alrviz.studies.core.study import Study

MAX_ROWS = 200  # fits whose results are kept: a slider has 97 steps


class PathFollower:
    """Fits of a study's paths at any alpha."""

    def __init__(self) -> None:
        self._fit = LatestJob("a fit at an alpha")
        self._study: Study | None = None
        self._key: Any = None
        self._live: LiveAlphaPath | None = None
        self._recipes: list[Recipe] = []
        self._holdout = 0.3
        self._rows: OrderedDict[tuple[int, float], dict[str, Any]] = OrderedDict()
        self._under_way: tuple[int, float] | None = None
        self._next: tuple[int, float] | None = None
        self.error: Exception | None = None  # of the latest fit

    def set_study(self, study: "Study") -> None:
        """Fit paths of this study from now on; forget the fits of any other study."""
        key = (study.spec, study.dataset.hash)
        if key == self._key:
            return
        self.forget()
        spec = json.loads(study.spec)
        self._key, self._study, self._recipes, self._holdout = key, study, paths_of(study), spec["holdout"]
        self._live = LiveAlphaPath(study.dataset, spec["holdout"], spec["seed"], study.max_memory)

    def forget(self) -> None:
        """Cancel and forget all fits."""
        self.cancel()
        self._rows.clear()
        self._key = self._live = self._study = None

    def is_quick_path(self, path: int) -> bool:
        """Whether fits of a path are fast enough to follow the slider."""
        if self._study is None or path >= len(self._recipes):
            return False
        return is_quick(self._study.dataset, self._recipes[path], self._holdout)

    def row(self, path: int, alpha: float) -> dict[str, Any] | None:
        """Return the results of a path's fit at an alpha; None if there are none yet."""
        return self._rows.get((path, alpha))

    def rows(self, path: int) -> list[dict[str, Any]]:
        """Return the results of all fits of a path."""
        return [row for (row_path, _), row in self._rows.items() if row_path == path]

    @property
    def busy(self) -> bool:
        """Whether a fit is under way."""
        return self._under_way is not None

    def request(self, path: int, alpha: float) -> None:
        """Fit the study's path of index `path` at an alpha, unless its results are stored.

        While another fit is under way the request waits; a newer one replaces it.
        """
        if self._live is None or (path, alpha) in self._rows:
            self._next = None
            return
        if self._under_way is None:
            self._start(path, alpha)
        else:
            self._next = None if self._under_way == (path, alpha) else (path, alpha)

    def wait(self, seconds: float) -> None:
        """Wait for the fit under way, at most so many seconds, and store its results."""
        if self.busy:
            self._fit.wait(seconds)
            self.poll()

    def poll(self) -> bool:
        """Store finished results and start the next fit; return whether a fit has finished."""
        previous_fit = self._under_way
        self._fit.poll()
        if self._under_way == previous_fit:
            return False
        next_fit, self._next = self._next, None
        if next_fit is not None:
            self.request(*next_fit)
        return True

    def cancel(self) -> None:
        """Cancel all fits; no result arrives after this returns."""
        self._fit.cancel()
        self._under_way = self._next = None

    def _start(self, path: int, alpha: float) -> None:
        live_path, recipe = self._live, self._recipes[path]
        assert live_path is not None
        self.error, self._under_way = None, (path, alpha)
        self._fit.run(lambda stop: live_path.fit(recipe, alpha, stop), self._store, self._store_error)

    def _store(self, row: dict[str, Any]) -> None:
        assert self._under_way is not None
        self._rows[self._under_way] = row
        if len(self._rows) > MAX_ROWS:
            self._rows.popitem(last=False)
        self._under_way = None

    def _store_error(self, error: Exception) -> None:
        self.error, self._under_way = error, None
