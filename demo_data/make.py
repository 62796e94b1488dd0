"""Write the CSV files of this folder: small demo sets to open in a spreadsheet, or to drop on the explorer.

    python demo_data/make.py

They are what `alrviz.load_demo(name)` returns, seed 0; a test compares the two.
"""

from pathlib import Path

from alrviz.data.demos import demo_frame

FOLDER = Path(__file__).parent
NAMES = (
    "led",
    "parity",
    "xor",
    "tic-tac-toe",
    "balance-scale",
    "monks-1",
    "monks-2",
    "monks-3",
    "four-gaussians",
    "three-classes",
    "two-moons",
    "rings",
    "age-curve",
    "mixed-types",
    "iris",
    "wine",
    "breast-cancer",
)


def csv_text(name: str) -> str:
    """Return a demo set as CSV."""
    return demo_frame(name).to_csv(index=False, lineterminator="\n")


def write_tables() -> None:
    """Write every CSV."""
    for name in NAMES:
        (FOLDER / f"{name}.csv").write_bytes(csv_text(name).encode())


if __name__ == "__main__":
    write_tables()
