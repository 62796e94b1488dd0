"""The texts of the classifiers' docstrings: what each parameter and attribute means, and the works that are cited."""

# name: (what it may be, what it does)
PARAMETERS: dict[str, tuple[str, str]] = {
    "order": (
        'int from 1, or "auto"',
        'n: how many columns each tuple has. At most the number of columns. "auto" raises it as long as the '
        "next order, at its own penalties, has a lower log loss on folds of the training rows (of more than 20,000 a "
        "third, where not nearly all are of one class), by more than one standard error.",
    ),
    "alpha": (
        'float from 0{kind}, or "cv"',
        "Strength of the penalty alpha ||. - center||^2; 0 for none: then often no finite optimum exists (separation). "
        "{auto}"
        '"cv" chooses it by held-out log loss of three folds of the training rows (of one where they are over 20,000); '
        "`alpha_` says which, `alphas_` what was tried.",
    ),
    "keep": (
        'float from 0.001, or "auto"',
        "Share of the tuples looked at that are kept, those of the highest scores, or above 1 their number; of a "
        'hierarchy at each level. "auto" takes the smallest share whose log loss on a part of the training rows, after '
        "fits to the others, is within one standard error of the lowest.",
    ),
    "selection": (
        '"mi", "mi-mm", "cv" or "gain"',
        'What tuples are scored by. "mi": the mutual information of their cells and the class; "mi-mm": the same with '
        'Miller and Madow\'s correction, as plain MI favours tuples of many cells; "cv": by how much the log loss of '
        'a part of the training rows rises where a model, fitted to others of that part, lacks the tuple; "gain": by '
        "how much held-out log loss should fall beside a model of their parts, from its residuals: it sees exclusive "
        "or, keeps none that should raise it, but for the best, and has their parts in the model as well.",
    ),
    "unit": (
        '"tuple" or "cell"',
        "What is scored, kept and grown: tuples with all their cells, or single cells, each as a feature that a row "
        "has or not: for columns of many levels, of which few tell.",
    ),
    "grow": ('"weak" or "strong"', "Whether a tuple needs one part that was kept, or all."),
    "penalty": ('"phi" or "w"', "What the penalty measures: phi, the same for every family, or the weights w."),
    "center": ("", "The point that the penalty shrinks toward, which a large alpha gives: {models}."),
    "start": ("", "The model that the first step starts from: {models}."),
    "scale": ("", "Units of the weights: {units}."),
    "share": (
        '"cell-class", "cell", "tuple" or "all"',
        "What has a weight of its own: each cell and class; or each cell, each tuple, or all cells together, the same "
        "for every class. Intercepts are one per class whatever is shared. Where phi = w (lr) a weight that classes "
        "share moves no probability: sharing is meant for weights that multiply log theta.",
    ),
    "objective": (
        '"nll", "mse" or "hinge"',
        "The loss of a row: -log p(y|x); the mean over classes of (p_k - 1[k = y])^2, which is not convex; or the sum "
        "over other classes of max(0, 1 + s_k - s_y)^2 of the scores, which has no `predict_proba`.",
    ),
    "solver": (
        '"auto", "lbfgs", "cg", "gd", "tron", "lbfgsb", "sgd", "adagrad" or "averaged"',
        "L-BFGS, conjugate gradients, gradient descent or trust region Newton, with the exact search along each line; "
        "SciPy's L-BFGS-B; or steps by single rows, whose length is searched first "
        '("averaged" is for tables read in batches alone). '
        '"auto" is "lbfgsb" with bounds, else "tron" with a penalty and "lbfgs" without one, or in units that are '
        'anew at every step. Where `max_memory` leaves no room for 3 corrections of "tron", "lbfgs" is next, then '
        '"cg", or "gd" in such units.',
    ),
    "bounds": ("None or (0, 1)", 'Between which every weight stays, intercepts included; only "lbfgsb" keeps them.'),
    "max_iter": (
        "int from 0",
        "Steps after which the fit ends with a `ConvergenceWarning`; 0 leaves the start as it is.",
    ),
    "tol": (
        "float from 0 to 1",
        "The fit ends when the objective falls by less than this share of itself over 5 steps and its slopes are below "
        "sqrt(tol) per row.",
    ),
    "verbose": (
        "bool or None",
        "Whether `fit` prints what it tries, its steps and log loss in a line on stderr; None: at a terminal or in a "
        "notebook, while a fit of more than 5 seconds goes on in the main process.",
    ),
    "memory": ("int from 1", "Corrections that L-BFGS keeps, and tron in its start and inner loops."),
    "class_weight": (
        'None, "balanced" or dict',
        'Factors of the rows of each class in the objective, by class label (1 for a label left out); "balanced": '
        "N / (C N_y). Counts and log theta are left alone.",
    ),
    "bandwidth": (
        '"loo", "silverman", "validation" or "paper"',
        'How h is found. "loo": together with w, by the log loss of the training rows, each left out of its own sums. '
        '"silverman": h = 1.06 sigma N^(-1/5), fixed, every row in its own sums. "validation": by the log loss of a '
        'part of the rows held out for it, w following h. "paper": [DLR] Algorithm 1, by the same rows, w held fixed '
        "as h moves and h as w does, which lowers no one loss.",
    ),
    "validation_fraction": (
        "float above 0, to 0.95",
        'Share of the rows on which "validation" and "paper" judge h; they have no part in the sums and the weights.',
    ),
    "structure": (
        '"nb", "tan" or dict',
        "Which columns a column depends on besides the class: none, one other column (the tree that TAN finds), or "
        "those given by name, {child: parent} or {child: [parents]}.",
    ),
    "cross_tuning": (
        "bool",
        "Whether the number of iterations is chosen on five folds, as the median of what is best on each held-out one; "
        "else the fit goes on to its end.",
    ),
    "sum_missing": (
        '"auto" or bool',
        "Whether a missing value, or one that training never saw, is summed out: p(k, x) is then the sum over all its "
        "levels. Every column may have one parent at most. Else a missing value is a level of its own where training "
        'rows have it. "auto": it is summed out with the structure "nb", where it drops out.',
    ),
    "k": ("int from 0", "How many other columns a column depends on at most. 0 is naive Bayes."),
    "selective": (
        "bool",
        "Whether columns and the number of parents are chosen by leave-one-out RMSE of the training rows.",
    ),
    "n": ("0, 1 or 2", "How many columns are the parents of all others. 0 is naive Bayes."),
    "n_estimators": ("int from 1", "Number of trees."),
    "C": ("float above 0", "Weight of the rows' losses against the width of the margin."),
    "kernel": ('"rbf", "linear" or "poly"', "By nearness, none, or products of up to three columns."),
    "smoothing": (
        "float from 0",
        "m of the m-estimates: log theta = log((N_cell,y + m / card) / (N_y + m)). 0 only where no logarithm of 0 "
        "follows.",
    ),
    "missing": (
        '"level" or "skip"',
        "A missing value is a level of its own where training rows have it, or no level.",
    ),
    "unseen": (
        '"neutral" or "m-estimate"',
        "What a cell without training rows adds to the scores: nothing, or what the m-estimate of an empty cell gives.",
    ),
    "discretize": (
        '"mdl", "quantile", "uniform", "smooth", "mdl-smooth", "auto" or None',
        'How `fit` cuts numeric columns into levels; None: every distinct value is a level. "smooth": many levels, and '
        "in LR, ALR, HLR and HALR a penalty on differences of neighbours' weights, also along ordinal columns. "
        '"mdl-smooth": MDL\'s cuts, and such levels of columns in which it finds none. "auto": "smooth", or '
        '"mdl-smooth" where that loses less on rows held out.',
    ),
    "n_bins": ("int from 2", 'Levels of "quantile" and "uniform".'),
    "categorical_features": (
        '"from_dtype", "all", None, names, mask or indices',
        'Which columns are not cut. "from_dtype": text, booleans and pandas categoricals.',
    ),
    "random_state": (
        "int, RandomState or None",
        "Seed of what the fit draws. None: another one each time for a random start, the order of rows and "
        "cross-tuning, and 0 for the folds that choose order, penalties and levels where nothing else is drawn.",
    ),
    "n_jobs": (
        "int or None",
        "Threads; None for all there are (1 inside a joblib worker). The bits of the result do not depend on it.",
    ),
    "max_memory": (
        "int or None",
        "Bytes that a fit may take; None for half of what is free. One that needs more is refused before anything is "
        "allocated.",
    ),
}

