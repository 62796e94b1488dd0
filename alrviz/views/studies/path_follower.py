"""The fit that follows a slider of alpha: off the event loop, one at a time, and after it the latest that was wished.

A fit under way is not interrupted by another wish: a hand that moves faster than fits end would see none.
"""

import json
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from alrviz.job import LatestJob
from alrviz.studies.protocols.alpha_path_verdict import paths_of
from alrviz.studies.protocols.live_alpha_path import LiveAlphaPath, is_quick

if TYPE_CHECKING:
    from alrviz.fitting.recipe import Recipe
    from alrviz.studies.core.study import Study

KEPT = 200  # fits whose numbers are remembered: a slider has 97 steps


class PathFollower:
    """Fits of a study's paths at any alpha."""

    def __init__(self) -> None:
        self._fit = LatestJob("a fit at an alpha")
        self._study: Study | None = None
        self._of: Any = None
        self._live: LiveAlphaPath | None = None
        self._recipes: list[Recipe] = []
        self._holdout = 0.3
        self._rows: OrderedDict[tuple[int, float], dict[str, Any]] = OrderedDict()
        self._under_way: tuple[int, float] | None = None
        self._next: tuple[int, float] | None = None
        self.error: Exception | None = None  # why the latest fit could not be made

    def about(self, study: "Study") -> None:
        """Fit the paths of this study from now on; what is known of another is forgotten."""
        of = (study.spec, study.dataset.hash)
        if of == self._of:
            return
        self.forget()
        spec = json.loads(study.spec)
        self._of, self._study, self._recipes, self._holdout = of, study, paths_of(study), spec["holdout"]
        self._live = LiveAlphaPath(study.dataset, spec["holdout"], spec["seed"], study.max_memory)

    def forget(self) -> None:
        """Give up what is under way, and forget all fits."""
        self.give_up()
        self._rows.clear()
        self._of = self._live = self._study = None

    def quick(self, path: int) -> bool:
        """Whether the fits of a path may follow a hand."""
        if self._study is None or path >= len(self._recipes):
            return False
        return is_quick(self._study.dataset, self._recipes[path], self._holdout)

    def row(self, path: int, alpha: float) -> dict[str, Any] | None:
        """What is known of a path's fit at an alpha; None where there is none yet."""
        return self._rows.get((path, alpha))

    def rows(self, path: int) -> list[dict[str, Any]]:
        """What is known of all fits of a path."""
        return [row for (of, _), row in self._rows.items() if of == path]

    @property
    def busy(self) -> bool:
        """Whether a fit is under way."""
        return self._under_way is not None

    def want(self, path: int, alpha: float) -> None:
        """Fit this as soon as the fit under way is done."""
        if self._live is None or (path, alpha) in self._rows:
            self._next = None
            return
        if self._under_way is None:
            self._begin(path, alpha)
        else:
            self._next = None if self._under_way == (path, alpha) else (path, alpha)

    def wait(self, seconds: float) -> None:
        """Wait for the fit under way, but no longer than this, and take it."""
        if self.busy:
            self._fit.wait(seconds)
            self.take()

    def take(self) -> bool:
        """Take what has come, and begin the next; returns whether anything came."""
        before = self._under_way
        self._fit.poll()
        if self._under_way == before:
            return False
        following, self._next = self._next, None
        if following is not None:
            self.want(*following)
        return True

    def give_up(self) -> None:
        """Fit nothing any more: nothing comes after this returns."""
        self._fit.cancel()
        self._under_way = self._next = None

    def _begin(self, path: int, alpha: float) -> None:
        live, recipe = self._live, self._recipes[path]
        assert live is not None
        self.error, self._under_way = None, (path, alpha)
        self._fit.run(lambda stop: live.fit(recipe, alpha, stop), self._fitted, self._failed)

    def _fitted(self, row: dict[str, Any]) -> None:
        assert self._under_way is not None
        self._rows[self._under_way] = row
        if len(self._rows) > KEPT:
            self._rows.popitem(last=False)
        self._under_way = None

    def _failed(self, error: Exception) -> None:
        self.error, self._under_way = error, None
