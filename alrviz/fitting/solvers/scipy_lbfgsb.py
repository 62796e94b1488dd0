"""SciPy's L-BFGS-B as a stream of steps: the papers' solver, the tests' oracle, and the only one with bounds on w.

SciPy drives its own loop and cannot be left in the middle of it, so it runs on a thread that works only while a caller
waits for the next iterate:

    advance  --- go ---->  the loop, up to its callback
             <-- done ---  one iterate, or how it ended

SciPy ends by its own tests, |F_k - F_k+1| <= max(|F_k|, |F_k+1|, 1) * min(tol, factr * eps) with factr = 1e7, and a
projected gradient below pgtol = 1e-33 (as in the papers). `SolverState.released` closes the thread; so does garbage
collection of its `SciPyThread`.
"""

import threading
import weakref
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from alrviz.errors import AlrvizError, Stopped
from alrviz.fitting.objectives.ridge import Objective, Point
from alrviz.fitting.solvers.state import Solver, SolverState
from alrviz.passes.rows import Floats

FACTR = 1e7
PGTOL = 1e-33
# The driver limits iterations and evaluations.
_UNLIMITED = 2**31 - 1


class _Closed(Exception):
    """Raised inside SciPy's loop to leave it."""


class _Channel:
    """Shared by both threads: turns, the latest point, and how the loop ended."""

    def __init__(self, point: Point):
        self.go, self.done = threading.Semaphore(0), threading.Semaphore(0)
        self.point = point
        self.evaluations = 0
        self.closed = False
        self.message = ""
        self.error: BaseException | None = None

    def close(self) -> None:
        """Let the loop end where it waits."""
        self.closed = True
        self.go.release()

    def wait(self) -> None:
        """Wait for the next turn; raise `_Closed` if there will be none."""
        self.go.acquire()
        if self.closed:
            raise _Closed


class SciPyThread:
    """SciPy's loop on its thread; it can only go forward.

    Attributes: `index` of the latest iterate; `thread`.
    """

    def __init__(self, objective: Objective, point: Point, options: dict[str, Any]):
        self.index = 0
        self._channel = _Channel(point)
        self.thread = threading.Thread(
            target=_loop, args=(self._channel, objective, options), name="alrviz-lbfgsb", daemon=True
        )
        self.close = weakref.finalize(self, self._channel.close)
        self.thread.start()

    def next(self) -> tuple[Point, int, str]:
        """Return the next iterate, all evaluations so far, and SciPy's message if it has ended there.

        Raises:
            Stopped: the thread was closed, before or meanwhile.
        """
        channel = self._channel
        if not channel.message and channel.error is None:
            channel.go.release()
            channel.done.acquire()
        if channel.error is not None:
            raise channel.error
        self.index += 1
        return channel.point, channel.evaluations, channel.message


def _loop(channel: _Channel, objective: Objective, options: dict[str, Any]) -> None:
    """Minimise by SciPy in a thread of its own, and hand each iterate over to the channel; options: SciPy's."""
    from scipy.optimize import minimize

    shape = channel.point.w.shape

    def evaluate(flat: Floats) -> Point:
        w = flat.reshape(shape)
        if not np.array_equal(w, channel.point.w):  # SciPy evaluates the first point again
            channel.point = objective.value_grad(w.copy())
            channel.evaluations += 1
        return channel.point

    def value_and_gradient(flat: Floats) -> tuple[float, Floats]:
        point = evaluate(flat)
        return point.objective, point.gradient.ravel()

    def hand_over(flat: Floats) -> None:
        evaluate(flat)
        channel.done.release()
        channel.wait()

    try:
        channel.wait()
        result = minimize(
            value_and_gradient, channel.point.w.ravel(), method="L-BFGS-B", jac=True, callback=hand_over, **options
        )
        evaluate(result.x)
        channel.message = str(result.message)
    except _Closed:  # a caller may be about to wait, or waits already
        channel.error = Stopped("SciPy's L-BFGS-B was closed")
    except BaseException as error:  # re-raised in the caller, a stop above all
        channel.error = error
    channel.done.release()


@dataclass(frozen=True)
class LBFGSB(Solver):
    """SciPy's L-BFGS-B. Carries its thread; only the latest state can be advanced.

    Args:
        memory: number of corrections.
        tol: SciPy ends when F falls by less than this share of itself in one step, at most factr * eps = 2.2e-9.
    """

    memory: int = 5
    tol: float = 1.0

    def init(self, objective: Objective, w0: Floats) -> SolverState:
        """Return the state at the start point w0, shaped as the objective's weights, clipped to the bounds."""
        bounds = objective.bounds
        first_state = super().init(objective, w0 if bounds is None else np.clip(w0, *bounds))
        limits = {
            "maxcor": self.memory, "ftol": min(self.tol, FACTR * np.finfo(float).eps), "gtol": PGTOL,
            "maxiter": _UNLIMITED, "maxfun": _UNLIMITED,
        }  # fmt: skip
        options = {"options": limits, "bounds": None if bounds is None else [bounds] * first_state.point.w.size}
        return replace(first_state, carry=SciPyThread(objective, first_state.point, options))

    def advance(self, objective: Objective, state: SolverState) -> SolverState:
        """Return the state one iteration later; raise `AlrvizError` for a state before the latest: SciPy cannot go
        back.
        """
        scipy_thread: SciPyThread = state.carry
        if scipy_thread.index != state.index:
            raise AlrvizError(
                f"SciPy's L-BFGS-B is at step {scipy_thread.index} and cannot go back to step {state.index}"
            )
        point, evaluations, message = scipy_thread.next()
        return SolverState(
            state.index + 1,
            point,
            1 + evaluations,
            1.0 + evaluations,
            carry=scipy_thread,
            stalled=bool(message),
            note=f"SciPy's L-BFGS-B has ended: {message.lower()}" if message else "",
        )
