"""Read a file as a table, and make a data set of a table with the kinds, rows and splits that a visitor has chosen."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from alrviz.data.dataset import Dataset, Table
from alrviz.explorer.server.limits import ServerLimits
from alrviz.explorer.server.table_process import READERS
from alrviz.explorer.server.tables import Upload
from alrviz.explorer.session.row_filter import keep_rows
from alrviz.explorer.session.source import Source
from alrviz.stop import StopToken

TARGETS = ("target", "quartiles")  # kinds that make a column the class


def read_upload(
    upload: Upload,
    limits: ServerLimits,
    stop: StopToken,
    owner: str = "",
    tell: Callable[[bool], None] = lambda waits: None,
) -> Table:
    """Read a file in a process of its own; the table's name is the file's up to the first dot.

    tell: called with whether the reading waits for its turn.
    """
    stem = upload.name.split(".")[0] or upload.name
    return READERS.read(upload.data, stem, upload.options, limits.table(), stop, limits.seconds, owner, tell)


def derive(
    table: "Table",
    choices: Source,
    stop: StopToken,
    made: Mapping[str, str] = MappingProxyType({}),
    before: "Dataset | None" = None,
    served: "Dataset | None" = None,
) -> "Dataset":
    """Return the data set of a table with the chosen kinds, rows and splits; `made` and `before` as for `with_kinds`.

    served: the data set of this table that the server was started with; its splits are kept until others are chosen.
    """
    dataset = with_kinds(keep_rows(table, choices.rows), choices.kinds, stop, made, before)
    return with_split(dataset, choices.split, served)


def with_kinds(
    table: Table,
    kinds: Mapping[int, str],
    stop: StopToken,
    made: Mapping[str, str] = MappingProxyType({}),
    before: Dataset | None = None,
) -> Dataset:
    """Return the table with these kinds by column position; positions that it does not have are ignored.

    made: kinds by name of all other columns. before: a data set of this table, whose class is kept unless `kinds` name
    another.
    """
    named = {table.names[k]: kind for k, kind in kinds.items() if k < len(table.names)}
    target = next((name for name, kind in named.items() if kind in TARGETS), None)
    quartiles = True if target is not None and named[target] == "quartiles" else None
    if target is None and before is not None:
        target, quartiles = before.target, before.quartiles or None
    others = {**made, **{name: kind for name, kind in named.items() if kind not in TARGETS}}
    others.pop(target if target is not None else table.default_target.name, None)
    return table.dataset(target, kinds=others, quartiles=quartiles, stop=stop)


def with_split(dataset: Dataset, slug: str, before: Dataset | None = None) -> Dataset:
    """Return the data set with the rule for splits that a slug names; unchanged for an unknown slug.

    Without a slug the rule of `before`, a data set of this table, is kept.
    """
    if not slug and before is not None and not dataset.splitting.said:
        from alrviz.data.splitting import split_again

        return split_again(dataset, before.splitting)
    if slug in ("once", "together"):
        return dataset.split_by(repeats=slug)
    match = re.fullmatch(r"([gt])(\d{1,5})", slug)
    if match is None or int(match[2]) >= len(dataset.columns):
        return dataset
    name = dataset.columns[int(match[2])].name
    return dataset.split_by(groups=name) if match[1] == "g" else dataset.split_by(time=name)
