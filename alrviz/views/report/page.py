"""The page of a report: one HTML file with inline SVG, without scripts, a network or a server.

Its readers know the table, not the method: every term is said in words where it first stands.
"""

import platform
from collections.abc import Mapping
from datetime import date
from importlib.metadata import version
from typing import Any

import numpy as np

from alrviz import __version__
from alrviz.data.dataset import Dataset
from alrviz.data.encode import Encoder, numbers_text
from alrviz.data.kinds import KindCode
from alrviz.errors import TableError, nearest
from alrviz.fitting.recipe import Recipe
from alrviz.pictures.formatting import count_text
from alrviz.studies.core.names import tuples_text
from alrviz.studies.effects.interactions import Interactions
from alrviz.studies.effects.words import beyond_chance
from alrviz.studies.protocols.report_facts import ReportFacts
from alrviz.studies.statistics.evaluation import percent
from alrviz.studies.statistics.measures import BINNING, loss_text
from alrviz.views.core.style import html_table, safe
from alrviz.views.race.words import number
from alrviz.views.report.groups import hardest_group, most_divided, most_missed, where_it_fails
from alrviz.views.report.judged import (
    calibration_sentence,
    how_calibrated,
    how_good,
    missed,
    never_predicted,
    no_better,
    reference_in_words,
    worst_calibrated,
)
from alrviz.views.report.matters import overlaps, what_matters
from alrviz.views.studies.evaluation import points

# What a model card says that no table tells: who publishes it fills them in.
CARD = {
    "intended_use": "Intended use", "out_of_scope": "Not to be used for", "owner": "Owner and contact",
    "licence": "Licence", "data_source": "Where the rows come from", "ethics": "Ethical considerations",
    "caveats": "Further caveats",
}  # fmt: skip
_ERRORS = (
    "<p class='quiet'>The number after &plusmn; is one standard error: in about 95 of 100 cases the true value is less "
    "than two of them away.</p>"
)
COLUMNS = 60  # in the table of columns
_STYLE = """
:root { color-scheme: light; --alrviz-line: #d5d5da; --alrviz-quiet: #5c5c66; }
body { font: 16px/1.5 Roboto, 'Segoe UI', Helvetica, Arial, sans-serif; color: #1d1d24; background: #fff; margin: 0;
  font-variant-numeric: tabular-nums; }
main { max-width: 1240px; margin: 0 auto; padding: 24px 20px 60px; box-sizing: border-box; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .3em; } h2 { font-size: 1.25rem; margin: 2em 0 .4em;
  border-top: 1px solid var(--alrviz-line); padding-top: 1em; } h3 { font-size: 1rem; margin: 1.2em 0 .3em; }
p, ul { max-width: 46em; } .quiet { color: var(--alrviz-quiet); }
nav { display: flex; flex-wrap: wrap; gap: .2em 1.1em; }
.box { background: #f2f4fa; border-radius: 8px; padding: 10px 18px; margin: 14px 0; } a { color: #2f4f9e; }
.scroll { overflow-x: auto; background: /* shaded on the right until it is scrolled to its end */
  linear-gradient(to left, #fff 30%, #fff0) 100% 0 / 60px 100% no-repeat local,
  linear-gradient(to left, #0002, #0000) 100% 0 / 16px 100% no-repeat scroll; }
table { border-collapse: collapse; } th { font-weight: 500; text-align: right;
  color: var(--alrviz-quiet); vertical-align: bottom; }
td { text-align: right; vertical-align: top; white-space: nowrap; }
td:first-child, td.t { white-space: normal; overflow-wrap: break-word; min-width: 9em; }
td.t, th.t { text-align: left; } td.t { overflow-wrap: anywhere; }
th, td { padding: .25em .8em .25em 0; border-bottom: 1px solid var(--alrviz-line); }
th:first-child, td:first-child { text-align: left; }
@media (max-width: 600px) { table { font-size: .92rem; } th, td { padding-right: .5em; }
  td:first-child, td.t { min-width: 6em; } }
.scroll th:first-child, .scroll td:first-child { position: sticky; left: 0; background: #fff; z-index: 1; }
figure { margin: 0; }
figcaption { color: var(--alrviz-quiet); font-size: .92rem; max-width: 34em; }
.pictures { display: flex; flex-wrap: wrap; gap: 18px 26px; margin: 10px 0; } .pictures figure { flex: 1 1 380px; }
.pictures > * { min-width: min(380px, 100%); max-width: 100%; }
pre { background: #f4f4f6; padding: 12px; border-radius: 6px; overflow-x: auto; font-size: .86rem;
  white-space: pre-wrap; overflow-wrap: anywhere; }
details > summary { cursor: pointer; color: #2f4f9e; padding: .4em 0; }
@media print { .scroll { overflow: visible; } td, th { white-space: normal !important; } }
@media print { h2 { break-after: avoid; } figure, table { break-inside: avoid; } nav { display: none; } }
"""


