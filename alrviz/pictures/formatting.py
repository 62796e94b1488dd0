"""Bytes, seconds and counts as people write them.

In tables three digits count; beside the points of a picture, where room is short, two; what is left of something is as
coarse as it is known.
"""

from collections.abc import Mapping

from alrviz.studies.core.progress import duration_text as duration_text

LOSSES: Mapping[str, str] = {"log_loss": "log loss (nats per row)", "rmse": "RMSE", "error": "0-1 loss"}  # on axes


def bytes_text(size: float) -> str:
    """Return a size in bytes with its unit, as in 1.5 GB."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.5:
            return f"{size:.0f} {unit}" if size >= 99.5 or unit == "B" else f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def seconds_text(seconds: float | None) -> str:
    """Return seconds as text with a unit, for tables."""
    if seconds is None:
        return "—"
    if seconds < 1e-4:  # calling the passes takes as long
        return "< 0.1 ms"
    if seconds < 0.9995:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def short_seconds(seconds: float) -> str:
    """Return seconds as a short text with a unit, for a label beside a point."""
    if seconds < 0.0995:
        return f"{seconds * 1e3:.2g} ms"
    return f"{seconds:.2g} s" if seconds < 99.5 else f"{seconds:.0f} s"


def count_text(count: int) -> str:
    """Return a count with marks, shortened where nobody reads the digits."""
    return f"{count:,}" if count < 10**9 else f"{count:.2e}"


def short_count(count: float) -> str:
    """Format a count for a label beside a point."""
    return f"{count:,.0f}" if count < 1e6 else f"{count / 1e6:,.3g} M"
