"""Row passes: every row looks up one cell per tuple.

    forward:  z[i, :]          = bias + sum over tuples t of table[cell_t(i), :]
    scatter:  grad[cell_t(i), :] += residual[i, :]
    count:    counts[cell_t(i), y_i] += weight_i

Conventions
    codes     (a, N) uint16 or uint32; a code >= levels[column] is no level: the row gets row `unseen + t` of the table
    columns   (T, n) int32, the columns of each tuple;  strides (T, n) int64;  first (T,) int64, each tuple's first cell
    gaps      (a,) bool, whether a column has such codes at all (spares the test elsewhere)
    table     (cells + T, W) float64, C order, classes contiguous; W is a multiple of len(width) and pads are 0
    width     a tuple of zeros; its length is the number of lanes moved by one vector instruction
A pass works on rows begin..end and tuples t0..t1 only, so that the caller can split it between threads and stop it.
Scores are the same bits however it is split: a row adds its tuples in their order, a cell adds its rows in theirs.
"""

import llvmlite.ir as ir
import numpy as np
from numba.core import types
from numba.extending import intrinsic

from alrviz.kernels import kernel

# Rows looked up together: their scores (64 KiB at 16 lanes) stay in the cache while all tuples are added.
CHUNK = 512


@intrinsic
def add_lanes(typingctx, target, at, source, start, width):
    """target.flat[at : at + L] += source.flat[start : start + L], L = len(width), as one vector load, add and store.

    Numba leaves LLVM's SLP vectoriser off, so that the same loop written out stays scalar (2.3 against 1.2 ns at L =
    8).
    """
    lanes = len(width)
    signature = types.void(target, at, source, start, width)

    def codegen(context, builder, sig, args):
        vector = ir.VectorType(ir.DoubleType(), lanes)

        def pointer(position):
            data = context.make_array(sig.args[position])(context, builder, value=args[position]).data
            offset = context.cast(builder, args[position + 1], sig.args[position + 1], types.intp)
            return builder.bitcast(builder.gep(data, [offset]), vector.as_pointer())

        to, of = pointer(0), pointer(2)
        builder.store(builder.fadd(builder.load(to, align=8), builder.load(of, align=8)), to, align=8)
        return context.get_dummy_value()

    return signature, codegen


@kernel
def _locate(codes, columns, strides, levels, gaps, first, unseen, t, start, cell, astray):
    """Write the cell of tuple t for the rows from `start` on into `cell` (int32, one per row)."""
    m = len(cell)
    any_gap = False
    for r in range(m):
        cell[r] = first[t]
    for j in range(columns.shape[1]):
        column = columns[t, j]
        stride = np.int32(strides[t, j])
        code = codes[column, start : start + m]
        for r in range(m):
            cell[r] += np.int32(code[r]) * stride
        if gaps[column]:
            if not any_gap:
                astray[:m] = False
            any_gap = True
            top = np.int32(levels[column])
            for r in range(m):
                astray[r] |= np.int32(code[r]) >= top
    if any_gap:
        home = np.int32(unseen + t)
        for r in range(m):
            if astray[r]:
                cell[r] = home


@kernel
def forward(codes, columns, strides, levels, gaps, first, unseen, table, bias, z, begin, end, t0, t1, width):
    """Scores of rows begin..end; the bias is written before tuple 0, so ranges of tuples must be added in order."""
    lanes = len(width)
    classes = table.shape[1]
    cell = np.empty(CHUNK, np.int32)
    astray = np.empty(CHUNK, np.bool_)
    for start in range(begin, end, CHUNK):
        m = min(CHUNK, end - start)
        if t0 == 0:
            for i in range(start, start + m):
                for k in range(classes):
                    z[i, k] = bias[k]
        for t in range(t0, t1):
            _locate(codes, columns, strides, levels, gaps, first, unseen, t, start, cell[:m], astray)
            for q in range(0, classes, lanes):
                for r in range(m):
                    add_lanes(z, (start + r) * classes + q, table, np.int64(cell[r]) * classes + q, width)


@kernel
def scatter(codes, columns, strides, levels, gaps, first, unseen, residual, grad, begin, end, t0, t1, width):
    """Add the residuals of rows begin..end to the cells of tuples t0..t1; ranges of rows must be added in order."""
    lanes = len(width)
    classes = grad.shape[1]
    cell = np.empty(CHUNK, np.int32)
    astray = np.empty(CHUNK, np.bool_)
    for start in range(begin, end, CHUNK):
        m = min(CHUNK, end - start)
        for t in range(t0, t1):
            _locate(codes, columns, strides, levels, gaps, first, unseen, t, start, cell[:m], astray)
            for q in range(0, classes, lanes):
                for r in range(m):
                    add_lanes(grad, np.int64(cell[r]) * classes + q, residual, (start + r) * classes + q, width)


@kernel
def count(codes, columns, strides, levels, gaps, first, unseen, y, weights, counts, begin, end, t0, t1):
    """Add the row weights to counts[cell, class] (cells + T, C)."""
    cell = np.empty(CHUNK, np.int32)
    astray = np.empty(CHUNK, np.bool_)
    for start in range(begin, end, CHUNK):
        m = min(CHUNK, end - start)
        for t in range(t0, t1):
            _locate(codes, columns, strides, levels, gaps, first, unseen, t, start, cell[:m], astray)
            for r in range(m):
                counts[cell[r], y[start + r]] += weights[start + r]
