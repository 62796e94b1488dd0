"""AdaGrad over rows that come one after another, in single precision.

    z     = sum over the row's cells c of scale_c * w_c                         vectors of W classes
    r     = softmax(z) - 1[y]
    g_c   = scale_c * r + pull_c * (w_c - center_c)
    G_c  += g_c^2;      w_c -= eta * g_c / (1e-9 + sqrt(G_c))

Conventions
    table    (cells + 2, parts, W) float32, the parts of a cell side by side so that one look-up loads them all:
             scale, w, G; with a penalty also pull, and center unless it is 0
    pull     2 alpha q / (rows of a pass that visit the cell), so that a pass applies the whole penalty
    W        padded number of classes, a multiple of len(lanes); pads have scale 0
    lanes    a tuple whose length is the number of classes moved by one vector instruction
    the last row but one of the table belongs to the intercept b, which every row has; the last row stays 0, and fills
    a row's cells up to whole vectors

The cells of a row differ, so no cell is updated twice by one row, and as many cells as fill a vector of 16 floats are
moved by one instruction. Plain loops give the same bits in 2.5 (W = 2) to 6 times the time (W = 8, 16), measured with
12,000 and 120,000 cells. Memory limits a pass, not arithmetic: nearly every cell is in a cache line of its own, beyond
the first cache levels. Therefore the next row's cells are prefetched while a row's cells are moved.
"""

from math import exp, log

import llvmlite.ir as ir
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

from alrviz.kernels import kernel

SCALE, WEIGHT, SQUARES, PULL, CENTER = range(5)
_VECTOR_FLOATS = 16  # single-precision numbers in the widest vectors
_N_SUMS = 4  # independent sums of scores: an addition to one sum would wait for the one before it
_I32 = ir.IntType(32)


def _cells_per_turn(n_lanes):
    """Return how many cells one turn of the loop over a row's cells handles."""
    return max(_N_SUMS, _VECTOR_FLOATS // n_lanes)


def _vector_type(n_lanes):
    return ir.VectorType(ir.FloatType(), n_lanes)


def _data(context, builder, array_type, array):
    return context.make_array(array_type)(context, builder, value=array).data


def _pointer(builder, data, offset, target_type):
    return builder.bitcast(builder.gep(data, [offset]), target_type.as_pointer())


def _load(builder, data, offset, n_lanes):
    return builder.load(_pointer(builder, data, offset, _vector_type(n_lanes)), align=4)


def _part_offset(builder, cell_offset, width, part):
    return builder.add(cell_offset, builder.mul(width, ir.Constant(width.type, part)))


def _shuffle(builder, a, b, positions):
    """Return one vector of the numbers at `positions`, counted through a and then b."""
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_I32, len(positions)), list(positions)))


def _concatenate(builder, vectors):
    """Return vectors of equal length as one; their number is a power of two."""
    while len(vectors) > 1:
        positions = range(2 * vectors[0].type.count)
        vectors = [_shuffle(builder, a, b, positions) for a, b in zip(vectors[::2], vectors[1::2], strict=True)]
    return vectors[0]


@intrinsic
def _score(typingctx, z, q, table, offsets, n, width, lanes):
    """z[q : q + L] = sum of scale * w of the cells whose scales begin at table.flat[offsets[:n]].

    L = len(lanes), width is W, n a multiple of `_cells_per_turn`.
    """
    n_lanes = len(lanes)

    def codegen(context, builder, sig, args):
        data, cell_offsets = (_data(context, builder, sig.args[k], args[k]) for k in (2, 3))
        q, n, width = args[1], args[4], args[5]
        zeros = ir.Constant(_vector_type(n_lanes), [0.0] * n_lanes)
        sums = [cgutils.alloca_once_value(builder, zeros) for _ in range(_N_SUMS)]
        cells_per_turn = ir.Constant(n.type, _cells_per_turn(n_lanes))
        with cgutils.for_range_slice(builder, ir.Constant(n.type, 0), n, cells_per_turn, inc=True) as (index, _):
            for k in range(_cells_per_turn(n_lanes)):
                offset_pointer = builder.gep(cell_offsets, [builder.add(index, ir.Constant(n.type, k))])
                offset = builder.add(builder.load(offset_pointer), q)
                scale, w = (
                    _load(builder, data, _part_offset(builder, offset, width, part), n_lanes)
                    for part in (SCALE, WEIGHT)
                )
                partial_sum = sums[k % _N_SUMS]
                builder.store(builder.fadd(builder.load(partial_sum), builder.fmul(scale, w)), partial_sum)
        a, b, c, d = (builder.load(partial_sum) for partial_sum in sums)
        vector_sum = builder.fadd(builder.fadd(a, b), builder.fadd(c, d))
        target = _pointer(builder, _data(context, builder, sig.args[0], args[0]), q, vector_sum.type)
        builder.store(vector_sum, target, align=4)
        return context.get_dummy_value()

    return types.void(z, types.intp, table, offsets, types.intp, types.intp, lanes), codegen


