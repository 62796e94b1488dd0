"""Texts of the Boundaries page: headline and detail on the accuracy of a model, and the scripts."""

from typing import TYPE_CHECKING

import numpy as np

from alrviz import __version__
from alrviz.data.encoded import Encoded
from alrviz.errors import capitalize
from alrviz.explorer.pages.boundaries.fit import BEST, PeerFit
from alrviz.explorer.session.session import Session
from alrviz.explorer.widgets.scripts import dataset_code, recipe_code
from alrviz.fitting.recipe import Recipe
from alrviz.studies.core.export import caption
from alrviz.studies.race.reference_fit import TRUTH, ReferenceFit
from alrviz.studies.statistics.evaluation import wilson
from alrviz.studies.statistics.verdict import Verdict, first_headline
from alrviz.views.core.style import safe, verdict_html
from alrviz.views.core.trace_reader import Racer
from alrviz.views.maps.decision_map import DecisionMapView
from alrviz.views.race.fit_player import FitPlayer
from alrviz.views.race.texts import number

if TYPE_CHECKING:
    from alrviz.explorer.pages.boundaries.dlr_frames import DlrFrame
    from alrviz.explorer.pages.boundaries.drawing import DlrState


_BEST_HINT = "Knows the true densities: no model has a lower expected error; on these rows one may be ahead by chance."
MIN_CLASS_ROWS = 20  # fewer get a warning: on eight points a loss of 0.04 was seen with four points misclassified
_FEW_ROWS_HINT = "So few rows say little about new rows, and a density without a row gives away the class of that row."
_DENSITY_HINTS = {
    "leave-one-out": "every training row is left out of its own densities",
    "self-included": "every training row counts in its own densities: new rows have a higher one",
}


def loss_words(bandwidth: str, nll: float) -> str:
    """Return the loss of the training rows, and whether their densities include the rows themselves."""
    method = "leave-one-out" if bandwidth in ("loo", "validation") else "self-included"
    return f"<abbr title='{_DENSITY_HINTS[method]}'>{method}</abbr> loss {number(nll)}"


def few_rows_html(encoded: Encoded | None, noun: str) -> str:
    """Return a warning if a class has few rows. noun: "row" or "point"."""
    n_rows = int(np.bincount(encoded.y.astype(np.intp)).min()) if encoded is not None and len(encoded.y) else 0
    if n_rows >= MIN_CLASS_ROWS:
        return ""
    rows_text = f"{n_rows:,} {noun}{'s' if n_rows != 1 else ''}"
    return (
        f" <span class='bad'><abbr title='{_FEW_ROWS_HINT}'><b>Few {noun}s</b></abbr>: a class has {rows_text}.</span>"
    )


def told_html(headline: Verdict, detail_html: str) -> str:
    """Return a headline and its detail; the detail is HTML, with hover texts on its numbers."""
    return verdict_html(headline) + (f"<p class='detail'>{detail_html}</p>" if detail_html else "")


def accuracy_headline(model: str, error: float, n_rows: float, peer: str = "", peer_error: float = np.nan) -> Verdict:
    """Return a headline on the accuracy of a model on test rows, beside that of a peer if there is one."""
    peer_text = f", {peer} {100 * (1 - peer_error):.1f} %" if np.isfinite(peer_error) else ""
    accuracy_text = f"{100 * (1 - error):.1f} %"
    return Verdict(
        first_headline(
            f"{model} gets {accuracy_text} of {n_rows:,.0f} test rows right{peer_text}.",
            f"{accuracy_text} of {n_rows:,.0f} test rows are right{peer_text}.",
            f"{accuracy_text} of {n_rows:,.0f} test rows are right.",
        )
    )


