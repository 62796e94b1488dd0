"""LearningCurveView: test-then-train losses against the number of rows seen, for several orders and families.

It shows a study of `alrviz.learning_curve` while it computes. Curves are means over shuffles of the rows, with
standard errors.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd
import panel as pn
import param

from alrviz.errors import plural
from alrviz.pictures.formatting import LOSSES
from alrviz.pictures.learning_curve import SPANS, ZOOM_ROWS, crossing_text, learning_curve, measured
from alrviz.studies.core.export import study_csv
from alrviz.studies.protocols.alpha_path_verdict import WORDS
from alrviz.studies.protocols.learning_curve import leaking_racers
from alrviz.studies.statistics.crossing import Crossing, crossings
from alrviz.studies.statistics.verdict import MAX_HEADLINE_WORDS, Verdict, count_words
from alrviz.views.core.live_figure import LiveFigure, NumberAxes
from alrviz.views.core.notebook import ViewLayout
from alrviz.views.core.panes import as_high, choice, html, say, stack
from alrviz.views.core.saving import csv_button
from alrviz.views.core.style import html_table, safe
from alrviz.views.race.texts import number
from alrviz.views.studies.study_view import StudyView

if TYPE_CHECKING:
    from alrviz.studies.core.study import Study

TABLE_ROWS = 12


class LearningCurveView(StudyView):
    """Live view of learning curves.

    Args:
        study: result of `alrviz.learning_curve`, run or not.
        height: CSS height of the picture.
        rerun, wake: see `StudyView`.

    >>> import alrviz
    >>> recipes = [alrviz.Recipe("anje", order=n) for n in (1, 2)]
    >>> study = alrviz.learning_curve(alrviz.load_demo("led"), recipes, repeats=2, n_jobs=1)
    >>> view = alrviz.LearningCurveView(study.run())
    >>> "mean over the last 1,000 rows" in view.caption.object
    True
    """

    measure = param.Selector(default="error", objects=list(LOSSES), doc="Loss of a row.")
    span = param.Selector(default="all", objects=list(SPANS), doc="All rows, or the first thousand.")

    HEIGHT = "400px"

    def _build(self) -> None:
        self.picture = LiveFigure("alrviz-learning-curve")
        self.caption = html(margin=(4, 0, 8, 0))
        measure_by_text = {measure_text: name for name, measure_text in WORDS.items()}
        span_by_text = {"all rows": "all", f"first {ZOOM_ROWS:,}": "first"}
        self._measures = choice(self, "measure", measure_by_text, "Measure", width=300, margin=(0, 16, 4, 0))
        self._spans = choice(self, "span", span_by_text, "Rows shown", width=240, margin=(0, 0, 4, 0))
        controls = pn.FlexBox(self._measures, self._spans, margin=0)
        self.param.watch(lambda _: self.redraw(), ["measure", "span"])
        self.body = stack(controls, as_high(self.picture.pane, self._height, 400), self.caption)
        contents_text, file = "with recipes, seed, data hash and version", self.picture.kind
        csv_buttons = [
            csv_button(f"{file}.csv", self.csv_of_summary, f"means and standard errors, {contents_text}"),
            csv_button(
                f"{file}-points.csv", self.csv_of_fits, f"every point of every curve, {contents_text}", "CSV of points"
            ),
        ]
        self._numbers = self._fold_numbers(
            csv_buttons, {"learning curves": self.picture},
            lambda study: numbers_html(measured(self.lines), study.names, self.measure),
        )  # fmt: skip
        self.aside = stack()
        self.layout = ViewLayout(self.sentence, self.body, self.bar.panel, self.aside, self._numbers)

    @property
    def axes(self) -> NumberAxes:
        """Columns on the axes of the picture."""
        return NumberAxes(self.picture, "seen", (self.measure,))

    def _draw(self, study: "Study") -> None:
        curves = measured(self.lines)
        crossed = crossings(curves, self.measure) if self.measure in curves else []
        spec, rows = json.loads(study.spec), study.dataset.n_rows
        racers = [(name, recipe.label) for name, recipe in zip(study.names, study.recipes, strict=True)]
        picture = learning_curve(
            curves, racers, measure=self.measure, span=self.span, rows=rows, window=spec["window"], crossed=crossed,
            leaking=leaking_racers(study), dark=self.dark,
        )  # fmt: skip
        self.picture.show(picture, subject=study)
        say(self.caption, caption_html(study, spec))
        self.tell_verdict(page_verdict(study, crossed))

    def csv_of_summary(self) -> str:
        """Return means and standard errors as a CSV, including RMSE."""
        return "" if self.study is None else study_csv(self.study, measured(self.study.summary()))


def caption_html(study: "Study", spec: Mapping[str, Any]) -> str:
    """Explain a point of the curves: window, shuffles, source of alr's theta; and report failed learners.

    spec: the study's settings.
    """
    sentences = [
        "Each row is predicted before it is learned from; a point is the "
        f"<abbr title='Fewer at the start: then all rows so far. The grey stretch is the window of the last point.'>"
        f"mean over the last {spec['window']:,} rows</abbr>, the band ± one standard error over "
        f"{spec['repeats']} shuffles of the rows."
    ]
    if leaking_racers(study):
        sentences.append(
            "<b>alr's log theta counts all rows, also those that are predicted later</b> (two-pass): its lines, dashed "
            "and marked *, are too low."
        )
    elif any(recipe.definition.learns_rows == "log theta" for recipe in study.recipes):
        sentences.append("alr takes log theta from the rows so far (single-pass).")
    failures = [
        (study.names[task.racer], result.rows[0]["sentence"]) for task, result in study.results() if result.failed
    ]
    for name, reason in dict(failures).items():
        sentences.append(f"<span class='bad'>{safe(name, 60)} failed: {safe(reason)}</span>")
    return f"<span class='quiet'>{' '.join(sentences)}</span>"


def page_verdict(study: "Study", crossed: Sequence[Crossing]) -> Verdict:
    """Return where curves cross (crossed), or before the run what Run will compute."""
    rows = study.dataset.n_rows
    if study.phase == "waiting":
        n_shuffles = len(study.tasks) // len(study.recipes)
        return Verdict(
            f"Press Run: {plural(len(study.recipes), 'model')} meet {rows:,} rows one by one, in {n_shuffles} shuffles."
        )
    details = [] if study.phase == "done" else ["So far."]
    if crossed:
        sentences = [f"{crossing_text(crossing, rows)}." for crossing in crossed]
        is_short = count_words(sentences[0]) <= MAX_HEADLINE_WORDS
        headline = sentences[0] if is_short else f"{crossing_text(replace(crossed[0], slight=False), rows)}."
        details += sentences[is_short:]
        if leaking_racers(study):  # only alr leaks, and orders are compared within a family
            details.append("alr's curves have counted the rows that judge them.")
    else:
        headline = "Loss of each model while it learns." if study.progress.n_done else "No curve is complete yet."
    return Verdict(headline, " ".join(details))


def numbers_html(curves: pd.DataFrame, names: Sequence[str], measure: str) -> str:
    """Return the table of means and standard errors of a measure by number of rows seen, two columns per learner.

    curves: the study's summary; names: of the learners.
    """
    if measure not in curves or not len(curves):
        return "<p class='quiet'>No curve is complete yet.</p>"
    row_counts = sorted(curves["seen"].unique())
    point_stride = max(1, len(row_counts) // TABLE_ROWS)
    shown_counts = row_counts[::-1][::point_stride][::-1]
    row_by_racer_and_seen = {(point["racer"], point["seen"]): point for point in curves.to_dict("records")}
    racers = sorted(curves["racer"].unique())
    column_titles = ["rows seen"]
    for racer in racers:
        column_titles += [safe(names[int(racer)], 60), "± <abbr title='standard error'>se</abbr>"]
    body_rows = []
    for n_rows_seen in shown_counts:
        cells = [f"{int(n_rows_seen):,}"]
        for racer in racers:
            point = row_by_racer_and_seen.get((racer, n_rows_seen))
            cells += ["&ndash;", ""] if point is None else [number(point[measure]), number(point[f"{measure}_se"])]
        body_rows.append(cells)
    note = f"<p class='quiet'>{LOSSES[measure]}; {len(shown_counts)} of {len(row_counts)} points; the CSV has all.</p>"
    return html_table(column_titles, body_rows) + note
