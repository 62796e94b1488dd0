"""What a fit costs, estimated before anything is allocated.

`Cost` is a value: parameters, bytes, seconds, passes. `a + b` is one after the other, `a.alongside(b)` at the same
time, `n * a` so many times, `a.shared_by(n)` on so many worker processes.

`estimate(recipe, shape, max_memory)` returns an `Estimate`: the `Cost` of a fit's memory and of one of its passes, the
solver that the memory limit leaves, and why the fit is refused, if it is. It compiles, fits and times nothing: seconds
are those of one thread of the reference machine. `calibrate` turns them into seconds of this machine.

`TableShape` is the table as an estimate sees it. It counts or samples the cells that occur, and plans the cover, only
when an estimate asks and cheaper bounds did not refuse already. With `TrainingData` rows what it learned stays there.
Each family says what its own fits cost (`Family.estimate`); what linear families share is in `estimate.py`, their
memory in `peak_memory.py`. Whole fits and studies (how many passes, folds, alphas): `alrviz.studies.core.cost`.
"""
