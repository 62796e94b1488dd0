"""What [ALR] and [WANBIA-C] print or say of two methods over sets, and claims that sets decide: data, in their order.

[ALR] Zaidi, Webb, Carman, Petitjean, Cerquides: ALR^n: accelerated higher-order logistic regression, Machine Learning
104, 2016. The figures' own numbers are lost with the pictures: of those what the text says of them is compared. Fits
with a fixed penalty stand beside the papers' fits, without a verdict.
"""

from collections.abc import Iterator, Sequence

from reproduction.decided import Claim
from reproduction.derived import DISTANCE
from reproduction.pairs import LARGEST, PRINTED_MEASURES, Pair
from reproduction.racers import chosen_pull

Counts = tuple[int, int, int]

_WRONG = {
    ("alr3 paper", "a2de", "rmse", None): "the printed p is .035, the exact one .0018",
    ("alr2 paper", "a1de", "rmse", "big"): "the printed p is .073, the exact one .0078",
    ("alr2 paper", "rf", "variance_unbiased", None): "the printed p is .556, the exact one .0071",
    ("alr2 paper", "rf", "rmse", "big"): "the printed p is 1.273, the exact one 1",
}


def _printed_pairs(a: str, b: str, all_sets: Sequence[Counts], big: Sequence[Counts]) -> Iterator[Pair]:
    """W-D-L of bias, variance, 0-1 loss, RMSE on all (or little) sets, and of the last two on big ones."""
    method = a.removesuffix(" paper")
    rival = b.removesuffix(" paper") if b.startswith("lr") else b
    for measure, counts in zip(PRINTED_MEASURES, all_sets, strict=True):
        group = "little" if measure in ("error", "rmse") else None
        yield Pair(measure, a, b, record=counts, group=group, wrong=_WRONG.get((a, b, measure, None), ""))
    for measure in (*PRINTED_MEASURES, "log_loss"):
        yield Pair(measure, method, rival, group="little", unjudged=True)
    for measure, counts in zip(("error", "rmse"), big, strict=True):
        yield Pair(measure, a, b, record=counts, group="big", wrong=_WRONG.get((a, b, measure, "big"), ""))


def _wdl(number: int, title: str, text: str, *parts: Sequence[object], more_pairs: tuple[Pair, ...] = ()) -> Claim:
    pairs = (*(pair for part in parts for pair in _printed_pairs(*part)), *more_pairs)  # type: ignore[arg-type]
    return Claim(f"alr-t{number}", f"[ALR] table {number}: {title}", text, "sets", pairs)


_BIG3 = ((7, 0, 1), (7, 0, 1))
_TABLES = (
    _wdl(
        2,
        "win-draw-loss of ALR against AnJE",
        "ALR has the lower bias and the higher variance; no difference in error on little sets, a win on big ones",
        ("alr2 paper", "anje2 paper", [(62, 3, 11), (21, 4, 51), (47, 4, 25), (39, 0, 37)], [(8, 0, 0), (8, 0, 0)]),
        ("alr3 paper", "anje3 paper", [(55, 9, 12), (25, 2, 49), (39, 2, 35), (32, 0, 44)], _BIG3),
        more_pairs=(Pair("log_loss", "anje2 paper", "alr2 paper", unjudged=True),),
    ),
    _wdl(
        3,
        "win-draw-loss of ALR against AnDE",
        "ALR has the lower bias and the higher variance; AnDE has the better RMSE on little sets, ALR wins on big ones",
        ("alr2 paper", "a1de", [(60, 5, 11), (22, 9, 45), (43, 3, 30), (30, 0, 46)], [(8, 0, 0), (8, 0, 0)]),
        ("alr3 paper", "a2de", [(47, 11, 18), (26, 4, 46), (33, 4, 39), (24, 0, 52)], _BIG3),
        more_pairs=(Pair("log_loss", "a1de", "alr2 paper", unjudged=True),),
    ),
    _wdl(
        4,
        "win-draw-loss of ALR against a random forest",
        "bias is not significantly lower; the forest wins on little sets (figure 21: alike), neither on big ones",
        ("alr2 paper", "rf", [(39, 9, 28), (25, 2, 49), (26, 3, 47), (26, 0, 50)], [(4, 1, 3), (4, 0, 4)]),
        ("alr3 paper", "rf", [(35, 9, 32), (21, 3, 52), (22, 1, 53), (25, 0, 51)], [(5, 0, 3), (5, 0, 3)]),
    ),
)


