"""The panel of a lesson beside its page: one step at a time, a question before Run, the answer beside the outcome.

The panel is independent of the pages: a step opens a link, and the page shown returns the result that a question is
about. A step with another link than the step before rebuilds its page, so that no setting of the reader or of the step
before remains. A step with the same link changes only the panel.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import param
from panel.custom import JSComponent

from alrviz.errors import AlrvizError
from alrviz.explorer.lesson import AnswerValue, Lesson, Question, Step
from alrviz.explorer.lessons.answers import answer, on_picture
from alrviz.explorer.lessons.progress import keep_progress, progress_of
from alrviz.explorer.page import Page
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell import asset
from alrviz.explorer.shell.markdown import markdown_html
from alrviz.explorer.shell.theme import PANE_CSS
from alrviz.views.core.style import safe

LOCKED = "Answer the lesson's question; then the buttons appear here."
_RUN = "Now press Run, and watch."
_NEXT_QUESTION = "One more question before Run: press Next."
_OPENING = "The table is being opened; Run can be pressed in a moment."
_log = logging.getLogger(__name__)


class LessonPanel(JSComponent):
    """The panel of one visitor in one lesson.

    Args:
        session: the visitor's session; the panel sets its `step` and `runs.asking`.
        lesson: the lesson.
        page: returns the page shown; None while it is being opened.
        open_link: shows the state of a link.

    Attributes:
        progress: the visitor's.
        outcome: right answer of the step's question; None before the page's result.
    """

    shown = param.Dict(default={}, doc="What the browser draws.")
    place = param.String(default="", doc="The address that the browser is to open.")

    _esm = asset("questions.js") + asset("lesson_panel.js")

    def __init__(
        self,
        session: Session,
        lesson: Lesson,
        page: Callable[[], Page | None],
        open_link: Callable[[str], None],
        **params: Any,
    ):
        self.session, self.lesson, self._page, self._open_link = session, lesson, page, open_link
        self._shows_summary = False  # after the last step
        self._answer_drawn = False  # whether the page's picture shows the answer
        self.progress = progress_of(session.owner, lesson)
        self._result: object = None  # the page's result to which the outcome belongs
        self.outcome: AnswerValue | None = None
        self._problem = ""
        stylesheets = [PANE_CSS, asset("questions.css"), asset("lesson_panel.css")]
        super().__init__(
            stylesheets=stylesheets, css_classes=["alrviz-lesson"], margin=(12, 0, 12, 16), width=320, **params
        )
        session.watch(lambda _: self._show_step(), "step")
        session.watch(lambda *_: self.show(), ["dataset", "loading"])
        # Another theme or measure makes a new figure without the mark of the answer; the next `look` draws it.
        session.watch(lambda *_: session.wake(), ["dark", "measure"])
        self._show_step()

    # ---- steps -----------------------------------------------------------------------------------------------------

    @property
    def step(self) -> Step:
        """The step shown."""
        return self.lesson.steps[min(max(self.session.step, 1), len(self.lesson.steps)) - 1]

    def _show_step(self) -> None:
        """Show the session's step."""
        self._shows_summary = False
        self.progress = replace(self.progress, step=max(self.progress.step, self.session.step))
        self._result, self.outcome, self._problem, self._answer_drawn = None, None, "", False
        keep_progress(self.session.owner, self.lesson, self.progress)
        self.show()
        self.session.wake()

    def go(self, step_change: int) -> None:
        """Go forward (`step_change` 1) or back (-1); after the last step to the summary, then to all lessons."""
        step_number, n_steps = self.session.step + step_change, len(self.lesson.steps)
        if step_number < 1:
            return
        if self._shows_summary or step_number > n_steps:
            is_finished = step_change > 0 and (self._shows_summary or not self.lesson.questions)
            self.place = "?page=lessons" if is_finished else ""
            self._shows_summary = step_change > 0 and bool(self.lesson.questions)
            self.show()
        elif self.has_same_page(step_number):
            self.session.step = step_number
        else:
            self._open_link(f"?lesson={self.lesson.id}&step={step_number}")

    def has_same_page(self, number: int) -> bool:
        """Return whether a step has the same link as the step shown."""
        return self.lesson.steps[min(max(number, 1), len(self.lesson.steps)) - 1].link == self.step.link

    # ---- questions ---------------------------------------------------------------------------------------------------

    def answer_of(self, question: Question) -> AnswerValue | None:
        """Return the reader's answer to a question; None before."""
        return self.progress.said.get(question.id)

    def _is_locked(self) -> bool:
        """Return whether an unanswered question comes before the next Run with the current link."""
        link, position = self.step.link, self.session.step - 1
        for step in self.lesson.steps[position:]:
            if step.link != link:
                break
            if step.ask is not None and self.answer_of(step.ask) is None:
                return True
            if step.run:
                break
        return False

    def record_answer(self, value: object, of_class: bool = False) -> None:
        """Record the answer to the step's question, which is final; invalid ones are reported.

        of_class: the answer is that of a class, which may change until there is a result.
        """
        question = self.step.ask
        if question is None or (self.answer_of(question) is not None and not (of_class and self._result is None)):
            return
        try:
            answer = question.read(value)
        except ValueError as error:
            self._problem = f"That is no answer: {error}."
            self.show()
            return
        self._problem = ""
        self.progress = replace(self.progress, said={**self.progress.said, question.id: answer})
        keep_progress(self.session.owner, self.lesson, self.progress)
        self.show()
        self.look()

    def look(self) -> None:
        """Compute the outcomes once the step's page has a result, and show them."""
        page = self._page()
        result = None if self.session.runs.asking or page is None else page.result()
        is_drawn = self._draw_answer(result is not None and result is self._result)
        if result is self._result:
            if is_drawn != self._answer_drawn:
                self._answer_drawn = is_drawn
                self.show()
            return
        self._result, self.outcome, self._problem = result, None, ""
        question = self.step.ask
        if result is not None and question is not None:
            try:
                self.outcome = answer(question, result)
                outcomes = {earlier.id: answer(earlier, result) for earlier in self._earlier_questions()}
                outcomes[question.id] = self.outcome
                self.progress = replace(self.progress, was={**self.progress.was, **outcomes})
                keep_progress(self.session.owner, self.lesson, self.progress)
            except AlrvizError as error:
                self._problem = f"The outcome cannot be computed: {error}. Reset the page to the settings of the step."
            except Exception:  # such as a stopped study, or a column of text
                _log.exception("the outcome of %s, %s", self.lesson.id, question.id)
                self._problem = "The outcome cannot be computed from this result."
        self.show()

    def _earlier_questions(self) -> list[Question]:
        """Return the questions of earlier steps about this step's run."""
        questions, step = [], self.step
        for earlier_step in reversed(self.lesson.steps[: self.session.step - 1]):
            if earlier_step.link != step.link or earlier_step.run:
                break
            questions += [] if earlier_step.ask is None else [earlier_step.ask]
        return questions

    def _draw_answer(self, is_result_shown: bool) -> bool:
        """Draw the visitor's answer on the page's picture, or remove it if not `is_result_shown`; return whether it is
        drawn.

        is_result_shown: whether the page shows the result that the outcome was computed from.
        """
        page, question = self._page(), self.step.ask
        axes = None if page is None else page.axes()
        answer = None if question is None or self.outcome is None or not is_result_shown else self.answer_of(question)
        if axes is None:
            return False
        prediction = on_picture(question, answer, axes) if question is not None and answer is not None else None
        return axes.picture.predict(prediction, self.session.dark)

    def _handle_msg(self, msg: Any) -> None:
        if isinstance(msg, dict):
            if msg.get("go") in (1, -1):
                self.go(msg["go"])
            elif "given" in msg:
                self.record_answer(msg["given"])

    # ---- display -----------------------------------------------------------------------------------------------------

    def show(self) -> None:
        """Update the panel to the current step, and hide the parts of the page that the step hides."""
        step, step_number, n_steps = self.step, self.session.step, len(self.lesson.steps)
        self.session.runs.asking = is_locked = self._is_locked()
        has_result = self._result is not None
        minutes_text = f" · about {self.lesson.minutes} minutes" if step_number == 1 else ""
        self.shown = {
            "head": f"<h2>{safe(self.lesson.title)}</h2><p>Step {step_number} of {n_steps}{minutes_text}</p>",
            "text": markdown_html(step.text),
            "question": None if step.ask is None else {**question_fields(step.ask), "answer": self.answer_of(step.ask)},
            "note": self._note_html(is_locked),
            "reveal": self._reveal_fields(step) if has_result and not is_locked else None,
            "has_previous": step_number > 1,
            "next_label": "Finish" if step_number == n_steps else "Next",
            "view": {"hide": list(step.hide), "locked": LOCKED if is_locked else ""},
        }
        if self._shows_summary:
            self.shown = self.shown | {
                "head": f"<h2>{safe(self.lesson.title)}</h2><p>What you said, and what happened</p>",
                "text": "", "question": None, "note": "", "reveal": None, "has_previous": True,
                "next_label": "All lessons",
                "summary": [self._outcome_fields(question, self.progress.was.get(question.id))
                            for question in self.lesson.questions],
            }  # fmt: skip

    def _note_html(self, is_locked: bool) -> str:
        """Return what the visitor has to do next, or what went wrong."""
        step, table = self.step, self.session.table
        if self._problem:
            return f"<span class='bad'>{safe(self._problem, 600)}</span>"
        if is_locked and step.ask is not None and self.answer_of(step.ask) is not None:
            return _NEXT_QUESTION
        if step.run and not is_locked and self._result is None:
            return _RUN if table.dataset is not None and table.loading is None else _OPENING
        return ""

    def _outcome_fields(self, question: Question, outcome: AnswerValue | None) -> dict[str, Any]:
        """Return a question with its answer and outcome for the browser; None for what does not exist yet."""
        answer = self.answer_of(question)
        is_right = answer is not None and outcome is not None and question.is_right(answer, outcome)
        return {"question": question_fields(question), "answer": answer, "outcome": outcome, "is_right": is_right}

    def _reveal_fields(self, step: Step) -> dict[str, Any] | None:
        """Return the outcome and the answer for the browser; None if there is nothing to show."""
        html = reveal_html(step)
        if step.ask is None or self.outcome is None:
            return {"html": html} if html else None
        return {"html": html, "drawn": self._answer_drawn, **self._outcome_fields(step.ask, self.outcome)}


def question_fields(question: Question) -> dict[str, Any]:
    """Return a question for `questions.js`: its texts as HTML."""
    return {
        "kind": question.kind,
        "text": markdown_html(question.text, inline=True),
        "options": [[option.value, markdown_html(option.words, inline=True)] for option in question.options],
        "unit": question.unit,
        "low": question.low,
        "high": question.high,
    }


def reveal_html(step: Step) -> str:
    """Return what a step says once its run has ended."""
    return markdown_html("\n\n".join(filter(None, [step.ask.explain if step.ask else "", step.reveal])))
