"""Write lessons as a static site: an index, a page of each lesson, and SCORM packages for learning platforms.

Each page is one file without requests to other hosts, so it works from any file server, from a folder and in an iframe.
The panel of a lesson and its questions are those of the explorer (`lesson_panel.js`, `questions.js`); `player.js`
answers instead of a server.
"""

import json
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from alrviz.errors import AlrvizError, plural
from alrviz.explorer.lesson import Lesson, Question
from alrviz.explorer.publish.record import Recording, record_lesson
from alrviz.explorer.shell import asset
from alrviz.explorer.shell.lesson_panel import question_fields, reveal_html
from alrviz.explorer.shell.markdown import markdown_html
from alrviz.explorer.shell.qr import qr_html
from alrviz.explorer.shell.theme import PANE_CSS
from alrviz.home import temporary_home
from alrviz.pictures.replay import content, fill_template, replay_template, script_json
from alrviz.views.core.style import safe

INDEX = "index.html"
INDEX_TITLE = "How classifiers learn: lessons that ask before they show"


def publish(
    folder: Path, lessons: Sequence[Lesson], *, address: str = "", scorm: bool = False,
    on_step: Callable[[Lesson, int], object] = lambda lesson, number: None,
) -> list[Path]:  # fmt: skip
    """Write lessons as a static site.

    Args:
        folder: is made if it does not exist; files of the same names are replaced.
        lessons: in the order of the index.
        address: of the site ("https://example.org/lessons/"), for a QR code of each lesson; "" for none.
        scorm: whether to write a SCORM 1.2 package of each lesson too.
        on_step: called with the lesson and the number of each step before it is run.

    Returns:
        The files written.

    Raises:
        AlrvizError: if a step cannot be run or its question not be answered, or a file not be written.
    """
    ids = [lesson.id for lesson in lessons]
    if repeated := [id for id in ids if ids.count(id) > 1 or f"{id}.html" == INDEX]:
        raise AlrvizError(f"the lesson's id {repeated[0]!r} is taken by another page; expected different ids")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with temporary_home():  # its runs are not the user's
            pages = [(lesson, lesson_page(lesson, partial(on_step, lesson))) for lesson in lessons]
        texts = {INDEX: _index_page(lessons, address)} | {f"{lesson.id}.html": page for lesson, page in pages}
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8", newline="")
        packages = [_write_scorm_package(folder, lesson, page) for lesson, page in pages] if scorm else []
    except OSError as error:
        raise AlrvizError(f"{str(folder)!r} cannot be written: {error.strerror or error}") from error
    return [*(folder / name for name in texts), *packages]


def lesson_page(lesson: Lesson, on_step: Callable[[int], object] = lambda number: None) -> str:
    """Run a lesson and return its page as HTML."""
    recordings = record_lesson(lesson, on_step)
    outcomes = {id: outcome for recording in recordings if recording for id, outcome in recording.outcomes.items()}
    data = {
        "id": lesson.id,
        "version": lesson.version,
        "title": lesson.title,
        "minutes": lesson.minutes,
        "steps": [
            {
                "text": markdown_html(step.text),
                "run": step.run,
                "question": None if step.ask is None else _question_data(step.ask, outcomes[step.ask.id]),
                "reveal": reveal_html(step),
                "result": None if recording is None else _result_data(recording),
            }
            for step, recording in zip(lesson.steps, recordings, strict=True)
        ],
        "film": replay_template(),
    }
    css_text = json.dumps(PANE_CSS + asset("questions.css") + asset("lesson_panel.css"))
    panel_script = asset("lesson_panel.js").replace("export function render", "function render")
    panel_script = f"const panelCss = {css_text};\n{asset('questions.js')}{panel_script}"
    return _page(lesson.title, "lesson.html", "player.js", panel_script, data=script_json(data))


def _page(title: str, body: str, script: str, scripts_before: str = "", **texts: str) -> str:
    """Return a page of the site.

    Args:
        title: plain text.
        body, script: names of the files of its body and script.
        scripts_before: what stands before the script.
        texts: of further places of the body, as HTML.
    """
    title_html = escape(title)
    return fill_template(
        asset("page.html", __package__),
        title=title_html,
        css=asset("colours.css") + asset("site.css", __package__),
        body=fill_template(asset(body, __package__), title=title_html, **texts),
        script=scripts_before + asset("theme_switch.js", __package__) + asset(script, __package__),
    )


def _question_data(question: Question, outcome: Any) -> dict[str, Any]:
    """Return a question with its right answer; the numbers that count as right, if it asks for numbers."""
    ranges = question.right_ranges(outcome) if question.kind in ("number", "sketch") else None
    return {**question_fields(question), "id": question.id, "outcome": outcome, "ranges": ranges}


def _result_data(recording: Recording) -> dict[str, Any]:
    return {
        "title": recording.title,
        "film": None if recording.film is None else content(recording.film) | {"embedded": True},
        "figures": recording.figures,
        "sentence": recording.sentence_html,
    }


def _index_page(lessons: Sequence[Lesson], address: str) -> str:
    cards = []
    for number, lesson in enumerate(lessons, 1):
        link = f"{lesson.id}.html"
        code_html = qr_html(f"{address.rstrip('/')}/{link}", max_height="120px") if address else ""
        cards.append(
            f"<li><a href='{link}'><b>{number}. {safe(lesson.title)}</b></a><p>{safe(lesson.audience)}</p>"
            f"<p class='quiet'>{lesson.minutes} minutes, {plural(len(lesson.questions), 'question')}"
            f"<span data-lesson='{lesson.id}' data-steps='{len(lesson.steps)}' data-version='{lesson.version}'></span>"
            f"</p>{code_html}</li>"
        )
    return _page(INDEX_TITLE, "index.html", "index.js", lessons="".join(cards))


def _write_scorm_package(folder: Path, lesson: Lesson, page: str) -> Path:
    """Write the SCORM 1.2 package of a lesson's page; return its file."""
    path, title = folder / f"{lesson.id}-scorm.zip", escape(lesson.title)
    manifest = asset("imsmanifest.xml", __package__).replace("{{id}}", lesson.id).replace("{{title}}", title)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("imsmanifest.xml", manifest)
        package.writestr("lesson.html", page)
    return path
