"""AdaGrad over rows that come one after another, in single precision: a cell is a row of vectors.

    z     = sum over the row's cells c of scale_c * w_c                         vectors of W classes
    r     = softmax(z) - 1[y]
    g_c   = scale_c * r + pull_c * (w_c - center_c)
    G_c  += g_c^2;      w_c -= eta * g_c / (1e-9 + sqrt(G_c))

Conventions: table (cells, parts, W) float32 holds scale, w and G of each cell side by side, so that one look-up brings
all; with a penalty pull too, and center where it is not 0. pull is 2 alpha q / (rows that look at the cell): spread
over those of a pass. The cells of a row differ, so that none is looked at twice, and as many as fill a vector of 16
numbers are moved at once. W is a multiple of the lanes, pads have scale 0. The last row but one of the table belongs to
b, which every row has; the last is zeros, and stays so: rows are filled up with it to whole vectors.

Plain loops give the same bits in 2.5 (W = 2) to 6 times the time (W = 8, 16): measured on 12,000 and 120,000 cells.
What limits a pass is not arithmetic but that nearly every cell is in a cache line of its own, beyond the first levels
of cache: while a row's cells are moved, those of the next are fetched.
"""

from math import exp, log

import llvmlite.ir as ir
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

from alrviz.kernels import kernel

SCALE, WEIGHT, SQUARES, PULL, CENTER = range(5)
_FULL = 16  # numbers of single precision in the widest vectors
_SUMS = 4  # of scores, as an addition waits for the one before it
_I32 = ir.IntType(32)


def _step(lanes):
    """How many cells are looked at before the loop over a row's cells begins anew."""
    return max(_SUMS, _FULL // lanes)


def _floats(lanes):
    return ir.VectorType(ir.FloatType(), lanes)


def _data(context, builder, array_type, array):
    return context.make_array(array_type)(context, builder, value=array).data


def _at(builder, data, offset, kind):
    return builder.bitcast(builder.gep(data, [offset]), kind.as_pointer())


def _load(builder, data, offset, lanes):
    return builder.load(_at(builder, data, offset, _floats(lanes)), align=4)


def _part(builder, at, width, part):
    return builder.add(at, builder.mul(width, ir.Constant(width.type, part)))


def _pick(builder, a, b, numbers):
    """Numbers of two vectors, counted through both, as one."""
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_I32, len(numbers)), list(numbers)))


def _joined(builder, vectors):
    """Vectors of one length, as many as a power of two, as one."""
    while len(vectors) > 1:
        both = range(2 * vectors[0].type.count)
        vectors = [_pick(builder, a, b, both) for a, b in zip(vectors[::2], vectors[1::2], strict=True)]
    return vectors[0]


@intrinsic
def _score(typingctx, z, q, table, places, n, width, lanes):
    """z[q : q + L] = sum of scale * w of the cells whose scales begin at table.flat[places[:n]]; width is W,
    L = len(lanes), n a multiple of `_step`.
    """
    number = len(lanes)

    def codegen(context, builder, sig, args):
        data, of = (_data(context, builder, sig.args[k], args[k]) for k in (2, 3))
        q, n, width = args[1], args[4], args[5]
        sums = [cgutils.alloca_once_value(builder, ir.Constant(_floats(number), [0.0] * number)) for _ in range(_SUMS)]
        step = ir.Constant(n.type, _step(number))
        with cgutils.for_range_slice(builder, ir.Constant(n.type, 0), n, step, inc=True) as (index, _):
            for k in range(_step(number)):
                at = builder.add(builder.load(builder.gep(of, [builder.add(index, ir.Constant(n.type, k))])), q)
                scale, w = (_load(builder, data, _part(builder, at, width, own), number) for own in (SCALE, WEIGHT))
                own = sums[k % _SUMS]
                builder.store(builder.fadd(builder.load(own), builder.fmul(scale, w)), own)
        a, b, c, d = (builder.load(own) for own in sums)
        total = builder.fadd(builder.fadd(a, b), builder.fadd(c, d))
        to = _at(builder, _data(context, builder, sig.args[0], args[0]), q, total.type)
        builder.store(total, to, align=4)
        return context.get_dummy_value()

    return types.void(z, types.intp, table, places, types.intp, types.intp, lanes), codegen


