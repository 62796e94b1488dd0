"""The page of a report: one self-contained HTML file with inline SVG and no scripts.

Its readers know the table but not the method, so every term is explained where it first occurs.
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
from alrviz.errors import TableError, capitalize, nearest
from alrviz.fitting.recipe import Recipe
from alrviz.pictures.formatting import count_text
from alrviz.studies.core.names import tuples_text
from alrviz.studies.effects.interactions import Interactions
from alrviz.studies.effects.texts import beyond_chance
from alrviz.studies.protocols.report_facts import ReportFacts
from alrviz.studies.statistics.evaluation import percent
from alrviz.studies.statistics.measures import BINNING, loss_text
from alrviz.views.core.style import html_table, page_html, safe
from alrviz.views.race.texts import number
from alrviz.views.report.groups import hardest_group, most_divided, most_missed, where_it_fails
from alrviz.views.report.importance import overlaps, what_matters
from alrviz.views.report.quality import (
    calibration_sentence,
    how_calibrated,
    how_good,
    missed_sentence,
    never_predicted,
    reference_sentence,
    worse_than_shares_warning,
    worst_calibrated,
)
from alrviz.views.studies.evaluation import points

# Fields of a model card that the publisher fills in.
CARD_FIELDS = {
    "intended_use": "Intended use", "out_of_scope": "Not to be used for", "owner": "Owner and contact",
    "licence": "Licence", "data_source": "Where the rows come from", "ethics": "Ethical considerations",
    "caveats": "Further caveats",
}  # fmt: skip
_ERROR_NOTE = (
    "<p class='quiet'>The number after &plusmn; is one standard error: in about 95 of 100 cases the true value is less "
    "than two of them away.</p>"
)
MAX_COLUMNS = 60  # of the table of columns


def report_html(facts: ReportFacts, card: Mapping[str, str] | None = None, *, rows: bool = True) -> str:
    """Return the page.

    Args:
        facts: the model and its evaluation.
        card: further fields of the model card, by the keys of CARD_FIELDS.
        rows: whether rows of the table may be shown.

    Raises:
        TableError: for an unknown key of `card`.
    """
    card, data = check_card(card), facts.dataset
    sections = {
        "summary": ("In short", _summary(facts)),
        "table": ("The table, and how it was read", _table_section(facts)),
        "model": ("The model, and why this one", _model_section(facts)),
        "matters": ("What matters", what_matters(facts, rows)),
        "good": ("How good it is", how_good(facts)),
        "trust": ("Can its probabilities be trusted?", how_calibrated(facts)),
        "fails": ("Where it fails", where_it_fails(facts, rows)),
        "card": ("Model card", _card_table(facts, card)),
        "again": ("How to make it again", _reproduction(facts)),
    }
    title = f"Predicting {safe(data.target, 60)} on {safe(data.name, 60)}"
    links = "".join(f"<a href='#{key}'>{words}</a>" for key, (words, _) in sections.items())
    body = "".join(f"<section id='{key}'><h2>{words}</h2>{html}</section>" for key, (words, html) in sections.items())
    byline = f"<p class='quiet'>A report by alrviz {__version__}, {date.today().isoformat()}</p>"
    return page_html(title, f"{byline}<nav>{links}</nav>{body}")


def check_card(card: Mapping[str, str] | None) -> dict[str, str]:
    """Return the fields of a model card; raise TableError for an unknown key."""
    card = dict(card or {})
    if unknown_key := next((key for key in card if key not in CARD_FIELDS), None):
        raise TableError(
            f"card has no {unknown_key!r}{nearest(unknown_key, CARD_FIELDS)}; expected some of {', '.join(CARD_FIELDS)}"
        )
    return card


# -- sections ----------------------------------------------------------------------------------------------------------


def _summary(facts: ReportFacts) -> str:
    """Return the section "In short": the figures and the most important findings as a list."""
    evaluation, summary, data = facts.evaluation, facts.evaluation.summary(), facts.dataset
    has_test_rows = bool(facts.holdout)
    judging_rows = "test rows, which it had never seen" if has_test_rows else evaluation.rows_text
    items = [
        f"The model predicts <b>{safe(data.target, 60)}</b> ({_classes_in_words(data)}) from {data.X.shape[1]} columns "
        f"of a table of {facts.whole_rows or data.n_rows:,} rows. It learned from {facts.rows_trained:,} of them and "
        f"was then tried on {len(evaluation.y):,} {judging_rows}.",
        f"Of these, <b>{percent(summary.error)} are predicted wrongly</b> (95 % interval: "
        f"{percent(summary.error_low)} to {percent(summary.error_high)}). Whoever always says "
        f"&ldquo;{safe(evaluation.classes[int(evaluation.shares.argmax())], 60)}&rdquo;, the most frequent class, is "
        f"wrong for {percent(summary.shares_error)}.{reference_sentence(facts)}",
        *(f"Rows count by their weight, the column <b>{safe(name, 60)}</b>: shares and losses are weighted."
          for name, kind in data.kinds.items() if kind == "weight"),
        missed_sentence(evaluation),
        *(f"<b>Beware</b>: {safe(note, 600)}" for note in filter(None, [data.leaks_note])),
        never_predicted(evaluation),
        worse_than_shares_warning(evaluation),
        f"{calibration_sentence(evaluation)} {worst_calibrated(facts)}",
        "" if facts.effects is None else _top_columns_sentence(facts),
        hardest_group(facts),
        most_missed(facts),
        most_divided(facts),
        "" if has_test_rows else
        "<b>There are no test rows</b>: the figures are of the training rows, and too good.",
    ]  # fmt: skip
    return "<div class='box'><ul>" + "".join(f"<li>{item}</li>" for item in items if item) + "</ul></div>" + _ERROR_NOTE


def _classes_in_words(data: Any) -> str:
    names = [safe(label, 40) for label in data.classes[:6]]
    more_text = f" and {len(data.classes) - 6:,} more" if len(data.classes) > 6 else ""
    return " or ".join(names) if len(names) == 2 else ", ".join(names) + more_text


def _top_columns_sentence(facts: ReportFacts) -> str:
    """Return which columns matter most beyond chance, and which of them overlap."""
    ranking = facts.ranking
    significant = ranking[beyond_chance(ranking)].head(4)
    if significant.empty:
        return "No column matters by more than chance gives."
    name_texts = [
        f"<b>{safe(name, 60)}</b>{' (which say the same)' if order == 1 and len(tuples) > 1 else ''}"
        for name, order, tuples in significant[["order", "tuples"]].itertuples()
    ]
    shown_names = {name for names in significant.tuples for name in names}
    overlap_notes = [
        f"{safe(', '.join(names[:-1]), 160)} and {safe(names[-1], 60)} overlap"
        for names, _ in overlaps(facts)
        if shown_names.intersection(names) and set(names) not in map(set, significant.tuples)
    ]
    suffix = f" ({'; '.join(overlap_notes)}: part of what one says may be counted to another)" if overlap_notes else ""
    return f"What matters most: {', '.join(name_texts)}{suffix}."


def _table_section(facts: ReportFacts) -> str:
    """Return the section on the table: size, classes, what was noticed while reading, columns."""
    data = facts.dataset
    rows_by_class, codes = data.labels.value_counts(), data.labels.cat.codes.to_numpy()
    weights = np.bincount(codes, data.weights, data.n_classes)
    shares = dict(zip(data.labels.cat.categories, weights / weights.sum(), strict=True))
    encoder = getattr(facts.model, "encoder_", None)  # other libraries' classifiers have none, or another kind
    cuts_text = numbers_text(encoder) if isinstance(encoder, Encoder) else ""
    classes_html = html_table(
        [safe(data.target, 40), "rows", "share"],
        ([safe(label, 60), f"{rows:,}", percent(shares[label])] for label, rows in rows_by_class.head(30).items()),
    )
    columns_html = html_table(
        ["column", "<th class='t'>used as</th>", "levels", "missing", "<th class='t'>why</th>"],
        (
            [safe(column.name, 60), f"<td class='t'>{column.kind}</td>", f"{column.levels:,}", f"{column.missing:,}",
             f"<td class='t'>{safe(column.why, 200)}</td>"]
            for column in data.columns[:MAX_COLUMNS]
        ),
    )  # fmt: skip
    more_html = (
        f"<p class='quiet'>and {len(data.columns) - MAX_COLUMNS:,} further columns</p>"
        if len(data.columns) > MAX_COLUMNS
        else ""
    )
    notes = "".join(f"<li>{_sentence(note)}</li>" for note in [*data.notes, *_date_warnings(data)])
    notes_html = f"<h3>What was noticed while reading</h3><ul>{notes}</ul>" if notes else ""
    return (
        f"<p>{_size_sentence(facts)}, and {data.X.shape[1]} columns "
        f"that are used. A <i>level</i> is a value of a column{f'; {cuts_text}' if cuts_text else ''}.</p>"
        f"<h3>The classes</h3>{classes_html}{notes_html}<h3>The columns</h3>{columns_html}{more_html}"
    )


def _size_sentence(facts: ReportFacts) -> str:
    data, n_rows = facts.dataset, facts.whole_rows
    if n_rows is None:
        return f"{safe(data.name, 100)} has {data.n_rows:,} rows with a class"
    return (
        f"{safe(data.name, 100)} has {n_rows:,} rows and is read in batches: columns and classes were "
        f"counted on a sample of {data.n_rows:,} of them"
    )


def _sentence(note: str) -> str:
    return safe(capitalize(note), 600) + ("" if note.endswith("?") else ".")


def _date_warnings(data: Dataset) -> list[str]:
    """Return a warning if rows have dates but test rows are drawn at random."""
    dates = [column.name for column in data.columns if column.code is KindCode.DATES]
    if not dates or data.splitting.words:
        return []
    return [
        f"Test rows are drawn at random, of all dates of {dates[0]!r}: of later rows than these the model may know "
        "less than the figures say. To judge it on the latest rows, split them by time "
        f"(--time {dates[0]!r}, or split_by(time={dates[0]!r}))"
    ]


def _model_section(facts: ReportFacts) -> str:
    """Return the section on the model: what it looks at, how it was fitted and chosen."""
    model = facts.model
    phi = getattr(model, "phi_", None)
    recipe = _fitted_recipe(facts)
    size_text = "" if phi is None else f" It has {count_text((len(phi) + 1) * phi.shape[1])} such numbers."
    if recipe is None:
        return f"<p>{safe(type(model).__name__)}, a classifier of scikit-learn's kind, as it was given.</p>"
    if facts.effects is None:
        reason_html = safe(facts.no_effects, 400)
        return f"<p>{safe(recipe.name, 300)}.{size_text}</p>{_choice_text(facts)}<p class='quiet'>{reason_html}</p>"
    order = _order(facts.effects)
    return (
        f"<p>The model is a <b>score table</b>: it looks at {_order_words(order)}. Every level of every column"
        f"{', and every combination of levels,' if order > 1 else ''} has a number of points for each class; the "
        "points of a row are added up, and the sums are turned into probabilities. So it can be read completely: "
        "nothing is hidden in layers. Points were found by "
        f"{_learning_words(facts, recipe)}.{size_text}</p>{_choice_text(facts)}"
    )


def _order(effects: Interactions) -> int:
    return int(effects.pure.sizes.max())


def _order_words(order: int) -> str:
    if order == 1:
        return "each column by itself (main effects)"
    return f"single columns and {'pairs of' if order == 2 else f'combinations of up to {order}'} columns"


def _learning_words(facts: ReportFacts, recipe: Recipe) -> str:
    """Return how the points of the levels (their contributions to the score of each class) were fitted, and what
    regularisation does to them.
    """
    method_text = recipe.definition.training_method(recipe.params)
    if not recipe.definition.is_regularised(recipe.params):
        return method_text
    encoder = getattr(facts.model, "encoder_", None)
    is_smooth = isinstance(encoder, Encoder) and any(column.smooth for column in encoder.columns_)
    smoothing_text = ", and intervals next to each other are pulled together" if is_smooth else ""
    return (
        f"{method_text}: large points cost a penalty{smoothing_text}. A value of few rows can have large points all "
        "the same, "
        f"where nearly all of these rows{', or of those of its neighbours,' if is_smooth else ''} are of one class"
    )


def _fitted_recipe(facts: ReportFacts) -> Recipe | None:
    """Return the recipe with the order and alpha that the fit chose; None if the report has no recipe."""
    recipe, model = facts.recipe, facts.model
    settings = {
        name: value
        for name, value in (("order", getattr(getattr(model, "cells_", None), "order", None)),
                            ("alpha", getattr(model, "alpha_", None)))
        if recipe is not None and value is not None and isinstance(recipe.params.get(name), str)
    }  # fmt: skip
    return recipe.replace(**settings) if recipe is not None and settings else recipe


def _choice_text(facts: ReportFacts) -> str:
    """Return why this model was chosen, with the validation losses by order where several were tried."""
    params = {} if facts.recipe is None else facts.recipe.params
    if "auto" not in (params.get("order"), params.get("alpha")) or not facts.chosen:
        if params.get("alpha") == "cv":
            return "<p>How small its points are kept was chosen by cross-validation; other settings were given.</p>"
        return "<p>Its settings were given, not chosen by the program.</p>"
    chosen_order, losses = 0 if facts.effects is None else _order(facts.effects), facts.losses
    if chosen_order in losses.index:
        losses = losses.loc[:, losses.loc[chosen_order].notna()]  # on rows on which it was compared
    table_rows = [
        [
            (f"{tuples_text(order)} too" if order > 1 else "single columns") + " (taken)" * (order == chosen_order),
            *("given up" if np.isnan(loss) else loss_text(loss) for loss in row),
        ]
        for order, *row in losses[sorted(losses, reverse=True)].itertuples()
    ]
    best_note = "; the table has the best of each line" if len(table_rows) > 1 else ""
    simpler_note = ""
    if losses.shape[1] == 1 and chosen_order in losses.index and losses.iloc[:, 0].idxmin() != chosen_order:
        loss_gap = float(losses.loc[chosen_order].iloc[0] - losses.iloc[:, 0].min())
        simpler_note = (
            f" Here the lowest is {loss_text(loss_gap)} lower, less than a standard error: the simpler one was taken."
        )
    column_titles = ["the model looks at", "log loss on validation rows", "on those of the first fold alone"]
    losses_table = html_table(column_titles[: 1 + losses.shape[1]], table_rows) if len(table_rows) > 1 else ""
    return (
        f"<p><b>Why this one:</b> {_trials_text(facts)} were tried on validation rows, set apart from the training "
        f"rows{best_note}. The one with the lowest <i>log loss</i> was taken, or a simpler one that is as good as "
        f"far as the rows can tell.{simpler_note} Log loss is the mean of -log(probability given to what happened): it "
        "punishes being sure and wrong.</p>"
        f"{losses_table}"
    )


def _trials_text(facts: ReportFacts) -> str:
    """Return how many models were fitted, and how they differ."""
    if facts.tried.empty:
        return "several models"
    trial_texts = [
        f"{n_trials:,} that look at {f'{tuples_text(int(order))} too' if order > 1 else 'single columns'}"
        for order, n_trials in facts.tried.items()
    ]
    return f"{facts.tried.sum():,} models ({', '.join(trial_texts)}; penalties of different strength)"


def _card_table(facts: ReportFacts, card: Mapping[str, str]) -> str:
    """Return the model card as a table; card: the publisher's fields by key."""
    evaluation, summary, data = facts.evaluation, facts.evaluation.summary(), facts.dataset
    auc_text = "" if np.isnan(summary.auc) else f", AUC {number(summary.auc, 3)}"
    split_words = data.splitting.words or "drawn at random, class by class"
    if facts.whole_rows is not None:  # in batches, a hash of its number decides whether a row is a test row
        split_words = "each drawn at random by itself"
    if not facts.holdout:
        split_words = "no row was set apart to test it"
    judging_rows = f"{len(evaluation.y):,} {evaluation.rows_text}, {safe(split_words, 200)}"
    judging_rows += "".join(f"; {safe(note, 200)}" for note in evaluation.notes if facts.whole_rows is not None)
    recipe = _fitted_recipe(facts)
    training_method = "" if recipe is None else recipe.definition.training_method(recipe.params)
    if recipe is None or facts.effects is None or not training_method:
        model_html = safe(recipe.name if recipe else type(facts.model).__name__, 300)
    else:
        model_html = f"a score table that looks at {_order_words(_order(facts.effects))}, by {safe(training_method)}"
    figures = {
        "Model": model_html,
        "Version": f"alrviz {__version__}, {date.today().isoformat()}",
        "Predicts": f"{safe(data.target, 60)}: {_classes_in_words(data)}",
        "Trained on": f"{facts.rows_trained:,} rows of {safe(data.name, 60)}",
        "Tested on": judging_rows,
        "Figures": f"error {percent(summary.error)}, log loss {loss_text(summary.log_loss)} nats{auc_text}, "
        f"calibration error (ECE, {BINNING}) {points(summary.ece)} percentage points",
        "Groups compared": ", ".join(safe(name, 40) for name in facts.groups),
    }
    statements = {
        title: safe(card[key], 2000) if key in card else "<span class='quiet'>not stated</span>"
        for key, title in CARD_FIELDS.items()
    }
    table_rows = [[title, f"<td class='t'>{statement}</td>"] for title, statement in {**figures, **statements}.items()]
    return html_table(["", ""], table_rows)