# Of alpha, where a family takes it.
AUTO_ALPHA = (
    '"auto" finds it as part of the fit, by descent on the held-out log loss of three folds of the encoded training '
    "rows (of one where they are over 20,000), one alpha for each order where there are several. "
)

ATTRIBUTES: dict[str, tuple[str, str]] = {
    "classes_": ("ndarray (C,)", "The class labels, sorted."),
    "n_features_in_": ("int", "a, the number of columns."),
    "feature_names_in_": ("ndarray (a,)", "Their names, where X had names that are text."),
    "encoder_": ("Encoder", "Levels and cuts of each column."),
    "recipe_": ("Recipe", "What was fitted, with the settings that the fit has chosen."),
    "model_": ("LinearModel", "What was fitted, without names of columns and classes: it scores rows of codes."),
    "cells_": ("CellSpace", "All tuples and cells; S of the cells were seen in training."),
    "tables_": ("Tables", "Which cells were seen (`seen`), and their counts per class."),
    "phi_": ("ndarray (S, C)", "What each seen cell adds to each class score."),
    "intercept_": ("ndarray (C,)", "b, the intercepts: the part of the scores that is the same for every row."),
    "weights_": (
        "ndarray (S + 1, C) or (owners + C, 1)",
        "The free parameters w, by owner: one row per seen cell and last that of the intercepts; with `share` one "
        "per cell, per tuple or for all, and last the C intercepts. None where nothing is free.",
    ),
    "log_theta_": ("ndarray (S, C)", "Logarithm of the smoothed estimate of P(cell | class) of each seen cell."),
    "alpha_": ("float or tuple", 'The penalty of alpha="cv" or "auto"; of "auto" one for each order where it may be.'),
    "alphas_": (
        "DataFrame",
        "What was tried: alphas, or orders and alphas, their held-out log loss, and the "
        "folds that this is of: losses of as many folds are of the same rows.",
    ),
    "chosen_": ("str", 'Order and penalties in words: what "auto" or "cv" took and why, or that they were given.'),
    "n_iter_": ("int", "Steps taken."),
    "trace_": ("Trace", "One `Step` per iteration; `trace_.frame()` is a DataFrame."),
    "outcome_": ("Outcome", "Why the fit ended: a code and a sentence."),
    "choice_": ("Choice", "The solver that ran, and why: `choice_.solver`, `choice_.reason`."),
}

