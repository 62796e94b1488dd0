"""What families read of a recipe. It is a protocol because `Recipe`, checked by its family, is defined above them."""

from collections.abc import Mapping
from typing import Any, Protocol, Self

Params = Mapping[str, Any]  # the parameters of a recipe by name, complete and checked


class FitSettings(Protocol):
    """The attributes of a `Recipe` that families, costs and the preparation of rows read; `Recipe` describes them."""

    @property
    def family(self) -> str: ...  # noqa: D102
    @property
    def params(self) -> Params: ...  # noqa: D102
    @property
    def discretize(self) -> str | None: ...  # noqa: D102
    @property
    def n_bins(self) -> int: ...  # noqa: D102
    @property
    def holdout(self) -> float: ...  # noqa: D102
    @property
    def seed(self) -> int: ...  # noqa: D102
    @property
    def definition(self) -> Any:
        """The family, whose class is defined above."""

    @property
    def solver(self) -> str: ...  # noqa: D102
    @property
    def cuts(self) -> str | None: ...  # noqa: D102
    @property
    def most_levels(self) -> int: ...  # noqa: D102
    @property
    def encoding(self) -> tuple[str | None, int, str]: ...  # noqa: D102
    @property
    def missing(self) -> str: ...  # noqa: D102
    def replace(self, **changes: Any) -> Self: ...  # noqa: D102
    def to_json(self) -> str: ...  # noqa: D102
