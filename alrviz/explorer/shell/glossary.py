"""The terms of the trade, one line each; shown on hover and in the help dialog."""

import re

from alrviz.explorer.shell.formulas import math
from alrviz.views.core.style import safe

TERMS = {
    "AnJE": "Averaged n-join estimators: generative; adds up log theta of all tuples, each column counted once. "
    "At n = 1 "
    "it is naive Bayes. Nothing is fitted.",
    "ALR": "Accelerated logistic regression: LR whose weights multiply log theta, so that the optimiser starts "
    "with the "
    "generative model's sense of scale.",
    "LR": "Logistic regression on all tuples of n columns: one free weight per cell and class.",
    "diagonal": "LR rescaled by the Hessian's diagonal: the textbook preconditioner, to tell ALR's gain from "
    "mere scaling.",
    "DLR": "Density-based logistic regression: every column becomes the log ratio of two kernel densities, and the "
    "weights of these are fitted.",
    "bandwidth": "h, how wide the bump is that each row adds to its class's density: narrow follows every row, wide "
    "flattens all.",
    "kernel": "The bump that each training row adds to a density, here a Gaussian; or a similarity of two rows, here "
    "the sum over columns of phi times phi.",
    "Gram matrix": "The similarities of all pairs of rows; sorted by class it shows blocks where the kernel knows the "
    "classes.",
    "leave-one-out": "A row is judged by what all other rows say: it does not vote for itself.",
    "alpha": "Strength of the L2 penalty: NLL + alpha times the squared distance to the center. 0 is unregularised.",
    "bias": "What is wrong on the average of models learned from other rows: more rows do not take it away.",
    "cell": "A tuple of columns with one level chosen for each.",
    "center": "The model the weights are shrunk toward when alpha is above 0: nothing (0), all ones (1), or AnJE.",
    "held-out": "Rows kept out of training, on which a model is judged.",
    "level": "One value of a categorical column (gold, Gold and GOLD are one; gOLD is another, as in codes), or one "
    "interval of a numeric column.",
    "MDL": "Minimum description length (Fayyad and Irani): cuts a numeric column only where the cut pays for itself in "
    "bits of class information.",
    "nats": "Unit of information with natural logarithms; 1 nat is 1.44 bits.",
    "NLL": "Negative log-likelihood: the sum over rows of -log p(class | row); shown per row, in nats.",
    "order": "n: how many columns are looked at together. n = 1 is single columns, n = 2 all pairs.",
    "pass": "One sweep over all training rows.",
    "phi": "The table of numbers that is added up for a row: one number per cell and class.",
    "plug-in": "An estimate made by putting observed shares in place of probabilities.",
    "prequential": "Test, then train: each row is predicted before it is learned from.",
    "separable": "The training rows can be told apart perfectly; unregularised log loss then has no finite optimum, "
    "and weights grow without end.",
    "start": "Where the optimiser begins: at zero, at one, or at AnJE.",
    "theta": "Share of a class's training rows that fall into a cell, smoothed.",
    "tuple": "A set of n columns, looked at together.",
    "sign test": "How likely so uneven a count of wins and losses would be if neither were better; exact, two-tailed, "
    "draws left out.",
    "mean rank": "The mean over data sets of the place among all recipes: 1 is best, equal ones share places.",
    "geometric mean": "Of ratios over data sets: half as much and twice as much balance out.",
    "variance": "How much predictions change with the rows that a model happened to learn from.",
    "0-1 loss": "Share of rows whose most probable class is wrong.",
    "log loss": "Mean over rows of -log p(class | row), in nats; punishes being sure and wrong.",
    "RMSE": "Root of the mean squared distance between predicted probabilities and what happened.",
}


def explain(term: str) -> str:
    """Return the one-line explanation of a term; an unknown one is a `KeyError`: a term without one is a mistake."""
    return TERMS[term]


def term_html(term: str, shown: str | None = None) -> str:
    """Return a term that explains itself on hover."""
    return f'<abbr title="{safe(TERMS[term], 400)}">{safe(shown or term)}</abbr>'


def glossary_html() -> str:
    """Return all terms as a list."""
    rows = "".join(
        f"<dt>{safe(term)}</dt><dd>{safe(text, 400)}</dd>"
        for term, text in sorted(TERMS.items(), key=lambda item: item[0].lower())
    )
    return f"<dl>{rows}</dl>"


def rich(text: str) -> str:
    """Our own texts as HTML: paragraphs, *strong*, [[term]] or [[term|shown]] with its explanation, $LaTeX$."""
    text = re.sub(r"\$\$(.+?)\$\$", lambda m: math(m[1], block=True), text.strip())
    text = re.sub(r"\$(.+?)\$", lambda m: math(m[1]), text)
    text = re.sub(r"\[\[([^|\]]+)(?:\|([^\]]+))?\]\]", lambda m: term_html(m[1], m[2]), text)
    text = re.sub(r"\*([^*<]+)\*", r"<b>\1</b>", text)
    return "".join(f"<p>{part}</p>" for part in text.split("\n\n"))
