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


def answers_html(rounds: Sequence[Round], words: ToHtml = safe, outcome: AnswerValue | None = None) -> str:
    """Return the answers to a question as HTML, for its latest two rounds with answers.

    Args:
        rounds: all rounds of the question.
        words: converts the text of an option to HTML.
        outcome: the right answer; None if it is not known.
    """
    answered_rounds, question = [round_ for round_ in rounds if round_.votes], rounds[-1].question
    if not answered_rounds:
        return "<p>Nobody has answered.</p>"
    draw = {"choice": _choice, "number": _number, "order": _order, "sketch": _sketch, "text": _text}[question.kind]
    counts_text = ", then ".join(plural(len(round_.votes), "answer") for round_ in answered_rounds)
    legend = " (pale: before)" if len(answered_rounds) > 1 else ""
    return (
        f"<p class='quiet'>{counts_text}{legend}</p>{draw(question, answered_rounds[-2:], words, outcome)}"
        f"{_notes(answered_rounds[-1])}"
    )


def _bars(rows: Sequence[tuple[str, Sequence[int], bool]], totals: Sequence[int]) -> str:
    """Return bars as HTML; rows: name, counts by round, whether it is the outcome."""
    row_shares = [[count / total for count, total in zip(counts, totals, strict=True)] for _, counts, _ in rows]
    max_share = max(chain.from_iterable(row_shares), default=1) or 1
    lines = []
    for (name, _, outcome), shares in zip(rows, row_shares, strict=True):
        bars_html = "".join(
            f"<i{' class=before' if k < len(shares) - 1 else ''} style='width:{100 * share / max_share:.0f}%'></i>"
            for k, share in enumerate(shares)
        )
        percentages_html = "<br>".join(f"{100 * share:.0f} %" for share in shares)
        outcome_mark = " ✓ what happened" if outcome else ""
        lines.append(
            f"<tr{' class=was' if outcome else ''}><th scope=row>{name}{outcome_mark}</th><td>{bars_html}</td>"
            f"<td>{percentages_html}</td></tr>"
        )
    return f"<table class=answers>{''.join(lines)}</table>"


def _choice(question: Question, rounds: Sequence[Round], words: ToHtml, outcome: AnswerValue | None) -> str:
    counters = [Counter(vote.answer for vote in round_.votes.values()) for round_ in rounds]
    rows = [
        (words(option.words), [counter[option.value] for counter in counters], option.value == outcome)
        for option in question.options
    ]
    return _bars(rows, [len(round_.votes) for round_ in rounds])


def _number(question: Question, rounds: Sequence[Round], words: ToHtml, outcome: AnswerValue | None) -> str:
    values = [np.array([vote.answer for vote in round_.votes.values()], float) for round_ in rounds]
    names, counts, edges = _binned(values)
    happened = float(outcome) if isinstance(outcome, float) else None
    outcome_bin = -1 if happened is None else int(np.searchsorted(edges, [happened], side="right")[0])
    rows = [(safe(name), [count[k] for count in counts], k == outcome_bin) for k, name in enumerate(names)]
    medians_text = ", then ".join(_format(float(np.median(round_))) for round_ in values)
    unit = f" {safe(question.unit)}" if question.unit else ""
    caption = "" if happened is None else f"; it was {_format(happened)}"
    visible_rows = [row for row in rows if any(row[1]) or row[2]]
    return f"<p>Median {medians_text}{unit}{caption}.</p>" + _bars(visible_rows, [len(round_) for round_ in values])


def _binned(values: Sequence[Any]) -> tuple[list[str], list[list[int]], Any]:
    """Return names of bins, counts by round and bin, and edges; the outer bins hold all values far away."""
    low, high = np.quantile(np.concatenate(values), [0.05, 0.95])
    raw = (high - low) / BINS or max(abs(high), 1.0) / BINS
    raw = max(raw, 1e-12 * max(abs(low), abs(high)), 1e-300)  # below it floats would be equal
    power = 10.0 ** np.floor(np.log10(raw))
    width = next(step * power for step in (1, 2, 5, 10) if step * power >= raw)
    edges = np.arange(np.floor(low / width) + 1, np.ceil(high / width) + 1e-9) * width
    if not len(edges):
        edges = np.array([np.floor(low / width) * width, np.floor(low / width) * width + width])
    edge_labels = [_format(float(edge)) for edge in edges]
    bin_names = [
        f"below {edge_labels[0]}",
        *(f"{a} to {b}" for a, b in pairwise(edge_labels)),
        f"{edge_labels[-1]} or more",
    ]
    positions = [np.searchsorted(edges, numbers, side="right") for numbers in values]
    counts = [np.bincount(position, minlength=len(bin_names)).tolist() for position in positions]
    return bin_names, counts, edges


