"""All items that can be reproduced, in the papers' order, and the studies that measure them."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import chain
from types import MappingProxyType

import numpy as np
import pandas as pd

from alrviz.errors import RecipeError, nearest
from alrviz.fitting.recipe import Recipe
from reproduction.claim_items import CLAIMS, CURVES, ELR_ITEM, PULLS, RACES, TOY
from reproduction.compare import COLUMNS
from reproduction.curves import Curves, curve_rows, share_rows, stepwise
from reproduction.decided import chosen_pulls, paired, with_limits
from reproduction.dlr_items import CLINICAL, DLR_TABLES
from reproduction.elr_trace import elr_rows
from reproduction.growth import SIZES, growth_rows
from reproduction.item import Item
from reproduction.judge import DIFFERS, NOT_RUN, judge_mean
from reproduction.kept import Progress
from reproduction.limit_studies import LIMIT_STUDIES, limit_rows
from reproduction.methods import HELD_BACK, METHODS, OF_LEVELS, OTHERWISE
from reproduction.over_sets import Stage, set_rows, staged_rows
from reproduction.pair_items import NESTED_CLAIM, PAIR_CLAIMS
from reproduction.racers import (
    FIRST_ORDER,
    GROWN_SHARES,
    LOW_ORDERS,
    MAIN,
    NESTED,
    PAPERS,
    PENALISED,
    PRECONDITIONERS,
    TABLES_FITTED,
    THIRD_ORDER,
    TUPLES_CHOSEN,
    VALIDATED,
    VALIDATED_2,
    VARIANTS,
    WITH_GAPS,
)
from reproduction.racers import PULLS as PULLED_RACERS
from reproduction.races import Races, fitted_as_printed, race_rows, scaled_rows
from reproduction.reasons import reason_of
from reproduction.selected_items import SELECTED
from reproduction.sets import (
    BIG_SETS,
    CLINICAL_SETS,
    COVERTYPE,
    HELD_BACK_SETS,
    LITTLE_SETS,
    MIXED_SETS,
    NOT_HELD,
    NUMERIC_SETS,
    OTHERWISE_SETS,
    SELECTION_SETS,
    BenchmarkSet,
    spread,
)
from reproduction.settings import Settings
from reproduction.sizes import size_rows
from reproduction.splits import split_rows
from reproduction.tables import MadeTable, demo, planted
from reproduction.toy import toy_rows
from reproduction.trials import trial_rows

# [ALR] 7.3: 0-1 loss of lr and alr on the sets where they part; its phoneme is nettalk.
PARTED = {
    ("nettalk", 2): (0.1935, 0.2814),
    ("nettalk", 3): (0.2347, 0.4743),
    ("promoters", 2): (0.1132, 0.1717),
    ("lung-cancer", 3): (0.6125, 0.5625),
}


def parted_lines(figures: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of [ALR] 7.3: printed losses beside ours in paper mode; beside them ours with alpha by
    validation and, where they were fitted, with a fixed penalty and by another solver.
    """
    lines = []
    for (name, order), losses in PARTED.items():
        for family, paper in zip(("lr", "alr"), losses, strict=True):
            for mode in (" paper", " cv", "", " paper lbfgs"):
                fits = figures[(figures["set"] == name) & (figures["method"] == f"{family}{order}{mode}")]
                fits = fits.dropna(subset=["error"]) if "error" in fits else fits.iloc[:0]
                if len(fits) or mode in (" paper", " cv"):
                    printed = paper if mode == " paper" else np.nan
                    lines.append(_parted(name, f"{family}{order}{mode}", printed, fits))
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _parted(name: str, method: str, paper: float, fits: pd.DataFrame) -> dict[str, object]:
    line: dict[str, object] = {"item": "alr-7.3", "set": name, "method": method, "quantity": "0-1 loss", "paper": paper}
    line |= {"source": "printed" if np.isfinite(paper) else "", "sets": 1, "reason": ""}
    if not len(fits):
        return line | {
            "ours": np.nan,
            "sd": np.nan,
            "splits": 0,
            "sets": 0,
            "verdict": NOT_RUN,
            "reason": "not computed yet",
        }
    row = fits.iloc[0]
    line |= {"ours": float(row["error"]), "sd": float(row["error_sd"]), "splits": int(row["fits"])}
    if not np.isfinite(paper):
        return line | {"verdict": ""}
    verdict = judge_mean(paper, float(row["error"]), float(row["error_sd"]), int(row["fits"]), 0.00005)
    return line | {"verdict": verdict, "reason": reason_of("alr-7.3") if verdict == DIFFERS else ""}