@intrinsic
def _move(typingctx, table, places, later, n, width, residual, q, eta, pulled, lanes):
    """Move w and G of the cells whose scales begin at table.flat[places[:n]] against their slopes, and have those at
    `later` fetched; see the module and `_score`.
    """
    number, more = len(lanes), len(pulled)
    at_once = max(1, _FULL // number)
    whole = at_once * number

    def codegen(context, builder, sig, args):
        data, of, soon, residuals = (_data(context, builder, sig.args[k], args[k]) for k in (0, 1, 2, 5))
        n, width, q = args[3], args[4], args[6]
        vector, byte = _floats(whole), ir.IntType(8).as_pointer()
        sqrt = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector]), f"llvm.sqrt.v{whole}f32"
        )
        fetch = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [byte, _I32, _I32, _I32]), "llvm.prefetch.p0"
        )
        r = _joined(builder, [_load(builder, residuals, q, number)] * at_once)
        one = builder.insert_element(ir.Constant(vector, ir.Undefined), args[7], _I32(0))
        eta = _pick(builder, one, one, [0] * whole)

        def place(index, k, of):
            return builder.add(builder.load(builder.gep(of, [builder.add(index, ir.Constant(n.type, k))])), q)

        def lines(index, k):
            """Fetch the cache lines of a cell of the next row: for writing, to all levels, into the data cache."""
            at = place(index, k, soon)
            for part in range(0, 3 + more, max(1, _FULL // number)):
                where = _at(builder, data, _part(builder, at, width, part), byte.pointee)
                builder.call(fetch, [where, _I32(1), _I32(3), _I32(1)])

        def moved(at):
            """Move cells that fill a vector."""

            def parts(part, lanes=number):
                return [_load(builder, data, _part(builder, own, width, part), lanes) for own in at]

            def put(own, part, value):
                builder.store(value, _at(builder, data, _part(builder, own, width, part), value.type), align=4)

            if at_once == 1:
                w, squares = parts(WEIGHT)[0], parts(SQUARES)[0]
            else:  # w and G of a cell are one look-up
                both, half = parts(WEIGHT, 2 * number), at_once // 2
                a, b = _joined(builder, both[:half]), _joined(builder, both[half:])
                w, squares = (
                    _pick(builder, a, b, [2 * number * k + first + j for k in range(at_once) for j in range(number)])
                    for first in (0, number)
                )
            slope = builder.fmul(_joined(builder, parts(SCALE)), r)
            if more:
                away = w if more == 1 else builder.fsub(w, _joined(builder, parts(CENTER)))
                slope = builder.fadd(slope, builder.fmul(_joined(builder, parts(PULL)), away))
            squares = builder.fadd(squares, builder.fmul(slope, slope))
            below = builder.fadd(builder.call(sqrt, [squares]), ir.Constant(vector, [1e-9] * whole))
            w = builder.fsub(w, builder.fdiv(builder.fmul(eta, slope), below))
            if at_once == 1:
                put(at[0], WEIGHT, w)
                put(at[0], SQUARES, squares)
                return
            for first in (0, half):
                own = [
                    of_which + number * (first + k) + j
                    for k in range(half) for of_which in (0, whole) for j in range(number)
                ]  # fmt: skip
                both = _pick(builder, w, squares, own)
                for k in range(half):
                    put(at[first + k], WEIGHT, _pick(builder, both, both, range(2 * number * k, 2 * number * (k + 1))))

        step = ir.Constant(n.type, _step(number))
        with cgutils.for_range_slice(builder, ir.Constant(n.type, 0), n, step, inc=True) as (index, _):
            for first in range(0, _step(number), at_once):
                mine = range(first, first + at_once)
                for k in mine:
                    lines(index, k)
                moved([place(index, k, of) for k in mine])
        return context.get_dummy_value()

    index = types.intp
    return types.void(table, places, later, index, index, residual, index, types.float32, pulled, lanes), codegen


@kernel
def adagrad(keys, first, y, table, n_classes, eta, lanes, pulled):
    """Visit m rows of classes y (m,), which look up table[first[t] + keys[t, i]] for each tuple t, keys (T, m), in
    their order; return the sum of -log p(y) as each was met.

    `lanes` is a tuple of as many numbers as a vector has; `pulled` of as many as the table has parts beyond the third.
    """
    wide, parts = table.shape[2], table.shape[1]
    number, size, n_tuples, b = len(lanes), parts * wide, len(keys), len(table) - 2
    step = max(4, 16 // number)  # as _step
    n = (n_tuples + step) // step * step
    places = np.full((2, n), (b + 1) * size)
    places[:, n_tuples] = b * size
    z = np.empty(wide, np.float32)
    total = 0.0
    for i in range(-1, len(y)):
        own, later = places[i & 1], places[1 - (i & 1)]
        if i + 1 < len(y):
            for t in range(n_tuples):
                later[t] = (first[t] + np.int64(keys[t, i + 1])) * size
        if i < 0:
            continue
        for q in range(0, wide, number):
            _score(z, q, table, own, n, wide, lanes)
        of_class, top = z[y[i]], z[0]
        for k in range(1, n_classes):
            top = max(top, z[k])
        whole = np.float32(0.0)
        for k in range(n_classes):
            z[k] = np.float32(exp(z[k] - top))
            whole += z[k]
        total += log(whole) + top - of_class
        for k in range(n_classes):
            z[k] /= whole
        for k in range(n_classes, wide):
            z[k] = np.float32(0.0)
        z[y[i]] -= np.float32(1.0)
        for q in range(0, wide, number):
            _move(table, own, later, n, wide, z, q, eta, pulled, lanes)
    return total
