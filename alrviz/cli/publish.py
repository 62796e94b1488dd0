"""`alrviz publish`: lessons as a static site that needs no server."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from alrviz.cli.options import CommandError, Commands, require_file

if TYPE_CHECKING:
    from alrviz.explorer.lesson import Lesson


def add_to(commands: Commands) -> None:
    """Add the command `publish` and its options to the parser."""
    parser = commands.add_parser(
        "publish", help="write lessons as a site that runs anywhere",
        description="Run all steps of the lessons and write a static site with their results: any file server can "
        "serve it, and it works from a folder, on phones, without a network and in an iframe.",
    )  # fmt: skip
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the folder to write; it is made if needed")
    parser.add_argument(
        "--lesson", action="append", default=[], metavar="NAME", help="a lesson of the package, by its id, or a file "
        "of your own (YAML); may be repeated (default: all lessons of the package)",
    )  # fmt: skip
    parser.add_argument("--url", default="", help="the site's address, for a QR code of each lesson")
    parser.add_argument("--scorm", action="store_true", help="write a SCORM 1.2 package of each lesson too")
    parser.set_defaults(command=publish)


def publish(options: argparse.Namespace) -> int:
    """Run the lessons and write the site."""
    if options.folder.exists() and not options.folder.is_dir():
        raise CommandError(f"{str(options.folder)!r} is a file; expected a folder")
    if options.url and not options.url.startswith(("http://", "https://")):
        raise CommandError(f"--url {options.url!r} is no address; expected https://...")
    from alrviz.explorer.lessons import library
    from alrviz.explorer.publish import publish

    lessons = [_lesson(name) for name in options.lesson or library.SHIPPED]

    def show_step(lesson: Lesson, number: int) -> None:
        print(f"{lesson.title}: step {number} of {len(lesson.steps)}", file=sys.stderr, flush=True)

    files = publish(options.folder, lessons, address=options.url, scorm=options.scorm, on_step=show_step)
    for file in files:
        print(f"{file} ({file.stat().st_size / 1000:,.0f} kB)")
    print(f"Open {files[0]} in a browser, or put the folder on any web server.")
    return 0


def _lesson(name: str) -> Lesson:
    from alrviz.explorer.app import offer_lesson
    from alrviz.explorer.lessons import library

    if name in library.SHIPPED:
        return library.read_shipped(name)
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        raise CommandError(f"there is no lesson {name!r}; expected a file or one of {', '.join(library.SHIPPED)}")
    require_file(path)
    return offer_lesson(path)