@intrinsic
def _move(typingctx, table, offsets, next_offsets, n, width, residual, q, eta, penalty_parts, lanes):
    """Move w and G of the cells whose scales begin at table.flat[offsets[:n]] against their slopes.

    residual.flat[q : q + L] are the residuals r of the classes that are moved, eta the step length. Prefetches the
    cells at `next_offsets`, those of the next row. len(penalty_parts): 0 without a penalty, 1 with pull, 2 with pull
    and center; the other arguments as in `_score`.
    """
    n_lanes, n_penalty_parts = len(lanes), len(penalty_parts)
    cells_at_once = max(1, _VECTOR_FLOATS // n_lanes)
    n_floats = cells_at_once * n_lanes

    def codegen(context, builder, sig, args):
        data, cell_offsets, prefetch_offsets, residuals = (
            _data(context, builder, sig.args[k], args[k]) for k in (0, 1, 2, 5)
        )
        n, width, q = args[3], args[4], args[6]
        vector, byte = _vector_type(n_floats), ir.IntType(8).as_pointer()
        sqrt = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector]), f"llvm.sqrt.v{n_floats}f32"
        )
        prefetch = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [byte, _I32, _I32, _I32]), "llvm.prefetch.p0"
        )
        r = _concatenate(builder, [_load(builder, residuals, q, n_lanes)] * cells_at_once)
        first_lane = builder.insert_element(ir.Constant(vector, ir.Undefined), args[7], _I32(0))
        eta = _shuffle(builder, first_lane, first_lane, [0] * n_floats)

        def cell_offset(index, k, array):
            return builder.add(builder.load(builder.gep(array, [builder.add(index, ir.Constant(n.type, k))])), q)

        def prefetch_cell(index, k):
            """Fetch the cache lines of a cell of the next row: for writing, to all levels, into the data cache."""
            offset = cell_offset(index, k, prefetch_offsets)
            for part in range(0, 3 + n_penalty_parts, max(1, _VECTOR_FLOATS // n_lanes)):
                address = _pointer(builder, data, _part_offset(builder, offset, width, part), byte.pointee)
                builder.call(prefetch, [address, _I32(1), _I32(3), _I32(1)])

        def move_cells(offsets):
            """Move cells that together fill a vector."""

            def load_part(part, n_numbers=n_lanes):
                return [
                    _load(builder, data, _part_offset(builder, offset, width, part), n_numbers) for offset in offsets
                ]

            def store_part(offset, part, value):
                target = _pointer(builder, data, _part_offset(builder, offset, width, part), value.type)
                builder.store(value, target, align=4)

            if cells_at_once == 1:
                w, squares = load_part(WEIGHT)[0], load_part(SQUARES)[0]
            else:  # w and G of a cell are neighbours: one load for both
                pairs, half = load_part(WEIGHT, 2 * n_lanes), cells_at_once // 2
                a, b = _concatenate(builder, pairs[:half]), _concatenate(builder, pairs[half:])
                w, squares = (
                    _shuffle(
                        builder,
                        a,
                        b,
                        [2 * n_lanes * k + first + j for k in range(cells_at_once) for j in range(n_lanes)],
                    )
                    for first in (0, n_lanes)
                )
            slope = builder.fmul(_concatenate(builder, load_part(SCALE)), r)
            if n_penalty_parts:
                distance = w if n_penalty_parts == 1 else builder.fsub(w, _concatenate(builder, load_part(CENTER)))
                slope = builder.fadd(slope, builder.fmul(_concatenate(builder, load_part(PULL)), distance))
            squares = builder.fadd(squares, builder.fmul(slope, slope))
            divisor = builder.fadd(builder.call(sqrt, [squares]), ir.Constant(vector, [1e-9] * n_floats))
            w = builder.fsub(w, builder.fdiv(builder.fmul(eta, slope), divisor))
            if cells_at_once == 1:
                store_part(offsets[0], WEIGHT, w)
                store_part(offsets[0], SQUARES, squares)
                return
            for first in (0, half):
                positions = [
                    vector_start + n_lanes * (first + k) + j
                    for k in range(half) for vector_start in (0, n_floats) for j in range(n_lanes)
                ]  # fmt: skip
                pairs = _shuffle(builder, w, squares, positions)
                for k in range(half):
                    pair = _shuffle(builder, pairs, pairs, range(2 * n_lanes * k, 2 * n_lanes * (k + 1)))
                    store_part(offsets[first + k], WEIGHT, pair)

        cells_per_turn = ir.Constant(n.type, _cells_per_turn(n_lanes))
        with cgutils.for_range_slice(builder, ir.Constant(n.type, 0), n, cells_per_turn, inc=True) as (index, _):
            for first in range(0, _cells_per_turn(n_lanes), cells_at_once):
                group = range(first, first + cells_at_once)
                for k in group:
                    prefetch_cell(index, k)
                move_cells([cell_offset(index, k, cell_offsets) for k in group])
        return context.get_dummy_value()

    index = types.intp
    signature = types.void(
        table, offsets, next_offsets, index, index, residual, index, types.float32, penalty_parts, lanes
    )
    return signature, codegen


@kernel
def adagrad(keys, first, y, table, n_classes, eta, lanes, penalty_parts):
    """Visit m rows in their order and move the table; return the sum of -log p(y), each before its row's step.

    Args:
        keys, first: (T, m) and (T + 1,); row i visits table[first[t] + keys[t, i]] of each tuple t.
        y: (m,) classes of the rows.
        table: (cells + 2, parts, W) float32, see the module.
        n_classes, eta: C, and the step length.
        lanes: tuple with the length of a vector.
        penalty_parts: tuple with as many items as the table has parts beyond G.
    """
    padded_width, parts = table.shape[2], table.shape[1]
    n_lanes, cell_floats, n_tuples, b = len(lanes), parts * padded_width, len(keys), len(table) - 2
    cells_per_turn = max(4, 16 // n_lanes)  # _cells_per_turn, which is no kernel
    n = (n_tuples + cells_per_turn) // cells_per_turn * cells_per_turn
    offsets = np.full((2, n), (b + 1) * cell_floats)
    offsets[:, n_tuples] = b * cell_floats
    z = np.empty(padded_width, np.float32)
    loss_sum = 0.0
    for i in range(-1, len(y)):
        row_offsets, next_offsets = offsets[i & 1], offsets[1 - (i & 1)]
        if i + 1 < len(y):
            for t in range(n_tuples):
                next_offsets[t] = (first[t] + np.int64(keys[t, i + 1])) * cell_floats
        if i < 0:
            continue
        for q in range(0, padded_width, n_lanes):
            _score(z, q, table, row_offsets, n, padded_width, lanes)
        label_score, largest_score = z[y[i]], z[0]
        for k in range(1, n_classes):
            largest_score = max(largest_score, z[k])
        exp_sum = np.float32(0.0)
        for k in range(n_classes):
            z[k] = np.float32(exp(z[k] - largest_score))
            exp_sum += z[k]
        loss_sum += log(exp_sum) + largest_score - label_score
        for k in range(n_classes):
            z[k] /= exp_sum
        for k in range(n_classes, padded_width):
            z[k] = np.float32(0.0)
        z[y[i]] -= np.float32(1.0)
        for q in range(0, padded_width, n_lanes):
            _move(table, row_offsets, next_offsets, n, padded_width, z, q, eta, penalty_parts, lanes)
    return loss_sum
