"""AdaGrad over rows that come one after another, in single precision: a cell is a row of vectors.

    z     = sum over the row's cells c of scale_c * w_c                         vectors of W classes
    r     = softmax(z) - 1[y]
    g_c   = scale_c * r + pull_c * (w_c - center_c)
    G_c  += g_c^2;      w_c -= eta * g_c / (1e-9 + sqrt(G_c))

Conventions: table (cells, parts, W) float32 holds scale, w and G of each cell side by side, so that one look-up brings
all; with a penalty pull too, and center where it is not 0. pull is 2 alpha q / (rows that look at the cell): spread
over those of a pass. The cells of a row differ, so that none is looked at twice. W is a multiple of the lanes, pads
have scale 0. The last row of the table belongs to b, which every row has.
"""

from math import exp, log

import llvmlite.ir as ir
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

from alrviz.kernels import kernel

SCALE, WEIGHT, SQUARES, PULL, CENTER = range(5)


def _pointer(context, builder, array_type, array, offset, lanes):
    data = context.make_array(array_type)(context, builder, value=array).data
    return builder.bitcast(builder.gep(data, [offset]), ir.VectorType(ir.FloatType(), lanes).as_pointer())


def _part(builder, at, width, part):
    return builder.add(at, builder.mul(width, ir.Constant(width.type, part)))


@intrinsic
def _add_score(typingctx, z, q, table, at, width, lanes):
    """z[q : q + L] += scale * w of the cell whose scale begins at table.flat[at]; width is W, L = len(lanes)."""
    number = len(lanes)

    def codegen(context, builder, sig, args):
        to = _pointer(context, builder, sig.args[0], args[0], args[1], number)
        places = [_part(builder, args[3], args[4], part) for part in (SCALE, WEIGHT)]
        scale, w = (
            builder.load(_pointer(context, builder, sig.args[2], args[2], place, number), align=4) for place in places
        )
        builder.store(builder.fadd(builder.load(to, align=4), builder.fmul(scale, w)), to, align=4)
        return context.get_dummy_value()

    return types.void(z, types.intp, table, types.intp, types.intp, lanes), codegen


@intrinsic
def _move(typingctx, table, at, width, residual, q, eta, pulled, lanes):
    """Move w and G of the cell whose scale begins at table.flat[at] against its slope; see the module."""
    number, more = len(lanes), len(pulled)

    def codegen(context, builder, sig, args):
        vector = ir.VectorType(ir.FloatType(), number)

        def of(part):
            return _pointer(context, builder, sig.args[0], args[0], _part(builder, args[1], args[2], part), number)

        def spread(value):
            one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
            mask = ir.Constant(ir.VectorType(ir.IntType(32), number), [0] * number)
            return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), mask)

        scale, w, squares = (builder.load(of(part), align=4) for part in (SCALE, WEIGHT, SQUARES))
        r = builder.load(_pointer(context, builder, sig.args[3], args[3], args[4], number), align=4)
        slope = builder.fmul(scale, r)
        if more:
            away = w if more == 1 else builder.fsub(w, builder.load(of(CENTER), align=4))
            slope = builder.fadd(slope, builder.fmul(builder.load(of(PULL), align=4), away))
        squares = builder.fadd(squares, builder.fmul(slope, slope))
        of_vector = ir.FunctionType(vector, [vector])
        sqrt = cgutils.get_or_insert_function(builder.module, of_vector, f"llvm.sqrt.v{number}f32")
        root = builder.call(sqrt, [squares])
        below = builder.fadd(root, ir.Constant(vector, [1e-9] * number))
        w = builder.fsub(w, builder.fdiv(builder.fmul(spread(args[5]), slope), below))
        builder.store(squares, of(SQUARES), align=4)
        builder.store(w, of(WEIGHT), align=4)
        return context.get_dummy_value()

    index = types.intp
    return types.void(table, index, index, residual, index, types.float32, pulled, lanes), codegen


@kernel
def adagrad(cells, y, table, n_classes, eta, lanes, pulled):
    """Visit rows of cells (m, T) and classes y (m,) in their order; return the sum of -log p(y) as each was met.

    `lanes` is a tuple of as many numbers as a vector has; `pulled` of as many as the table has parts beyond the third.
    """
    wide, parts = table.shape[2], table.shape[1]
    number, size, last = len(lanes), parts * wide, (len(table) - 1) * parts * wide
    z = np.empty(wide, np.float32)
    total = 0.0
    for i in range(len(cells)):
        z[:] = np.float32(0.0)
        for q in range(0, wide, number):
            _add_score(z, q, table, last + q, wide, lanes)
            for t in range(cells.shape[1]):
                _add_score(z, q, table, np.int64(cells[i, t]) * size + q, wide, lanes)
        own, top = z[y[i]], z[0]
        for k in range(1, n_classes):
            top = max(top, z[k])
        whole = np.float32(0.0)
        for k in range(n_classes):
            z[k] = np.float32(exp(z[k] - top))
            whole += z[k]
        total += log(whole) + top - own
        for k in range(n_classes):
            z[k] /= whole
        for k in range(n_classes, wide):
            z[k] = np.float32(0.0)
        z[y[i]] -= np.float32(1.0)
        for q in range(0, wide, number):
            _move(table, last + q, wide, z, q, eta, pulled, lanes)
            for t in range(cells.shape[1]):
                _move(table, np.int64(cells[i, t]) * size + q, wide, z, q, eta, pulled, lanes)
    return total
