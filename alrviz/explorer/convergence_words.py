"""The words of the Convergence page: what one looks at, the price line, the script."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from alrviz.explorer.formulas import math
from alrviz.explorer.glossary import term_html
from alrviz.fitting.families import ENCODING
from alrviz.fitting.recipe import Recipe
from alrviz.pictures.amounts import bytes_text, count_text, seconds_text
from alrviz.views.style import safe

if TYPE_CHECKING:
    from alrviz.data.options import ReadOptions
    from alrviz.explorer.session import Session
    from alrviz.fitting.price import Price
FEW = 4  # racers whose whole price has room

ABOUT = r"""
Several solvers look for the weights of a classifier at once. One iteration of one racer is mostly one [[pass]] over the
training rows (tron needs several, the adaptive scale one and a half); the racers take turns, and a racer's clock runs
during its own steps only.

$$s_k(x) = b_k + \sum_t \phi_{t(x),k}$$

is the score of class $k$: one number [[phi]] for each [[cell]] that the row falls into, one cell for each [[tuple]] of
[[order|n]] columns; $p(k \mid x) = \softmax(s(x))_k$. A racer minimises

$$F = - \sum_i \log p(y_i \mid x_i) + \alpha \| \phi - \phi_0 \|^2$$

the [[NLL]] plus an L2 penalty of strength [[alpha]] that shrinks toward a [[center]] $\phi_0$; its settings may take
squared error or the squared hinge instead of NLL, and let the penalty act on $w$. Racers differ in what they move:
[[LR|lr]] moves $\phi = w$, [[ALR|alr]] moves $\phi = w \cdot \log \theta$ with [[theta]] counted beforehand,
[[diagonal]] moves $\phi = w \cdot h^{-1/2}$ with $h = N_{\text{cell}} \pi_k (1 - \pi_k)$, adaptive the same with $h$
taken anew at every step, ALRJ moves $\phi = w \cdot \gamma \log \theta$, $\gamma$ being [[AnJE]]'s factor. Where each
cell and class has a weight of its own, free of bounds, and the penalty, if any, acts on [[phi]]: same functions, same
best fit, other paths.

*Full lines* are training rows, *dashed* ones [[held-out]] rows, both per row in [[nats]]. Grey lines are the class
prior (what one knows without looking at a row) and [[AnJE]]. The *suboptimality* shows how far F is above the lowest
value any racer has reached, on a log scale: a straight line gains the same factor with every iteration. *Milestones*
are the first iterations within 1 % and 0.1 % of that value. Where the rows are [[separable]], and often elsewhere,
unregularised log loss has no finite optimum: the lines fall for ever, and the race only tells how fast."""

WHY = """
Each family scales [[phi]], and that scale is a diagonal *preconditioner* for its solver. The best diagonal
preconditioner is one over the root of the curvature, the diagonal of the Hessian: the orange line. The nearer a family
comes to that line, the better conditioned its problem and the fewer iterations its solver needs. lr has no
preconditioner: its line is flat. log [[theta]] grows as a cell gets rarer, so alr bends the right way, and the more
uneven theta is, the more it helps.
Each scale is shown over its own median: the line search finds one common factor by itself."""


def rich(text: str) -> str:
    """Our own texts as HTML: paragraphs, *strong*, [[term]] or [[term|shown]] with its explanation, $LaTeX$."""
    text = re.sub(r"\$\$(.+?)\$\$", lambda m: math(m[1], block=True), text.strip())
    text = re.sub(r"\$(.+?)\$", lambda m: math(m[1]), text)
    text = re.sub(r"\[\[([^|\]]+)(?:\|([^\]]+))?\]\]", lambda m: term_html(m[1], m[2]), text)
    text = re.sub(r"\*([^*<]+)\*", r"<b>\1</b>", text)
    return "".join(f"<p>{part}</p>" for part in text.split("\n\n"))


def price_html(priced: Sequence[tuple[str, "Price"]]) -> tuple[str, bool]:
    """The price line, and whether a racer is refused."""
    refused = [(name, price.refused) for name, price in priced if price.refused]
    if refused:
        name, why = refused[0]
        return f"<span class='bad'><b>Refused</b> ({safe(name, 60)}): {safe(why, 400)}</span>", True
    parameters = sorted({price.parameters for _, price in priced})
    words = count_text(parameters[0])
    if len(parameters) > 1:
        words = f"{words} to {count_text(parameters[-1])}"
    passes = [price.seconds_per_pass for _, price in priced if price.seconds_per_pass is not None]
    every = ", all racers" if len(passes) > 1 else ""
    spent = f"{seconds_text(sum(passes))} per iteration{every}" if passes else "not timed"
    memory = bytes_text(sum(price.bytes for _, price in priced))
    size = f"{words} parameters · {memory}"
    if len(priced) > FEW:  # beside so many racers there is room for the time alone
        return f"<span class='quiet'><abbr title='{safe(size)}'>{spent}</abbr></span>", False
    return f"<span class='quiet'>{size} · {spent}</span>", False


def recipe_code(recipe: Recipe) -> str:
    """Python that makes the recipe: its family and whatever is not the default."""
    params = recipe.definition.params
    given = {name: value for name, value in recipe.params.items() if value != params[name].default}
    given |= {name: getattr(recipe, name) for name, param in ENCODING.items() if getattr(recipe, name) != param.default}
    ordered = {name: given.pop(name) for name in ("order", "alpha", "scale", "start") if name in given} | given
    words = [repr(recipe.family), *(f"{name}={_plain(value)!r}" for name, value in ordered.items())]
    return f"alrviz.Recipe({', '.join(words)})"


def _plain(value: Any) -> Any:
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


def vars_of(options: Any) -> dict[str, Any]:
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