def trace_values(racer: Racer, iteration: int) -> dict[str, float]:
    """Return the values of a run's trace at an iteration, or at its end if that is earlier; NaN for missing values."""

    def value(name: str) -> float:
        column = racer.columns.get(name, ())
        return float(column[min(iteration, len(column) - 1)]) if len(column) else float("nan")

    rows = racer.run.trace.rows or 1.0
    return {
        "nll": value("nll") / rows,
        "validation": value("validation_log_loss"),
        "heldout": value("heldout_log_loss"),
        "error": value("heldout_error"),
    }


def run_html(player: FitPlayer, outdated: bool) -> str:
    """Return headline and detail on the run shown: accuracy and losses at the iteration, and how it ended."""
    racer = player.racer
    if racer is None or not len(racer) or outdated:
        outcome = None if racer is None or len(racer) or outdated else racer.run.outcome
        reason = "" if outcome is None else safe(outcome.sentence, 400)
        return f"<p class='bad'>{reason}</p>" if reason else "<p class='quiet'>&nbsp;</p>"
    values, outcome = trace_values(racer, player.place), racer.run.outcome
    phrases = [f"<b>{safe(racer.recipe.name, 80)}</b> at iteration {player.place:,}"]
    if outcome is not None and player.ended:
        phrases[0] += f" (<abbr title='{safe(outcome.sentence)}'>{safe(outcome.code)}</abbr>)"
    phrases.append(f"loss {number(values['nll'])} per training row")
    if np.isfinite(values["heldout"]):
        phrases.append(f"{number(values['heldout'])} per test row")
    headline = Verdict(f"Iteration {player.place:,}: training loss {number(values['nll'])} per row.")
    if np.isfinite(values["error"]):
        n_rows = racer.run.trace.heldout_rows
        headline = accuracy_headline(racer.label, values["error"], n_rows)
        phrases.append(_interval_html(values["error"], n_rows))
    return told_html(headline, f"{', '.join(phrases)}.")


def peer_html(name: str, peer: PeerFit) -> str:
    """Return headline and detail on a peer: its accuracy, log loss and rows, or that it is being fitted."""
    from alrviz.estimators.peers import known_peers

    peer_info = known_peers().get(name)
    label = BEST if name == TRUTH else peer_info.label if peer_info is not None else name
    note = _BEST_HINT if peer_info is None else peer_info.note
    if peer.is_fitting:
        return verdict_html(Verdict(f"{capitalize(label)} is being fitted."))
    fit: ReferenceFit | None = peer.reference
    if fit is None or fit.name != name:
        return "<p class='quiet'>&nbsp;</p>"
    headline, phrases = Verdict(f"{capitalize(label)} is fitted."), []
    if np.isfinite(fit.error):
        headline = accuracy_headline(label, fit.error, fit.heldout_rows)
        phrases.append(_interval_html(fit.error, fit.heldout_rows))
    if np.isfinite(fit.log_loss):
        phrases.append(f"test log loss {number(fit.log_loss)}")
    if fit.rows:
        phrases.append(f"fitted on {fit.rows:,} rows")
    return told_html(headline, f"{', '.join(phrases)}. {safe(note, 200)}")