def report_html(facts: ReportFacts, card: Mapping[str, str] | None = None, *, rows: bool = True) -> str:
    """Return the page.

    card: what a model card says beside the figures, by the keys of CARD. rows: whether rows of the table are shown.

    Raises:
        TableError: a key that is none of the card's.
    """
    card, data = checked_card(card), facts.dataset
    parts = {
        "summary": ("In short", _summary(facts)),
        "table": ("The table, and how it was read", _table(facts)),
        "model": ("The model, and why this one", _model(facts)),
        "matters": ("What matters", what_matters(facts, rows)),
        "good": ("How good it is", how_good(facts)),
        "trust": ("Can its probabilities be trusted?", how_calibrated(facts)),
        "fails": ("Where it fails", where_it_fails(facts, rows)),
        "card": ("Model card", _card(facts, card)),
        "again": ("How to make it again", _again(facts)),
    }
    title = f"Predicting {safe(data.target, 60)} on {safe(data.name, 60)}"
    links = "".join(f"<a href='#{key}'>{words}</a>" for key, (words, _) in parts.items())
    body = "".join(f"<section id='{key}'><h2>{words}</h2>{text}</section>" for key, (words, text) in parts.items())
    return (
        f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>{title}</title>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<link rel='icon' href='data:,'><style>{_STYLE}</style></head><body><main><h1>{title}</h1>"
        f"<p class='quiet'>A report by alrviz {__version__}, {date.today().isoformat()}</p><nav>{links}</nav>"
        f"{body}</main></body></html>\n"
    )


def checked_card(card: Mapping[str, str] | None) -> dict[str, str]:
    """Return what is said for a model card; a key that is none of CARD is a TableError."""
    card = dict(card or {})
    if strange := next((key for key in card if key not in CARD), None):
        raise TableError(f"card has no {strange!r}{nearest(strange, CARD)}; expected some of {', '.join(CARD)}")
    return card


# -- what is said ------------------------------------------------------------------------------------------------------


def _summary(facts: ReportFacts) -> str:
    found, of, data = facts.evaluation, facts.evaluation.summary(), facts.dataset
    tested = bool(facts.holdout)
    tried = "test rows, which it had never seen" if tested else found.what
    lines = [
        f"The model predicts <b>{safe(data.target, 60)}</b> ({_classes_in_words(data)}) from {data.X.shape[1]} columns "
        f"of a table of {facts.whole_rows or data.n_rows:,} rows. It learned from {facts.rows_trained:,} of them and "
        f"was then tried on {len(found.y):,} {tried}.",
        f"Of these, <b>{percent(of.error)} are predicted wrongly</b> (95 % interval: {percent(of.error_low)} to "
        f"{percent(of.error_high)}). Whoever always says "
        f"&ldquo;{safe(found.classes[int(found.shares.argmax())], 60)}&rdquo;, the most frequent class, is wrong for "
        f"{percent(of.shares_error)}.{reference_in_words(facts)}",
        *(f"Rows count by their weight, the column <b>{safe(name, 60)}</b>: shares and losses are weighted."
          for name, kind in data.kinds.items() if kind == "weight"),
        missed(found),
        *(f"<b>Beware</b>: {safe(note, 600)}" for note in filter(None, [data.leaks_note])),
        never_predicted(found),
        no_better(found),
        f"{calibration_sentence(found)} {worst_calibrated(facts)}",
        "" if facts.effects is None else _top(facts),
        hardest_group(facts),
        most_missed(facts),
        most_divided(facts),
        "" if tested else
        "<b>There are no test rows</b>: the figures are of the training rows, and too good.",
    ]  # fmt: skip
    return "<div class='box'><ul>" + "".join(f"<li>{line}</li>" for line in lines if line) + "</ul></div>" + _ERRORS


