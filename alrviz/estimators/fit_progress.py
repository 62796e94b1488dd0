"""The progress of a fit, for those who wait for it."""

import multiprocessing
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Self

from sklearn.base import BaseEstimator
from sklearn.callback import CallbackContext
from tqdm import tqdm

from alrviz.fitting.runs.run import Run
from alrviz.fitting.solvers.step import Step

PROGRESS_DELAY_SECONDS = 5.0  # a shorter fit shows no progress line


class FitProgress:
    """Reports the progress of a fit: a line on stderr (`verbose`), a function (`on_step`), scikit-learn's callbacks.

    With verbose=None the line appears in a terminal or notebook once a fit takes PROGRESS_DELAY_SECONDS.
    """

    def __init__(self, estimator: BaseEstimator, context: CallbackContext, on_step: Callable[[Step], object] | None):
        self._estimator, self._context, self._on_step = estimator, context, on_step
        verbose = getattr(estimator, "verbose", False)
        has_line = verbose or (verbose is None and _has_viewer())
        delay = 0.0 if verbose else PROGRESS_DELAY_SECONDS
        make_progress_bar = partial(
            tqdm, desc=type(estimator).__name__, unit=" steps", leave=bool(verbose), delay=delay, miniters=0
        )
        self._line = make_progress_bar() if has_line else None

    def trial(self, trial: Mapping[str, float]) -> None:
        """Show the settings that are being tried, an entry of `Run.trials`."""
        if self._line is not None:
            self._line.set_postfix_str(_trial_text(trial), refresh=False)
            self._line.update(0)

    def step(self, run: Run, step: Step) -> bool:
        """Report a step of a run; return whether the fit should end."""
        if self._line is not None:
            search = {**step.extra, "log_loss": step.extra["search_log_loss"]} if step.kind == "search" else {}
            text = _trial_text(search) if search else f"log loss {step.nll / run.trace.rows:.4g} per row"
            self._line.set_postfix_str(text, refresh=False)
            self._line.update(step.index - self._line.n)
        should_end = self._on_step is not None and self._on_step(step) is True
        # without callbacks, scikit-learn would store a task for every step
        if getattr(self._estimator, "_skl_callbacks", ()):
            task = self._context.subcontext(task_name="step").call_on_fit_task_begin(estimator=self._estimator)
            should_end |= task.call_on_fit_task_end(
                estimator=self._estimator, reconstruction_attributes=lambda: self._estimator.fitted_attributes(run)
            )
        return should_end

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._line is not None:
            self._line.close()


def _has_viewer() -> bool:
    """Return whether somebody sees a line on stderr: a terminal or notebook, in the main process."""
    is_main_process = multiprocessing.parent_process() is None
    return is_main_process and ("ipykernel" in sys.modules or bool(getattr(sys.stderr, "isatty", bool)()))


def _trial_text(trial: Mapping[str, float]) -> str:
    """Return the text of the progress bar on a trial of orders or alphas."""
    alphas_text = ", ".join(f"{value:.3g}" for name, value in trial.items() if name.startswith("alpha_"))
    order_text = f"order {trial['order']:.0f}" if "order" in trial else ""
    settings_text = ", ".join(filter(None, [order_text, f"alpha {alphas_text}" if alphas_text else ""]))
    return f"trying {settings_text}: validation log loss {trial['log_loss']:.4g}"