_DENSITY_PARAMETERS: dict[str, tuple[str, str]] = {
    "alpha": ("float from 0", "Weight of the penalty alpha ||w - center||^2; 0 for none."),
    "smoothing": (
        "float from 0",
        "m: a level's share of class k is (N_level,k + m N_k / N) / (N_level + m).",
    ),
    "tol": (
        "float from 0 to 1",
        "The fit ends when no step of the bandwidths is expected to lower the loss by more than this share of itself, "
        "the weights being at their optimum.",
    ),
    "random_state": (
        "int, RandomState or None",
        'Seed of the split of "validation" and "paper"; None draws another one each time.',
    ),
    "class_weight": (
        'None, "balanced" or dict',
        'Factors of the rows of each class in the objective, by class label (1 for a label left out); "balanced": '
        "N / (C N_y). Densities are left alone.",
    ),
}
_DENSITY_ATTRIBUTES: dict[str, tuple[str, str]] = {
    **{name: ATTRIBUTES[name] for name in ("classes_", "n_features_in_", "feature_names_in_")},
    "encoder_": ("Encoder", "Kinds of the columns, and levels of those that are no numbers."),
    "recipe_": ATTRIBUTES["recipe_"],
    "model_": ("DensityModel", "What was fitted, without names of columns and classes: it scores rows of codes."),
    "columns_": ("ndarray (D,)", "The column of each feature, those of numbers first."),
    "bandwidths_": ("ndarray (a,)", "h of each numeric column in its own units; NaN for others and constant ones."),
    "weights_": (
        "ndarray (a, K)",
        "w by column, 0 where a column has no feature; K = 1 for two classes, of which the score is the second's, "
        "else one per class.",
    ),
    "intercept_": ("ndarray (K,)", "w_0."),
    **{name: ATTRIBUTES[name] for name in ("n_iter_", "trace_", "outcome_", "choice_")},
}