def parted_seen(table: pd.DataFrame) -> str:
    """Return the losses with their standard deviation over the splits, set by set."""
    figures = table[table["ours"].notna()].to_dict("records")
    spread = [f" (sd {row['sd']:.3f})" if np.isfinite(row["sd"]) else "" for row in figures]
    losses = [f"{row['method']} on {row['set']} {row['ours']:.3f}" for row in figures]
    return "; ".join(loss + sd for loss, sd in zip(losses, spread, strict=True)) or "no data"


PARTED_ITEM = Item(
    "alr-7.3",
    "[ALR] 7.3: sets on which alr and lr part, and alpha chosen by validation",
    "validated",
    "lr and alr part on phoneme, promoters and lung-cancer for all rows can be fitted; alpha should be chosen",
    parted_lines,
    parted_seen,
)


SETS = {entry.name: entry for entry in (*LITTLE_SETS, *BIG_SETS)}
# In --sample: tables that come with the package or are made, in which nobody has to get anything.
SAMPLE_SETS = tuple(
    demo(name, rows, "little")
    for name, rows in (
        *((name, None) for name in ("monks-1", "monks-2", "monks-3", "tic-tac-toe", "balance-scale", "iris", "wine")),
        *(
            (name, 1_000)
            for name in ("led", "waveform", "skewed", "parity", "twelve-bits", "mixed-types", "poker-hand")
        ),
        ("breast-cancer", None),
    )
)
SAMPLE_RACERS = (*LOW_ORDERS, "lr1", "alr1", "lr2", "alr2")
# What those tables can decide, without items that tell seconds: two runs of the sample are the same to the letter.
SAMPLE = (
    "alr-t2", "alr-t3", "alr-t4", "alr-f3", "alr-f10", "alr-f12", "alr-f14", "wanbia-t2", "salr-4",
    "dlr-f3", "dlr-f4", "dlr-f5", "c2", "c3", "c4", "c14", "c15", "c18", "c19", "c20",
)  # fmt: skip
_CELLS = ("lr", "alr", "anje")


def sets_of(names: str) -> tuple[BenchmarkSet, ...]:
    """Return the sets of these names."""
    return tuple(SETS[name] for name in names.split())


# A head of the papers' file: one person of five, in the order of time.
LOCALIZATION = BenchmarkSet(
    "localization-first16k", "localization", ("localization-first16k",), "https://archive.ics.uci.edu/dataset/196"
)
POKER_HANDS = demo("poker-hand", 1_000_000)
PLANTED = planted(3, 50_000)
PLANTED_CURVES = (Curves(PLANTED, stepwise(_CELLS, (1, 2, 3))),)
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
QUICK_CURVES = (Curves(planted(3, 5_000), stepwise(_CELLS, (1, 2, 3)), repeats=1),)
QUICK_ONE_PASS = (Curves(demo("led", 3_000), stepwise(("lr", "alr"), (1, 2)), repeats=1),)
KDB = {"kdb5": Recipe("kdb", k=5, selective=False), "nb": Recipe("anje", order=1)}
SHARES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
REGULARISED = sets_of(
    """contact-lenses haberman iris tae echocardiogram volcanoes new-thyroid
    balance-scale bupa postoperative labor pima glass breast-cancer-wisconsin car wine tic-tac-toe heart-hungarian
    heart-cleveland hepatitis led zoo lymphography house-votes-84 vowel german dermatology satellite
    pendigits optdigits"""
)
TUNED_SETS = sets_of("heart-cleveland hepatitis pima iris glass labor new-thyroid wine tae heart-hungarian")
# Rows of them have missing values.
GAPS = sets_of(
    """echocardiogram postoperative labor breast-cancer-wisconsin heart-hungarian heart-cleveland
    hepatitis house-votes-84 credit-screening horse-colic lung-cancer imports-85 primary-tumor cylinder-bands
    dermatology mushroom sick-euthyroid adult annealing hypothyroid audiology thyroid"""
)
# Three methods of 40 fits each take more than two minutes on these.
_LONG = sets_of(
    "nursery adult pioneer page-blocks primary-tumor connect-4 nettalk satellite letter-recognition thyroid"
)
TWENTY_ROUNDS = tuple(entry for entry in LITTLE_SETS if entry not in _LONG)
VALIDATED_SETS = sets_of("lung-cancer promoters nettalk")


