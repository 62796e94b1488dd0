"""Inner products of rows' features, and products of that matrix with a few vectors: for fits of few rows to many cells.

Rows are given by codes (a, n); "no level" is coded as the number of levels. In column j the features of two rows with
levels l and m have the inner product

    base[j] + step[j] min(l, m) + trend[j] l m   if both levels are below ordered_levels[j], whose weights are smooth
    1                                            if they are the same other level
    0                                            else

Over all tuples of o columns it is the elementary symmetric polynomial of order o of these.
"""

import numpy as np

from alrviz.kernels import kernel

N_SUMS = 64  # independent sums side by side: a loop with a single sum does not vectorise


@kernel
def gram(left, right, levels, ordered_levels, base, step, trend, out, begin, end):
    """Write to out[o - 1, i, k] the inner product of row i of left and row k of right over all tuples of o columns.

    left, right: (a, n) and (a, m) codes, of which rows begin <= i < end of `left` are done; levels, ordered_levels,
    base, step, trend: (a,); out: (orders, n, m).
    """
    max_order, n_columns = out.shape[0], len(left)
    polynomials = np.empty(max_order + 1)
    for i in range(begin, end):
        for k in range(right.shape[1]):
            polynomials[:] = 0.0
            polynomials[0] = 1.0
            for j in range(n_columns):
                left_code, right_code = np.int64(left[j, i]), np.int64(right[j, k])
                if left_code < ordered_levels[j] and right_code < ordered_levels[j]:
                    product = base[j] + step[j] * min(left_code, right_code) + trend[j] * left_code * right_code
                elif left_code == right_code and left_code < levels[j]:
                    product = 1.0
                else:
                    continue
                for o in range(max_order, 0, -1):
                    polynomials[o] += polynomials[o - 1] * product
            for o in range(max_order):
                out[o, i, k] = polynomials[o + 1]


@kernel
def product(matrix, vectors, out, begin, end):
    """Write to out[c, i] the sum over k of matrix[i, k] vectors[c, k], for begin <= i < end.

    matrix (n, m), vectors (C, m), out (C, n).
    """
    sums = np.empty(N_SUMS, np.float32)
    n = matrix.shape[1]
    for i in range(begin, end):
        row = matrix[i]
        for c in range(len(vectors)):
            for r in range(N_SUMS):
                sums[r] = 0.0
            for vector_start in range(0, n, N_SUMS):
                x, y = (
                    row[vector_start : min(vector_start + N_SUMS, n)],
                    vectors[c, vector_start : min(vector_start + N_SUMS, n)],
                )
                for r in range(len(x)):
                    sums[r] += x[r] * y[r]
            m = N_SUMS
            while m > 1:
                m //= 2
                for r in range(m):
                    sums[r] += sums[m + r]
            out[c, i] = sums[0]