def _classes_in_words(data: Any) -> str:
    names = [safe(label, 40) for label in data.classes[:6]]
    more = f" and {len(data.classes) - 6:,} more" if len(data.classes) > 6 else ""
    return " or ".join(names) if len(names) == 2 else ", ".join(names) + more


def _top(facts: ReportFacts) -> str:
    table = facts.ranking
    sure = table[beyond_chance(table)].head(4)
    if sure.empty:
        return "No column matters by more than chance gives."
    words = [
        f"<b>{safe(name, 60)}</b>{' (which say the same)' if order == 1 and len(tuples) > 1 else ''}"
        for name, order, tuples in sure[["order", "tuples"]].itertuples()
    ]
    shown = {name for own in sure.tuples for name in own}
    beside = [
        f"{safe(', '.join(names[:-1]), 160)} and {safe(names[-1], 60)} overlap"
        for names, _ in overlaps(facts)
        if shown.intersection(names) and set(names) not in map(set, sure.tuples)
    ]
    more = f" ({'; '.join(beside)}: part of what one says may be counted to another)" if beside else ""
    return f"What matters most: {', '.join(words)}{more}."


def _table(facts: ReportFacts) -> str:
    data = facts.dataset
    counts, codes = data.labels.value_counts(), data.labels.cat.codes.to_numpy()
    weighed = np.bincount(codes, data.weights, data.n_classes)
    shares = dict(zip(data.labels.cat.categories, weighed / weighed.sum(), strict=True))
    encoder = getattr(facts.model, "encoder_", None)  # a classifier of others has none, or one of its own
    numbers = numbers_text(encoder) if isinstance(encoder, Encoder) else ""
    classes = html_table(
        [safe(data.target, 40), "rows", "share"],
        ([safe(label, 60), f"{rows:,}", percent(shares[label])] for label, rows in counts.head(30).items()),
    )
    columns = html_table(
        ["column", "<th class='t'>used as</th>", "levels", "missing", "<th class='t'>why</th>"],
        (
            [safe(c.name, 60), f"<td class='t'>{c.kind}</td>", f"{c.levels:,}", f"{c.missing:,}",
             f"<td class='t'>{safe(c.why, 200)}</td>"]
            for c in data.columns[:COLUMNS]
        ),
    )  # fmt: skip
    more = (
        f"<p class='quiet'>and {len(data.columns) - COLUMNS:,} further columns</p>"
        if len(data.columns) > COLUMNS
        else ""
    )
    notes = "".join(f"<li>{_sentence(note)}</li>" for note in [*data.notes, *_dates(data)])
    said = f"<h3>What was noticed while reading</h3><ul>{notes}</ul>" if notes else ""
    return (
        f"<p>{_size(facts)}, and {data.X.shape[1]} columns "
        f"that are used. A <i>level</i> is a value of a column{f'; {numbers}' if numbers else ''}.</p>"
        f"<h3>The classes</h3>{classes}{said}<h3>The columns</h3>{columns}{more}"
    )


def _size(facts: ReportFacts) -> str:
    data, whole = facts.dataset, facts.whole_rows
    if whole is None:
        return f"{safe(data.name, 100)} has {data.n_rows:,} rows with a class"
    return (
        f"{safe(data.name, 100)} has {whole:,} rows and is read in batches: what stands here of columns and classes is "
        f"counted on a sample of {data.n_rows:,} of them"
    )


def _sentence(note: str) -> str:
    return safe(note[:1].upper() + note[1:], 600) + ("" if note.endswith("?") else ".")


def _dates(data: Dataset) -> list[str]:
    """What to beware of where rows have dates and are drawn at random."""
    dates = [column.name for column in data.columns if column.code is KindCode.DATES]
    if not dates or data.splitting.words:
        return []
    return [
        f"Test rows are drawn at random, of all dates of {dates[0]!r}: of later rows than these the model may know "
        "less than the figures say. To judge it on the latest rows, split them by time "
        f"(--time {dates[0]!r}, or split_by(time={dates[0]!r}))"
    ]


