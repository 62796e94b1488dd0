"""A lesson beside its page: one step at a time, a question before Run, and the reader's answer beside the outcome.

The panel knows nothing of pages: a step opens a link, and what has run is asked of the page shown. A step that sets
what another did not is opened as its link is, with its page built anew: what a reader has changed meanwhile is gone,
and nothing of the step before is left over. Where a step sets nothing new, only the panel turns.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import param
from panel.custom import JSComponent

from alrviz.errors import AlrvizError
from alrviz.explorer.lesson import Lesson, Question, Said, Step
from alrviz.explorer.lessons.answers import answer, on_picture
from alrviz.explorer.lessons.progress import keep_progress, progress_of
from alrviz.explorer.page import Page
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell import asset
from alrviz.explorer.shell.markdown import markdown_html
from alrviz.explorer.shell.theme import PANE_CSS
from alrviz.views.core.style import safe

LOCKED = "Run is free when the lesson's question is answered."
_RUN = "Now press Run, and watch."
_MORE = "One question more before Run: press Next."
_OPENING = "The table is being opened; Run is free in a moment."
_log = logging.getLogger(__name__)


class LessonPanel(JSComponent):
    """The panel of one visitor in one lesson.

    Args:
        session: the visitor's; its `step` and `asking` are set here.
        lesson: the lesson.
        page: returns the page shown; None while it is being opened.
        open: shows what a link asks for.
    """

    shown = param.Dict(default={}, doc="What the browser draws.")
    place = param.String(default="", doc="The address that the browser is to open.")

    _esm = asset("questions.js") + asset("lesson_panel.js")

    def __init__(
        self,
        session: Session,
        lesson: Lesson,
        page: Callable[[], Page | None],
        open: Callable[[str], None],
        **params: Any,
    ):
        self.session, self.lesson, self._page, self._open_link = session, lesson, page, open
        self._summing = False  # whether the summary is shown, after the last step
        self._drawn = False  # whether what was said stands on the page's picture
        self.progress = progress_of(session.owner, lesson)
        self._about: object = None  # what ran, whose answer is shown
        self.was: Said | None = None
        self._problem = ""
        looks = [PANE_CSS, asset("questions.css"), asset("lesson_panel.css")]
        super().__init__(stylesheets=looks, css_classes=["alrviz-lesson"], margin=(12, 0, 12, 16), width=320, **params)
        session.watch(lambda _: self._arrive(), "step")
        session.watch(lambda *_: self.show(), ["dataset", "loading"])
        # Another ground or measure is another figure, which has lost its mark; who looks next draws it again.
        session.watch(lambda *_: session.wake(), ["dark", "measure"])
        self._arrive()

    # ---- where the reader is ---------------------------------------------------------------------------------------

    @property
    def step(self) -> Step:
        """The step shown."""
        return self.lesson.steps[min(max(self.session.step, 1), len(self.lesson.steps)) - 1]

    def _arrive(self) -> None:
        """Show the step that the session is at."""
        self._summing = False
        self.progress = replace(self.progress, step=max(self.progress.step, self.session.step))
        self._about, self.was, self._problem, self._drawn = None, None, "", False
        keep_progress(self.session.owner, self.lesson, self.progress)
        self.show()
        self.session.wake()

    def go(self, by: int) -> None:
        """Turn to another step; after the last come what was said, beside what happened, and the list of lessons."""
        to, many = self.session.step + by, len(self.lesson.steps)
        if to < 1:
            return
        if self._summing or to > many:
            self.place = "?page=lessons" if by > 0 and (self._summing or not self.lesson.questions) else ""
            self._summing = by > 0 and bool(self.lesson.questions)
            self.show()
        elif self.goes_on_at(to):
            self.session.step = to
        else:
            self._open_link(f"?lesson={self.lesson.id}&step={to}")

    def goes_on_at(self, to: int) -> bool:
        """Whether a step leaves the page as the one shown has it."""
        return self.lesson.steps[min(max(to, 1), len(self.lesson.steps)) - 1].link == self.step.link

    # ---- questions ---------------------------------------------------------------------------------------------------

    def said(self, question: Question) -> Said | None:
        """What the reader has said to a question; None before."""
        return self.progress.said.get(question.id)

    def _open(self) -> bool:
        """Whether a question comes before the next Run on what is set now, and is not answered yet."""
        link, at = self.step.link, self.session.step - 1
        for step in self.lesson.steps[at:]:
            if step.link != link:
                break
            if step.ask is not None and self.said(step.ask) is None:
                return True
            if step.run:
                break
        return False

    def say(self, given: object, of_class: bool = False) -> None:
        """Take an answer, once: what was said is locked; what a class says holds until something has run."""
        question = self.step.ask
        if question is None or (self.said(question) is not None and not (of_class and self._about is None)):
            return
        try:
            said = question.read(given)
        except ValueError as error:
            self._problem = f"That is no answer: {error}."
            self.show()
            return
        self._problem = ""
        self.progress = replace(self.progress, said={**self.progress.said, question.id: said})
        keep_progress(self.session.owner, self.lesson, self.progress)
        self.show()
        self.look()

    def look(self) -> None:
        """See whether what the step is about has run; then say what happened."""
        page = self._page()
        result = None if self.session.runs.asking or page is None else page.result()
        drawn = self._draw_said(result is not None and result is self._about)
        if result is self._about:
            if drawn != self._drawn:
                self._drawn = drawn
                self.show()
            return
        self._about, self.was, self._problem = result, None, ""
        question = self.step.ask
        if result is not None and question is not None:
            try:
                self.was = answer(question, result)
                met = {one.id: answer(one, result) for one in self._asked_before()} | {question.id: self.was}
                self.progress = replace(self.progress, was={**self.progress.was, **met})
                keep_progress(self.session.owner, self.lesson, self.progress)
            except AlrvizError as error:
                self._problem = f"What is right cannot be computed here: {error}. Set the page as the step had it."
            except Exception:  # of a study that was stopped, a column of words
                _log.exception("the answer of %s, %s", self.lesson.id, question.id)
                self._problem = "What is right cannot be computed from what has run."
        self.show()

    def _asked_before(self) -> list[Question]:
        """The questions of the steps just before, which ask about this step's run."""
        found, step = [], self.step
        for before in reversed(self.lesson.steps[: self.session.step - 1]):
            if before.link != step.link or before.run:
                break
            found += [] if before.ask is None else [before.ask]
        return found

    def _draw_said(self, ended: bool) -> bool:
        """Draw what was said on what happened, when that is shown; returns whether the picture shows it."""
        page, question = self._page(), self.step.ask
        axes = None if page is None else page.axes()
        said = None if question is None or self.was is None or not ended else self.said(question)
        if axes is None:
            return False
        mark = on_picture(question, said, axes) if question is not None and said is not None else None
        return axes.picture.predict(mark, self.session.dark)

    def _handle_msg(self, msg: Any) -> None:
        if isinstance(msg, dict):
            if msg.get("go") in (1, -1):
                self.go(msg["go"])
            elif "given" in msg:
                self.say(msg["given"])

    # ---- what is shown -----------------------------------------------------------------------------------------------

    def show(self) -> None:
        """Bring the browser's panel, and what of the page is hidden, up to date."""
        step, at, count = self.step, self.session.step, len(self.lesson.steps)
        self.session.runs.asking = locked = self._open()
        done = self._about is not None
        told = ""
        if self._problem:
            told = f"<span class='bad'>{safe(self._problem, 600)}</span>"
        elif locked and step.ask is not None and self.said(step.ask) is not None:
            told = _MORE
        elif step.run and not locked and not done:
            told = _RUN if self.session.table.dataset is not None and self.session.table.loading is None else _OPENING
        minutes = f" · about {self.lesson.minutes} minutes" if at == 1 else ""
        self.shown = {
            "head": f"<h2>{safe(self.lesson.title)}</h2><p>Step {at} of {count}{minutes}</p>",
            "text": markdown_html(step.text),
            "ask": None if step.ask is None else self._asked(step.ask),
            "told": told,
            "reveal": self._reveal(step) if done and not locked else None,
            "back": at > 1,
            "on": "Finish" if at == count else "Next",
            "view": {"hide": list(step.hide), "locked": LOCKED if locked else ""},
        }
        if self._summing:
            self.shown = self.shown | {
                "head": f"<h2>{safe(self.lesson.title)}</h2><p>What you said, and what happened</p>",
                "text": self._summary(), "ask": None, "told": "", "reveal": None, "back": True, "on": "All lessons",
            }  # fmt: skip

    def _summary(self) -> str:
        """Each question with what was said and what happened, as HTML."""
        items = []
        for question in self.lesson.questions:
            said, was = self.said(question), self.progress.was.get(question.id)
            if said is None:
                told = "Not answered."
            elif was is None:
                told = f"You said: <b>{_words(question, said)}</b>."
            else:
                told = _verdict(question, said, was, question.right(said, was))
            items.append(f"<li><p>{markdown_html(question.text, inline=True)}</p><p>{told}</p></li>")
        return f"<ol>{''.join(items)}</ol>"

    def _asked(self, question: Question) -> dict[str, Any]:
        said = self.said(question)
        return {
            "kind": question.kind,
            "text": markdown_html(question.text, inline=True),
            "options": [[one.value, markdown_html(one.words, inline=True)] for one in question.options],
            "unit": question.unit,
            "low": question.low,
            "high": question.high,
            "words": "" if said is None else f"You said: <b>{_words(question, said)}</b>",
        }

    def _reveal(self, step: Step) -> dict[str, Any] | None:
        """What happened, and what was said of it."""
        question, was = step.ask, self.was
        html = markdown_html("\n\n".join(filter(None, [question.explain if question else "", step.reveal])))
        if question is None or was is None:
            return {"html": html} if html else None
        said = self.said(question)
        assert said is not None  # an open question shows nothing of what happened
        right = question.right(said, was)
        return {
            "html": html, "verdict": _verdict(question, said, was, right), "right": right,
            "kind": "drawn" if self._drawn else question.kind, "said": said, "was": was,
            "names": [one.words for one in question.options], "low": question.low, "high": question.high,
        }  # fmt: skip


def _verdict(question: Question, said: Said, was: Said, right: bool) -> str:
    """What happened beside what was said of it, as HTML."""
    mine, found = _words(question, said), _words(question, was)
    told = "It was" if question.kind in ("number", "sketch") else "What happened:"
    how = "as you said" if mine == found else f"{'near what you said' if right else 'you said'}: {mine}"
    return f"{told} <b>{found}</b>{',' if right else ';'} {how}."


def _words(question: Question, said: Said) -> str:
    """An answer as HTML."""
    parts = said if isinstance(said, tuple) else (said,)
    words = [
        markdown_html(question.words_of(one), inline=True) if isinstance(one, str) else f"{one:.3g}" for one in parts
    ]
    unit = f" {safe(question.unit)}" if question.unit and question.kind == "number" else ""
    return ", ".join(words) + unit
