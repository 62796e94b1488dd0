"""Texts of the Boundaries page: the accuracy of a model at the place shown, and the scripts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from alrviz import __version__
from alrviz.data.encoded import Encoded
from alrviz.explorer.pages.boundaries.fit import BEST, PeerFit
from alrviz.explorer.session.session import Session
from alrviz.explorer.widgets.scripts import dataset_code, recipe_code
from alrviz.fitting.recipe import Recipe
from alrviz.studies.core.export import caption
from alrviz.studies.race.reference_fit import TRUTH, ReferenceFit
from alrviz.studies.statistics.evaluation import wilson
from alrviz.views.core.style import safe
from alrviz.views.core.trace_reader import Racer
from alrviz.views.maps.decision_map import DecisionMapView
from alrviz.views.race.fit_player import FitPlayer
from alrviz.views.race.words import number

if TYPE_CHECKING:
    from alrviz.explorer.pages.boundaries.dlr_frames import DlrFrame
    from alrviz.explorer.pages.boundaries.drawing import DlrState


_BEST = "Knows the true densities: no model has a lower expected error; on these rows one may be ahead by chance."
MIN_CLASS_ROWS = 20  # rows of a class: of eight points in all the loss was seen at 0.04 with four of them wrong
_FEW_ROWS_HINT = "The loss of so few says little of new ones, and a density that leaves one out tells its class."
_COUNTED = {
    "leave-one-out": "every training row is left out of its own densities",
    "self-included": "every training row counts in its own densities: new rows have a higher one",
}


def loss_words(bandwidth: str, nll: float) -> str:
    """The loss of training rows, and how their own densities were made."""
    how = "leave-one-out" if bandwidth in ("loo", "validation") else "self-included"
    return f"<abbr title='{_COUNTED[how]}'>{how}</abbr> NLL {number(nll)}"


def few_html(encoded: Encoded | None, what: str) -> str:
    """A warning where a class has few rows; what: "row" or "point"."""
    rows = int(np.bincount(encoded.y.astype(np.intp)).min()) if encoded is not None and len(encoded.y) else 0
    if rows >= MIN_CLASS_ROWS:
        return ""
    had = f"{rows:,} {what}{'s' if rows != 1 else ''}"
    return f" <span class='bad'><abbr title='{_FEW_ROWS_HINT}'><b>Few {what}s</b></abbr>: a class has {had}.</span>"


def at_head(racer: Racer, head: int) -> dict[str, float]:
    """What a run's trace says at an iteration, or at its end if that came earlier; NaN where it says nothing."""

    def value(name: str) -> float:
        column = racer.columns.get(name, ())
        return float(column[min(head, len(column) - 1)]) if len(column) else float("nan")

    rows = racer.run.trace.rows or 1.0
    return {
        "nll": value("nll") / rows,
        "validation": value("validation_log_loss"),
        "heldout": value("heldout_log_loss"),
        "error": value("heldout_error"),
    }


def judged_html(player: FitPlayer, outdated: bool) -> str:
    """One line on the run that is drawn: losses at the iteration shown, and why it ended."""
    racer = player.racer
    if racer is None or not len(racer) or outdated:
        outcome = None if racer is None or len(racer) or outdated else racer.run.outcome
        why = "" if outcome is None else safe(outcome.sentence, 400)
        return f"<p class='bad'>{why}</p>" if why else "<p class='quiet'>&nbsp;</p>"
    at = at_head(racer, player.place)
    words = [f"NLL {number(at['nll'])} per training row"]
    if np.isfinite(at["heldout"]):
        words.append(f"test {number(at['heldout'])}")
    if np.isfinite(at["error"]):
        words.append(_right_of_rows(at["error"], racer.run.trace.heldout_rows))
    end = racer.run.outcome
    ended = f"; <abbr title='{safe(end.sentence)}'>{safe(end.code)}</abbr>" if end is not None and player.ended else ""
    return (
        f"<p><b>{safe(racer.recipe.name, 80)}</b> <span class='quiet'>at iteration {player.place:,}:</span> "
        f"{', '.join(words)}<span class='quiet'>{ended}</span></p>"
    )


