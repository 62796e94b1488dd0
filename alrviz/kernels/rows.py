"""Row passes over stacked tables of joint values: every row looks up one joint value per block.

    expand:            table[first_b + j, :]  = sum over the block's tuples t of cells[link[j, t], :]
    forward:           z[i, :]                = bias + sum over blocks b of table[first_b + key_b(i), :]
    scatter:           grad[first_b + j, :]   = sum of residual[i, :] over the rows with key_b(i) = j
    scatter_to_cells:  cells[link[j, t], :]  += grad[first_b + j, :]

Conventions
    keys         (B, N) uint16 or uint32, the joint value of each row in each block
    first        (B + 1,) int64, where a block's rows begin in the stacked table
    links        int32, (joint values x tuples) of block after block;  first_link (B + 1,) int64, where a block's begin
    cells, table (cells, W) and (joint values, W) float64, C order, classes contiguous; W is a multiple of len(lanes),
                 pads are 0
    lanes        a tuple whose length is the number of classes moved by one vector instruction

A kernel works on a range of rows, blocks, joint values or tuples, so that the caller can split a pass between threads
and stop it. The bits do not depend on the split: a row adds its blocks in order, a joint value its tuples or its rows,
and a cell its joint values.
"""

import llvmlite.ir as ir
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

from alrviz.kernels import kernel

# Rows scored together: their scores (32 KiB at 8 lanes) stay in the cache while all blocks are added.
CHUNK_ROWS = 512
# Blocks added together: a row of scores, or of residuals, is loaded once for all of them.
GROUP_BLOCKS = 4
# Links added together: half a cache line of them, then 4, 2 and 1 of the rest. One by one, each link would wait until
# the sum before it is stored and loaded again (3.5 ns a link).
GROUP_LINKS = 8
_EIGHT, _FOUR, _TWO, _ONE = (0,) * GROUP_LINKS, (0,) * 4, (0,) * 2, (0,)


def _lane_pointer(context, builder, array_type, array, offset, n_lanes):
    """Return a pointer to n_lanes numbers of a float64 array, `offset` numbers from its start."""
    data = context.make_array(array_type)(context, builder, value=array).data
    vector = ir.VectorType(ir.DoubleType(), n_lanes)
    return builder.bitcast(builder.gep(data, [offset]), vector.as_pointer())


@intrinsic
def add_from(typingctx, target, position, source, starts, lanes):
    """Add L = len(lanes) numbers from each place s of the tuple `starts`, in order, to target.flat[position : position
    + L].

    They are source.flat[s : s + L]. The target is loaded and stored once. Written out as a loop this stays scalar,
    because numba switches LLVM's SLP vectoriser off (2.3 ns a look-up against 1.2 at L = 8).
    """
    n_lanes = len(lanes)

    def codegen(context, builder, sig, args):
        target_pointer = _lane_pointer(context, builder, sig.args[0], args[0], args[1], n_lanes)
        total = builder.load(target_pointer, align=8)
        for start in cgutils.unpack_tuple(builder, args[3]):
            row = _lane_pointer(context, builder, sig.args[2], args[2], start, n_lanes)
            total = builder.fadd(total, builder.load(row, align=8))
        builder.store(total, target_pointer, align=8)
        return context.get_dummy_value()

    return types.void(target, types.intp, source, types.UniTuple(types.intp, len(starts)), lanes), codegen


@intrinsic
def add_to(typingctx, target, positions, source, start, lanes):
    """target.flat[p : p + L] += source.flat[start : start + L] for each p of the tuple `positions`; loads source
    once.
    """
    n_lanes = len(lanes)

    def codegen(context, builder, sig, args):
        row = builder.load(_lane_pointer(context, builder, sig.args[2], args[2], args[3], n_lanes), align=8)
        for position in cgutils.unpack_tuple(builder, args[1]):
            target_pointer = _lane_pointer(context, builder, sig.args[0], args[0], position, n_lanes)
            builder.store(builder.fadd(builder.load(target_pointer, align=8), row), target_pointer, align=8)
        return context.get_dummy_value()

    return types.void(target, types.UniTuple(types.intp, len(positions)), source, types.intp, lanes), codegen


def _linked_pointers(context, builder, sig, args, array_argument, n_lanes, n_links):
    """Return pointers to the rows that args[2], args[2] + 1, ... (n_links of them) of the links name; see `add_linked`.

    array_argument: place in `args` of the array that the rows are in; n_lanes: numbers moved from each row.
    """
    links = context.make_array(sig.args[1])(context, builder, value=args[1]).data
    int64 = ir.IntType(64)
    pointers = []
    for i in range(n_links):
        position = builder.add(args[2], ir.Constant(int64, i))
        row = builder.sext(builder.load(builder.gep(links, [position])), int64)
        offset = builder.add(builder.mul(row, args[3]), args[4])
        pointers.append(
            _lane_pointer(context, builder, sig.args[array_argument], args[array_argument], offset, n_lanes)
        )
    return pointers


