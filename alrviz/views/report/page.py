"""The page of a report: one HTML file with inline SVG, without scripts, a network or a server.

Its readers know the table, not the method: every term is said in words where it first stands.
"""

import platform
from collections.abc import Mapping, Sequence
from datetime import date
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from alrviz import __version__
from alrviz.errors import AlrvizError, TableError, nearest
from alrviz.pictures import effect_stills
from alrviz.pictures import evaluation as drawn
from alrviz.pictures.formatting import count_text
from alrviz.pictures.picture import Picture
from alrviz.pictures.still_svg import still_svg
from alrviz.studies.effects.interactions import Interactions
from alrviz.studies.protocols.report_facts import ReportFacts
from alrviz.studies.statistics.evaluation import Evaluation, percent
from alrviz.studies.statistics.measures import loss_text
from alrviz.views.core.style import html_table, safe
from alrviz.views.race.words import number
from alrviz.views.studies.evaluation import classes_html, groups_html, summary_html, worst_html

# What a model card says that no table tells: who publishes it fills them in.
CARD = {
    "intended_use": "Intended use", "out_of_scope": "Not to be used for", "owner": "Owner and contact",
    "licence": "Licence", "data_source": "Where the rows come from", "ethics": "Ethical considerations",
    "caveats": "Further caveats",
}  # fmt: skip
COLUMNS = 60  # in the table of columns
EFFECTS = 4  # main effects drawn
PAIRS = 2
CELLS = 1_600  # of a heat map
GROUPS = 3  # columns whose groups are compared
GROUPED = 8  # the most important columns among which these are sought
_STYLE = """
:root { color-scheme: light; --alrviz-line: #d5d5da; --alrviz-quiet: #5c5c66; }
body { font: 16px/1.5 Roboto, 'Segoe UI', Helvetica, Arial, sans-serif; color: #1d1d24; background: #fff; margin: 0;
  font-variant-numeric: tabular-nums; }
main { max-width: 1060px; margin: 0 auto; padding: 24px 20px 60px; box-sizing: border-box; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .3em; } h2 { font-size: 1.25rem; margin: 2em 0 .4em;
  border-top: 1px solid var(--alrviz-line); padding-top: 1em; } h3 { font-size: 1rem; margin: 1.2em 0 .3em; }
p, ul { max-width: 46em; } .quiet { color: var(--alrviz-quiet); }
nav { display: flex; flex-wrap: wrap; gap: .2em 1.1em; }
.box { background: #f2f4fa; border-radius: 8px; padding: 10px 18px; margin: 14px 0; } a { color: #2f4f9e; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; } th { font-weight: 500; text-align: right;
  color: var(--alrviz-quiet); white-space: nowrap; vertical-align: bottom; }
td { text-align: right; vertical-align: top; white-space: nowrap; }
td:first-child, td.t { white-space: normal; overflow-wrap: break-word; min-width: 9em; }
td.t, th.t { text-align: left; }
@media (max-width: 600px) { th { white-space: normal; } td:first-child, td.t { min-width: 6em; } }
th, td { padding: .25em .8em .25em 0; border-bottom: 1px solid var(--alrviz-line); }
th:first-child, td:first-child { text-align: left; } figure { margin: 0; }
figcaption { color: var(--alrviz-quiet); font-size: .92rem; max-width: 34em; }
.pictures { display: flex; flex-wrap: wrap; gap: 18px 26px; margin: 10px 0; } .pictures figure { flex: 1 1 440px; }
.pictures > * { min-width: min(440px, 100%); max-width: 100%; }
pre { background: #f4f4f6; padding: 12px; border-radius: 6px; overflow-x: auto; font-size: .86rem;
  white-space: pre-wrap; overflow-wrap: anywhere; }
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
        "matters": ("What matters", _matters(facts)),
        "good": ("How good it is", _good(facts)),
        "trust": ("Can its probabilities be trusted?", _trust(facts)),
        "fails": ("Where it fails", _fails(facts, rows)),
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


def _picture(picture: Picture, words: str, caption: str = "", *, width: int = 500, height: int = 310) -> str:
    told = f"<figcaption>{caption}</figcaption>" if caption else ""
    return f"<figure>{still_svg(picture.plot().figure, words, width=width, height=height)}{told}</figure>"


# -- what is said ------------------------------------------------------------------------------------------------------


def _summary(facts: ReportFacts) -> str:
    found, of, data = facts.evaluation, facts.evaluation.summary(), facts.dataset
    lines = [
        f"The model predicts <b>{safe(data.target, 60)}</b> ({_classes_in_words(data)}) from {data.X.shape[1]} "
        "columns of "
        f"a table of {data.n_rows:,} rows. It learned from {facts.rows_trained:,} of them and was then tried on "
        f"{len(found.y):,} {_which(found)}.",
        f"Of these, <b>{percent(of.error)} are predicted wrongly</b>. Whoever always says "
        f"&ldquo;{safe(found.classes[int(found.shares.argmax())], 60)}&rdquo;, the most frequent class, is wrong for "
        f"{percent(of.shares_error)}.",
        _trust_sentence(found),
    ]
    if facts.effects is not None:
        lines.append(f"What matters most: {_top(facts.effects)}.")
    if worst := _worst_group(facts):
        lines.append(worst)
    if found.what != "held-out rows":
        lines.append(
            "<b>No rows were held out</b>: the figures are of rows that the model has learned from, and too good."
        )
    return "<div class='box'><ul>" + "".join(f"<li>{line}</li>" for line in lines) + "</ul></div>"


def _which(found: Evaluation) -> str:
    return "others, which it had never seen" if found.what == "held-out rows" else found.what


def _classes_in_words(data: Any) -> str:
    names = [safe(label, 40) for label in data.classes[:6]]
    more = f" and {len(data.classes) - 6:,} more" if len(data.classes) > 6 else ""
    return " or ".join(names) if len(names) == 2 else ", ".join(names) + more


def _top(effects: Interactions, most: int = 4) -> str:
    return ", ".join(f"<b>{safe(name, 60)}</b>" for name in _ranked(effects).index[:most])


def _trust_sentence(found: Evaluation) -> str:
    table, ece = found.reliability(), found.summary().ece
    gap = float(np.average(table.confidence - table.accuracy, weights=table.rows))
    lean = "a little too sure of itself" if gap > 0.005 else "a little too cautious" if gap < -0.005 else ""
    said = (
        "can be taken at their word" if ece < 0.02 else "are roughly right" if ece < 0.06 else "are not to be trusted"
    )
    return f"Its probabilities {said}: they are off by {percent(ece)} on average" + (
        f", and it is {lean}." if lean else "."
    )


def _worst_group(facts: ReportFacts) -> str:
    """The group with the clearest excess of errors."""
    overall, worst = facts.evaluation.error, None
    for column, table in _grouped(facts):
        for line in table[(table.low > overall) & (table.rows >= 30)].to_dict("records"):
            if worst is None or line["low"] > worst[1]["low"]:
                worst = (column, line)
    if worst is None:
        return ""
    column, line = worst
    return (
        f"It fails most often where <b>{safe(column, 40)}</b> is {safe(line['group'], 40)}: {percent(line['error'])} "
        "of "
        f"{line['rows']:,} rows are wrong (all rows: {percent(overall)})."
    )


def _table(facts: ReportFacts) -> str:
    data = facts.dataset
    shares = data.labels.value_counts()
    classes = html_table(
        [safe(data.target, 40), "rows", "share"],
        ([safe(label, 60), f"{rows:,}", percent(rows / data.n_rows)] for label, rows in shares.head(30).items()),
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
    notes = "".join(f"<li>{safe(note[:1].upper() + note[1:], 600)}.</li>" for note in data.notes)
    said = f"<h3>What was noticed while reading</h3><ul>{notes}</ul>" if notes else ""
    return (
        f"<p>{safe(data.name, 100)} has {data.n_rows:,} rows with a class, and {data.X.shape[1]} columns that are "
        "used. A "
        f"<i>level</i> is a value of a column; numbers are cut into intervals when the model is fitted.</p>"
        f"<h3>The classes</h3>{classes}{said}<h3>The columns</h3>{columns}{more}"
    )


def _model(facts: ReportFacts) -> str:
    model, recipe = facts.model, facts.recipe
    parameters = getattr(model, "phi_", None)
    size = "" if parameters is None else f" It has {count_text((len(parameters) + 1) * parameters.shape[1])} numbers."
    if recipe is None:
        return f"<p>{safe(type(model).__name__)}, a classifier of scikit-learn's kind, as it was given.</p>"
    if facts.effects is None:
        words = safe(facts.no_effects, 400)
        return f"<p>{safe(recipe.name, 300)}.{size}</p>{_chosen(facts)}<p class='quiet'>{words}</p>"
    order = int(facts.effects.pure.sizes.max())
    looks = (
        "each column by itself (main effects)" if order == 1 else
        f"single columns and {'pairs' if order == 2 else f'combinations of up to {order}'} of columns"
    )  # fmt: skip
    return (
        f"<p>The model is a <b>score table</b>: it looks at {looks}. Every level, and every combination of levels, has "
        "a number of points for each class; the points of a row are added up, and the sums are turned into "
        "probabilities. So it can be read completely: nothing is hidden in layers. Points were learned by logistic "
        f"regression, and are kept small where rows are few (regularisation).{size}</p>{_chosen(facts)}"
        f"<p class='quiet'>In the terms of the field: {safe(recipe.name, 300)}. n, the <i>order</i>, is how many "
        "columns are "
        "looked at together.</p>"
    )


def _chosen(facts: ReportFacts) -> str:
    params = {} if facts.recipe is None else facts.recipe.params
    if "auto" not in (params.get("order"), params.get("alpha")) or not facts.chosen:
        return "<p>Its settings were given, not chosen by the program.</p>"
    return (
        "<p><b>Why this one:</b> several models were tried on rows held out of the training rows, and the one with "
        "the lowest <i>log loss</i> was taken, or a simpler one that is as good: the mean of -log(probability given to "
        f"what happened), which punishes being sure and wrong. What was chosen:</p><p>{safe(facts.chosen, 1500)}</p>"
    )


def _matters(facts: ReportFacts) -> str:
    effects, label = facts.effects, facts.evaluation.interest
    if effects is None:
        return f"<p>This model cannot be taken apart into effects: {safe(facts.no_effects, 400)}.</p>"
    known = [str(own) for own in effects.classes]
    if label not in known:  # a class that came later than all rows that were learned from
        label = known[int(np.bincount(effects.encoded.y).argmax())]
    table = _ranked(effects)
    rows = [
        [safe(name, 80), f"{line['order']}", f"{number(line['loss'], 4)} &plusmn; {number(line['loss_error'], 4)}",
         percent(line["share"])]
        for name, line in zip(table.index[:15], table.head(15).to_dict("records"), strict=True)
    ]  # fmt: skip
    orders = effects.orders()
    split = html_table(
        ["columns together", "how many", "share of the score"],
        ([f"{n}", f"{line['tuples']:,.0f}", percent(line["share"])] for n, line in orders.to_dict("index").items()),
    )
    listed = html_table(
        ["column, or columns together", "columns", "log loss without it: nats more", "share of the score"],
        rows,
    )
    return (
        f"<p>{safe(effects.sentence(), 500)}</p>"
        "<p>A <i>main effect</i> is what a column says by itself, an effect of a pair what two columns say together "
        "beyond that (<i>pure</i> effects), so that the shares add up to 100 %. They are ranked by how much worse the "
        "probabilities of held-out rows get without them, in nats of log loss: the whole model gains "
        f"{loss_text(_gain(facts.evaluation))} nats over the class shares.</p>"
        f"<div class='pictures'>{_picture(effect_stills.ranked(table), 'Importance of columns', height=380)}"
        f"<div>{split}</div></div>{listed}"
        f"<h3>How columns act on {safe(label, 40)}</h3><p>Right, or up, is toward {safe(label, 40)}. A step of 0.7 "
        "doubles the odds, -0.7 halves them; what other columns say is not in it. In brackets: rows; pale where they "
        "are few.</p>"
        f"<div class='pictures'>{_effects(effects, label)}</div>"
    )


def _ranked(effects: Interactions) -> pd.DataFrame:
    """Columns and tuples by what leaving them out was measured to cost: the one ranking of the page."""
    return effects.importance().sort_values("loss", ascending=False, kind="stable")


def _gain(found: Evaluation) -> float:
    of = found.summary()
    return float(of.shares_log_loss - of.log_loss)


def _effects(effects: Interactions, label: str) -> str:
    """The most important main effects and pairs, drawn."""
    names = _ranked(effects)
    drawn_ones = []
    for name in names.index[names.order == 1][:EFFECTS]:
        column = effects.pure.space.members[effects.number_of(name)][0]
        table = effect_stills.toward(effects.effects(name), label)
        order = effects.labels(column) if column in effects.encoder.numeric_ else None
        picture = effect_stills.main_effect(table, str(name), label, order)
        drawn_ones.append(_picture(picture, f"Effect of {name}", height=min(180 + 18 * min(len(table), 30), 520)))
    for name in names.index[names.order == 2]:
        members = effects.pure.space.members[effects.number_of(name)]
        levels = [effects.labels(j) for j in members]
        if len(levels[0]) * len(levels[1]) > CELLS or len(drawn_ones) >= EFFECTS + PAIRS:
            continue
        picture = _pair(effects, str(name), [int(j) for j in members], levels, label)
        caption = f"{safe(name, 80)}: blue toward {safe(label, 40)}, orange away from it; grey: no such row"
        drawn_ones.append(_picture(picture, f"Effect of {name}", caption, height=380))
    return "".join(drawn_ones)


def _pair(
    effects: Interactions, name: str, members: Sequence[int], levels: Sequence[Sequence[str]], label: str
) -> Picture:
    t = effects.number_of(name)
    pure = effects.pure
    cells = pure.cells_of(t)
    codes = pure.space.codes_of(pure.index.seen[cells])
    k = list(map(str, effects.classes)).index(label)
    many = len(effects.classes)
    values, rows = (np.zeros((len(levels[0]), len(levels[1]))) for _ in range(2))
    values[codes[:, 0], codes[:, 1]] = pure.f[cells][:, k] * (many / max(many - 1, 1))
    rows[codes[:, 0], codes[:, 1]] = pure.rows[cells]
    used = [np.flatnonzero(rows.sum(axis=1 - side) > 0) for side in (0, 1)]
    first, second = ([levels[side][at] for at in used[side].tolist()] for side in (0, 1))
    columns = (effects.columns[members[0]], effects.columns[members[1]])
    return effect_stills.pair_effect(values[np.ix_(*used)], rows[np.ix_(*used)], columns, (first, second))


def _good(facts: ReportFacts) -> str:
    found = facts.evaluation
    label, two = found.interest, len(found.classes) == 2
    matrix = _picture(
        drawn.confusion(found), "Confusion matrix",
        "Confusion matrix: a line is a class, a column what its rows are predicted as; the diagonal is right.",
    )  # fmt: skip
    roc = _picture(
        drawn.curves("roc", found, label, 0.5 if two else None), "ROC curve",
        f"ROC: the share of {safe(label, 40)} that is found (sensitivity) against false alarms among the others, as "
        "the "
        "threshold falls. The diagonal is guessing; the area under the curve (AUC) is 1 for a perfect model.",
    )  # fmt: skip
    precision = _picture(
        drawn.curves("precision", found, label, 0.5 if two else None), "Precision and recall",
        f"Precision against recall: of the rows said to be {safe(label, 40)}, how many are; and of those that are, "
        "how many "
        "are found. The dashed line is guessing.",
    )  # fmt: skip
    return (
        f"<p>All figures are of the {len(found.y):,} {found.what}. Log loss is the mean of -log(probability given to "
        "what "
        "happened), in nats: 0 would be certainty that is always right.</p>"
        f"{summary_html(found)}<div class='pictures'>{matrix}{roc}{precision}</div>{classes_html(found)}"
        f"<h3>If {safe(label, 40)} must not be missed, or must not be cried too often</h3>"
        f"<p>{safe(label, 40)} is predicted where its probability reaches a threshold. A lower one finds more of its "
        "rows "
        "(sensitivity) and raises more false alarms (lower specificity). PPV is the share of alarms that are "
        "right.</p>"
        f"{_matched(found)}"
    )


def _matched(found: Evaluation) -> str:
    wanted: list[tuple[str, dict[str, float]]] = [
        ("threshold 0.5", {"threshold": 0.5}),
        *((f"specificity {share:.0%}", {"specificity": share}) for share in (0.8, 0.9, 0.95)),
        *((f"sensitivity {share:.0%}", {"sensitivity": share}) for share in (0.8, 0.95)),
        ("a miss costs 5 false alarms", {"miss": 5.0}),
    ]
    rows = []
    for words, how in wanted:
        try:
            at = found.at(**how)  # type: ignore[arg-type]
        except AlrvizError:  # of one class alone nothing can be matched
            continue
        names = ("sensitivity", "specificity", "ppv", "npv", "accuracy")
        rows.append([words, number(min(at.threshold, 1.0), 3), *(percent(at[name]) for name in names)])
    return html_table(["chosen for", "threshold", "sensitivity", "specificity", "PPV", "NPV", "accuracy"], rows)


def _trust(facts: ReportFacts) -> str:
    found = facts.evaluation
    label = found.interest
    one = _picture(
        drawn.calibration(found, label), "Reliability curve",
        f"Rows in groups by the probability of {safe(label, 40)}, against the share that is {safe(label, 40)}. On the "
        "dashed diagonal probabilities are right; bars are one standard error.",
    )  # fmt: skip
    two = _picture(
        drawn.calibration(found), "Reliability curve of the class predicted",
        "The same for the class that is predicted, whichever that is. Below the diagonal the model is too sure.",
    )  # fmt: skip
    of = found.summary()
    return (
        f"<p>{_trust_sentence(found)} The Brier score, the mean squared distance between probabilities and what "
        "happened, "
        f"is {number(of.brier, 3)}.</p><div class='pictures'>{one}{two}</div>"
    )


def _grouped(facts: ReportFacts) -> list[tuple[str, pd.DataFrame]]:
    """The groups of the columns whose groups differ most in error, among the most important."""
    found = facts.evaluation
    columns = list(map(str, found.X.columns))
    if facts.effects is not None:
        names = _ranked(facts.effects)
        first = [str(name) for name in names.index[names.order == 1] if str(name) in columns]
        columns = [*first, *(name for name in columns if name not in first)]
    tables = [(name, found.groups(name)) for name in columns[:GROUPED]]
    spread = [float((t.rows * (t.error - found.error) ** 2).sum()) for _, t in tables]
    return [tables[k] for k in np.argsort(spread)[::-1][:GROUPS]]


def _fails(facts: ReportFacts, rows: bool) -> str:
    found = facts.evaluation
    parts = [
        "<p>The share of wrong predictions by groups of rows, with 95 % intervals; the dashed line is all rows. A "
        "group "
        "whose interval lies to the right of it fares worse.</p>"
    ]
    for name, table in _grouped(facts):
        height = 120 + 26 * len(table)
        picture = _picture(drawn.groups(table, found.error), f"Errors by {name}", width=620, height=height)
        parts.append(f"<h3>By {safe(name, 60)}</h3>{picture}{groups_html(table).removeprefix('<h3>Groups</h3>')}")
    confused = found.confusions(8)
    if len(found.classes) > 2 and len(confused):
        lines = (
            [safe(line["class"], 60), safe(line["predicted"], 60), f"{line['rows']:,.6g}", percent(line["share"])]
            for line in confused.to_dict("records")
        )
        heads = ["class", "predicted as", "rows", "share of the class"]
        parts.append(f"<h3>Classes most often confused</h3>{html_table(heads, lines)}")
    if rows:
        parts.append(
            "<h3>The rows that it got most wrong</h3><p>Worth a look: they may be errors of the table, or cases that "
            "its "
            f"columns do not tell.</p>{worst_html(found, 10)}"
        )
    return "".join(parts)


def _card(facts: ReportFacts, card: Mapping[str, str]) -> str:
    found, of, data = facts.evaluation, facts.evaluation.summary(), facts.dataset
    auc = "" if np.isnan(of.auc) else f", AUC {number(of.auc, 3)}"
    drawn_so = data.splitting.words or "drawn at random, class by class"
    known = {
        "Model": safe(facts.recipe.name if facts.recipe else type(facts.model).__name__, 300),
        "Version": f"alrviz {__version__}, {date.today().isoformat()}",
        "Predicts": f"{safe(data.target, 60)}: {_classes_in_words(data)}",
        "Trained on": f"{facts.rows_trained:,} rows of {safe(data.name, 60)}",
        "Judged on": f"{len(found.y):,} {found.what}, {safe(drawn_so, 200)}",
        "Figures": f"error {percent(of.error)}, log loss {loss_text(of.log_loss)} nats{auc}, ECE {percent(of.ece)}",
        "Groups compared": ", ".join(safe(name, 40) for name, _ in _grouped(facts)),
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
    read = f"dataset = alrviz.read_table(FILE, target={data.target!r}){said}{split}"
    code = f"import alrviz\n\n{read}  # the file of {data.name}\n{facts.code}\n"
    names = ("numpy", "scipy", "pandas", "scikit-learn", "numba")
    versions = {"alrviz": __version__, "Python": platform.python_version(), **{name: version(name) for name in names}}
    lines = {
        "Data": safe(data.name, 100), "Digest": f"{data.hash} (SHA-256 of values, target and kinds)",
        "Rows held out": f"{facts.holdout:g} of them, seed {facts.seed}",
        "Versions": ", ".join(f"{name} {of}" for name, of in versions.items()),
    }  # fmt: skip
    if facts.recipe is not None:
        lines["Recipe"] = f"<code>{safe(facts.recipe.to_json(), 2000)}</code>"
    outcome = getattr(model, "outcome_", None)
    if outcome is not None:
        lines["The fit"] = safe(outcome.sentence, 300)
    table = html_table(["", ""], ([words, f"<td class='t'>{text}</td>"] for words, text in lines.items()))
    return f"{table}<pre>{safe_code(code)}</pre>"


def safe_code(code: str) -> str:
    """Return code as HTML, with its lines."""
    return "\n".join(safe(line, 4000) for line in code.splitlines())
