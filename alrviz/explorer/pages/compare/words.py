"""The words of "Compare": what one looks at, what it costs, the script."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from alrviz.explorer.pages.compare.settings import Known
from alrviz.explorer.shell.glossary import term_html
from alrviz.explorer.widgets.scripts import dataset_code, recipe_code
from alrviz.explorer.widgets.study_costs import line_html
from alrviz.explorer.widgets.table_sets import Table
from alrviz.pictures.formatting import bytes_text, count_text, seconds_text
from alrviz.studies.core.names import short_names
from alrviz.views.core.style import safe

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.explorer.server.tables import Upload

ABOUT = r"""
Which recipe is better, and is it so on more than one table? Every recipe is fitted on the same training parts of every
data set and judged on the rows left out (*cross-validation*, repeated with other shuffles). Numeric columns are cut,
and [[alpha]] is chosen where it says so, inside the training rows of each part. The table shows the mean of a measure
over the fits with its standard deviation; the lowest mean of a line is bold.

*Win / draw / loss* counts the data sets on which one recipe is lower than another. The [[sign test]] asks how likely so
uneven a count is if neither were better: with $W$ wins and $L$ losses $p = \min(1, 2 P(B \le \min(W, L)))$, $B$
binomial with $W + L$ trials of probability $1/2$. A few data sets cannot say much: 5 wins of 5 have $p = .06$. The
[[mean rank]] gives every data set one vote; the [[geometric mean]] of ratios says how much lower a recipe is.

In the picture every data set is a point: its mean for one recipe on x, for the other on y, both log axes.
On the dashed diagonal they are equal; bars are one standard deviation, grey dots single folds. Bias and variance are
those of Kohavi and Wolpert, [[plug-in]]."""

NOTHING = "<span class='quiet'>Choose at least one data set.</span>"


def told_html(known: Known) -> str:
    """About how long all of it takes, in how much memory and where; what is left out."""
    lost = [f"{name}: {why}" for name, why in known.absent]
    return line_html(known, [*lost, *(f"{one.name}: {one.refused}" for one in _left_out(known))])


def _left_out(known: Known) -> list[Any]:
    """Of each recipe that no table takes the first reason."""
    columns = zip(*known.priced, strict=True)
    return [line[0] for line in columns if all(one.refused for one in line)]


def prices_html(known: Known) -> str:
    """A line a data set, a column a recipe: parameters, memory and seconds of a fit, or why it is refused."""
    if not known.tables:
        return NOTHING
    head = "".join(f"<th>{safe(name, 40)}</th>" for name in short_names(known.asked.recipes))
    body = ""
    for table, line in zip(known.tables, known.priced, strict=True):
        data = table.dataset
        shape = f"{data.n_rows:,} rows, {data.X.shape[1]} columns, {data.n_classes} classes"
        cells = "".join(f"<td>{_price(one)}</td>" for one in line)
        body += f"<tr><td><abbr title='{shape}'>{safe(data.name, 60)}</abbr></td>{cells}</tr>"
    absent = "".join(
        f"<tr><td>{safe(name, 60)}</td><td colspan='{len(known.asked.recipes)}' style='white-space:normal'>"
        f"<span class='bad'>left out</span>: {safe(why, 400)}</td></tr>"
        for name, why in known.absent
    )
    title = f"<tr><th>parameters · memory · one fit, about {term_html('pass', 'passes')} included</th>{head}</tr>"
    return f"<div class='scroll'><table>{title}{body}{absent}</table></div>"


def _price(one: Any) -> str:
    if one.refused or one.price is None:
        return f"<abbr class='bad' title='{safe(one.refused, 400)}'>refused</abbr>"
    count = count_text(one.price.parameters) if one.price.parameters else "&ndash;"
    return f"{count} · {bytes_text(one.price.bytes)} · {seconds_text(one.seconds)}"


@dataclass(frozen=True)
class _Source:
    """What `dataset_code` asks of a session, of one table."""

    upload: "Upload | None"
    demo: tuple[str, None] | None
    dataset: "Dataset"
    seed: int
    kinds: tuple[tuple[int, str], ...]

    @property
    def state(self) -> "_Source":
        """Where the kinds are."""
        return self


def script(known: Known, seed: int, version: str) -> str:
    """The script of "copy as Python": its numbers are the screen's, but for seconds."""
    repeats, folds = known.asked.splits
    recipes = "".join(f"    {recipe_code(recipe)},\n" for recipe in known.recipes)
    return f"""# alrviz {version}
import alrviz
from alrviz.studies.protocols.compare import pairs, ranks, table

{_tables_code(known.tables, seed)}recipes = [
{recipes}]
study = alrviz.compare(tables, recipes, repeats={repeats}, folds={folds}, seed={seed})
# n_jobs=1 computes in this process, keep=True keeps every fit as it finishes
for row in study.rows():
    if row["outcome"] == "failed":
        print(row["data"], row["name"], row["repeat"], row["fold"], row["sentence"])
print(table(study, "log_loss"))
print(pairs(study, "log_loss"))
print(ranks(study, "log_loss"))
"""


def _tables_code(tables: tuple[Table, ...], seed: int) -> str:
    code = "tables = []\n"
    for table in tables:
        source: Any = _Source(
            table.upload, (table.demo, None) if table.demo else None, table.dataset, seed, table.kinds
        )
        lines = dataset_code(source)
        own = table.dataset.table.name if not table.demo else table.demo
        if table.dataset.name != own:  # two of one name: one was given another
            lines += f"\ndataset = dataclasses.replace(dataset, name={table.dataset.name!r})"
            code = code if code.startswith("import") else f"import dataclasses\n\n{code}"
        code += f"{lines}\ntables.append(dataset)\n"
    return code
