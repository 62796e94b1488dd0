"""alrviz: a laboratory for classifiers from naive Bayes to higher-order logistic regression.

Names are imported when they are first used (PEP 562), so that `import alrviz` costs a few milliseconds. Which there
are, and where each lives, stands in `__init__.pyi` beside this file, where type checkers look too.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, _, _names = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["__version__", *_names]  # noqa: PLE0604 (the names are strings, read from the stub)


def __dir__() -> list[str]:
    return sorted(__all__)
