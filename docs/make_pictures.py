"""Make the pictures of the documentation: screenshots of the explorer's pages, what each family decides, and what is
learned of numbers that are cut in one way or another.

    python docs/make_pictures.py [--chromium FILE] [NAME ...]

They need Playwright and a Chromium. Screenshots are 1280 by 720, as a projector shows them; a page is waited for by the
words it says when it is done. Maps are of the demo set two-moons, 400 rows (every third drawn), numbers cut into eight
levels of as many rows each. What is learned of numbers is drawn for tables of 2,000 rows whose probabilities are
known; log losses, of 20,000 other rows, are printed too. PNGs go to docs/images.
"""

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

IMAGES = Path(__file__).parent / "images"
WIDTH, HEIGHT = 1280, 720
MAP_SIDE = 380  # px
CUTS = {"discretize": "quantile", "n_bins": 8}


@dataclass(frozen=True)
class Page:
    """A page to be photographed: its link, a press on a button if one is needed, words that say it is done."""

    link: str
    done: str
    press: str = ""


DONE = "fits · done"
PAGES = {
    "explorer": Page("", "^ended"),
    "tour-preconditioners": Page("?q=preconditioners", "times faster"),
    "tour-boundaries": Page("?page=boundaries", "^ended"),
    "tour-path": Page("?page=path", DONE, "Run"),
    "tour-order": Page("?page=order", DONE, "Run"),
    "tour-bias-variance": Page("?page=bias", DONE, "Run"),
    "tour-compare": Page("?page=compare", DONE, "Run"),
    "tour-selection": Page("?page=selection", DONE, "Run"),
    "tour-interactions": Page("?page=interactions", DONE),
    "tour-data": Page("?page=data&data=mixed-types", "Classes"),
}
# Two models on one table; what is said of them stands in docs/families.
MAPS: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    "family-anje": (("anje", {"order": 1}), ("anje", {"order": 2})),
    "family-lr": (("lr", {"order": 1}), ("lr", {"order": 2})),
    "family-alr": (("alr", {"order": 1}), ("alr", {"order": 2})),
    "family-halr": (("alr", {"order": 2}), ("halr", {"order": 2})),
    "family-salr": (("salr", {"order": 1, "keep": 0.5}), ("salr", {"order": 1, "keep": 1.0})),
    "family-dlr": (("dlr", {"bandwidth": "silverman"}), ("dlr", {"bandwidth": "loo"})),
    "family-elr": (("elr", {"structure": "nb"}), ("elr", {"structure": "tan"})),
    "family-networks": (("tan", {}), ("ande", {"n": 1})),
    "family-kdb": (("kdb", {"k": 0}), ("kdb", {"k": 1})),
}
SCHEMES: dict[str, dict[str, Any]] = {
    "MDL": {"discretize": "mdl"},
    "10 quantiles": {"discretize": "quantile", "n_bins": 10},
    "smooth levels": {"discretize": "smooth"},
}
EVALUATION = "evaluation"  # the picture of docs/evaluation.md
PANEL = 300  # px
# Scores of tables of numbers, one or two columns, each uniform or normal.
NUMBERS: dict[str, tuple[int, str, Callable[..., Any]]] = {
    "levels-sine": (1, "uniform", lambda x: 3.0 * np.sin(4.0 * np.pi * x)),
    "levels-step": (1, "uniform", lambda x: np.where(x > 0.37, 2.0, -2.0)),
    "levels-xor": (2, "uniform", lambda x, y: np.where((x > 0.65) ^ (y > 0.4), 3.0, -3.0)),
    "levels-product": (2, "normal", lambda x, y: np.where(x * y > 0.0, 3.0, -3.0)),
}


def main() -> int:
    """Make the pictures named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    every = [*PAGES, *MAPS, *NUMBERS, EVALUATION]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(every)}")
    parser.add_argument("--chromium", default="/usr/bin/chromium", help="the browser's program")
    given = parser.parse_args()
    unknown = sorted({*given.names} - {*every})
    if unknown:
        parser.error(f"no picture is called {', '.join(unknown)}; there are {', '.join(every)}")
    from playwright.sync_api import sync_playwright

    names = given.names or every
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=given.chromium, args=["--no-sandbox", "--disable-gpu"])
        for name in (name for name in names if name in MAPS):
            picture_maps(browser, name)
        for name in (name for name in names if name in NUMBERS):
            picture_levels(browser, name)
        if EVALUATION in names:
            picture_evaluation()
        pages = [name for name in names if name in PAGES]
        if pages:
            with served() as address:
                for name in pages:
                    photograph(browser, address, name)
        browser.close()
    return 0


@contextlib.contextmanager
def served() -> Iterator[str]:
    """Serve the explorer while the pictures are taken; yield its address. What it keeps is not the user's."""
    command = [sys.executable, "-m", "alrviz.cli", "explore", "--no-show", "--token", "none"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        own = os.environ | {"ALRVIZ_HOME": home}
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=own)
        try:
            assert server.stdout is not None
            for line in server.stdout:
                found = re.search(r"http://[\w.:]+/\S*", line)
                if found:
                    yield found[0]
                    break
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()