def _races_over(
    names: str, orders: tuple[int, ...], cg: bool = False, kinds: tuple[str, ...] = ()
) -> tuple[Races, ...]:
    return tuple(Races(entry, fitted_as_printed(orders, cg=cg, kinds=kinds)) for entry in sets_of(names))


_SAMPLE = "car vowel german sign nursery magic pendigits adult"
_LARGE = "connect-4 census-income poker-hand-125k"
_SMALLER = "car vowel german sign nursery magic"
_STARTS = ("alrj", "from anje")
_ZIPF = tuple(planted(order, 5_000, seed) for order in (1, 2, 3) for seed in range(5))
_QUICK = "car tae"
# By study: in full, and in --sample.
RACE_STUDIES: dict[str, tuple[tuple[Races, ...], tuple[Races, ...]]] = {
    "races-1": (_races_over(f"{_SAMPLE} poker-hand-125k", (1,)), _races_over(_QUICK, (1,))),
    "races-2": (_races_over(f"{_SAMPLE} {_LARGE}", (2,), kinds=_STARTS), _races_over(_QUICK, (2,), kinds=_STARTS)),
    "races-3": (_races_over(_SMALLER, (3,), kinds=_STARTS), _races_over(_QUICK, (3,), kinds=_STARTS)),
    "races-cg2": (_races_over(_SAMPLE, (2,), cg=True), _races_over(_QUICK, (2,), cg=True)),
    "races-cg3": (_races_over(_SMALLER, (3,), cg=True), _races_over(_QUICK, (3,), cg=True)),
    "races-localization": (
        (Races(LOCALIZATION, fitted_as_printed((1, 2, 3))),),
        (Races(SETS["tae"], fitted_as_printed((1, 2, 3))),),
    ),
    "races-zipf": (
        tuple(
            Races(table, fitted_as_printed((order,), kinds=("from anje",)), max_iter=1000)
            for table, order in zip(_ZIPF, [1] * 5 + [2] * 5 + [3] * 5, strict=True)
        ),
        tuple(Races(planted(order, 1_000), fitted_as_printed((order,), kinds=("from anje",))) for order in (1, 2, 3)),
    ),
}


# Zipf's columns and even ones, ten tables each.
SCALED_TABLES = tuple(planted(1, 5_000, seed, even) for seed in range(10) for even in (False, True))
QUICK_SPLITS, SPLITS = 2, 100
ROUNDS, QUICK_ROUNDS = 5, 2
Study = Callable[[Settings], Progress]


def _splits(
    sets: tuple[BenchmarkSet, ...], methods: tuple[str, ...], settings: Settings, splits: int = SPLITS
) -> Progress:
    return split_rows(sets, methods, settings, QUICK_SPLITS if settings.quick else splits)


def _otherwise(settings: Settings) -> Progress:
    """What might bring [DLR]'s figures; where all columns are numeric without what is about levels."""
    for entry in OTHERWISE_SETS:
        kinds = set() if entry.missing(settings.folder) else set(entry.read(settings.folder).kinds.values())
        is_numeric = kinds <= {"numeric", "ignore"}
        methods = tuple(name for name in OTHERWISE if not (is_numeric and name in OF_LEVELS))
        yield from _splits((entry,), methods, settings, 10)