_NETWORK_PARAMETERS: dict[str, tuple[str, str]] = {
    "smoothing": (
        "float above 0",
        "m of the m-estimates: p(level | parents, class) = (N_level,parents,class + m / card) / (N_parents,class + m).",
    ),
}
_COUNTED = {
    name: ATTRIBUTES[name] for name in ("classes_", "n_features_in_", "feature_names_in_", "encoder_", "recipe_")
}
_NETWORK_ATTRIBUTES: dict[str, tuple[str, str]] = {
    **_COUNTED,
    "model_": ("NetworkModel", "What was fitted, without names of columns and classes: it scores rows of codes."),
    "structure_": ("dict", "The parents of each column by name, columns in an order in which parents come first."),
    "cells_": (
        "TupleSpace",
        "A tuple for each column: its parents and itself. S of their cells were seen in training.",
    ),
    "counts_": ("ndarray (S, C)", "Sums of row weights of each seen cell."),
    "phi_": ("ndarray (S, C)", "log p(level | parents' levels, class) of each seen cell."),
    "intercept_": ("ndarray (C,)", "Logarithm of the smoothed class prior."),
}
# What a class has beside those of every classifier, or in their place.
OWN: dict[str, tuple[dict[str, tuple[str, str]], dict[str, tuple[str, str]]]] = {
    "dlr": (_DENSITY_PARAMETERS, _DENSITY_ATTRIBUTES),
    "tan": (_NETWORK_PARAMETERS, _NETWORK_ATTRIBUTES),
    "kdb": (
        _NETWORK_PARAMETERS,
        {
            **_NETWORK_ATTRIBUTES,
            "rmse_": (
                "ndarray (k + 1, a + 1) or None",
                "With `selective`: leave-one-out RMSE of the training rows by parents and columns.",
            ),
        },
    ),
    "ande": (
        _NETWORK_PARAMETERS,
        {
            **_COUNTED,
            "model_": (
                "AverageModel",
                "What was counted, without names of columns and classes: it scores rows of codes.",
            ),
            "cells_": ("CellSpace", "All tuples of n + 1 columns and their cells."),
            "tables_": ("Tables", "Which of them were seen in training (`seen`), and their counts per class."),
        },
    ),
    "elr": (
        _NETWORK_PARAMETERS,
        {
            **{name: text for name, text in _NETWORK_ATTRIBUTES.items() if name != "counts_"},
            "phi_": (
                "ndarray (S, C)",
                "log p(level | parents' levels, class), of all levels under parents seen.",
            ),
            "intercept_": ("ndarray (C,)", "b, the log of the class node's table but for a constant."),
            "weights_": ("ndarray (S + 1, C)", "The free parameters w, those of the intercepts last."),
            **{name: ATTRIBUTES[name] for name in ("n_iter_", "trace_", "outcome_", "choice_")},
        },
    ),
    "rf": ({}, {**_COUNTED, "model_": ("RandomForestClassifier", "The forest, of numbers and codes.")}),
    "hgb": ({}, {**_COUNTED, "model_": ("HistGradientBoostingClassifier", "The trees, of numbers and codes.")}),
    "svm": ({}, {**_COUNTED, "model_": ("Pipeline", "The machine, of numbers and codes.")}),
}

REFERENCES: dict[str, str] = {
    "[AnDE]": "G. I. Webb, J. R. Boughton, F. Zheng, K. M. Ting and H. Salem, Learning by extrapolation from marginal "
    "to full-multivariate probability distributions: decreasingly naive Bayesian classification, Machine Learning 86, "
    "2012.",
    "[ALR]": "N. A. Zaidi, G. I. Webb, M. J. Carman, F. Petitjean and J. Cerquides, ALRn: accelerated higher-order "
    "logistic regression, Machine Learning 104, 2016.",
    "[DLR]": "W. Chen, Y. Chen, Y. Mao and B. Guo, Density-based logistic regression, ACM SIGKDD Conference on "
    "Knowledge Discovery and Data Mining, 2013.",
    "[ELR]": "R. Greiner, X. Su, B. Shen and W. Zhou, Structural extension to logistic regression: discriminative "
    "parameter learning of belief net classifiers, Machine Learning 59, 2005.",
    "[KDB]": "M. Sahami, Learning limited dependence Bayesian classifiers, International Conference on Knowledge "
    "Discovery and Data Mining, 1996.",
    "[SKDB]": "A. M. Martinez, G. I. Webb, S. Chen and N. A. Zaidi, Scalable learning of Bayesian network classifiers, "
    "Journal of Machine Learning Research 17, 2016.",
    "[TAN]": "N. Friedman, D. Geiger and M. Goldszmidt, Bayesian network classifiers, Machine Learning 29, 1997.",
    "[WANBIA-C]": "N. A. Zaidi, M. J. Carman, J. Cerquides and G. I. Webb, Naive-Bayes inspired effective "
    "pre-conditioner for speeding-up logistic regression, IEEE International Conference on Data Mining, 2014.",
}