def _model(facts: ReportFacts) -> str:
    model = facts.model
    parameters = getattr(model, "phi_", None)
    recipe = _settled(facts)
    size = (
        "" if parameters is None else f" It has {count_text((len(parameters) + 1) * parameters.shape[1])} such numbers."
    )
    if recipe is None:
        return f"<p>{safe(type(model).__name__)}, a classifier of scikit-learn's kind, as it was given.</p>"
    if facts.effects is None:
        words = safe(facts.no_effects, 400)
        return f"<p>{safe(recipe.name, 300)}.{size}</p>{_chosen(facts)}<p class='quiet'>{words}</p>"
    order = _order(facts.effects)
    return (
        f"<p>The model is a <b>score table</b>: it looks at {_looks(order)}. Every level of every column"
        f"{', and every combination of levels,' if order > 1 else ''} has a number of points for each class; the "
        "points of a row are added up, and the sums are turned into probabilities. So it can be read completely: "
        "nothing is hidden in layers. Points were found by "
        f"{_learned_by(facts, recipe)}.{size}</p>{_chosen(facts)}"
    )


def _order(effects: Interactions) -> int:
    return int(effects.pure.sizes.max())


def _looks(order: int) -> str:
    if order == 1:
        return "each column by itself (main effects)"
    return f"single columns and {'pairs of' if order == 2 else f'combinations of up to {order}'} columns"


def _learned_by(facts: ReportFacts, recipe: Recipe) -> str:
    """How points were found, and what the word means that a stranger may not know."""
    said = recipe.definition.learned_by(recipe.params)
    if not recipe.definition.is_regularised(recipe.params):
        return said
    encoder = getattr(facts.model, "encoder_", None)
    smooth = isinstance(encoder, Encoder) and any(column.smooth for column in encoder.columns_)
    near = ", and intervals next to each other are pulled together" if smooth else ""
    return (
        f"{said}: large points cost a penalty{near}. A value of few rows can have large points all the same, where "
        f"nearly all of these rows{', or of those of its neighbours,' if smooth else ''} are of one class"
    )


def _settled(facts: ReportFacts) -> Recipe | None:
    """The recipe of what was fitted: with the order and the alpha that were chosen."""
    recipe, model = facts.recipe, facts.model
    found = {
        name: value
        for name, value in (("order", getattr(getattr(model, "cells_", None), "order", None)),
                            ("alpha", getattr(model, "alpha_", None)))
        if recipe is not None and value is not None and isinstance(recipe.params.get(name), str)
    }  # fmt: skip
    return recipe.replace(**found) if recipe is not None and found else recipe


def _chosen(facts: ReportFacts) -> str:
    params = {} if facts.recipe is None else facts.recipe.params
    if "auto" not in (params.get("order"), params.get("alpha")) or not facts.chosen:
        if params.get("alpha") == "cv":
            return "<p>How small its points are kept was chosen by cross-validation; other settings were given.</p>"
        return "<p>Its settings were given, not chosen by the program.</p>"
    taken = 0 if facts.effects is None else _order(facts.effects)
    lines = [
        [
            (f"{tuples_text(order)} too" if order > 1 else "single columns") + " (taken)" * (order == taken),
            *("given up" if np.isnan(loss) else loss_text(loss) for loss in losses),
        ]
        for order, *losses in facts.losses[sorted(facts.losses, reverse=True)].itertuples()
    ]
    best = "; the table has the best of each line" if len(lines) > 1 else ""
    few = ""
    if facts.losses.shape[1] == 1 and taken in facts.losses.index and facts.losses.iloc[:, 0].idxmin() != taken:
        gap = float(facts.losses.loc[taken].iloc[0] - facts.losses.iloc[:, 0].min())
        few = f" Here the lowest is {loss_text(gap)} lower, less than a standard error: the simpler one was taken."
    heads = ["the model looks at", "log loss on validation rows", "on those of the first fold alone"]
    table = html_table(heads[: 1 + facts.losses.shape[1]], lines) if len(lines) > 1 else ""
    return (
        f"<p><b>Why this one:</b> {_tried(facts)} were tried on validation rows, set apart from the training "
        f"rows{best}. The one with the lowest <i>log loss</i> was taken, or a simpler one that is as good as far as "
        f"the rows can tell.{few} Log loss is the mean of -log(probability given to what happened): it punishes being "
        "sure and wrong.</p>"
        f"{table}"
    )


def _tried(facts: ReportFacts) -> str:
    """How many models were fitted, and how they differ."""
    if facts.tried.empty:
        return "several models"
    counts = [
        f"{many:,} that look at {f'{tuples_text(int(order))} too' if order > 1 else 'single columns'}"
        for order, many in facts.tried.items()
    ]
    return f"{facts.tried.sum():,} models ({', '.join(counts)}; penalties of different strength)"


