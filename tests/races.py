"""Races that run no thread: one that only keeps its calls, one whose steps are written by hand."""

from dataclasses import replace
from types import SimpleNamespace

from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.trace import Trace
from alrviz.fitting.solvers.step import Outcome, Step
from alrviz.studies.race.race import Race

ROWS = 10.0


class FakeRace:
    """The interface of a race, and the calls it got."""

    entry = None
    control = Race.control

    recorded, turn, stopped_by, stopped_at = False, 0, "you", None

    def __init__(self, size=0):
        self.phase, self.activity, self.ended, self.calls = "waiting", "fitting", False, []
        self.runs = self.recipes = ()
        self.size = size

    def start(self):
        self.calls.append("start")
        self.phase = "running"

    def pause(self):
        self.calls.append("pause")
        self.phase = "paused"

    def step(self, count=1):
        self.calls.append(f"step {count}")
        self.phase = "paused"

    def stop(self):
        self.calls.append("stop")
        self.phase, self.ended = "ended", True


def a_step(index, per_row, **extra):
    seen = {"lead": 0.5, "phi_norm": float(index), "train_error": per_row / 4, "heldout_log_loss": per_row + 0.1}
    total = ROWS * per_row
    return Step(index, "inner", index + 1, index + 1.0, index / 100, total, total, 0.0, per_row, 1.0, {**seen, **extra})


def a_trial(alphas, **more):
    """A trial of alphas: a step that leaves the weights where they were, which nobody looks at."""
    named = {f"alpha_{order}": alpha for order, alpha in enumerate(alphas, 1)}
    return replace(a_step(0, 2.0), kind="search", passes=9.0, extra={**named, "search_log_loss": 0.5, **more})


def searching(*trials, iterations=3):
    """A race of lr, and of hlr that tries these alphas between its iteration 0 and 1; it has not ended."""
    race = ByHand(Recipe("lr", alpha=0.3), Recipe("hlr", alpha="auto"))
    race.take(4, racer=0)
    trace = race.runs[1].trace
    trace.append(a_step(0, 2.0))
    for alphas in trials:
        trace.append(a_trial(alphas))
    for index in range(1, iterations + 1):
        trace.append(a_step(index, 2.0 - index / 4, alpha_1=trials[-1][0], alpha_2=trials[-1][1]))
    return race


class ByHand(FakeRace):
    """Racers that take the steps a test gives them."""

    frame = Race.frame

    def __init__(self, *recipes):
        super().__init__()
        self.activity = ""
        self.recipes = recipes or (Recipe("lr", alpha=0), Recipe("alr", alpha=0))
        self.runs = [self._run(recipe) for recipe in self.recipes]
        self.dataset = SimpleNamespace(name="by hand", hash="0" * 64, n_rows=ROWS)

    def _run(self, recipe):
        trace = Trace()
        trace.rows, trace.baseline = ROWS, {"class_shares": 2.0, "anje": 0.8}
        rest = dict.fromkeys(("outcome", "model", "holdout", "price"))
        rest |= {"name": recipe.name, "activity": "", "separation": {"empty_share": 0.25}}
        return SimpleNamespace(recipe=recipe, trace=trace, **rest)

    def take(self, count, racer=None, floor=0.5):
        """Append `count` steps to every racer, or to one."""
        self.phase = "running"
        for number, run in enumerate(self.runs):
            if racer in (None, number):
                for _ in range(count):
                    index = len(run.trace)
                    run.trace.append(a_step(index, floor + 2.0 ** -(index * (number + 1))))

    def end(self, code="converged"):
        for run in self.runs:
            if run.outcome is None:
                run.trace.close()
                run.outcome = Outcome(code, "by hand")
        self.phase, self.ended = "ended", True

    def step(self, count=1):
        self.take(count)
        super().step(count)

    def stop(self):
        super().stop()
        self.end("stopped")
