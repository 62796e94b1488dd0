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
from numba.core import cgutils, types
from numba.extending import intrinsic

from alrviz.kernels import kernel

# Rows looked up together: their scores (64 KiB at 16 lanes) stay in the cache while all tuples are added.
CHUNK = 512
# Tuples taken together: a row of scores, or of residuals, is loaded once for all of them.
GROUP = 4


def _lane_pointer(context, builder, array_type, array, offset, lanes):
    """Pointer to `lanes` numbers of a float64 array, `offset` numbers from its start."""
    data = context.make_array(array_type)(context, builder, value=array).data
    vector = ir.VectorType(ir.DoubleType(), lanes)
    return builder.bitcast(builder.gep(data, [offset]), vector.as_pointer())


@intrinsic
def add_from(typingctx, target, at, source, starts, width):
    """target.flat[at : at + L] += source.flat[s : s + L] for every s of the tuple `starts` in order, L = len(width).

    One vector load and store of the target for all of them. Numba leaves LLVM's SLP vectoriser off, so that the same
    loop written out stays scalar (2.3 ns a look-up against 1.2 at L = 8).
    """
    lanes = len(width)

    def codegen(context, builder, sig, args):
        to = _lane_pointer(context, builder, sig.args[0], args[0], args[1], lanes)
        total = builder.load(to, align=8)
        for start in cgutils.unpack_tuple(builder, args[3]):
            row = _lane_pointer(context, builder, sig.args[2], args[2], start, lanes)
            total = builder.fadd(total, builder.load(row, align=8))
        builder.store(total, to, align=8)
        return context.get_dummy_value()

    return types.void(target, types.intp, source, types.UniTuple(types.intp, len(starts)), width), codegen


@intrinsic
def add_to(typingctx, target, ats, source, start, width):
    """target.flat[a : a + L] += source.flat[start : start + L] for each a of the tuple `ats`; loads the source once."""
    lanes = len(width)

    def codegen(context, builder, sig, args):
        row = builder.load(_lane_pointer(context, builder, sig.args[2], args[2], args[3], lanes), align=8)
        for at in cgutils.unpack_tuple(builder, args[1]):
            to = _lane_pointer(context, builder, sig.args[0], args[0], at, lanes)
            builder.store(builder.fadd(builder.load(to, align=8), row), to, align=8)
        return context.get_dummy_value()

    return types.void(target, types.UniTuple(types.intp, len(ats)), source, types.intp, width), codegen


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
    cell = np.empty((GROUP, CHUNK), np.int32)
    astray = np.empty(CHUNK, np.bool_)
    for start in range(begin, end, CHUNK):
        m = min(CHUNK, end - start)
        if t0 == 0:
            for i in range(start, start + m):
                for k in range(classes):
                    z[i, k] = bias[k]
        for t in range(t0, t1, GROUP):
            group = min(GROUP, t1 - t)
            for g in range(group):
                _locate(codes, columns, strides, levels, gaps, first, unseen, t + g, start, cell[g, :m], astray)
            for q in range(0, classes, lanes):
                at = start * classes + q
                if group == GROUP:
                    for r in range(m):
                        a, b = cell[0, r] * classes + q, cell[1, r] * classes + q
                        c, d = cell[2, r] * classes + q, cell[3, r] * classes + q
                        add_from(z, at + r * classes, table, (a, b, c, d), width)
                else:
                    for g in range(group):
                        for r in range(m):
                            add_from(z, at + r * classes, table, (cell[g, r] * classes + q,), width)


@kernel
def scatter(codes, columns, strides, levels, gaps, first, unseen, residual, grad, begin, end, t0, t1, width):
    """Add the residuals of rows begin..end to the cells of tuples t0..t1; ranges of rows must be added in order."""
    lanes = len(width)
    classes = grad.shape[1]
    cell = np.empty((GROUP, CHUNK), np.int32)
    astray = np.empty(CHUNK, np.bool_)
    for start in range(begin, end, CHUNK):
        m = min(CHUNK, end - start)
        for t in range(t0, t1, GROUP):
            group = min(GROUP, t1 - t)
            for g in range(group):
                _locate(codes, columns, strides, levels, gaps, first, unseen, t + g, start, cell[g, :m], astray)
            for q in range(0, classes, lanes):
                at = start * classes + q
                if group == GROUP:
                    for r in range(m):
                        a, b = cell[0, r] * classes + q, cell[1, r] * classes + q
                        c, d = cell[2, r] * classes + q, cell[3, r] * classes + q
                        add_to(grad, (a, b, c, d), residual, at + r * classes, width)
                else:
                    for g in range(group):
                        for r in range(m):
                            add_to(grad, (cell[g, r] * classes + q,), residual, at + r * classes, width)


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
