"""Record the race of the explorer's first screen: LED, 3,000 rows, n = 2, alpha 0, L-BFGS, lr and alr from zero.

    python demo_data/record.py

writes alrviz/explorer/recorded/led.json (package data). The seconds in it are this machine's.
"""

from pathlib import Path

import alrviz
from alrviz.explorer.recipes.questions import FIRST_QUESTION, recipes_of
from alrviz.studies.race.recorded import record

TARGET = Path(__file__).parents[1] / "alrviz" / "explorer" / "recorded" / "led.json"


def main() -> None:
    """Run the race and write it."""
    dataset = alrviz.load_demo("led", rows=3000, seed=0)
    race = alrviz.race(dataset, recipes_of(FIRST_QUESTION))
    race.start()
    race.join()
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(record(race, alrviz.__version__) + "\n", encoding="utf-8")
    for run in race.runs:
        print(f"{run.recipe.name}: {run.outcome.code} after {run.trace[-1].index} iterations")
    print(f"{TARGET}: {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
