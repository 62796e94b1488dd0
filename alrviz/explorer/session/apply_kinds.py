"""Read a file as a table, and make a data set of a table with the kinds, rows and splits that a visitor has chosen."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from alrviz.data.dataset import Dataset, dataset_of
from alrviz.data.table import Table
from alrviz.explorer.server.limits import ServerLimits
from alrviz.explorer.server.table_process import READERS
from alrviz.explorer.server.tables import Upload
from alrviz.explorer.session.row_filter import filter_rows
from alrviz.explorer.session.source import Source
from alrviz.stop import StopToken

TARGETS = ("target", "quartiles")  # kinds that make a column the class


def read_upload(
    upload: Upload,
    limits: ServerLimits,
    stop: StopToken,
    owner: str = "",
    on_wait: Callable[[bool], None] = lambda is_waiting: None,
) -> Table:
    """Read a file in a separate process; the table is named after the file, up to the first dot.

    Args:
        upload: the file's bytes, its name and the options of reading.
        limits: on size and reading time.
        stop: cancels the reading and gets its progress.
        owner: the visitor, for fair queues.
        on_wait: called with True while no reading process is free, with False when the reading begins.
    """
    stem = upload.name.split(".")[0] or upload.name
    return READERS.read(upload.data, stem, upload.options, limits.table(), stop, limits.seconds, owner, on_wait)


def derive_dataset(
    table: "Table",
    choices: Source,
    stop: StopToken,
    other_kinds: Mapping[str, str] = MappingProxyType({}),
    previous: "Dataset | None" = None,
    served: "Dataset | None" = None,
) -> "Dataset":
    """Return the data set of a table with the chosen kinds, rows and splits.

    Args:
        other_kinds, previous: as for `with_kinds`.
        served: the data set of this table that the server was started with, whose splits are the default.
    """
    dataset = with_kinds(filter_rows(table, choices.rows), choices.kinds, stop, other_kinds, previous)
    return with_split(dataset, choices.split, served)


def with_kinds(
    table: Table,
    kinds: Mapping[int, str],
    stop: StopToken,
    other_kinds: Mapping[str, str] = MappingProxyType({}),
    previous: Dataset | None = None,
) -> Dataset:
    """Return a data set of the table with the given kinds.

    Args:
        kinds: by column position; positions beyond the table's are ignored.
        other_kinds: by name, for columns that `kinds` does not mention.
        previous: a data set of this table, whose target stays unless `kinds` names another.
    """
    chosen_kinds = {table.names[k]: kind for k, kind in kinds.items() if k < len(table.names)}
    target = next((name for name, kind in chosen_kinds.items() if kind in TARGETS), None)
    quartiles = True if target is not None and chosen_kinds[target] == "quartiles" else None
    if target is None and previous is not None:
        target, quartiles = previous.target, previous.quartiles or None
    kinds_by_name = {**other_kinds, **{name: kind for name, kind in chosen_kinds.items() if kind not in TARGETS}}
    kinds_by_name.pop(target if target is not None else table.default_target.name, None)
    return dataset_of(table, target, kinds=kinds_by_name, quartiles=quartiles, stop=stop)


def with_split(dataset: Dataset, slug: str, previous: Dataset | None = None) -> Dataset:
    """Return the data set with the splitting rule of a slug ("once", "together", "g3", "t3").

    An unknown slug changes nothing; "" takes the rule of `previous`, a data set of the same table.
    """
    if not slug and previous is not None and not dataset.splitting.calls:
        from alrviz.data.splitting import split_again

        return split_again(dataset, previous.splitting)
    if slug in ("once", "together"):
        return dataset.split_by(repeats=slug)
    match = re.fullmatch(r"([gt])(\d{1,5})", slug)
    if match is None or int(match[2]) >= len(dataset.columns):
        return dataset
    name = dataset.columns[int(match[2])].name
    return dataset.split_by(groups=name) if match[1] == "g" else dataset.split_by(time=name)
