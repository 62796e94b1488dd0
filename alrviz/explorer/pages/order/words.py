"""The words of "Which order?": what one looks at, what orders cost, the script."""

from typing import TYPE_CHECKING, Any

from alrviz.explorer.pages.order.settings import Known
from alrviz.explorer.shell.glossary import term_html
from alrviz.explorer.widgets.scripts import dataset_code, recipe_code
from alrviz.pictures.formatting import bytes_text, count_text, left_text, seconds_text
from alrviz.views.core.style import safe

if TYPE_CHECKING:
    from alrviz.explorer.session.session import Session

ABOUT = r"""
Does it pay to look at columns together? [[order|n]] = 1 looks at single columns, 2 at all pairs, 3 at all triples;
*class prior* is the model that looks at no column. Each order is fitted on the same training parts of the table and
judged on the rows left out, again and again: *cross-validation*. Numeric columns are cut, and [[alpha]] is chosen where
it says so, inside the training rows of each part, so that [[held-out]] rows stay unseen.

The large picture shows the [[log loss]] of held-out rows, in [[nats]]: a thin grey line for each part, and over them
the mean with one standard error. Parts share training rows, which makes their spread too small to be true; the error is
Nadeau's and Bengio's, which allows for that: its square is $s^2 (1 / J + n_{\text{test}} / n_{\text{train}})$ over $J$
parts. The ring marks the verdict: the *smallest* order whose mean is within one such error of the lowest, the error
being that of the difference to the lowest, part by part (the one-standard-error rule). A gain below two of its errors,
or below a hundredth of the loss for many times the parameters, is said to be *hardly* one. The dashed line is
scikit-learn's gradient boosting on the same parts, which cuts numbers as it needs: where it is ahead, cells of cut
columns are not the best model of this table. Below, on log scales, what an order costs: the parameters of a
fit (its training rows hold fewer cells than the whole table, which the price beside the picture counts), and its
seconds, the choice of [[alpha]] included.

*Reliability*: held-out rows in groups of equal size, by the probability the model gave to the class it predicted,
against its observed accuracy. On the dashed diagonal a model means what it says; below it is too sure of itself, above
it not sure enough. Bars are one standard error of a share."""


def price_html(known: Known) -> str:
    """What each order costs, and which are refused and why."""
    head = (
        f"<tr><th>{term_html('order', 'n')}</th><th class='n'>parameters</th><th class='n'>memory</th>"
        f"<th class='n'>one fit</th></tr>"
    )
    body = ""
    for offer in known.offers:
        if offer.refused or offer.price is None:
            why = f"<span class='bad'>left out</span>: {safe(offer.refused, 160)}"
            body += f"<tr><td>{offer.order}</td><td colspan='3'>{why}</td></tr>"
            continue
        price = offer.price
        cells = (count_text(price.parameters), bytes_text(price.bytes), seconds_text(float(f"{offer.seconds:.1g}")))
        body += f"<tr><td>{offer.order}</td>" + "".join(f"<td class='n'>{text}</td>" for text in cells) + "</tr>"
    return f"<div class='scroll'><table>{head}{body}</table></div>"


def time_html(known: Known) -> str:
    """About how long all of it takes, and where."""
    about = left_text(known.seconds / known.n_jobs)
    where = f" in {known.n_jobs} processes" if known.n_jobs > 1 else ""
    return f"<span class='quiet'>about {about}{where}</span>"


def script(session: "Session", known: Known, version: str) -> str:
    """The script of "copy as Python": its numbers are the screen's, but for seconds."""
    repeats, folds = known.asked.splits
    orders: Any = [0, *(offer.order for offer in known.offers if not offer.refused)]
    return f"""# alrviz {version}
import alrviz

{dataset_code(session)}
study = alrviz.choose_order(
    dataset,
    {recipe_code(known.asked.recipe)},
    orders={orders}, repeats={repeats}, folds={folds}, references=True,
    seed={session.seed},
)  # n_jobs=1 computes in this process, keep=True keeps every fit as it finishes
for row in study.rows():
    if row["outcome"] == "failed":
        print(row["order"], row["repeat"], row["fold"], row["sentence"])
    else:
        name = "boosting" if row["order"] is None else row["order"]
        print(name, row["repeat"], row["fold"], f"{{row['log_loss']:.6f}}")
print(study.summary())
verdict = study.verdict()
for sentence in (verdict.sentence, *verdict.notes):
    print(sentence)
"""