def photograph(browser: Any, address: str, name: str) -> None:
    """Take the screenshot of one page in `PAGES` when it says that it is done."""
    page, shown = PAGES[name], browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
    shown.goto(address + page.link)
    if page.press:
        shown.get_by_role("button", name=re.compile(f"^{page.press}")).and_(shown.locator(":enabled")).first.click(
            timeout=60_000
        )
    shown.get_by_text(re.compile(page.done)).first.wait_for(timeout=180_000)
    shown.mouse.move(WIDTH - 8, HEIGHT // 2)
    time.sleep(3)  # legends are placed, the last points drawn
    shown.screenshot(path=IMAGES / f"{name}.png")
    shown.close()


def picture_maps(browser: Any, name: str) -> None:
    """Draw what two models of `MAPS` decide about the same rows, side by side."""
    import alrviz
    from alrviz.pictures.decision_map import decision_map_picture
    from alrviz.studies.maps.decision_map import decision_map

    data = alrviz.load_demo("two-moons", rows=400)
    figures = []
    for family, params in MAPS[name]:
        recipe = alrviz.Recipe(family, **CUTS if family != "dlr" else {}, **params)
        model = alrviz.make_estimator(recipe).fit(data.X, data.y)
        *_, finest = decision_map(model, data.X[::3], data.y[::3])
        figure = decision_map_picture(finest, width=MAP_SIDE).plot().figure
        figure.update(width=MAP_SIDE, height=MAP_SIDE, sizing_mode="fixed", toolbar_location=None)
        figure.title.text = recipe.name
        figures.append(figure)
    photograph_figures(browser, name, figures, MAP_SIDE)


def photograph_figures(browser: Any, name: str, figures: list[Any], side: int) -> None:
    """Take a picture of Bokeh figures side by side."""
    from bokeh.embed import file_html
    from bokeh.layouts import row
    from bokeh.resources import INLINE

    shown = browser.new_page(viewport={"width": len(figures) * side + 16, "height": side + 16})
    shown.set_content(file_html(row(figures), INLINE, name))
    shown.locator("canvas").first.wait_for()
    time.sleep(1)
    shown.screenshot(path=IMAGES / f"{name}.png")
    shown.close()


def picture_evaluation() -> None:
    """Draw what docs/evaluation.md shows, of its own lines; it needs no browser."""
    import alrviz

    data = alrviz.load_demo("tic-tac-toe")
    model = alrviz.NaiveBayesClassifier().fit(data.X[::2], data.y[::2])
    found = alrviz.evaluate(model, data.X[1::2], data.y[1::2], what="test rows")
    alrviz.EvaluationView(found, rule="threshold").save(IMAGES / f"{EVALUATION}.png")


def picture_levels(browser: Any, name: str) -> None:
    """Draw p of the second class as it is and as it is learned from each of `SCHEMES`."""
    from bokeh.models import LinearColorMapper
    from bokeh.palettes import Cividis256
    from bokeh.plotting import figure
    from sklearn.metrics import log_loss

    import alrviz

    n_columns, kind, score = NUMBERS[name]
    random = np.random.default_rng(0)
    X = getattr(random, kind)(size=(22_000, n_columns))
    p = 1.0 / (1.0 + np.exp(-score(*X.T)))
    y = (random.random(len(X)) < p).astype(int)
    rows, held, ends = X[:2000], slice(2000, None), np.quantile(X, (0.01, 0.99))
    axis = np.linspace(*ends, 600 if n_columns == 1 else 150)
    grid = np.stack([each.ravel() for each in np.meshgrid(*[axis] * n_columns)], axis=1)
    truth = 1.0 / (1.0 + np.exp(-score(*grid.T)))
    learned = {f"as it is: {log_loss(y[held], p[held]):.3f}": truth}
    for words, cuts in SCHEMES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", alrviz.LostColumnsWarning)  # the pictures show it
            model = alrviz.HLRClassifier(order=n_columns, alpha="auto", **cuts).fit(rows, y[:2000])
        loss = log_loss(y[held], model.predict_proba(X[held])[:, 1])
        learned[f"{words}: {loss:.3f}"] = model.predict_proba(grid)[:, 1]
    sys.stdout.write("\n    ".join([name, *learned]) + "\n")
    figures = []
    for title, found in learned.items():
        drawn = figure(title=title, width=PANEL, height=PANEL, toolbar_location=None, x_range=tuple(ends))
        if n_columns == 1:
            drawn.line(axis, truth, color="#999999", line_width=3)
            drawn.line(axis, found, color="#0072B2", line_width=2)
        else:
            side = ends[1] - ends[0]
            colours = LinearColorMapper(Cividis256, low=0.0, high=1.0)
            drawn.image([found.reshape(len(axis), -1)], ends[0], ends[0], side, side, color_mapper=colours)
            drawn.y_range.update(start=ends[0], end=ends[1])
        figures.append(drawn)
    photograph_figures(browser, name, figures, PANEL)


if __name__ == "__main__":
    raise SystemExit(main())
