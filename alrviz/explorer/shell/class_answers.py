"""The answers of a class as HTML: bars for each round of a question, with the outcome marked."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np

from alrviz.errors import plural
from alrviz.explorer.lesson import AnswerValue, Question
from alrviz.explorer.server.classes import Round
from alrviz.explorer.shell import asset
from alrviz.views.core.style import safe

ToHtml = Callable[[str], str]
BINS = 7  # of numbers
MAX_TEXTS = 30
MAX_SKETCHES = 60  # one for each student
CSS = asset("class_answers.css")


def answers_html(rounds: Sequence[Round], to_html: ToHtml = safe, outcome: AnswerValue | None = None) -> str:
    """Return the answers to a question as HTML, for its latest two rounds with answers.

    Args:
        rounds: all rounds of the question.
        to_html: converts the text of an option to HTML.
        outcome: the right answer; None if it is not known.
    """
    answered_rounds, question = [round_ for round_ in rounds if round_.votes], rounds[-1].question
    if not answered_rounds:
        return "<p>Nobody has answered.</p>"
    html_of_kind = {
        "choice": _choice_html, "number": _number_html, "order": _order_html, "sketch": _sketch_html,
        "text": _text_html,
    }  # fmt: skip
    answers = html_of_kind[question.kind](question, answered_rounds[-2:], to_html, outcome)
    counts_text = ", then ".join(plural(len(round_.votes), "answer") for round_ in answered_rounds)
    legend = " (pale: before)" if len(answered_rounds) > 1 else ""
    return f"<p class='quiet'>{counts_text}{legend}</p>{answers}{_notes_html(answered_rounds[-1])}"


def _bars_html(rows: Sequence[tuple[str, Sequence[int], bool]], totals: Sequence[int]) -> str:
    """Return bars as HTML. rows: name, counts by round, whether it is the outcome. totals: answers by round."""
    shares_by_row = [[count / total for count, total in zip(counts, totals, strict=True)] for _, counts, _ in rows]
    max_share = max(chain.from_iterable(shares_by_row), default=1) or 1
    table_rows_html = []
    for (name, _, outcome), row_shares in zip(rows, shares_by_row, strict=True):
        bars_html = "".join(
            f"<i{' class=before' if k < len(row_shares) - 1 else ''} style='width:{100 * share / max_share:.0f}%'></i>"
            for k, share in enumerate(row_shares)
        )
        percentages_html = "<br>".join(f"{100 * share:.0f} %" for share in row_shares)
        outcome_mark = " ✓ what happened" if outcome else ""
        table_rows_html.append(
            f"<tr{' class=was' if outcome else ''}><th scope=row>{name}{outcome_mark}</th><td>{bars_html}</td>"
            f"<td>{percentages_html}</td></tr>"
        )
    return f"<table class=answers>{''.join(table_rows_html)}</table>"


def _choice_html(question: Question, rounds: Sequence[Round], to_html: ToHtml, outcome: AnswerValue | None) -> str:
    counts_by_round = [Counter(vote.answer for vote in round_.votes.values()) for round_ in rounds]
    rows = [
        (to_html(option.words), [counts[option.value] for counts in counts_by_round], option.value == outcome)
        for option in question.options
    ]
    return _bars_html(rows, [len(round_.votes) for round_ in rounds])


def _number_html(question: Question, rounds: Sequence[Round], to_html: ToHtml, outcome: AnswerValue | None) -> str:
    """Return the medians of the rounds, and the numbers in bins as bars."""
    round_numbers = [np.array([vote.answer for vote in round_.votes.values()], float) for round_ in rounds]
    names, counts_by_round, edges = _bin_numbers(round_numbers)
    happened = float(outcome) if isinstance(outcome, float) else None
    outcome_bin = -1 if happened is None else int(np.searchsorted(edges, [happened], side="right")[0])
    rows = [(safe(name), [counts[k] for counts in counts_by_round], k == outcome_bin) for k, name in enumerate(names)]
    medians_text = ", then ".join(_number_text(float(np.median(numbers))) for numbers in round_numbers)
    unit = f" {safe(question.unit)}" if question.unit else ""
    caption = "" if happened is None else f"; it was {_number_text(happened)}"
    visible_rows = [row for row in rows if any(row[1]) or row[2]]
    totals = [len(numbers) for numbers in round_numbers]
    return f"<p>Median {medians_text}{unit}{caption}.</p>{_bars_html(visible_rows, totals)}"


def _bin_numbers(numbers_by_round: Sequence[Any]) -> tuple[list[str], list[list[int]], Any]:
    """Return names of bins, counts by round and bin, and the edges between bins; the outer bins are open."""
    low, high = np.quantile(np.concatenate(numbers_by_round), [0.05, 0.95])
    raw_width = (high - low) / BINS or max(abs(high), 1.0) / BINS
    raw_width = max(raw_width, 1e-12 * max(abs(low), abs(high)), 1e-300)  # below it floats would be equal
    power_of_ten = 10.0 ** np.floor(np.log10(raw_width))
    width = next(step * power_of_ten for step in (1, 2, 5, 10) if step * power_of_ten >= raw_width)
    edges = np.arange(np.floor(low / width) + 1, np.ceil(high / width) + 1e-9) * width
    if not len(edges):
        edges = np.array([np.floor(low / width) * width, np.floor(low / width) * width + width])
    edge_labels = [_number_text(float(edge)) for edge in edges]
    bin_names = [
        f"below {edge_labels[0]}",
        *(f"{a} to {b}" for a, b in pairwise(edge_labels)),
        f"{edge_labels[-1]} or more",
    ]
    bins_by_round = [np.searchsorted(edges, numbers, side="right") for numbers in numbers_by_round]
    counts_by_round = [np.bincount(bins, minlength=len(bin_names)).tolist() for bins in bins_by_round]
    return bin_names, counts_by_round, edges


def _order_html(question: Question, rounds: Sequence[Round], to_html: ToHtml, outcome: AnswerValue | None) -> str:
    """Return the most frequent orders as bars; those of the latest round decide."""
    counts_by_round = [Counter(vote.answer for vote in round_.votes.values()) for round_ in rounds]
    orders = sorted(set().union(*counts_by_round), key=lambda order: (-counts_by_round[-1][order], str(order)))[:BINS]
    if outcome is not None and outcome not in orders:
        orders.append(outcome)
    rows = []
    for order in orders:
        if isinstance(order, tuple):
            name = " → ".join(to_html(question.words_of(str(value))) for value in order)
            rows.append((name, [counts[order] for counts in counts_by_round], order == outcome))
    return "<p class='quiet'>The most frequent orders.</p>" + _bars_html(rows, [len(round_.votes) for round_ in rounds])


def _sketch_html(question: Question, rounds: Sequence[Round], to_html: ToHtml, outcome: AnswerValue | None) -> str:
    """Return the latest sketches and the median of each round as SVG."""
    width, height, margin, names = 280, 150, 44, [option.words for option in question.options]
    option_x_px = [margin + 8 + (width - margin - 16) * k / max(len(names) - 1, 1) for k in range(len(names))]

    def path_svg(kind: str, values: Any) -> str:
        ys = 1 - (np.clip(values, question.low, question.high) - question.low) / (question.high - question.low)
        path_points = " L".join(f"{x:.1f} {height * y:.1f}" for x, y in zip(option_x_px, ys, strict=True))
        return f"<path class='{kind}' d='M{path_points}'/>"

    sketches = [np.array([vote.answer for vote in sketch.votes.values()], float) for sketch in rounds]
    paths_svg = [path_svg("one", sketch) for sketch in sketches[-1][:MAX_SKETCHES]]
    paths_svg += [
        path_svg("median before" if k < len(sketches) - 1 else "median", np.median(sketch, 0))
        for k, sketch in enumerate(sketches)
    ]
    paths_svg += [path_svg("was", outcome)] if outcome is not None else []
    end_values = (question.high, question.low)
    axis_labels_svg = "".join(
        f"<text x={margin - 6} y={y + 5} text-anchor=end>{_number_text(value)}</text>"
        for y, value in zip((0, height), end_values, strict=True)
    )
    option_labels_svg = "".join(
        f"<text x='{x:.1f}' y={height + 24} text-anchor=middle>{safe(name, 12)}</text>"
        for x, name in zip(option_x_px, names, strict=True)
    )
    medians_text = "; ".join(
        f"{safe(name)}: {_number_text(float(median))}"
        for name, median in zip(names, np.median(sketches[-1], 0), strict=True)
    )
    caption = "Thick: the median" + (", dashed: what happened." if outcome is not None else ".")
    return (
        f"<svg class=sketches viewBox='0 -10 {width} {height + 40}' role=img aria-label='Medians: {medians_text}'>"
        f"{axis_labels_svg}{option_labels_svg}{''.join(paths_svg)}</svg><p class='quiet'>{caption}</p>"
    )


def _text_html(question: Question, rounds: Sequence[Round], to_html: ToHtml, outcome: AnswerValue | None) -> str:
    return _text_list_html(str(vote.answer) for vote in rounds[-1].votes.values())


def _notes_html(round_: Round) -> str:
    notes = [vote.note for vote in round_.votes.values() if vote.note]
    return f"<details><summary>Why? ({len(notes):,})</summary>{_text_list_html(notes)}</details>" if notes else ""


def _text_list_html(texts: Any) -> str:
    """Return a list of texts, the most frequent first, with their counts."""
    text_counts = Counter(texts)
    items_html = [
        f"<li>{safe(text)}{f' ({count})' if count > 1 else ''}</li>"
        for text, count in text_counts.most_common(MAX_TEXTS)
    ]
    n_hidden = len(text_counts) - MAX_TEXTS
    more_html = f"<p class='quiet'>and {n_hidden:,} more in the CSV</p>" if n_hidden > 0 else ""
    return f"<ul class=said>{''.join(items_html)}</ul>{more_html}"


def _number_text(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"
