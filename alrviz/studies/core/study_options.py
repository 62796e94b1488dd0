"""Where a study computes and what is kept of it: the options that every study has."""

from typing import TypedDict

from alrviz.studies.core.checkpoint import Keep


class StudyOptions(TypedDict, total=False):
    """Options of every study; of them max_memory alone may change a number: it decides between solvers.

    n_jobs: processes: 1 computes in this one, None takes as many as there are processors.
    max_memory: bytes a single fit may take, the same in every worker; None: half of what the machine has, shared by
        as many workers as there are processors. What is free is not asked: it would change from study to study.
    scheduler: the address of a Dask scheduler ("tcp://host:8786"), whose workers compute then.
    keep: True keeps every task as it finishes in the user's run store, and takes what is kept there; a folder or a
        `Store` says which. False keeps nothing.
    owner: whose study it is in the store.
    """

    n_jobs: int | None
    max_memory: int | None
    scheduler: str | None
    keep: Keep
    owner: str
