"""The classifiers of the families of cells, each made of what its family says: its parameters, its text.

`cells.pyi` beside it is for type checkers; `python -m alrviz.estimators.stubs` writes it anew.
"""

from alrviz.estimators.generated import classifier_of
from alrviz.fitting.families import FAMILIES
from alrviz.fitting.families.cells import CellFamily

CLASSIFIERS = tuple(classifier_of(family, __name__) for family in FAMILIES.values() if isinstance(family, CellFamily))
__all__ = [cls.__name__ for cls in CLASSIFIERS]
globals().update({cls.__name__: cls for cls in CLASSIFIERS})
