"""All items that can be reproduced, in the papers' order, and the studies that measure them."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import chain
from types import MappingProxyType

from alrviz.errors import RecipeError, nearest
from alrviz.reproduce import lists
from alrviz.reproduce.claim_items import CLAIMS, CURVES, ELR_ITEM, PULLS, RACES, TOY
from alrviz.reproduce.curves import Curves, curve_rows, share_rows
from alrviz.reproduce.decided import both, paired
from alrviz.reproduce.dlr_items import DLR_TABLES
from alrviz.reproduce.elr_trace import elr_rows
from alrviz.reproduce.growth import SIZES, growth_rows
from alrviz.reproduce.item import Item
from alrviz.reproduce.kept import Progress
from alrviz.reproduce.limit_studies import LIMIT_STUDIES, limit_rows
from alrviz.reproduce.methods import METHODS
from alrviz.reproduce.over_sets import set_rows
from alrviz.reproduce.pair_items import PAIR_CLAIMS
from alrviz.reproduce.parted import PARTED_ITEM
from alrviz.reproduce.racers import BIG, MAIN, TABLES_FITTED, VALIDATED, VALIDATED_2, VARIANTS
from alrviz.reproduce.racers import PULLS as PULLED_RACERS
from alrviz.reproduce.races import Races, race_rows
from alrviz.reproduce.sets import BIG_SETS, LITTLE_SETS, MIXED_SETS, NUMERIC_SETS, BenchmarkSet
from alrviz.reproduce.settings import Settings
from alrviz.reproduce.splits import split_rows
from alrviz.reproduce.toy import toy_rows

QUICK_SPLITS, SPLITS = 2, 100
ROUNDS, QUICK_ROUNDS = 5, 2
Study = Callable[[Settings], Progress]


def _splits(sets: tuple[BenchmarkSet, ...], settings: Settings) -> Progress:
    return split_rows(sets, tuple(METHODS), settings, QUICK_SPLITS if settings.quick else SPLITS)


def _growth(settings: Settings) -> Progress:
    return growth_rows(settings, SIZES[:4] if settings.quick else SIZES)


def _sets(settings: Settings) -> Progress:
    """Every racer on little sets; on big ones, 2-fold once, our defaults and what they are compared with."""
    if settings.quick:
        return set_rows(lists.QUICK_SETS, MAIN, settings, QUICK_ROUNDS)
    return chain(set_rows(LITTLE_SETS, MAIN, settings, ROUNDS), set_rows(BIG_SETS, BIG, settings, 1, most_work=1e10))


def _over(sets: tuple[BenchmarkSet, ...], racers: tuple[str, ...], settings: Settings, rounds: int = 2) -> Progress:
    return set_rows(sets[:3] if settings.quick else sets, racers, settings, rounds)


def _validated(settings: Settings) -> Progress:
    """In --quick once 2-fold, without order 3 and nettalk, which take minutes."""
    if settings.quick:
        return set_rows(lists.VALIDATED_SETS[:2], VALIDATED_2, settings, 1)
    return set_rows(lists.VALIDATED_SETS, VALIDATED, settings, 2)


def _tuned(settings: Settings) -> Progress:
    return chain(limit_rows("elr-optimum", settings), _over(lists.TUNED, TABLES_FITTED, settings, ROUNDS))


def _curves(full: tuple[Curves, ...], quick: tuple[Curves, ...], settings: Settings) -> Progress:
    return curve_rows(quick if settings.quick else full, settings)


def _kdb(settings: Settings) -> Progress:
    shares = lists.SHARES[:3] if settings.quick else lists.SHARES
    return share_rows(lists.SETS["poker-hand-125k"], lists.KDB, shares, settings)


def _races(full: tuple[Races, ...], quick: tuple[Races, ...], settings: Settings) -> Progress:
    return race_rows(quick if settings.quick else full, settings)


STUDIES: Mapping[str, Study] = MappingProxyType(
    {
        "sets": _sets,
        "validated": _validated,
        "sets-variants": partial(_over, LITTLE_SETS, VARIANTS),
        "pulls": partial(_over, lists.REGULARISED, PULLED_RACERS),
        "tuned": _tuned,
        "crossing": partial(_curves, lists.CROSSING, lists.QUICK_CURVES),
        "planted": partial(_curves, lists.PLANTED_CURVES, lists.QUICK_CURVES),
        "one-pass": partial(_curves, lists.ONE_PASS, lists.QUICK_ONE_PASS),
        "online": partial(_curves, lists.ONLINE, lists.QUICK_ONE_PASS),
        "kdb": _kdb,
        **{name: partial(_races, *races) for name, races in lists.RACES.items()},
        "elr": lambda settings: elr_rows(lists.TUNED[:3] if settings.quick else lists.TUNED, settings),
        "toy": toy_rows,
        **LIMIT_STUDIES,
        "dlr-numeric": partial(_splits, NUMERIC_SETS),
        "dlr-mixed": partial(_splits, MIXED_SETS),
        "dlr-growth": _growth,
    }
)
_PAIRED = {claim.name: paired(claim) for claim in PAIR_CLAIMS}
_PAIRED["c16"] = both(_PAIRED["c16"])
_PAPERS = ("alr", "wanbia", "dlr", "elr", "c")
_KINDS = ("t", "f", "")


def _place(item: Item) -> tuple[int, int, float]:
    """Tables before figures, each by number; papers in their order, claims last."""
    paper, _, rest = item.name.partition("-")
    if not rest:
        return len(_PAPERS) - 1, 0, float(item.name[1:])
    kind = rest[0] if rest[0] in "tf" else ""
    return _PAPERS.index(paper), _KINDS.index(kind), float(rest.lstrip("tf"))


_ALL = (*_PAIRED.values(), *RACES, *CURVES, *PULLS, ELR_ITEM, PARTED_ITEM, *TOY, *DLR_TABLES, *CLAIMS)
ITEMS: Mapping[str, Item] = MappingProxyType({item.name: item for item in sorted(_ALL, key=_place)})


def chosen_items(names: Iterable[str] = ()) -> tuple[Item, ...]:
    """Return the items of these names, in the papers' order; all without a name.

    Raises:
        RecipeError: if there is no item of that name.
    """
    wanted = set(names)
    for name in sorted(wanted):
        if name not in ITEMS:
            raise RecipeError(f"no item is called {name!r}; expected {', '.join(ITEMS)}{nearest(name, ITEMS)}")
    return tuple(item for item in ITEMS.values() if not wanted or item.name in wanted)
