"""Why a number of ours is not the paper's, as far as it was found: the first line that fits is told."""

from fnmatch import fnmatch

# (quantity, set, method, reason); * fits anything.
_REASONS: tuple[tuple[str, str, str, str], ...] = (
    ("train_ms", "*", "*", "another machine and other programs: the paper's are of MATLAB at 2.67 GHz"),
)


def reason(quantity: str, name: str, method: str) -> str:
    """Return the reason told for a quantity of a method on a set."""
    for its_quantity, its_set, its_method, words in _REASONS:
        if fnmatch(quantity, its_quantity) and fnmatch(name, its_set) and fnmatch(method, its_method):
            return words
    return "not found"
