"""Which tables and learners each study has, in full and in `--quick`: data alone."""

from alrviz.fitting.recipe import Recipe
from alrviz.reproduce.curves import Curves, stepwise
from alrviz.reproduce.races import Races, fitted_as_printed
from alrviz.reproduce.sets import BIG_SETS, LITTLE_SETS, BenchmarkSet
from alrviz.reproduce.tables import demo, planted

SETS = {one.name: one for one in (*LITTLE_SETS, *BIG_SETS)}
# In --quick: sets of which a racer takes a second or so.
QUICK_SETS = tuple(LITTLE_SETS[:8])
_ALL = ("lr", "alr", "anje")


def sets_of(names: str) -> tuple[BenchmarkSet, ...]:
    """Return the sets of these names."""
    return tuple(SETS[name] for name in names.split())


# A head of the papers' file: one person of five, in the order of time.
LOCALIZATION = BenchmarkSet(
    "localization-first16k", "localization", ("localization-first16k",), "https://archive.ics.uci.edu/dataset/196"
)
PLANTED = planted(3, 50_000)
PLANTED_CURVES = (Curves(PLANTED, stepwise(_ALL, (1, 2, 3))),)
CROSSING = (Curves(LOCALIZATION, stepwise(("lr",), (1, 2, 3)), repeats=5),)
ONE_PASS = (
    *(
        Curves(table, stepwise(("lr", "alr"), (1, 2)), theta=theta)
        for table in (demo("led", 10_000), planted(2, 20_000), SETS["nursery"], SETS["sign"], SETS["magic"])
        for theta in ("two-pass", "single-pass")
    ),
    *(
        Curves(SETS[name], stepwise(("lr", "alr"), (1,)), theta=theta)
        for name in ("adult", "poker-hand-125k")
        for theta in ("two-pass", "single-pass")
    ),
)
ONLINE = tuple(
    Curves(table, stepwise(("lr", "alr"), (1,)), window=10_000)
    for table in (LOCALIZATION, SETS["covtype-sample"], SETS["census-income"])
)
QUICK_CURVES = (Curves(planted(3, 5_000), stepwise(_ALL, (1, 2, 3)), repeats=1),)
QUICK_ONE_PASS = (Curves(demo("led", 3_000), stepwise(("lr", "alr"), (1, 2)), repeats=1),)
KDB = {"kdb5": Recipe("kdb", k=5), "nb": Recipe("anje", order=1)}
SHARES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
REGULARISED = sets_of(
    """contact-lenses haberman iris tae echocardiogram volcanoes new-thyroid
    balance-scale bupa postoperative labor pima glass breast-cancer-wisconsin car wine tic-tac-toe heart-hungarian
    heart-cleveland hepatitis led zoo lymphography house-votes-84 vowel german dermatology satellite
    pendigits optdigits"""
)
TUNED = sets_of("heart-cleveland hepatitis pima iris glass labor new-thyroid wine tae heart-hungarian")
VALIDATED_SETS = sets_of("lung-cancer promoters nettalk")


def _races(names: str, orders: tuple[int, ...], cg: bool = False, kinds: tuple[str, ...] = ()) -> tuple[Races, ...]:
    return tuple(Races(one, fitted_as_printed(orders, cg=cg, kinds=kinds)) for one in sets_of(names))


_SAMPLE = "car vowel german sign nursery magic pendigits adult"
_SMALLER = "car vowel german sign nursery magic"
_STARTS = ("alrj", "from anje")
_ZIPF = tuple(planted(order, 5_000, seed) for order in (1, 2, 3) for seed in range(5))
_QUICK = "car tae"
# By study: in full, and in --quick.
RACES: dict[str, tuple[tuple[Races, ...], tuple[Races, ...]]] = {
    "races-1": (_races(f"{_SAMPLE} poker-hand-125k", (1,)), _races(_QUICK, (1,))),
    "races-2": (_races(_SAMPLE, (2,), kinds=_STARTS), _races(_QUICK, (2,), kinds=_STARTS)),
    "races-3": (_races(_SMALLER, (3,), kinds=_STARTS), _races(_QUICK, (3,), kinds=_STARTS)),
    "races-cg2": (_races(_SAMPLE, (2,), cg=True), _races(_QUICK, (2,), cg=True)),
    "races-cg3": (_races(_SMALLER, (3,), cg=True), _races(_QUICK, (3,), cg=True)),
    "races-localization": (
        (Races(LOCALIZATION, fitted_as_printed((1, 2, 3))),),
        (Races(SETS["tae"], fitted_as_printed((1, 2, 3))),),
    ),
    "races-zipf": (
        tuple(
            Races(table, fitted_as_printed((order,), kinds=("from anje",)), most=1000)
            for table, order in zip(_ZIPF, [1] * 5 + [2] * 5 + [3] * 5, strict=True)
        ),
        tuple(Races(planted(order, 1_000), fitted_as_printed((order,), kinds=("from anje",))) for order in (1, 2, 3)),
    ),
}