def dlr_html(tab: "DlrState") -> str:
    """Return headline and detail of the tab DLR: accuracy of the frame shown, of the peer, and the best possible."""
    frame, sketch = tab.frame, tab.drawing.sketch
    if frame is None:
        return run_html(tab.player, tab.outdated)
    if sketch is not None:
        return _drawn_html(frame, tab.recipe) if frame.live is not None and frame.run is None else "<p>&nbsp;</p>"
    racer = tab.player.racer
    if racer is None or frame.run is not racer.run or tab.outdated:
        return "<p class='quiet'>&nbsp;</p>"
    values = trace_values(racer, tab.player.place)
    bandwidth, warning = racer.recipe.params["bandwidth"], few_rows_html(racer.run.encoded, "row")
    if frame.live is not None:
        validation = frame.live.validation
        validation_text = f", validation {number(validation)}" if np.isfinite(validation) else ""
        return told_html(
            Verdict(f"Bandwidths by hand: loss {number(frame.live.nll)}; the fit reached {number(values['nll'])}."),
            f"{loss_words(bandwidth, frame.live.nll)} per training row{validation_text}; the weights of iteration "
            f"{tab.player.place:,} were fitted again.{warning}",
        )
    trace, fit = racer.run.trace, tab.peer.reference
    phrases = [f"Iteration {tab.player.place:,}: {loss_words(bandwidth, values['nll'])} per training row"]
    phrases += [f"validation {number(values['validation'])}"] if np.isfinite(values["validation"]) else []
    headline = Verdict(f"Iteration {tab.player.place:,}: training loss {number(values['nll'])} per row.")
    if np.isfinite(values["error"]):
        has_peer = fit is not None and not tab.peer.is_fitting and fit.name != TRUTH
        peer_error = fit.error if fit is not None and has_peer else np.nan
        headline = accuracy_headline("DLR", values["error"], trace.heldout_rows, tab.menus.peer_label, peer_error)
        phrases.append(f"DLR {_interval_html(values['error'], trace.heldout_rows)}")
    phrases += _peer_texts(tab)
    return told_html(headline, f"{', '.join(phrases)}.{warning}") + _no_scale_html(tab)


def source_line(tab: "DlrState") -> str:
    """Return the source of the frame shown in a line, for saved pictures."""
    frame = tab.frame
    if frame is None or frame.X is None:
        return tab.player.made_from()
    return caption({"alrviz": __version__, "points drawn": len(frame.X)}, [tab.recipe])


def _no_scale_html(tab: "DlrState") -> str:
    """Return a hint that categorical columns have no bandwidth; "" if both columns are numeric."""
    table = tab.table
    columns = [] if table is None else list(table.X.columns)
    names = [str(name) for name in columns if table is not None and table.kinds.get(name) != "numeric"]
    if not names:
        return ""
    predicate = "is categorical: it has" if len(names) == 1 else "are categorical: they have"
    return (
        f"<p class='quiet'><b>{safe(' and '.join(names), 80)}</b> {predicate} no bandwidth to move, and points cannot "
        "be drawn. DLR is about numbers: choose numeric columns, other data, or an example.</p>"
    )


def _peer_texts(tab: "DlrState") -> list[str]:
    """Return the intervals of the peer and of the best possible classifier as HTML, as far as they are known."""
    fit = tab.peer.reference
    if fit is None or tab.peer.is_fitting or not np.isfinite(fit.error):
        return []
    n_rows, phrases = fit.heldout_rows, []
    if fit.name != TRUTH:
        phrases.append(f"{safe(tab.menus.peer_label, 60)} {_interval_html(fit.error, n_rows)}")
    if np.isfinite(tab.peer.best_error):
        accuracy_text = f"{100 * (1 - tab.peer.best_error):.1f} % ({_interval_html(tab.peer.best_error, n_rows)})"
        phrases.append(f"<abbr title='{_BEST_HINT}'>{BEST}</abbr> {accuracy_text}")
    return phrases


def _drawn_html(frame: "DlrFrame", recipe: Recipe) -> str:
    """Return headline and detail on a fit to drawn points: its loss per point and its bandwidths."""
    fit = frame.live
    assert fit is not None
    numeric_densities = [density for density in frame.scene.columns if density.x is not None]
    bandwidths = [f"{safe(density.column, 40)} {density.bandwidth:.3g}" for density in numeric_densities]
    return told_html(
        Verdict(f"DLR on the drawn points: loss {number(fit.nll)} per point."),
        f"{loss_words(recipe.params['bandwidth'], fit.nll)}, without test rows; bandwidths {', '.join(bandwidths)}"
        f"{'' if fit.is_finished else ' &hellip;'}{few_rows_html(fit.encoded, 'point')}",
    )