def _orders(measures: str, a: str, b: str, expect: str = "less", group: str | None = "little") -> tuple[Pair, ...]:
    """Pairs of each measure at orders 2 and 3; "{}" takes the order."""
    return tuple(
        Pair(measure, a.format(order), b.format(order), expect, group=group)
        for order in (2, 3)
        for measure in measures.split()
    )


def _variant(order: int, variant: str, fewer: str, slower: str) -> tuple[Pair, ...]:
    """0-1 loss and RMSE alike; `fewer` takes less time and fewer iterations than `slower`."""
    base = f"alr{order} paper"
    alike = tuple(Pair(measure, base, variant, "like") for measure in ("error", "rmse"))
    return alike + tuple(Pair(measure, fewer, slower, "less") for measure in ("train_seconds", "n_iter"))


def _figure(number: int, title: str, text: str, pairs: tuple[Pair, ...], study: str = "sets") -> Claim:
    return Claim(f"alr-f{number}", f"[ALR] figure {number}: {title}", text, study, pairs)


_LR, _ALR, _JE = "lr{} paper", "alr{} paper", "anje{} paper"
_ALIKE = "lr and alr end at like figures, but for a few sets"
_LESS_TIME = "AnJE trains much faster and classifies faster than alr"
_FIGURES = (
    _figure(
        3,
        "bias of lr as n grows",
        "on most sets bias is the lower the higher n",
        (Pair("bias_unbiased", "lr2 paper", "lr1 paper"), Pair("bias_unbiased", "lr3 paper", "lr2 paper")),
    ),
    _figure(
        4,
        "0-1 loss of lr as n grows, big sets",
        "higher orders have a much lower 0-1 loss, but on poker-hand lr2 beats lr3",
        tuple(Pair("error", f"lr{n} paper", f"lr{n - 1} paper", group="big") for n in (2, 3)),
    ),
    _figure(
        6,
        "0-1 loss and RMSE of alr and AnJE",
        "alr is lower in the mean, much lower on big sets",
        (*_orders("error rmse", _ALR, _JE), *_orders("error rmse", _ALR, _JE, group="big")[:2]),
    ),
    _figure(7, "time of alr and AnJE", _LESS_TIME, _orders("train_seconds classify_seconds", _JE, _ALR, group=None)),
    _figure(
        8,
        "0-1 loss and RMSE of alr and AnDE",
        "alr is lower in the mean",
        (
            *(Pair(m, "alr2 paper", "a1de", group="little") for m in ("error", "rmse")),
            *(Pair(m, "alr3 paper", "a2de", group="little") for m in ("error", "rmse")),
            *(Pair(m, "alr2 paper", "a1de", group="big") for m in ("error", "rmse")),
        ),
    ),
    _figure(
        9,
        "time of alr and AnDE",
        "AnDE trains much faster; classifying it has no consistent advantage",
        (
            Pair("train_seconds", "a1de", "alr2 paper"),
            Pair("train_seconds", "a2de", "alr3 paper"),
            Pair("classify_seconds", "a1de", "alr2 paper", "like"),
            Pair("classify_seconds", "a2de", "alr3 paper", "like"),
        ),
    ),
    _figure(
        10,
        "0-1 loss of alr and lr, little sets",
        _ALIKE,
        (
            *_orders("error", _ALR, _LR, "like"),
            *(
                Pair(m, "alr2 paper", "lr2 paper", "like", unjudged=True)
                for m in ("error", "log_loss", "train_log_loss")
            ),
        ),
    ),
    _figure(11, "0-1 loss of alr and lr, big sets", _ALIKE, _orders("error", _ALR, _LR, "like", "big")),
    _figure(
        12,
        "RMSE of alr and lr, little sets",
        _ALIKE,
        (
            *_orders("rmse", _ALR, _LR, "like"),
            Pair("rmse", "alr2 paper", "lr2 paper", "like", unjudged=True),
            *(
                Pair("rmse", f"{family}2", f"{family}2 paper", group="little", unjudged=True)
                for family in ("alr", "lr")
            ),
        ),
    ),
    _figure(13, "RMSE of alr and lr, big sets", _ALIKE, _orders("rmse", _ALR, _LR, "like", "big")),
    _figure(
        14,
        "iterations of alr and lr, little sets",
        "alr needs far fewer",
        (
            *_orders("n_iter", _ALR, _LR, "less"),
            Pair("n_iter", "alr2 paper", "lr2 paper", unjudged=True),
            Pair("n_iter", "alr2", "lr2", group="little", unjudged=True),
        ),
    ),
    _figure(
        15, "iterations of alr and lr, big sets", "alr needs far fewer", _orders("n_iter", _ALR, _LR, "less", "big")
    ),
    _figure(
        16,
        "training time of alr and lr, little sets",
        "alr is much faster",
        (
            *_orders("train_seconds", _ALR, _LR, "less"),
            Pair("train_seconds", "alr2 paper", "lr2 paper", unjudged=True),
        ),
    ),
    _figure(
        17,
        "training time of alr and lr, big sets",
        "alr is much faster",
        _orders("train_seconds", _ALR, _LR, "less", "big"),
    ),
    _figure(
        21,
        "0-1 loss and RMSE of alr and a forest",
        "alike on little sets, alr much lower on big ones",
        (
            *(Pair(m, f"alr{n} paper", "rf", "like", group="little") for n in (2, 3) for m in ("error", "rmse")),
            *(Pair(m, "alr2 paper", "rf", group="big") for m in ("error", "rmse")),
        ),
    ),
    _figure(
        22,
        "time of alr and a forest",
        "the forest trains faster and classifies more slowly",
        tuple(
            pair
            for n in (2, 3)
            for pair in (
                Pair("train_seconds", "rf", f"alr{n} paper"),
                Pair("classify_seconds", f"alr{n} paper", "rf"),
            )
        ),
    ),
    *(
        _figure(
            22 + order - 1,
            f"alr and lr of order {order} by conjugate gradients",
            "like 0-1 loss and RMSE; alr needs less time and fewer iterations",
            tuple(
                Pair(m, f"alr{order} paper cg", f"lr{order} paper cg", expect)
                for m, expect in (
                    ("error", "like"),
                    ("rmse", "like"),
                    ("train_seconds", "less"),
                    ("n_iter", "less"),
                )
            ),
            "sets-variants",
        )
        for order in (2, 3)
    ),
    *(
        _figure(
            25 + order,
            f"alr of order {order} and alrj, whose scale holds gamma",
            "like 0-1 loss and RMSE; alrj needs more time and iterations",
            _variant(order, f"alrj{order} paper", f"alr{order} paper", f"alrj{order} paper"),
            "sets-variants",
        )
        for order in (2, 3)
    ),
    *(
        _figure(
            27 + order,
            f"alr of order {order} from zero and from AnJE",
            "like 0-1 loss and RMSE; from AnJE slightly less time and fewer iterations",
            _variant(order, f"alr{order} paper from anje", f"alr{order} paper from anje", f"alr{order} paper"),
            "sets-variants",
        )
        for order in (2, 3)
    ),
)
_RISES = tuple(
    pair
    for family in ("lr", "alr", "anje")
    for low, high in ((1, 2), (2, 3))
    for mode in ((" paper",) if family == "anje" else (" paper", ""))
    for pair in (
        Pair("bias_unbiased", f"{family}{high}{mode}", f"{family}{low}{mode}", group="little"),
        Pair("variance_unbiased", f"{family}{low}{mode}", f"{family}{high}{mode}", group="little"),
    )
)
_CLAIMS = (
    Claim(
        "c4",
        "Claim 4: on Zipf columns alr needs a third of lr's iterations, from AnJE no more than from zero",
        "at most 1/3, to within 0.1 % of the best NLL, n = 1, alpha 0",
        "scaled",
        (
            Pair("to_goal", "alr1", "lr1", group="zipf", factor=1 / 3),
            Pair("to_goal", "alr1 from anje", "lr1", group="zipf", factor=1 / 3),
            Pair("to_goal", "alr1 from anje", "alr1", group="zipf"),
        ),
    ),
    Claim(
        "c20",
        "Claim 20: alr's saving needs uneven levels and no penalty on phi, and a diagonal does as well",
        "ours: under half of lr's iterations on Zipf columns, over half on even ones, more than lr's with alpha 0.3 on "
        "phi; lr in units of its Hessian's diagonal needs at most 1.25 times alr's; n = 1",
        "scaled",
        (
            Pair("to_goal", "alr1", "lr1", group="zipf", factor=0.5),
            Pair("to_goal", "lr1", "alr1", group="even", factor=2.0),
            Pair("to_goal", "lr1 penalised", "alr1 penalised", group="zipf"),
            Pair("to_goal", "diagonal", "alr1", group="zipf", factor=1.25),
            Pair("to_goal", "alr1", "lr1", group="even", unjudged=True),
            Pair("to_goal", "alr1 penalised", "lr1 penalised", group="zipf", unjudged=True),
            Pair("to_goal", "lr1 penalised", "alr1 penalised", group="even", unjudged=True),
        ),
    ),
    Claim("c6", "Claim 6: bias falls and variance rises with n", "so on most sets", "sets", _RISES),
    Claim(
        "c9",
        "Claim 9: alr of order 2 beats A2JE and A1DE on sets over 10^5 rows",
        "lower 0-1 loss and RMSE on every big set",
        "sets",
        tuple(
            Pair(m, "alr2 paper", b, group="big")
            for b in ("anje2 paper", "a1de")
            for m in ("error", "rmse", "log_loss")
        ),
    ),
    Claim(
        "c16",
        "Claim 16: ELR with cross-tuning beats training to the end on small sets",
        "cross-tuning keeps ELR from fitting chance",
        "tuned",
        tuple(
            Pair(m, f"elr {structure}", f"elr {structure} to the end")
            for structure in ("nb", "tan")
            for m in ("log_loss", "error", "rmse")
        ),
    ),
    Claim(
        "c19",
        "Claim 19: WANBIA-C and ALR are better calibrated than naive Bayes and AnJE",
        "[WANBIA-C] claims well-calibrated estimates: lower ECE and Brier score",
        "sets",
        tuple(
            Pair(m, f"alr{n}{mode}", f"anje{n} paper", group="little")
            for n in (1, 2)
            for mode in ("", " paper")
            for m in ("ece", "brier")
        ),
    ),
)
_SKIPPED = Claim(
    "c22",
    "Claim 22: missing values skipped, as [WANBIA-C] has them, or a level, as here elsewhere",
    "ours: 0-1 loss and RMSE of WANBIA-C and of naive Bayes are about the same either way",
    "gaps",
    tuple(
        Pair(m, f"{family} paper skip", f"{family} paper", "like")
        for family in ("alr1", "anje1")
        for m in ("error", "rmse")
    )
    + tuple(
        Pair(m, f"alr1 paper{way}", f"anje1 paper{way}", unjudged=True)
        for way in (" skip", "")
        for m in ("error", "rmse")
    ),
)
_TOP = "[WANBIA-C]"
# Table II: counts against lr and naive Bayes on 73 sets.
_TABLE_II = {
    "lr1 paper": ((29, 24, 20), (28, 23, 22), (32, 18, 23), (29, 19, 25)),
    "anje1 paper": ((62, 3, 8), (17, 3, 53), (45, 4, 24), (41, 3, 29)),
}
_PAIRS_II = tuple(
    Pair(m, "alr1 paper", rival, record=counts)
    for rival, rows in _TABLE_II.items()
    for m, counts in zip(PRINTED_MEASURES, rows, strict=True)
)
# alr, lr and its diagonals by one solver: fixed at the start, and as it changes.
_DIAGONAL_PAIRS = (
    ("alr{} paper", "lr{} paper diagonal"),
    ("alr{} paper lbfgs", "lr{} paper lbfgs diagonal"),
    ("lr{} paper lbfgs diagonal", "lr{} paper lbfgs"),
    ("alr{} paper lbfgs", "lr{} paper lbfgs"),
)
WANBIA = (
    Claim(
        "wanbia-t2",
        f"{_TOP} table II: win-draw-loss of WANBIA-C against lr and naive Bayes",
        "like lr in all; naive Bayes has the higher bias and 0-1 loss and the lower variance; on big sets it loses",
        "sets",
        (
            *_PAIRS_II,
            *(
                Pair(m, "alr1", b, unjudged=True)
                for b in ("lr1", "anje1 paper")
                for m in (*PRINTED_MEASURES, "log_loss")
            ),
            Pair("error", "alr1 paper", "lr1 paper", record=(2, 9, 1), group=LARGEST),
            Pair("rmse", "alr1 paper", "lr1 paper", record=(2, 7, 3), group=LARGEST),
            *(Pair(m, "alr1 paper", "anje1 paper", record=(12, 0, 0), group=LARGEST) for m in ("error", "rmse")),
        ),
    ),
    Claim(
        "wanbia-t2.1",
        f"{_TOP} table II: win-draw-loss in 20 x 2-fold cross-validation, as printed, where that is quick",
        "like lr in all; naive Bayes has the higher bias and 0-1 loss and the lower variance",
        "twenty",
        _PAIRS_II,
    ),
    Claim(
        "wanbia-f1",
        f"{_TOP} figure 1: RMSE, training time and iterations of WANBIA-C and lr",
        "the same RMSE; WANBIA-C is faster for it needs fewer iterations",
        "sets",
        tuple(
            Pair(m, "alr1 paper", "lr1 paper", expect)
            for m, expect in (("rmse", "like"), ("train_seconds", "less"), ("n_iter", "less"))
        ),
    ),
    Claim(
        "wanbia-f3",
        f"{_TOP} figure 3: WANBIA-C and lr started at naive Bayes",
        "the same RMSE; WANBIA-C still needs far fewer iterations",
        "preconditioners",
        (
            Pair("rmse", "alr1 paper", "lr1 paper from nb", "like"),
            Pair("n_iter", "alr1 paper", "lr1 paper from nb", "less"),
        ),
    ),
    Claim(
        "wanbia-f4",
        f"{_TOP} figure 4: WANBIA-C, lr and lr with an adaptive diagonal",
        "the same RMSE; the diagonal saves lr iterations on some sets, not below WANBIA-C's, and takes longer than lr; "
        "here each pair by one solver: fixed at the start by L-BFGS-B, as it changes by this package's L-BFGS",
        "preconditioners",
        (
            Pair("rmse", "alr1 paper lbfgs", "lr1 paper lbfgs diagonal", "like"),
            Pair("n_iter", "alr1 paper lbfgs", "lr1 paper lbfgs diagonal"),
            Pair("n_iter", "lr1 paper lbfgs diagonal", "lr1 paper lbfgs"),
            Pair("train_seconds", "lr1 paper lbfgs", "lr1 paper lbfgs diagonal"),
            Pair("rmse", "alr1 paper", "lr1 paper diagonal", "like"),
            Pair("n_iter", "alr1 paper", "lr1 paper diagonal"),
            *(
                Pair("n_iter", a.format(order), b.format(order), unjudged=True)
                for order, pairs in (
                    (1, (("alr{} paper lbfgs", "lr{} paper lbfgs"), ("alr{} paper", "lr{} paper"))),
                    (2, _DIAGONAL_PAIRS),
                )
                for a, b in pairs
            ),
        ),
    ),
)
_CHOSEN_PULL = chosen_pull("alr1 to 1")
NESTED_CLAIM = Claim(
    "wanbia-f6.1",
    f"{_TOP} figures 6 to 8: alpha chosen by cross-validation of the training rows, not by the rows predicted",
    "toward zero nearly the same RMSE as lr's, toward one more varied, better than naive Bayes and than no penalty",
    "nested",
    (
        Pair("rmse", chosen_pull("alr1 to 0"), chosen_pull("lr1 to 0"), "like"),
        Pair(DISTANCE, chosen_pull("alr1 to 0"), _CHOSEN_PULL),
        *(Pair("rmse", _CHOSEN_PULL, rival) for rival in ("anje1 paper", "alr1 paper")),
        *(
            Pair("rmse", chosen_pull(name), f"{name.split()[0]} paper", unjudged=True)
            for name in ("lr1 to 0", "alr1 to 0")
        ),
        Pair("error", _CHOSEN_PULL, "anje1 paper", unjudged=True),
        *(Pair("rmse", _CHOSEN_PULL, chosen_pull(f"{family} to 0"), unjudged=True) for family in ("lr1", "alr1")),
    ),
)
PAIR_CLAIMS: tuple[Claim, ...] = (*_TABLES, *_FIGURES, *WANBIA, NESTED_CLAIM, *_CLAIMS, _SKIPPED)
