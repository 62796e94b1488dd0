"""What [WANBIA-C] prints or says of two methods over sets: data, in the paper's order.

[WANBIA-C] Zaidi, Carman, Cerquides, Webb: Naive-Bayes inspired effective pre-conditioner for speeding-up logistic
regression, ICDM 2014.
"""

from alrviz.reproduce.decided import Claim
from alrviz.reproduce.pairs import PRINTED, Pair

_TOP = "[WANBIA-C]"
WANBIA = (
    Claim(
        "wanbia-t2",
        f"{_TOP} table II: win-draw-loss of WANBIA-C against lr and naive Bayes",
        "like lr in all; naive Bayes has the higher bias and 0-1 loss and the lower variance; on big sets it loses",
        "sets",
        (
            *(
                Pair(m, "alr1 paper", "lr1 paper", printed=counts)
                for m, counts in zip(PRINTED, ((29, 24, 20), (28, 23, 22), (32, 18, 23), (29, 19, 25)), strict=True)
            ),
            *(
                Pair(m, "alr1 paper", "anje1 paper", printed=counts)
                for m, counts in zip(PRINTED, ((62, 3, 8), (17, 3, 53), (45, 4, 24), (41, 3, 29)), strict=True)
            ),
            *(Pair(m, "alr1", b, beside=True) for b in ("lr1", "anje1 paper") for m in PRINTED),
            Pair("error", "alr1", "lr1", printed=(2, 9, 1), group="big"),
            Pair("rmse", "alr1", "lr1", printed=(2, 7, 3), group="big"),
            *(Pair(m, "alr1", "anje1 paper", printed=(12, 0, 0), group="big") for m in ("error", "rmse")),
        ),
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
        "sets-variants",
        (
            Pair("rmse", "alr1 paper", "lr1 paper from nb", "like"),
            Pair("n_iter", "alr1 paper", "lr1 paper from nb", "less"),
        ),
    ),
    Claim(
        "wanbia-f4",
        f"{_TOP} figure 4: WANBIA-C, lr and lr with an adaptive diagonal",
        "the same RMSE; the diagonal saves lr iterations on some sets, not below WANBIA-C's, and takes longer than lr",
        "sets-variants",
        (
            Pair("rmse", "alr1 paper", "lr1 paper diagonal", "like"),
            Pair("n_iter", "alr1 paper", "lr1 paper diagonal", "less"),
            Pair("n_iter", "lr1 paper diagonal", "lr1 paper", "less"),
            Pair("train_seconds", "lr1 paper", "lr1 paper diagonal", "mean less"),
        ),
    ),
)