def peer_html(name: str, peer: PeerFit) -> str:
    """One line on the classifier that stands beside: what it is and how many test rows it gets right."""
    from alrviz.estimators.peers import known_peers

    known = known_peers().get(name)
    label = BEST if name == TRUTH else known.label if known is not None else name
    note = _BEST if known is None else known.note
    if peer.waiting:
        return f"<p><b>{safe(label)}</b> <span class='quiet'>is being fitted &hellip;</span></p>"
    found: ReferenceFit | None = peer.found
    if found is None or found.name != name:
        return "<p class='quiet'>&nbsp;</p>"
    words = []
    if np.isfinite(found.error):
        words.append(_right_of_rows(found.error, found.heldout_rows))
    if np.isfinite(found.log_loss):
        words.append(f"log loss {number(found.log_loss)}")
    if found.rows:
        words.append(f"fitted on {found.rows:,} rows")
    return f"<p><b>{safe(label)}</b> {', '.join(words)} <span class='quiet'>{safe(note, 200)}</span></p>"


def compared_html(tab: "DlrState") -> str:
    """The sentence of the tab DLR: what its model is worth at this moment, beside the peer and the best possible."""
    moment, sketch = tab.moment, tab.drawing.sketch
    if moment is None:
        return judged_html(tab.player, tab.outdated)
    if sketch is not None:
        return _drawn_html(moment, tab.recipe) if moment.live is not None and moment.run is None else "<p>&nbsp;</p>"
    racer = tab.player.racer
    if racer is None or moment.run is not racer.run or tab.outdated:
        return "<p class='quiet'>&nbsp;</p>"
    at = at_head(racer, tab.player.place)
    bandwidth, few = racer.recipe.params["bandwidth"], few_html(racer.run.encoded, "row")
    if moment.live is not None:
        here = f"the fit has {number(at['nll'])} at iteration {tab.player.place:,}"
        validation = moment.live.validation
        more = f", validation {number(validation)}" if np.isfinite(validation) else ""
        return (
            f"<p><b>Bandwidths by hand</b>: {loss_words(bandwidth, moment.live.nll)} per training row{more}; "
            f"<span class='quiet'>{here}; the weights have followed.</span>{few}</p>"
        )
    trace = racer.run.trace
    words = [f"{loss_words(bandwidth, at['nll'])} per training row"]
    words += [f"validation {number(at['validation'])}"] if np.isfinite(at["validation"]) else []
    if np.isfinite(at["error"]):
        words.append(_right_of_rows(at["error"], trace.heldout_rows))
    words += _beside(tab)
    place = f"<span class='quiet'>iteration {tab.player.place:,}:</span>"
    return f"<p><b>dlr</b> {place} {', '.join(words)}{few}</p>{_no_scale_html(tab)}"


def made_from_line(tab: "DlrState") -> str:
    """Say in a line what the moment shown is of, for pictures that are saved."""
    moment = tab.moment
    if moment is None or moment.X is None:
        return tab.player.made_from()
    return caption({"alrviz": __version__, "points drawn": len(moment.X)}, [tab.recipe])


def _no_scale_html(tab: "DlrState") -> str:
    """What a column without a scale leaves out: a table that was chosen for another page may have nothing else."""
    table = tab.table
    columns = [] if table is None else list(table.X.columns)
    names = [str(name) for name in columns if table is not None and table.kinds.get(name) != "numeric"]
    if not names:
        return ""
    have = "is categorical: it has" if len(names) == 1 else "are categorical: they have"
    return (
        f"<p class='quiet'><b>{safe(' and '.join(names), 80)}</b> {have} no bandwidth to move, and points cannot be "
        "drawn. DLR is about numbers: choose numeric columns, other data, or an example.</p>"
    )


def _beside(tab: "DlrState") -> list[str]:
    found = tab.peer.found
    if found is None or tab.peer.waiting or not np.isfinite(found.error):
        return []
    rows, words = found.heldout_rows, []
    if found.name != TRUTH:
        words.append(f"{safe(tab.menus.peer_label, 60)} {_right(found.error, rows)}")
    if np.isfinite(tab.peer.best):
        words.append(f"<abbr title='{_BEST}'>{BEST}</abbr> {_right(tab.peer.best, rows)}")
    return words


