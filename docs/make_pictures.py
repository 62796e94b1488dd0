"""Make the pictures of the documentation: screenshots of the explorer, decision maps of the families, fits to numbers.

    python docs/make_pictures.py [--chromium FILE] [NAME ...]

This needs Playwright and a Chromium. Screenshots have 1280 by 720 pixels, as projectors do, and are taken when a page
shows the words of its end. Maps are of the demo set two-moons, 400 rows (every third drawn), numbers cut into eight
levels of equal numbers of rows. Fits to numbers are drawn for generated tables of 2,000 rows with known probabilities;
log losses of 20,000 other rows are printed too. PNGs are written to docs/images.
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
    """A page for a screenshot: its link, a regular expression of its final text, and a button to press first."""

    link: str
    final_text: str
    button: str = ""


STUDY_END = "(fits|parts) · done"
PAGES = {
    "explorer": Page("", "^ended"),
    "tour-preconditioners": Page("?q=preconditioners", "fastest"),
    "tour-boundaries": Page("?page=boundaries", "^ended"),
    "tour-path": Page("?page=path", STUDY_END, "Run"),
    "tour-order": Page("?page=order", STUDY_END, "Run"),
    "tour-bias-variance": Page("?page=bias", STUDY_END, "Run"),
    "tour-compare": Page("?page=compare", STUDY_END, "Run"),
    "tour-selection": Page("?page=selection", STUDY_END, "Run"),
    "tour-interactions": Page("?page=interactions", STUDY_END),
    "tour-data": Page("?page=data&data=mixed-types", "Classes"),
}
# Two models on one table, for the pages in docs/families.
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
    all_names = [*PAGES, *MAPS, *NUMBERS, EVALUATION]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(all_names)}")
    parser.add_argument("--chromium", default="/usr/bin/chromium", help="the browser's program")
    options = parser.parse_args()
    unknown = sorted({*options.names} - {*all_names})
    if unknown:
        parser.error(f"no picture is called {', '.join(unknown)}; there are {', '.join(all_names)}")
    from playwright.sync_api import sync_playwright

    names = options.names or all_names
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=options.chromium, args=["--no-sandbox", "--disable-gpu"])
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
    """Serve the explorer while the pictures are taken, with a data folder of its own; yield its address."""
    command = [sys.executable, "-m", "alrviz.cli", "explore", "--no-show", "--token", "none"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        environment = os.environ | {"ALRVIZ_HOME": home}
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
        try:
            assert server.stdout is not None
            for line in server.stdout:
                address = re.search(r"http://[\w.:]+/\S*", line)
                if address:
                    yield address[0]
                    break
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()


def photograph(browser: Any, address: str, name: str) -> None:
    """Take the screenshot of one page in `PAGES` once it shows its final text."""
    page, tab = PAGES[name], browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
    tab.goto(address + page.link)
    if page.button:
        button = tab.get_by_role("button", name=re.compile(f"^{page.button}")).and_(tab.locator(":enabled"))
        button.first.click(timeout=60_000)
    tab.get_by_text(re.compile(page.final_text)).first.wait_for(timeout=180_000)
    tab.mouse.move(WIDTH - 8, HEIGHT // 2)
    time.sleep(3)  # legends are placed, the last points drawn
    tab.screenshot(path=IMAGES / f"{name}.png")
    tab.close()


def picture_maps(browser: Any, name: str) -> None:
    """Draw the decision maps of two models of `MAPS` side by side."""
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

    tab = browser.new_page(viewport={"width": len(figures) * side + 16, "height": side + 16})
    tab.set_content(file_html(row(figures), INLINE, name))
    tab.locator("canvas").first.wait_for()
    time.sleep(1)
    tab.screenshot(path=IMAGES / f"{name}.png")
    tab.close()


def picture_evaluation() -> None:
    """Draw the picture of docs/evaluation.md from the lines of its example; this needs no browser."""
    import alrviz

    data = alrviz.load_demo("tic-tac-toe")
    model = alrviz.NaiveBayesClassifier().fit(data.X[::2], data.y[::2])
    evaluation = alrviz.evaluate(model, data.X[1::2], data.y[1::2], rows_text="test rows")
    alrviz.EvaluationView(evaluation, rule="threshold").save(IMAGES / f"{EVALUATION}.png")


def picture_levels(browser: Any, name: str) -> None:
    """Draw the true probability of the second class, and the fit with each of `SCHEMES`."""
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
    rows, test, ends = X[:2000], slice(2000, None), np.quantile(X, (0.01, 0.99))
    axis = np.linspace(*ends, 600 if n_columns == 1 else 150)
    grid = np.stack([values.ravel() for values in np.meshgrid(*[axis] * n_columns)], axis=1)
    truth = 1.0 / (1.0 + np.exp(-score(*grid.T)))
    p_by_title = {f"as it is: {log_loss(y[test], p[test]):.3f}": truth}
    for label, cuts in SCHEMES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", alrviz.LostColumnsWarning)  # the pictures show it
            model = alrviz.HLRClassifier(order=n_columns, alpha="auto", **cuts).fit(rows, y[:2000])
        loss = log_loss(y[test], model.predict_proba(X[test])[:, 1])
        p_by_title[f"{label}: {loss:.3f}"] = model.predict_proba(grid)[:, 1]
    sys.stdout.write("\n    ".join([name, *p_by_title]) + "\n")
    figures = []
    for title, probabilities in p_by_title.items():
        plot = figure(title=title, width=PANEL, height=PANEL, toolbar_location=None, x_range=tuple(ends))
        if n_columns == 1:
            plot.line(axis, truth, color="#999999", line_width=3)
            plot.line(axis, probabilities, color="#0072B2", line_width=2)
        else:
            side = ends[1] - ends[0]
            colours = LinearColorMapper(Cividis256, low=0.0, high=1.0)
            plot.image([probabilities.reshape(len(axis), -1)], ends[0], ends[0], side, side, color_mapper=colours)
            plot.y_range.update(start=ends[0], end=ends[1])
        figures.append(plot)
    photograph_figures(browser, name, figures, PANEL)


if __name__ == "__main__":
    raise SystemExit(main())
