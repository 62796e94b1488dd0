"""save_report: fit and evaluate a model, and write a report as one HTML file."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from alrviz.data.dataset import Dataset
from alrviz.errors import AlrvizError
from alrviz.estimators.model_file import write_atomically
from alrviz.fitting.runs.run import Run
from alrviz.stop import NEVER, StopToken
from alrviz.studies.protocols.report_facts import DEFAULT_HOLDOUT_SHARE, report_facts, report_of_run
from alrviz.views.report.page import check_card, report_html


def save_report(
    dataset: "Dataset | Run",
    path: Any,
    model: Any = None,
    *,
    holdout: float = DEFAULT_HOLDOUT_SHARE,
    seed: int = 0,
    card: Mapping[str, str] | None = None,
    rows: bool = True,
    stop: StopToken = NEVER,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Write a report as one self-contained HTML file without scripts.

    A model is fitted on training rows and evaluated on test rows. The report describes how the table was read, which
    model was chosen and why, what matters, how good the model is, whether its probabilities can be trusted, where it
    fails, and how to reproduce it.

    Args:
        dataset: result of `read_table`, or a fitted `Run`, which is evaluated on its test rows.
        path: path of the file.
        model: a classifier, which is cloned and fitted; None for `AutoClassifier()`, which chooses its settings.
        holdout: share of test rows.
        seed: seed of the split.
        card: further fields of the model card: intended_use, out_of_scope, owner, licence, data_source, ethics,
            caveats.
        rows: whether rows of the table may be shown: the worst predicted ones.
        stop: cancels from another thread.
        tell: called with the name of each stage.

    Raises:
        TableError: if `dataset` is no data set, one side of the split has no rows, or `card` has an unknown key.
        AlrvizError: if the folder does not exist.

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
    card = check_card(card)
    if isinstance(dataset, Run):
        facts = report_of_run(dataset, stop, tell)
    else:
        facts = report_facts(dataset, model, holdout=holdout, seed=seed, stop=stop, tell=tell)
    tell("writing")
    html = report_html(facts, card, rows=rows)
    try:
        with write_atomically(file, "report.html") as out:
            out.write(html.encode("utf-8", "replace"))
    except OSError as error:
        raise AlrvizError(f"the report cannot be written to {str(file)!r}: {error.strerror or error}") from error
