"""Scripts of "copy as Python": the table and the recipes of the screen as code, and the script of a race."""

from collections.abc import Sequence
from dataclasses import dataclass

from alrviz.data.dataset import Dataset
from alrviz.data.options import ReadOptions
from alrviz.explorer.server.tables import Upload
from alrviz.explorer.session.session import Session
from alrviz.fitting.recipe import Recipe


def recipe_code(recipe: Recipe) -> str:
    """Python that makes the recipe: its family and whatever is not the default."""
    changed = recipe.changed
    ordered = {name: changed.pop(name) for name in ("order", "alpha", "scale", "start") if name in changed} | changed
    arguments = [repr(recipe.family), *(f"{name}={value!r}" for name, value in ordered.items())]
    return f"alrviz.Recipe({', '.join(arguments)})"


@dataclass(frozen=True)
class TableOrigin:
    """The origin of a table.

    Attributes:
        dataset: the table; None while there is none.
        upload: the visitor's file, if it was one. served_from: the path of the server's own, if known.
        demo: the demo set's name and number of rows. seed: of its generator.
        kinds: those that were changed, by position.
        has_filters: whether only some rows were kept.
    """

    dataset: Dataset | None
    upload: Upload | None
    demo: tuple[str, int | None] | None
    seed: int
    kinds: tuple[tuple[int, str], ...]
    served_from: str
    has_filters: bool = False


def dataset_code(session: Session, whole: bool = False) -> str:
    """Python that makes the table of a session, split as it is; `whole`: all rows of one larger than memory, in which
    races may read them.
    """
    kinds, table = session.link.state.kinds, session.table
    origin = TableOrigin(
        table.dataset, table.source.upload, table.source.demo, session.seed, kinds, table.served_from,
        bool(table.source.rows),
    )  # fmt: skip
    stream = table.stream
    if stream is None:
        return table_code(origin)
    read = _options_code(stream.sample.table.asked)
    where = f"  # {stream.n_rows:,} rows, {stream.sample.n_rows:,} of them in the sample"
    made = f"dataset = alrviz.open_table({session.table.served_from!r}, {stream.target!r}{read})"
    return made + ("" if whole else ".sample") + where + _kinds_code(origin, retarget=False)


def table_code(origin: TableOrigin) -> str:
    """Return Python that makes a table, split as it is; a comment names the filter of rows, which it leaves out."""
    dataset = origin.dataset
    call = "" if dataset is None else dataset.splitting.call
    code = _made_code(origin) + (f"\ndataset = dataset.{call}" if call else "")
    if dataset is None or not origin.has_filters:
        return code
    return f"{code}\n# The page kept some rows only, which this does not do: {dataset.table.notes[-1]!r}"


def _made_code(origin: TableOrigin) -> str:
    if origin.upload is None and origin.demo is not None:
        name, rows = origin.demo
        size = "" if rows is None else f", rows={rows}"
        made = f"alrviz.load_demo({name!r}{size}, seed={origin.seed})"
        return f"dataset = {made}" + _kinds_code(origin)
    dataset = origin.dataset
    if dataset is None:
        return "dataset = alrviz.read_table('table.csv')"
    if origin.upload is None:
        name, note = origin.served_from or f"{dataset.name}.csv", "the file that the explorer was started with"
        options: ReadOptions | None = dataset.table.asked
    else:
        name, note = origin.upload.name, "a file that was dropped: give its folder too"
        options = origin.upload.options
    read = _options_code(options)
    where = f"  # {note}; {dataset.n_rows:,} rows; hash {dataset.hash[:16]}"
    target = f", target={dataset.target!r}" + (", quartiles=True" if dataset.quartiles else "")
    return f"dataset = alrviz.read_table({name!r}{target}{read}){where}" + _kinds_code(origin, retarget=False)


def _options_code(options: ReadOptions | None) -> str:
    given = (
        {} if options is None else {k: v if k == "columns" else getattr(options, k) for k, v in options.given.items()}
    )
    return f", options=alrviz.ReadOptions({', '.join(f'{k}={v!r}' for k, v in given.items())})" if given else ""


def _kinds_code(origin: TableOrigin, *, retarget: bool = True) -> str:
    """Python for the kinds and the target the reader has chosen."""
    if origin.dataset is None:
        return ""
    names = origin.dataset.table.names
    chosen = {names[k]: kind for k, kind in origin.kinds if k < len(names)}
    kinds = {name: kind for name, kind in chosen.items() if kind not in ("target", "quartiles")}
    target = next((name for name, kind in chosen.items() if kind in ("target", "quartiles")), None)
    lines = []
    if target is not None and retarget:
        cut = ", quartiles=True" if chosen[target] == "quartiles" else ""
        lines.append(f"dataset = dataset.with_target({target!r}{cut})")
    if kinds:
        lines.append(f"dataset = dataset.with_kinds(**{kinds!r})")
    return "".join(f"\n{line}" for line in lines)


def script(session: Session, recipes: Sequence[Recipe], version: str) -> str:
    """The script of "copy as Python": its numbers are the screen's."""
    made = ",\n    ".join(recipe_code(recipe) for recipe in recipes)
    return f"""# alrviz {version}
import alrviz

{dataset_code(session, whole=bool(session.race_rows))}
recipes = [
    {made},
]
race = alrviz.race(dataset, recipes)
race.start()
race.join()
for run in race.runs:
    last = run.trace[-1]
    held_out = last.extra.get("heldout_log_loss", float("nan"))
    print(f"{{run.recipe.name}}: {{run.outcome.code}} after {{last.index}} iterations, "
          f"NLL {{last.nll / run.trace.rows:.6f}} per row, test {{held_out:.6f}}")
print(race.frame())
"""
