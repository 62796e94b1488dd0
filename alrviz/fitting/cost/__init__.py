"""The cost of a fit, estimated before anything is allocated.

`Cost` is a value: parameters, bytes, seconds, passes. `a + b` is one after the other, `a.alongside(b)` both at the same
time, `n * a` n times, `a.shared_by(n)` spread over n worker processes.

`estimate(recipe, shape, max_memory)` returns an `Estimate`: the `Cost` of a fit's memory and of one of its passes, the
solver that fits into the memory limit, and why the fit is refused, if it is. It compiles, fits and times nothing:
seconds are those of one thread of the reference machine. `calibrate` turns them into seconds of this machine.

`TableShape` is the table as an estimate sees it. It counts or samples the cells that occur, and plans the cover, only
if an estimate asks and cheaper bounds have not refused already. With `TrainingData` rows the results are cached there.
Each family estimates its own fits (`Family.estimate`); what linear families share is in `estimate.py`, their memory in
`peak_memory.py`. Whole fits and studies (how many passes, folds, alphas): `alrviz.studies.core.cost`.
"""
