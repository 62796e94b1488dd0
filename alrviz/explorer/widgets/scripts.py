"""Scripts of "copy as Python": code for the table and the recipes, and the script of a race."""

from collections.abc import Sequence

from alrviz.data.dataset import Dataset
from alrviz.data.options import ReadOptions
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.source import Source
from alrviz.fitting.recipe import Recipe


def recipe_code(recipe: Recipe) -> str:
    """Return code that makes the recipe: its family and the parameters that are not defaults."""
    settings_left = recipe.changed_settings
    settings = {
        name: settings_left.pop(name) for name in ("order", "alpha", "scale", "start") if name in settings_left
    } | settings_left
    arguments = [repr(recipe.family), *(f"{name}={value!r}" for name, value in settings.items())]
    return f"alrviz.Recipe({', '.join(arguments)})"


def dataset_code(session: Session, all_rows: bool = False) -> str:
    """Return code that loads and splits the session's table. all_rows: not the sample of a table larger than memory."""
    table = session.table
    source, stream = table.source, table.stream
    if stream is None:
        return table_code(table.dataset, source, session.seed, table.served_from)
    options = _options_code(stream.sample.table.given_options)
    comment = f"  # {stream.n_rows:,} rows, {stream.sample.n_rows:,} of them in the sample"
    code = f"dataset = alrviz.open_table({table.served_from!r}, {stream.target!r}{options})"
    return code + ("" if all_rows else ".sample") + comment + _kinds_code(table.dataset, source, retarget=False)


def table_code(dataset: Dataset | None, source: Source, seed: int, served_from: str) -> str:
    """Return code that loads and splits a table; a comment names the filter of rows, which is not applied.

    Args:
        dataset: the table; None while there is none.
        source: its origin, and the visitor's choices for it.
        seed: of a demo set's generator.
        served_from: path of the table that the server was started with, if known.
    """
    code = _load_code(dataset, source, seed, served_from)
    if dataset is None:
        return code
    if call := dataset.splitting.call:
        code += f"\ndataset = dataset.{call}"
    if not source.rows:
        return code
    return f"{code}\n# The page used some rows only; this script uses all: {dataset.table.notes[-1]!r}"


def _load_code(dataset: Dataset | None, source: Source, seed: int, served_from: str) -> str:
    """Return code that loads the table; see `table_code` for the arguments."""
    if source.upload is None and source.demo is not None:
        name, rows = source.demo
        rows_code = "" if rows is None else f", rows={rows}"
        return f"dataset = alrviz.load_demo({name!r}{rows_code}, seed={seed})" + _kinds_code(dataset, source)
    if dataset is None:
        return "dataset = alrviz.read_table('table.csv')"
    if source.upload is None:
        name, origin_note = served_from or f"{dataset.name}.csv", "the file that the explorer was started with"
        options: ReadOptions | None = dataset.table.given_options
    else:
        name, origin_note = source.upload.name, "a file that was dropped: give its folder too"
        options = source.upload.options
    read_arguments = _options_code(options)
    comment = f"  # {origin_note}; {dataset.n_rows:,} rows; hash {dataset.hash[:16]}"
    target_code = f", target={dataset.target!r}" + (", quartiles=True" if dataset.quartiles else "")
    code = f"dataset = alrviz.read_table({name!r}{target_code}{read_arguments}){comment}"
    return code + _kinds_code(dataset, source, retarget=False)


def _options_code(options: ReadOptions | None) -> str:
    """Return options of reading as a keyword argument in code; "" if all are detected."""
    if options is None or not options.explicit_options:
        return ""
    settings = {
        name: value if name == "columns" else getattr(options, name) for name, value in options.explicit_options.items()
    }
    return f", options=alrviz.ReadOptions({', '.join(f'{name}={value!r}' for name, value in settings.items())})"


def _kinds_code(dataset: Dataset | None, source: Source, *, retarget: bool = True) -> str:
    """Return code that sets the kinds and the target chosen on the page."""
    if dataset is None:
        return ""
    names = dataset.table.names
    kind_by_name = {names[k]: kind for k, kind in sorted(source.kinds.items()) if k < len(names)}
    feature_kinds = {name: kind for name, kind in kind_by_name.items() if kind not in ("target", "quartiles")}
    target = next((name for name, kind in kind_by_name.items() if kind in ("target", "quartiles")), None)
    code_lines = []
    if target is not None and retarget:
        quartiles_code = ", quartiles=True" if kind_by_name[target] == "quartiles" else ""
        code_lines.append(f"dataset = dataset.with_target({target!r}{quartiles_code})")
    if feature_kinds:
        code_lines.append(f"dataset = dataset.with_kinds(**{feature_kinds!r})")
    return "".join(f"\n{line}" for line in code_lines)


def script(session: Session, recipes: Sequence[Recipe], version: str) -> str:
    """Return the script of a race; it computes the numbers on the screen."""
    recipe_lines = ",\n    ".join(recipe_code(recipe) for recipe in recipes)
    return f"""# alrviz {version}
import alrviz

{dataset_code(session, all_rows=bool(session.race_rows))}
recipes = [
    {recipe_lines},
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