def _growth(settings: Settings) -> Progress:
    return growth_rows(settings, SIZES[:4] if settings.quick else SIZES)


# All racers on all sets are a night's work on two cores: orders 1 and 2 in paper mode come first, on tables of every
# size in turn; big sets have one round, as far as they are held.
_LITTLE = spread(LITTLE_SETS)
SETS_STAGES = (
    Stage(_LITTLE, LOW_ORDERS, 2, 2e8),
    Stage(BIG_SETS[:2], PAPERS, 1, 2e8),
    Stage(_LITTLE, THIRD_ORDER, 2, 7e7),
    Stage(_LITTLE, PAPERS, ROUNDS, 7e6),
    Stage(_LITTLE, PENALISED, 2, 7e7),
    Stage(BIG_SETS, LOW_ORDERS, 1, 1e9),
    Stage(_LITTLE, LOW_ORDERS, 2, 4e8),
    Stage(_LITTLE, MAIN, 2, 1e9),
    Stage(_LITTLE, MAIN, ROUNDS, 7e7),
    Stage(BIG_SETS, MAIN, 1, 1e10),
)


def _sets(settings: Settings) -> Progress:
    """Every racer on little sets and big ones."""
    if settings.quick:
        return set_rows(SAMPLE_SETS, SAMPLE_RACERS, settings, QUICK_ROUNDS)
    return staged_rows(SETS_STAGES, settings)


def _rows_over_sets(
    sets: tuple[BenchmarkSet, ...], racers: tuple[str, ...], settings: Settings, rounds: int = 2
) -> Progress:
    return set_rows(sets[:3] if settings.quick else sets, racers, settings, rounds)


def _validated(settings: Settings) -> Progress:
    """In --sample once 2-fold, without order 3 and nettalk, which take minutes."""
    if settings.quick:
        return set_rows(VALIDATED_SETS[:2], VALIDATED_2, settings, 1)
    return set_rows(VALIDATED_SETS, VALIDATED, settings, 2)


def _selected(settings: Settings) -> Progress:
    """2 x 2-fold, what is cheap first; what is too much work is left out and says so."""
    if settings.quick:
        return set_rows(SELECTION_SETS[:2], TUPLES_CHOSEN[2], settings, 1)
    small, middle, large = SELECTION_SETS[:9], (*SELECTION_SETS[9:-4], LOCALIZATION), SELECTION_SETS[-4:-2]
    largest: tuple[BenchmarkSet | MadeTable, ...] = (*SELECTION_SETS[-2:], POKER_HANDS, *NOT_HELD)
    stages = [(sets, order) for sets in (small, large, middle) for order in (2, 3, 4)] + [(largest, 2), (largest, 3)]
    return chain.from_iterable(
        set_rows(sets, TUPLES_CHOSEN[order], settings, 2, most_work=1e10 if order == 2 else 2e9)
        for sets, order in stages
    )


def _on_covertype(settings: Settings) -> Progress:
    """[sALR]'s Covertype: once 2-fold, of order 3 before 4, which takes days."""
    names = [name for order in (3, 4) for name in TUPLES_CHOSEN[order] if " mi " in name or " strong " in name]
    racers = ("alr3 adagrad", "alr4 adagrad", *(name for name in names if float(name.split()[-1]) in GROWN_SHARES))
    return set_rows(SELECTION_SETS[:1] if settings.quick else (COVERTYPE,), racers, settings, 1)


def _tuned_rows(settings: Settings) -> Progress:
    return chain(limit_rows("elr-optimum", settings), _rows_over_sets(TUNED_SETS, TABLES_FITTED, settings, ROUNDS))


def _curves(full: tuple[Curves, ...], quick: tuple[Curves, ...], settings: Settings) -> Progress:
    return curve_rows(quick if settings.quick else full, settings)


def _kdb(settings: Settings) -> Progress:
    shares = SHARES[:3] if settings.quick else SHARES
    return share_rows(SETS["poker-hand-125k"], KDB, shares, settings)


def _races(full: tuple[Races, ...], quick: tuple[Races, ...], settings: Settings) -> Progress:
    return race_rows(quick if settings.quick else full, settings)


