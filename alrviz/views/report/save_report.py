"""save_report: a table goes in, and one HTML file comes out that says which model, what matters, and how good it is."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from alrviz.data.dataset import Dataset
from alrviz.errors import AlrvizError
from alrviz.estimators.model_file import write_atomically
from alrviz.fitting.runs.run import Run
from alrviz.stop import NEVER, StopToken
from alrviz.studies.protocols.report_facts import HOLDOUT, report_facts, report_of_run
from alrviz.views.report.page import checked_card, report_html


def save_report(
    dataset: "Dataset | Run",
    path: Any,
    model: Any = None,
    *,
    holdout: float = HOLDOUT,
    seed: int = 0,
    card: Mapping[str, str] | None = None,
    rows: bool = True,
    stop: StopToken = NEVER,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Write a report: one HTML file without scripts, that needs no server and no network.

    A model is fitted on training rows and judged on test rows. The report says how the table was read, which
    model was chosen and why, what matters, how good it is, whether its probabilities can be trusted, where it fails,
    and how to make it again.

    Args:
        dataset: what `read_table` returns; or a `Run` that was fitted, which is judged on its test rows.
        path: of the file.
        model: a classifier with its settings, fitted anew; None for `AutoClassifier()`, which chooses them.
        holdout: share of test rows. seed: of the split.
        card: what a model card says beside the figures: intended_use, out_of_scope, owner, licence, data_source,
            ethics, caveats.
        rows: whether rows of the table are shown: those that were predicted worst.
        stop: ends it from another thread. tell: called with what it is at.

    Raises:
        TableError: no data set, no rows on one side of the split, or a key that is none of the card's.
        AlrvizError: a folder that is not there.

    >>> import alrviz, tempfile, pathlib
    >>> data = alrviz.load_demo("tic-tac-toe")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     alrviz.save_report(data, f"{folder}/report.html", alrviz.LRClassifier(order=2))
    ...     pathlib.Path(folder, "report.html").stat().st_size < 500_000
    True
    """
    file = Path(os.fspath(path)).expanduser()
    if not file.parent.is_dir() or file.is_dir():
        raise AlrvizError(f"no report can be written to {str(file)!r}; expected a file in a folder that is there")
    card = checked_card(card)
    if isinstance(dataset, Run):
        facts = report_of_run(dataset, stop, tell)
    else:
        facts = report_facts(dataset, model, holdout=holdout, seed=seed, stop=stop, tell=tell)
    tell("writing")
    page = report_html(facts, card, rows=rows)
    try:
        with write_atomically(file, "report.html") as out:
            out.write(page.encode("utf-8", "replace"))
    except OSError as error:
        raise AlrvizError(f"the report cannot be written to {str(file)!r}: {error.strerror or error}") from error
