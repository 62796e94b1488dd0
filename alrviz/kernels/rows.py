"""Row passes over super-tables: every row looks up one joint value per block.

    expand:       table[first_b + j, :]  = sum over the block's tuples t of cells[link[j, t], :]
    forward:      z[i, :]                = bias + sum over blocks b of table[first_b + key_b(i), :]
    scatter:      grad[first_b + j, :]   = sum of residual[i, :] over the rows with key_b(i) = j
    scatter_to_cells:  cells[link[j, t], :]  += grad[first_b + j, :]

Conventions
    keys      (B, N) uint16 or uint32, the joint value of each row in each block;  first (B + 1,) int64, where a block's
              rows begin in the stacked table
    links     int32, block after block, (joint values x tuples) each;  at (B + 1,) int64, where a block's links begin
    cells     (cells, W), table (joint values, W) float64, C order, classes contiguous; W is a multiple of len(width)
              and pads are 0
    width     a tuple of zeros; its length is the number of lanes moved by one vector instruction
A pass works on a range of rows, blocks, joint values or tuples only, so that the caller can split it between threads
and stop it. The bits are the same however it is split: a row adds its blocks in their order, a joint value its tuples,
a joint value adds its rows in theirs, a cell its joint values.
"""

import llvmlite.ir as ir
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

from alrviz.kernels import kernel

# Rows looked up together: their scores (32 KiB at 8 lanes) stay in the cache while all blocks are added.
CHUNK = 512
# Blocks taken together: a row of scores, or of residuals, is loaded once for all of them.
GROUP = 4
# Links taken together: half a cache line of them; then of those left 4, 2 and 1. (One by one each waits for the sum
# before it to be stored and loaded again, 3.5 ns a link.)
LINKED = 8
_MANY, _FOUR, _TWO, _ONE = (0,) * LINKED, (0,) * 4, (0,) * 2, (0,)


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


def _linked(context, builder, sig, args, source, lanes, many):
    """Pointers to the rows of array `source` that `many` links from args[2] on name (see `add_linked`)."""
    links = context.make_array(sig.args[1])(context, builder, value=args[1]).data
    word = ir.IntType(64)
    pointers = []
    for i in range(many):
        place = builder.add(args[2], ir.Constant(word, i))
        row = builder.sext(builder.load(builder.gep(links, [place])), word)
        offset = builder.add(builder.mul(row, args[3]), args[4])
        pointers.append(_lane_pointer(context, builder, sig.args[source], args[source], offset, lanes))
    return pointers


@intrinsic
def add_linked(typingctx, target, links, link, classes, q, at, source, count, width):
    """target.flat[at : at + L] += the sum of source[links[link + i], q : q + L] for i < len(count).

    The links are read by pointer, for numba tests every index for being negative, and summed as a tree: a chain of
    additions to one row waits for each (2.5 ns a link with both, 0.8 with neither).
    """
    lanes = len(width)

    def codegen(context, builder, sig, args):
        rows = [builder.load(p, align=8) for p in _linked(context, builder, sig, args, 6, lanes, len(count))]
        while len(rows) > 1:
            rows = [builder.fadd(*rows[i : i + 2]) if i + 1 < len(rows) else rows[i] for i in range(0, len(rows), 2)]
        to = _lane_pointer(context, builder, sig.args[0], args[0], args[5], lanes)
        builder.store(builder.fadd(builder.load(to, align=8), rows[0]), to, align=8)
        return context.get_dummy_value()

    index = types.intp
    return types.void(target, links, index, index, index, index, source, count, width), codegen


@intrinsic
def add_to_linked(typingctx, target, links, link, classes, q, start, source, count, width):
    """target[links[link + i], q : q + L] += source.flat[start : start + L] for i < len(count), one after another."""
    lanes = len(width)

    def codegen(context, builder, sig, args):
        row = builder.load(_lane_pointer(context, builder, sig.args[6], args[6], args[5], lanes), align=8)
        for to in _linked(context, builder, sig, args, 0, lanes, len(count)):
            builder.store(builder.fadd(builder.load(to, align=8), row), to, align=8)
        return context.get_dummy_value()

    index = types.intp
    return types.void(target, links, index, index, index, index, source, count, width), codegen


