"""The page Lessons: the list of lessons, with the visitor's progress in each."""

import panel as pn
from panel.viewable import Viewable

from alrviz.errors import AlrvizError, plural
from alrviz.explorer.lesson import Lesson
from alrviz.explorer.lessons import library
from alrviz.explorer.lessons.progress import progress_of
from alrviz.explorer.page import Page
from alrviz.explorer.shell import asset
from alrviz.explorer.shell.theme import html
from alrviz.views.core.style import ICONS, safe

_INTRODUCTION = (
    "<p>A lesson asks before it shows: you predict a result, lock your answer, press Run and see what happens. All "
    "answers are computed on this server.</p>"
)
_WRITE_HINT = (
    "<p class='quiet'>To write your own: set up a page and press <em>Make a lesson from here</em> "
    "(<span class='material-icons' aria-hidden='true'>post_add</span> in the header); "
    "<code>alrviz explore --lesson FILE</code> opens it.</p>"
)


class LessonsPage(Page):
    """The page "Lessons"."""

    title, icon, group, slug = "Lessons", "school", "Explore", "lessons"

    def view(self) -> Viewable:
        """Build the page."""
        self._list = html()
        self._list.stylesheets = [*self._list.stylesheets, ICONS, asset("page.css", __package__)]
        return pn.Column(self._list, sizing_mode="stretch_width", margin=0)

    def on_shown(self) -> None:
        """Update the visitor's progress."""
        items_html = "".join(self._lesson_item_html(id) for id in library.names())
        self._list.object = f"{_INTRODUCTION}<ul class='lessons'>{items_html}</ul>{_WRITE_HINT}"

    def _lesson_item_html(self, id: str) -> str:
        try:
            lesson = library.find(id)
        except AlrvizError as error:
            return f"<li><a href='?lesson={safe(id)}'><b>{safe(id)}</b><span class='bad'>{safe(error)}</span></a></li>"
        assert lesson is not None
        step = progress_of(self.session.owner, lesson).step
        link = f"?lesson={lesson.id}" + (f"&amp;step={step}" if 1 < step < len(lesson.steps) else "")
        # Lessons name their prerequisites by these numbers.
        number_text = f"{library.SHIPPED.index(id) + 1}. " if id in library.SHIPPED else ""
        audience_html = f"<span>{safe(lesson.audience)}</span><br>" if lesson.audience else ""
        return (
            f"<li><a href='{link}'><b>{number_text}{safe(lesson.title)}</b>{audience_html}"
            f"<span class='quiet'>{lesson.minutes} minutes, {plural(len(lesson.questions), 'question')}"
            f"{_progress_text(step, lesson)}</span></a></li>"
        )


def _progress_text(step_number: int, lesson: Lesson) -> str:
    if not step_number:
        return ""
    return " · done" if step_number == len(lesson.steps) else f" · you are at step {step_number} of {len(lesson.steps)}"