@intrinsic
def add_linked(typingctx, target, links, link, classes, q, position, source, count, lanes):
    """Add the sum of source[links[link + i], q : q + L], i < len(count), to target.flat[position : position + L].

    L = len(lanes). Links are read by pointer, as numba tests every index for being negative. They are summed as a tree,
    as a chain of additions to one row waits for each (2.5 ns a link with test and chain, 0.8 without).
    """
    n_lanes = len(lanes)

    def codegen(context, builder, sig, args):
        rows = [builder.load(p, align=8) for p in _linked_pointers(context, builder, sig, args, 6, n_lanes, len(count))]
        while len(rows) > 1:
            rows = [builder.fadd(*rows[i : i + 2]) if i + 1 < len(rows) else rows[i] for i in range(0, len(rows), 2)]
        target_pointer = _lane_pointer(context, builder, sig.args[0], args[0], args[5], n_lanes)
        builder.store(builder.fadd(builder.load(target_pointer, align=8), rows[0]), target_pointer, align=8)
        return context.get_dummy_value()

    index = types.intp
    return types.void(target, links, index, index, index, index, source, count, lanes), codegen


@intrinsic
def add_to_linked(typingctx, target, links, link, classes, q, start, source, count, lanes):
    """target[links[link + i], q : q + L] += source.flat[start : start + L] for i < len(count), one after another."""
    n_lanes = len(lanes)

    def codegen(context, builder, sig, args):
        row = builder.load(_lane_pointer(context, builder, sig.args[6], args[6], args[5], n_lanes), align=8)
        for target_pointer in _linked_pointers(context, builder, sig, args, 0, n_lanes, len(count)):
            builder.store(builder.fadd(builder.load(target_pointer, align=8), row), target_pointer, align=8)
        return context.get_dummy_value()

    index = types.intp
    return types.void(target, links, index, index, index, index, source, count, lanes), codegen


@kernel
def forward(keys, first, table, bias, z, begin, end, b0, b1, lanes):
    """Add blocks b0..b1 to the scores z (N, W) of rows begin..end; block 0 writes the bias (W,) first.

    `table` (joint values, W); keys, first and lanes as in the module.
    """
    n_lanes = len(lanes)
    padded_width = table.shape[1]
    for chunk_start in range(begin, end, CHUNK_ROWS):
        m = min(CHUNK_ROWS, end - chunk_start)
        if b0 == 0:
            for i in range(chunk_start, chunk_start + m):
                for k in range(padded_width):
                    z[i, k] = bias[k]
        for q in range(0, padded_width, n_lanes):
            flat_start = chunk_start * padded_width + q
            b = b0
            while b + GROUP_BLOCKS <= b1:
                k0, k1 = keys[b, chunk_start : chunk_start + m], keys[b + 1, chunk_start : chunk_start + m]
                k2, k3 = keys[b + 2, chunk_start : chunk_start + m], keys[b + 3, chunk_start : chunk_start + m]
                f0, f1 = first[b] * padded_width + q, first[b + 1] * padded_width + q
                f2, f3 = first[b + 2] * padded_width + q, first[b + 3] * padded_width + q
                for r in range(m):
                    starts = (
                        f0 + np.int64(k0[r]) * padded_width, f1 + np.int64(k1[r]) * padded_width,
                        f2 + np.int64(k2[r]) * padded_width, f3 + np.int64(k3[r]) * padded_width,
                    )  # fmt: skip
                    add_from(z, flat_start + r * padded_width, table, starts, lanes)
                b += GROUP_BLOCKS
            while b < b1:
                k0, f0 = keys[b, chunk_start : chunk_start + m], first[b] * padded_width + q
                for r in range(m):
                    add_from(z, flat_start + r * padded_width, table, (f0 + np.int64(k0[r]) * padded_width,), lanes)
                b += 1


