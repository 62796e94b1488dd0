"""Scripts of "copy as Python": the table and the recipes of the screen as code, and the script of a race."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from alrviz.fitting.families import ENCODING
from alrviz.fitting.recipe import Recipe

if TYPE_CHECKING:
    from alrviz.data.options import ReadOptions
    from alrviz.explorer.session.session import Session


def recipe_code(recipe: Recipe) -> str:
    """Python that makes the recipe: its family and whatever is not the default."""
    params = recipe.definition.params
    given = {name: value for name, value in recipe.params.items() if value != params[name].default}
    given |= {name: getattr(recipe, name) for name, param in ENCODING.items() if getattr(recipe, name) != param.default}
    ordered = {name: given.pop(name) for name in ("order", "alpha", "scale", "start") if name in given} | given
    words = [repr(recipe.family), *(f"{name}={_plain(value)!r}" for name, value in ordered.items())]
    return f"alrviz.Recipe({', '.join(words)})"


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else value


def dataset_code(session: "Session") -> str:
    """Python that makes the table of a session, split as it is."""
    call = "" if session.dataset is None else session.dataset.splitting.call
    return _table_code(session) + (f"\ndataset = dataset.{call}" if call else "")


def _table_code(session: "Session") -> str:
    if session.upload is None and session.demo is not None:
        name, rows = session.demo
        size = "" if rows is None else f", rows={rows}"
        made = f"alrviz.load_demo({name!r}{size}, seed={session.seed})"
        return f"dataset = {made}" + _kinds_code(session)
    dataset = session.dataset
    if dataset is None:
        return "dataset = alrviz.read_table('table.csv')"
    if session.upload is None:
        name, note = session.served_from or f"{dataset.name}.csv", "the file that the explorer was started with"
        options: ReadOptions | None = dataset.table.asked
    else:
        name, note = session.upload.name, "a file that was dropped: give its folder too"
        options = session.upload.options
    given = {} if options is None else {k: v for k, v in vars_of(options).items() if v is not None}
    read = f", options=alrviz.ReadOptions({', '.join(f'{k}={v!r}' for k, v in given.items())})" if given else ""
    where = f"  # {note}; {dataset.n_rows:,} rows; hash {dataset.hash[:16]}"
    target = f", target={dataset.target!r}" + (", quartiles=True" if dataset.quartiles else "")
    return f"dataset = alrviz.read_table({name!r}{target}{read}){where}" + _kinds_code(session, retarget=False)


def vars_of(options: "ReadOptions") -> dict[str, object]:
    """The fields of a dataclass by name."""
    return {name: getattr(options, name) for name in options.__dataclass_fields__}


def _kinds_code(session: "Session", *, retarget: bool = True) -> str:
    """Python for the kinds and the target the reader has chosen."""
    if session.dataset is None:
        return ""
    names = session.dataset.table.names
    chosen = {names[k]: kind for k, kind in session.state.kinds if k < len(names)}
    kinds = {name: kind for name, kind in chosen.items() if kind not in ("target", "quartiles")}
    target = next((name for name, kind in chosen.items() if kind in ("target", "quartiles")), None)
    lines = []
    if target is not None and retarget:
        cut = ", quartiles=True" if chosen[target] == "quartiles" else ""
        lines.append(f"dataset = dataset.with_target({target!r}{cut})")
    if kinds:
        lines.append(f"dataset = dataset.with_kinds(**{kinds!r})")
    return "".join(f"\n{line}" for line in lines)


def script(session: "Session", recipes: Sequence[Recipe], version: str) -> str:
    """The script of "copy as Python": its numbers are the screen's."""
    made = ",\n    ".join(recipe_code(recipe) for recipe in recipes)
    return f"""# alrviz {version}
import alrviz

{dataset_code(session)}
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
          f"NLL {{last.nll / run.trace.rows:.6f}} per row, held out {{held_out:.6f}}")
print(race.frame())
"""
