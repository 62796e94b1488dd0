"""The texts of the Data page as HTML: description of the table, classes, notes. Names are escaped."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from alrviz.data.kinds import FEATURE_KINDS
from alrviz.errors import capitalize, for_page, plural
from alrviz.pictures.columns import ColumnPicture, class_colours
from alrviz.views.core.style import html_table, safe

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.data.options import ReadOptions

MAX_CLASSES = 12
_DELIMITER_WORDS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
MAX_NUMBER_COLUMNS = 4  # classes in the table under a column's picture, which is half a page wide


def head_html(dataset: "Dataset", source_text: str) -> str:
    """Return the table's description and size."""
    kinds = list(dataset.kinds.values())
    n_used, n_ignored = sum(kind in FEATURE_KINDS for kind in kinds), kinds.count("ignore")
    facts = [
        f"{dataset.n_rows:,} rows",
        f"{plural(n_used, 'column')} used" + (f", {n_ignored:,} ignored" if n_ignored else ""),
        f"{dataset.n_classes:,} classes of <b>{safe(dataset.target, 60)}</b>",
        f"hash <code>{safe(dataset.hash[:12])}</code>",
    ]
    description = f"<p class='quiet'>{safe(source_text, 400)}</p>" if source_text else ""
    return f"{description}<p>{' &nbsp;·&nbsp; '.join(facts)}</p>"


def layout_text(options: "ReadOptions") -> str:
    """Describe how a file was laid out, such as "separated by commas, utf-8, 1 header row"."""
    phrases = [f"sheet {options.sheet}"] if options.sheet is not None else []
    if options.delimiter is not None:
        delimiter = _DELIMITER_WORDS.get(options.delimiter, repr(options.delimiter))
        phrases += [f"separated by {delimiter}", str(options.encoding)]
    if options.delimiter is not None or options.sheet is not None:
        phrases.append(plural(int(options.header), "header row") if options.header else "no header row")
        phrases += ["decimal commas"] if options.decimal == "," else []
    return ", ".join(phrases)


def columns_frame(dataset: "Dataset", by_maker: Collection[int] = ()) -> pd.DataFrame:
    """Return one row per column, for export. by_maker: positions of columns whose kind the demo set defines."""
    return pd.DataFrame(
        {
            "column": [column.name for column in dataset.columns],
            "kind": [column.kind for column in dataset.columns],
            "levels": [column.levels for column in dataset.columns],
            "missing": [column.missing for column in dataset.columns],
            "why": ["by construction" if k in by_maker else column.why for k, column in enumerate(dataset.columns)],
        }
    )


def classes_html(dataset: "Dataset", selected: np.ndarray | None = None) -> str:
    """Return the class balance as bars, which are also the legend of the colours.

    selected: rows of each class in a selection, whose shares are shown too.
    """
    labels = [str(label) for label in dataset.labels.cat.categories]
    counts = np.bincount(dataset.labels.cat.codes.to_numpy(), minlength=len(labels))
    colours = class_colours(len(labels))
    shown_classes = list(range(len(labels)))
    more_html = ""
    if len(shown_classes) > MAX_CLASSES:
        shown_classes = sorted(shown_classes, key=lambda k: -counts[k])[: MAX_CLASSES - 1]
        n_hidden = len(labels) - len(shown_classes)
        more_html = f"<div class='quiet' style='grid-column: 1 / -1'>and {n_hidden:,} smaller classes</div>"
    highest = max(int(counts.max()), 1)
    rows_html = "".join(
        f"<div style='white-space:nowrap; overflow:hidden; text-overflow:ellipsis' title='{safe(labels[k])}'>"
        f"{safe(labels[k], 40)}</div>"
        f"<div><div style='height:14px; border-radius:3px; min-width:2px; width:{100 * counts[k] / highest:.1f}%; "
        f"background:{colours[k]}'></div></div>"
        f"<div style='text-align:right'>{counts[k]:,}</div>"
        f"<div class='quiet' style='text-align:right'>{100 * counts[k] / dataset.n_rows:.1f} %</div>"
        + ("" if selected is None else f"<div style='text-align:right'><b>{_percent_text(selected, k)}</b></div>")
        for k in shown_classes
    )
    columns = "fit-content(45%) 1fr auto auto" + ("" if selected is None else " auto")
    head_html = (
        "" if selected is None else "<div style='grid-column: 1 / 5'></div><div style='text-align:right'>selected</div>"
    )
    style = f"display:grid; grid-template-columns: {columns}; gap: 1px 12px; align-items:center"
    return f"<h2>Classes</h2><div style='{style}'>{head_html}{rows_html}{more_html}</div>"


def _percent_text(counts: np.ndarray, k: int) -> str:
    return f"{100 * counts[k] / max(1, counts.sum()):.1f} %"


def numbers_html(picture: ColumnPicture, classes: Sequence[str]) -> str:
    """Return the rows per level and class of a column's picture; the smaller classes are merged."""
    totals = picture.counts.sum(axis=0)
    classes_shown = sorted(np.argsort(-totals, kind="stable")[:MAX_NUMBER_COLUMNS])
    other_classes = [k for k in range(len(classes)) if k not in classes_shown]
    class_headings = [safe(classes[k], 24) for k in classes_shown]
    row_counts_by_class = [picture.counts[:, k] for k in classes_shown]
    if other_classes:
        class_headings.append(f"{len(other_classes):,} others")
        row_counts_by_class.append(picture.counts[:, other_classes].sum(axis=1))
    row_counts_by_class.append(picture.counts.sum(axis=1))
    rows = (
        [safe(label, 40), *(f"<td class='n'>{count:,}</td>" for count in row_counts)]
        for label, *row_counts in zip(picture.labels, *row_counts_by_class, strict=True)
    )
    count_headings = (f"<th class='n'>{heading}</th>" for heading in (*class_headings, "rows"))
    return html_table([safe(picture.axis, 40), *count_headings], rows)


def notes_html(dataset: "Dataset", excluded: Collection[str] = ()) -> str:
    """Return the notes on the reading as sentences, without those `excluded`, which are asked as questions."""
    notes = [for_page(note) for note in dataset.notes if note not in excluded]
    if not notes:
        return "" if excluded else "<p class='quiet'>No issues found: no rows or columns were dropped.</p>"
    sentences = " ".join(safe(capitalize(note), 400) + ("" if note.endswith("?") else ".") for note in notes)
    return f"<p class='quiet'>{sentences}</p>"