@kernel
def scatter(keys, first, residual, grad, begin, end, b0, b1, from_zero, lanes):
    """Add the residuals (N, W) of rows begin..end by joint value to grad (joint values, W), for blocks b0..b1.

    keys, first and lanes as in the module; the sums of these blocks are set to 0 before if `from_zero`.
    """
    n_lanes = len(lanes)
    padded_width = grad.shape[1]
    if from_zero:
        for j in range(first[b0], first[b1]):
            for k in range(padded_width):
                grad[j, k] = 0.0
    for chunk_start in range(begin, end, CHUNK_ROWS):
        m = min(CHUNK_ROWS, end - chunk_start)
        for q in range(0, padded_width, n_lanes):
            flat_start = chunk_start * padded_width + q
            b = b0
            while b + GROUP_BLOCKS <= b1:
                k0, k1 = keys[b, chunk_start : chunk_start + m], keys[b + 1, chunk_start : chunk_start + m]
                k2, k3 = keys[b + 2, chunk_start : chunk_start + m], keys[b + 3, chunk_start : chunk_start + m]
                f0, f1 = first[b] * padded_width + q, first[b + 1] * padded_width + q
                f2, f3 = first[b + 2] * padded_width + q, first[b + 3] * padded_width + q
                for r in range(m):
                    positions = (
                        f0 + np.int64(k0[r]) * padded_width, f1 + np.int64(k1[r]) * padded_width,
                        f2 + np.int64(k2[r]) * padded_width, f3 + np.int64(k3[r]) * padded_width,
                    )  # fmt: skip
                    add_to(grad, positions, residual, flat_start + r * padded_width, lanes)
                b += GROUP_BLOCKS
            while b < b1:
                k0, f0 = keys[b, chunk_start : chunk_start + m], first[b] * padded_width + q
                for r in range(m):
                    add_to(grad, (f0 + np.int64(k0[r]) * padded_width,), residual, flat_start + r * padded_width, lanes)
                b += 1


@kernel
def count(keys, first, y, weights, counts, begin, end, b0, b1):
    """For each block b of b0..b1 and row i of begin..end, add weights[i] to counts[first[b] + keys[b, i], y[i]].

    keys (B, N): joint value of each row in each block. first (B + 1,): where a block begins in counts. y (N,): classes.
    """
    for b in range(b0, b1):
        for i in range(begin, end):
            counts[first[b] + np.int64(keys[b, i]), y[i]] += weights[i]


@kernel
def expand(links, first_link, first, cells, table, block, begin, end, lanes):
    """Write rows begin..end of the stacked table (joint values, W): each the sum of the cells that it is linked to.

    links, first_link, first, cells and lanes as in the module; row `begin` belongs to `block`.
    """
    n_lanes = len(lanes)
    padded_width = table.shape[1]
    b = block
    for row in range(begin, end):
        while row >= first[b + 1]:
            b += 1
        n_tuples = (first_link[b + 1] - first_link[b]) // (first[b + 1] - first[b])
        link = first_link[b] + (row - first[b]) * n_tuples
        for q in range(0, padded_width, n_lanes):
            start = row * padded_width + q
            for k in range(n_lanes):
                table[row, q + k] = 0.0
            t = 0
            while t + GROUP_LINKS <= n_tuples:
                add_linked(table, links, link + t, padded_width, q, start, cells, _EIGHT, lanes)
                t += GROUP_LINKS
            if t + 4 <= n_tuples:
                add_linked(table, links, link + t, padded_width, q, start, cells, _FOUR, lanes)
                t += 4
            if t + 2 <= n_tuples:
                add_linked(table, links, link + t, padded_width, q, start, cells, _TWO, lanes)
                t += 2
            if t < n_tuples:
                add_linked(table, links, link + t, padded_width, q, start, cells, _ONE, lanes)


@kernel
def scatter_to_cells(links, first_link, first, grad, cells, spans, begin, end, lanes):
    """Add grad (joint values, W) to the cells (cells, W) that joint values are linked to, for spans begin..end.

    A span of `spans` (U, 3) is a block and a range of its tuples; links, first_link, first and lanes as in the module.
    """
    n_lanes = len(lanes)
    padded_width = grad.shape[1]
    for u in range(begin, end):
        b, t0, t1 = spans[u, 0], spans[u, 1], spans[u, 2]
        n_tuples = (first_link[b + 1] - first_link[b]) // max(1, first[b + 1] - first[b])
        link = first_link[b]
        for row in range(first[b], first[b + 1]):
            for q in range(0, padded_width, n_lanes):
                start = row * padded_width + q
                t = t0
                while t + GROUP_LINKS <= t1:
                    add_to_linked(cells, links, link + t, padded_width, q, start, grad, _EIGHT, lanes)
                    t += GROUP_LINKS
                if t + 4 <= t1:
                    add_to_linked(cells, links, link + t, padded_width, q, start, grad, _FOUR, lanes)
                    t += 4
                if t + 2 <= t1:
                    add_to_linked(cells, links, link + t, padded_width, q, start, grad, _TWO, lanes)
                    t += 2
                if t < t1:
                    add_to_linked(cells, links, link + t, padded_width, q, start, grad, _ONE, lanes)
            link += n_tuples
