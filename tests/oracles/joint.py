"""Rows that are alike, from the definition: dictionaries over whole rows."""

import numpy as np


def naive_join(columns, tops):
    """Joint values of codes (a, N), those above their top as the top: each row's, numbered as they first occur, and
    the row that shows each first."""
    numbers, shown, key = {}, [], []
    for row, codes in enumerate(np.minimum(columns, np.array(tops)[:, None]).T.tolist()):
        if tuple(codes) not in numbers:
            numbers[tuple(codes)] = len(shown)
            shown.append(row)
        key.append(numbers[tuple(codes)])
    return key, shown


def naive_merge(codes, y, weights):
    """{(*codes of a row, its class): summed weight}, as the rows first occur."""
    sums = {}
    for row, k, weight in zip(codes.T.tolist(), y.tolist(), weights.tolist(), strict=True):
        sums[*row, k] = sums.get((*row, k), 0.0) + weight
    return sums