def _drawn_html(moment: "DlrFrame", recipe: Recipe) -> str:
    live = moment.live
    assert live is not None
    widths = [f"{safe(r.column, 40)} {r.bandwidth:.3g}" for r in moment.scene.columns if r.x is not None]
    loss = loss_words(recipe.params["bandwidth"], live.nll)
    return (
        f"<p><b>dlr</b> <span class='quiet'>on what is drawn, without test rows:</span> {loss} per point, bandwidths "
        f"{', '.join(widths)}<span class='quiet'>{'' if live.settled else ' &hellip;'}</span>"
        f"{few_html(live.encoded, 'point')}</p>"
    )


def _right(error: float, rows: float) -> str:
    """Return the share of rows that are predicted right with its 95 % interval: with few rows a lead may be chance."""
    if rows < 1:  # a run that was kept by an earlier version does not say how many
        return f"<b>{100 * (1 - error):.1f} %</b>"
    low, high = wilson(1 - error, rows)
    interval = f"<abbr title='95 % interval of {rows:,.0f} rows (Wilson)'>{100 * low:.1f} to {100 * high:.1f}</abbr>"
    return f"<b>{100 * (1 - error):.1f} %</b> ({interval})"


def _right_of_rows(error: float, rows: float) -> str:
    return f"{_right(error, rows)} of {rows:,.0f} test rows right"


def dlr_script(tab: "DlrState") -> str:
    """The script of the tab DLR: its numbers, and its two maps, are the screen's."""
    session, names = tab.session, tab.columns.chosen or ("", "")
    imports, body = run_code([tab.recipe])
    more, beside = _peer_code(session, tab.recipe, tab.name)
    whole = session.table.dataset is None or session.table.dataset is tab.table
    rest = "" if whole else _TWO.format(names=tuple(map(str, names)))
    axes = f"across={names[0]!r}, up={names[1]!r}"
    return f"""# alrviz {__version__}
import alrviz
{imports}{more}
{dataset_code(session)}{rest}
{body}
{beside.replace("model = peer.model", "").rstrip()}
dlr = alrviz.DecisionMapView(model, dataset.X, dataset.y, {axes})
beside = alrviz.DecisionMapView(peer.model, dataset.X, dataset.y, {axes})
dlr  # in a notebook; then beside; or dlr.servable() in a script for `panel serve`
"""


_TWO = """
rest = [name for name in dataset.X.columns if name not in {names!r}]
dataset = dataset.with_kinds(**dict.fromkeys(rest, "ignore"))"""


def family_script(session: Session, recipe: Recipe, peer: str, view: DecisionMapView) -> str:
    """The script of the tab "any family": its map is the screen's."""
    options = [f"across={view.across!r}", f"up={view.up!r}"]
    options += [f"others={view.others!r}"] if view.others != "typical" else []
    options += [f"row={view.row}"] if view.others == "row" else []
    made = _peer_code(session, recipe, peer) if peer else run_code([recipe])
    return f"""# alrviz {__version__}
import alrviz
{made[0]}
{dataset_code(session)}
{made[1]}
view = alrviz.DecisionMapView(model, dataset.X, dataset.y, {", ".join(options)})
view  # in a notebook; view.servable() in a script for `panel serve`
"""


def run_code(recipes: Sequence[Recipe]) -> tuple[str, str]:
    """Imports, and Python that fits a recipe and tells what came of it."""
    body = f"""recipe = {recipe_code(recipes[0])}
run = alrviz.Run(dataset, recipe)
for step in run.steps():
    pass
print(f"{{recipe.name}}: {{run.outcome.code}} after {{step.index}} iterations, NLL {{step.nll / run.trace.rows:.6f}}")
print({{name: value for name, value in step.extra.items()}})
model = model_at(run)"""
    return "from alrviz.studies.maps.run_classifier import model_at\n", body


def _peer_code(session: Session, recipe: Recipe, peer: str) -> tuple[str, str]:
    imports, truth = "from alrviz.studies.race.reference_fit import fit_reference\n", ""
    if peer == TRUTH and session.table.source.demo is not None:
        imports += "from alrviz.data.demos import demo_truth\n"
        truth = f", truth=demo_truth({session.table.source.demo[0]!r})"
    body = f"""peer = fit_reference({peer!r}, dataset, holdout={recipe.holdout:g}, seed={recipe.seed}{truth})
print(f"{{peer.name}}: {{100 * (1 - peer.error):.2f}} % of test rows right")
model = peer.model"""
    return imports, body