STUDIES: Mapping[str, Study] = MappingProxyType(
    {
        "sets": _sets,
        "validated": _validated,
        "selected": _selected,
        "covertype": _on_covertype,
        "sizes": lambda settings: size_rows(
            SELECTION_SETS[:2] if settings.quick else SELECTION_SETS, settings, (3,) if settings.quick else (3, 4)
        ),
        "sets-variants": partial(_rows_over_sets, LITTLE_SETS, VARIANTS),
        "preconditioners": partial(_rows_over_sets, LITTLE_SETS, PRECONDITIONERS),
        "pulls": partial(_rows_over_sets, REGULARISED, PULLED_RACERS),
        "tuned": _tuned_rows,
        "gaps": partial(_rows_over_sets, GAPS, WITH_GAPS),
        "twenty": lambda settings: _rows_over_sets(
            TWENTY_ROUNDS, FIRST_ORDER, settings, ROUNDS if settings.quick else 20
        ),
        "nested": lambda settings: _rows_over_sets(REGULARISED[: 1 if settings.quick else None], NESTED, settings),
        "crossing": partial(_curves, CROSSING, QUICK_CURVES),
        "planted": partial(_curves, PLANTED_CURVES, QUICK_CURVES),
        "one-pass": partial(_curves, ONE_PASS, QUICK_ONE_PASS),
        "online": partial(_curves, ONLINE, QUICK_ONE_PASS),
        "kdb": _kdb,
        **{name: partial(_races, *races) for name, races in RACE_STUDIES.items()},
        "scaled": lambda settings: scaled_rows(SCALED_TABLES[: 12 if settings.quick else None], settings),
        "elr": lambda settings: elr_rows(TUNED_SETS[:3] if settings.quick else TUNED_SETS, settings),
        "toy": toy_rows,
        **LIMIT_STUDIES,
        "trials": trial_rows,
        "dlr-numeric": partial(_splits, NUMERIC_SETS, tuple(METHODS)),
        "dlr-mixed": partial(_splits, MIXED_SETS, tuple(METHODS)),
        "dlr-clinical": partial(_splits, CLINICAL_SETS, CLINICAL, splits=30),
        "dlr-growth": _growth,
        "dlr-otherwise": _otherwise,
        "dlr-held-back": partial(_splits, HELD_BACK_SETS, tuple(HELD_BACK), splits=30),
    }
)
_PAIRED = {claim.name: paired(claim) for claim in PAIR_CLAIMS}
_PAIRED["c16"] = with_limits(_PAIRED["c16"])
_PAIRED["wanbia-f6.1"] = chosen_pulls(NESTED_CLAIM)
_PAPERS = ("alr", "wanbia", "salr", "dlr", "elr", "c")
_KINDS = ("t", "f", "")


def _place(item: Item) -> tuple[int, int, float]:
    """Tables before figures, each by number; papers in their order, claims last."""
    paper, _, rest = item.name.partition("-")
    if not rest:
        return len(_PAPERS) - 1, 0, float(item.name[1:])
    kind = rest[0] if rest[0] in "tf" else ""
    return _PAPERS.index(paper), _KINDS.index(kind), float(rest.lstrip("tf"))


_ALL_ITEMS = (*_PAIRED.values(), *RACES, *CURVES, *PULLS, ELR_ITEM, PARTED_ITEM, *TOY, *DLR_TABLES, *SELECTED, *CLAIMS)
ITEMS: Mapping[str, Item] = MappingProxyType({item.name: item for item in sorted(_ALL_ITEMS, key=_place)})


def chosen_items(names: Iterable[str] = ()) -> tuple[Item, ...]:
    """Return the items of these names, in the papers' order; all without a name.

    Raises:
        RecipeError: if there is no item of that name.
    """
    requested = set(names)
    for name in sorted(requested):
        if name not in ITEMS:
            raise RecipeError(f"no item is called {name!r}; expected {', '.join(ITEMS)}{nearest(name, ITEMS)}")
    return tuple(item for item in ITEMS.values() if not requested or item.name in requested)