def _interval_html(error: float, rows: float) -> str:
    """Return the 95 % interval of an accuracy."""
    if rows < 1:  # runs stored by earlier versions lack the number of test rows
        return f"{100 * (1 - error):.1f} %"
    low, high = wilson(1 - error, rows)
    hint = f"95 % interval of {rows:,.0f} rows (Wilson)"
    return f"<abbr title='{hint}'>{100 * low:.1f} to {100 * high:.1f} %</abbr>"


def dlr_script(tab: "DlrState") -> str:
    """Return the script of the tab DLR, which computes its numbers and both maps."""
    session, names = tab.session, tab.columns.pair or ("", "")
    imports, fit_code = run_code(tab.recipe)
    peer_imports, peer_code = _peer_code(session, tab.recipe, tab.name)
    has_all_columns = session.table.dataset is None or session.table.dataset is tab.table
    columns_code = "" if has_all_columns else _TWO_COLUMNS_CODE.format(names=tuple(map(str, names)))
    axes_code = f"across={names[0]!r}, up={names[1]!r}"
    return f"""# alrviz {__version__}
import alrviz
{imports}{peer_imports}
{dataset_code(session)}{columns_code}
{fit_code}
{peer_code.replace("model = peer.model", "").rstrip()}
dlr = alrviz.DecisionMapView(model, dataset.X, dataset.y, {axes_code})
beside = alrviz.DecisionMapView(peer.model, dataset.X, dataset.y, {axes_code})
dlr  # in a notebook; then beside; or dlr.servable() in a script for `panel serve`
"""


_TWO_COLUMNS_CODE = """
rest = [name for name in dataset.X.columns if name not in {names!r}]
dataset = dataset.with_kinds(**dict.fromkeys(rest, "ignore"))"""


def family_script(session: Session, recipe: Recipe, peer: str, view: DecisionMapView) -> str:
    """Return the script of the tab "Any family", which computes its map."""
    options = [f"across={view.across!r}", f"up={view.up!r}"]
    options += [f"others={view.others!r}"] if view.others != "typical" else []
    options += [f"row={view.row}"] if view.others == "row" else []
    model_code = _peer_code(session, recipe, peer) if peer else run_code(recipe)
    return f"""# alrviz {__version__}
import alrviz
{model_code[0]}
{dataset_code(session)}
{model_code[1]}
view = alrviz.DecisionMapView(model, dataset.X, dataset.y, {", ".join(options)})
view  # in a notebook; view.servable() in a script for `panel serve`
"""


def run_code(recipe: Recipe) -> tuple[str, str]:
    """Return imports, and code that fits a recipe and prints the result."""
    fit_code = f"""recipe = {recipe_code(recipe)}
run = alrviz.Run(dataset, recipe)
for step in run.steps():
    pass
print(f"{{recipe.name}}: {{run.outcome.code}} after {{step.index}} iterations, NLL {{step.nll / run.trace.rows:.6f}}")
print({{name: value for name, value in step.extra.items()}})
model = model_at(run)"""
    return "from alrviz.studies.maps.run_classifier import model_at\n", fit_code


def _peer_code(session: Session, recipe: Recipe, peer: str) -> tuple[str, str]:
    """Return imports, and code that fits the peer on the recipe's training rows. peer: its slug."""
    imports_code, truth_code = "from alrviz.studies.race.reference_fit import fit_reference\n", ""
    if peer == TRUTH and session.table.source.demo is not None:
        imports_code += "from alrviz.data.demos import demo_truth\n"
        truth_code = f", truth=demo_truth({session.table.source.demo[0]!r})"
    fit_code = f"""peer = fit_reference({peer!r}, dataset, holdout={recipe.holdout:g}, seed={recipe.seed}{truth_code})
print(f"{{peer.name}}: {{100 * (1 - peer.error):.2f}} % of test rows right")
model = peer.model"""
    return imports_code, fit_code