def _reproduction(facts: ReportFacts) -> str:
    """Return the section with code, versions and settings that make the report again."""
    data, model = facts.dataset, facts.model
    kinds = {column.name: column.kind for column in data.columns if not column.guessed and column.kind != "target"}
    kinds_call = f".with_kinds(**{kinds!r})" if kinds else ""
    split_code = f".{data.splitting.call}" if data.splitting.call else ""
    quartiles_code = ", quartiles=True" if data.quartiles else ""
    reader = "read_table" if facts.whole_rows is None else "open_table"
    read_code = f"dataset = alrviz.{reader}(FILE, target={data.target!r}{quartiles_code}){kinds_call}{split_code}"
    code = f"import alrviz\n\n{read_code}  # the file of {data.name!r}\n{facts.code}\n"
    names = ("numpy", "scipy", "pandas", "scikit-learn", "numba")
    versions = {"alrviz": __version__, "Python": platform.python_version(), **{name: version(name) for name in names}}
    detail_by_title = {
        "Data": safe(data.name, 100), "Digest": f"{data.hash} (SHA-256 of values, target and kinds)",
        "Test rows": f"{facts.holdout:g} of all, seed {facts.seed}",
        "Versions": ", ".join(f"{name} {version_text}" for name, version_text in versions.items()),
    }  # fmt: skip
    recipe = _fitted_recipe(facts)
    if facts.recipe is not None and recipe is not None:
        order_text = " (n: how many columns are looked at together)" if " n=" in recipe.name else ""
        detail_by_title["Model"] = f"{safe(recipe.name, 300)}{order_text}"
        split_recipe = facts.recipe.replace(holdout=facts.holdout, seed=facts.seed)
        detail_by_title["Recipe"] = (
            f"<code>{safe(split_recipe.to_json(), 2000)}</code> (n_bins: where columns are cut into intervals of equal "
            "width, or of as many rows each)"
        )
    if facts.chosen:
        detail_by_title["How it was chosen"] = safe(facts.chosen, 1500)
    outcome = getattr(model, "outcome_", None)
    if outcome is not None:
        detail_by_title["The fit"] = f"{safe(outcome, 300)} (F: log loss of all training rows, and the penalty)"
    table = html_table(["", ""], ([title, f"<td class='t'>{detail}</td>"] for title, detail in detail_by_title.items()))
    return (
        f"<p>In Python, with the file at hand:</p><pre>{safe_code(code)}</pre><details><summary>Versions, digest of "
        f"the data, and the settings in the program&rsquo;s own words</summary>{table}</details>"
    )


def safe_code(code: str) -> str:
    """Return code as HTML. Only line feeds separate lines, because names may contain others (U+2028)."""
    return "\n".join(safe(line, 4000) for line in code.split("\n"))