def _card(facts: ReportFacts, card: Mapping[str, str]) -> str:
    found, of, data = facts.evaluation, facts.evaluation.summary(), facts.dataset
    auc = "" if np.isnan(of.auc) else f", AUC {number(of.auc, 3)}"
    drawn_so = data.splitting.words or "drawn at random, class by class"
    if facts.whole_rows is not None:  # read in batches: a hash of its number says of each row whether it is a test row
        drawn_so = "each drawn at random by itself"
    if not facts.holdout:
        drawn_so = "no row was set apart to test it"
    judged = f"{len(found.y):,} {found.what}, {safe(drawn_so, 200)}"
    judged += "".join(f"; {safe(note, 200)}" for note in found.notes if facts.whole_rows is not None)
    recipe = _settled(facts)
    by = "" if recipe is None else recipe.definition.learned_by(recipe.params)
    if recipe is None or facts.effects is None or not by:
        kind = safe(recipe.name if recipe else type(facts.model).__name__, 300)
    else:
        kind = f"a score table that looks at {_looks(_order(facts.effects))}, by {safe(by)}"
    known = {
        "Model": kind,
        "Version": f"alrviz {__version__}, {date.today().isoformat()}",
        "Predicts": f"{safe(data.target, 60)}: {_classes_in_words(data)}",
        "Trained on": f"{facts.rows_trained:,} rows of {safe(data.name, 60)}",
        "Judged on": judged,
        "Figures": f"error {percent(of.error)}, log loss {loss_text(of.log_loss)} nats{auc}, calibration error "
        f"(ECE, {BINNING}) {points(of.ece)} percentage points",
        "Groups compared": ", ".join(safe(name, 40) for name in facts.groups),
    }
    said = {
        words: safe(card[key], 2000) if key in card else "<span class='quiet'>not stated</span>"
        for key, words in CARD.items()
    }
    lines = [[words, f"<td class='t'>{text}</td>"] for words, text in {**known, **said}.items()]
    return html_table(["", ""], lines)


def _again(facts: ReportFacts) -> str:
    data, model = facts.dataset, facts.model
    kinds = {c.name: c.kind for c in data.columns if not c.guessed and c.kind != "target"}
    said = f".with_kinds(**{kinds!r})" if kinds else ""
    split = f".{data.splitting.call}" if data.splitting.call else ""
    cut = ", quartiles=True" if data.quartiles else ""
    how = "read_table" if facts.whole_rows is None else "open_table"
    read = f"dataset = alrviz.{how}(FILE, target={data.target!r}{cut}){said}{split}"
    code = f"import alrviz\n\n{read}  # the file of {data.name!r}\n{facts.code}\n"
    names = ("numpy", "scipy", "pandas", "scikit-learn", "numba")
    versions = {"alrviz": __version__, "Python": platform.python_version(), **{name: version(name) for name in names}}
    lines = {
        "Data": safe(data.name, 100), "Digest": f"{data.hash} (SHA-256 of values, target and kinds)",
        "Test rows": f"{facts.holdout:g} of all, seed {facts.seed}",
        "Versions": ", ".join(f"{name} {of}" for name, of in versions.items()),
    }  # fmt: skip
    recipe = _settled(facts)
    if facts.recipe is not None and recipe is not None:
        order = " (n: how many columns are looked at together)" if " n=" in recipe.name else ""
        lines["Model"] = f"{safe(recipe.name, 300)}{order}"
        held = facts.recipe.replace(holdout=facts.holdout, seed=facts.seed)
        lines["Recipe"] = (
            f"<code>{safe(held.to_json(), 2000)}</code> (n_bins: where columns are cut into intervals of equal width, "
            "or of as many rows each)"
        )
    if facts.chosen:
        lines["How it was chosen"] = safe(facts.chosen, 1500)
    outcome = getattr(model, "outcome_", None)
    if outcome is not None:
        lines["The fit"] = f"{safe(outcome, 300)} (F: log loss of all training rows, and the penalty)"
    table = html_table(["", ""], ([words, f"<td class='t'>{text}</td>"] for words, text in lines.items()))
    return (
        f"<p>In Python, with the file at hand:</p><pre>{safe_code(code)}</pre><details><summary>Versions, digest of "
        f"the data, and the settings in the program&rsquo;s own words</summary>{table}</details>"
    )


def safe_code(code: str) -> str:
    """Return code as HTML, with its lines: those of Python, for a name may hold other line ends (U+2028)."""
    return "\n".join(safe(line, 4000) for line in code.split("\n"))
