"""Options of every study: where it computes and where it saves its tasks."""

from typing import TypedDict

from alrviz.studies.core.checkpoint import Keep


class StudyOptions(TypedDict, total=False):
    """Options of every study. Only max_memory may change a number, as it decides between solvers.

    n_jobs: number of processes; 1 computes in the present process, None uses one per processor.
    max_memory: bytes a single fit may take, in every worker; None: half of the machine's memory, shared by as many
        workers as it has processors (total rather than free memory, so that results are reproducible).
    scheduler: address of a Dask scheduler ("tcp://host:8786") whose workers compute.
    keep: True saves every finished task in the user's run store, and loads those saved there before; a folder or a
        `Store` names another store. False saves nothing.
    owner: owner of the study in the store.
    """

    n_jobs: int | None
    max_memory: int | None
    scheduler: str | None
    keep: Keep
    owner: str