@kernel
def forward(keys, first, table, bias, z, begin, end, b0, b1, width):
    """Scores of rows begin..end; the bias is written before block 0, so ranges of blocks must be added in order."""
    lanes = len(width)
    classes = table.shape[1]
    for start in range(begin, end, CHUNK):
        m = min(CHUNK, end - start)
        if b0 == 0:
            for i in range(start, start + m):
                for k in range(classes):
                    z[i, k] = bias[k]
        for q in range(0, classes, lanes):
            at = start * classes + q
            b = b0
            while b + GROUP <= b1:
                k0, k1 = keys[b, start : start + m], keys[b + 1, start : start + m]
                k2, k3 = keys[b + 2, start : start + m], keys[b + 3, start : start + m]
                f0, f1 = first[b] * classes + q, first[b + 1] * classes + q
                f2, f3 = first[b + 2] * classes + q, first[b + 3] * classes + q
                for r in range(m):
                    starts = (
                        f0 + np.int64(k0[r]) * classes, f1 + np.int64(k1[r]) * classes,
                        f2 + np.int64(k2[r]) * classes, f3 + np.int64(k3[r]) * classes,
                    )  # fmt: skip
                    add_from(z, at + r * classes, table, starts, width)
                b += GROUP
            while b < b1:
                k0, f0 = keys[b, start : start + m], first[b] * classes + q
                for r in range(m):
                    add_from(z, at + r * classes, table, (f0 + np.int64(k0[r]) * classes,), width)
                b += 1


@kernel
def scatter(keys, first, residual, grad, begin, end, b0, b1, fresh, width):
    """Add the residuals of rows begin..end by joint value, in blocks b0..b1, to sums that begin at 0 if `fresh`."""
    lanes = len(width)
    classes = grad.shape[1]
    if fresh:
        for j in range(first[b0], first[b1]):
            for k in range(classes):
                grad[j, k] = 0.0
    for start in range(begin, end, CHUNK):
        m = min(CHUNK, end - start)
        for q in range(0, classes, lanes):
            at = start * classes + q
            b = b0
            while b + GROUP <= b1:
                k0, k1 = keys[b, start : start + m], keys[b + 1, start : start + m]
                k2, k3 = keys[b + 2, start : start + m], keys[b + 3, start : start + m]
                f0, f1 = first[b] * classes + q, first[b + 1] * classes + q
                f2, f3 = first[b + 2] * classes + q, first[b + 3] * classes + q
                for r in range(m):
                    ats = (
                        f0 + np.int64(k0[r]) * classes, f1 + np.int64(k1[r]) * classes,
                        f2 + np.int64(k2[r]) * classes, f3 + np.int64(k3[r]) * classes,
                    )  # fmt: skip
                    add_to(grad, ats, residual, at + r * classes, width)
                b += GROUP
            while b < b1:
                k0, f0 = keys[b, start : start + m], first[b] * classes + q
                for r in range(m):
                    add_to(grad, (f0 + np.int64(k0[r]) * classes,), residual, at + r * classes, width)
                b += 1


@kernel
def count(keys, first, y, weights, counts, begin, end, b0, b1):
    """Add the row weights to counts[joint value, class] of blocks b0..b1."""
    for b in range(b0, b1):
        for i in range(begin, end):
            counts[first[b] + np.int64(keys[b, i]), y[i]] += weights[i]


@kernel
def expand(links, at, first, cells, table, block, begin, end, width):
    """Write rows begin..end of the stacked table, the first of them in `block`."""
    lanes = len(width)
    classes = table.shape[1]
    b = block
    for row in range(begin, end):
        while row >= first[b + 1]:
            b += 1
        tuples = (at[b + 1] - at[b]) // (first[b + 1] - first[b])
        link = at[b] + (row - first[b]) * tuples
        for q in range(0, classes, lanes):
            to = row * classes + q
            for k in range(lanes):
                table[row, q + k] = 0.0
            t = 0
            while t + LINKED <= tuples:
                add_linked(table, links, link + t, classes, q, to, cells, _MANY, width)
                t += LINKED
            if t + 4 <= tuples:
                add_linked(table, links, link + t, classes, q, to, cells, _FOUR, width)
                t += 4
            if t + 2 <= tuples:
                add_linked(table, links, link + t, classes, q, to, cells, _TWO, width)
                t += 2
            if t < tuples:
                add_linked(table, links, link + t, classes, q, to, cells, _ONE, width)


@kernel
def scatter_to_cells(links, at, first, grad, cells, spans, begin, end, width):
    """Add the blocks' joint values to the cells of tuples; `spans` (U, 3) are a block and a range of its tuples each,
    of which begin..end are taken.
    """
    lanes = len(width)
    classes = grad.shape[1]
    for u in range(begin, end):
        b, t0, t1 = spans[u, 0], spans[u, 1], spans[u, 2]
        tuples = (at[b + 1] - at[b]) // max(1, first[b + 1] - first[b])
        link = at[b]
        for row in range(first[b], first[b + 1]):
            for q in range(0, classes, lanes):
                start = row * classes + q
                t = t0
                while t + LINKED <= t1:
                    add_to_linked(cells, links, link + t, classes, q, start, grad, _MANY, width)
                    t += LINKED
                if t + 4 <= t1:
                    add_to_linked(cells, links, link + t, classes, q, start, grad, _FOUR, width)
                    t += 4
                if t + 2 <= t1:
                    add_to_linked(cells, links, link + t, classes, q, start, grad, _TWO, width)
                    t += 2
                if t < t1:
                    add_to_linked(cells, links, link + t, classes, q, start, grad, _ONE, width)
            link += tuples