def _order(question: Question, rounds: Sequence[Round], words: ToHtml, outcome: AnswerValue | None) -> str:
    counters = [Counter(vote.answer for vote in round_.votes.values()) for round_ in rounds]
    orders = sorted(set().union(*counters), key=lambda order: (-counters[-1][order], str(order)))[:BINS]
    if outcome is not None and outcome not in orders:
        orders.append(outcome)
    rows = []
    for order in orders:
        if isinstance(order, tuple):
            name = " → ".join(words(question.words_of(str(value))) for value in order)
            rows.append((name, [counter[order] for counter in counters], order == outcome))
    return "<p class='quiet'>The most frequent orders.</p>" + _bars(rows, [len(round_.votes) for round_ in rounds])


def _sketch(question: Question, rounds: Sequence[Round], words: ToHtml, outcome: AnswerValue | None) -> str:
    width, height, margin, names = 280, 150, 44, [option.words for option in question.options]
    option_xs = [margin + 8 + (width - margin - 16) * k / max(len(names) - 1, 1) for k in range(len(names))]

    def path(kind: str, values: Any) -> str:
        ys = 1 - (np.clip(values, question.low, question.high) - question.low) / (question.high - question.low)
        path_points = " L".join(f"{x:.1f} {height * y:.1f}" for x, y in zip(option_xs, ys, strict=True))
        return f"<path class='{kind}' d='M{path_points}'/>"

    sketches = [np.array([vote.answer for vote in sketch.votes.values()], float) for sketch in rounds]
    lines = [path("one", sketch) for sketch in sketches[-1][:MAX_SKETCHES]]
    lines += [
        path("median before" if k < len(sketches) - 1 else "median", np.median(sketch, 0))
        for k, sketch in enumerate(sketches)
    ]
    lines += [path("was", outcome)] if outcome is not None else []
    ends = (question.high, question.low)
    axis = "".join(
        f"<text x={margin - 6} y={y + 5} text-anchor=end>{_format(value)}</text>"
        for y, value in zip((0, height), ends, strict=True)
    )
    name_labels = "".join(
        f"<text x='{x:.1f}' y={height + 24} text-anchor=middle>{safe(name, 12)}</text>"
        for x, name in zip(option_xs, names, strict=True)
    )
    medians_text = "; ".join(
        f"{safe(name)}: {_format(float(median))}"
        for name, median in zip(names, np.median(sketches[-1], 0), strict=True)
    )
    caption = "Thick: the median" + (", dashed: what happened." if outcome is not None else ".")
    return (
        f"<svg class=sketches viewBox='0 -10 {width} {height + 40}' role=img aria-label='Medians: {medians_text}'>"
        f"{axis}{name_labels}{''.join(lines)}</svg><p class='quiet'>{caption}</p>"
    )


def _text(question: Question, rounds: Sequence[Round], words: ToHtml, outcome: AnswerValue | None) -> str:
    return _text_list(str(vote.answer) for vote in rounds[-1].votes.values())


def _notes(round_: Round) -> str:
    notes = [vote.note for vote in round_.votes.values() if vote.note]
    return f"<details><summary>Why? ({len(notes):,})</summary>{_text_list(notes)}</details>" if notes else ""


def _text_list(texts: Any) -> str:
    counters = Counter(texts)
    lines = [f"<li>{safe(text)}{f' ({n})' if n > 1 else ''}</li>" for text, n in counters.most_common(MAX_TEXTS)]
    n_hidden = len(counters) - MAX_TEXTS
    more_html = f"<p class='quiet'>and {n_hidden:,} more in the CSV</p>" if n_hidden > 0 else ""
    return f"<ul class=said>{''.join(lines)}</ul>{more_html}"


def _format(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"
