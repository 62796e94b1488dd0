"""Row passes from the definition: cells are looked up in a dictionary, rows and tuples are loops."""

from itertools import combinations, product

import numpy as np


def tuples_of(levels, order):
    """Return the tuples, sets of `order` columns, in lexicographic order."""
    return list(combinations(range(len(levels)), order))


def cell_numbers(levels, order):
    """Return {(tuple, its levels): number}, tuple by tuple, the last column fastest."""
    cells = [(t, cell) for t in tuples_of(levels, order) for cell in product(*(range(levels[j]) for j in t))]
    return {cell: number for number, cell in enumerate(cells)}


def rows_of_table(codes, levels, order):
    """Return, for every row, the table row of each tuple: its cell, or n_cells + t where a level is lacking."""
    numbers, tuples = cell_numbers(levels, order), tuples_of(levels, order)
    return np.array(
        [
            [numbers.get((t, tuple(int(row[j]) for j in t)), len(numbers) + k) for k, t in enumerate(tuples)]
            for row in np.asarray(codes).T
        ]
    ).reshape(-1, len(tuples))


def naive_forward(codes, levels, order, table, bias):
    """Scores (N, C) of `table` (cells + T, C)."""
    return np.array([bias + sum(table[c] for c in cells) for cells in rows_of_table(codes, levels, order)])


def naive_scatter(codes, levels, order, residual):
    """The residuals (N, C) summed by table row (cells + T, C)."""
    rows = rows_of_table(codes, levels, order)
    out = np.zeros((len(cell_numbers(levels, order)) + rows.shape[1], residual.shape[1]))
    for cells, r in zip(rows, residual, strict=True):
        for c in cells:
            out[c] += r
    return out


def naive_count(codes, levels, order, y, weights, n_classes):
    """Weighted counts (cells + T, C)."""
    one_hot = np.eye(n_classes)[y] * np.asarray(weights)[:, None]
    return naive_scatter(codes, levels, order, one_hot)


def naive_expand(links, cells):
    """One table (J, C) a block: the sums of `cells` over the links (J, tuples) of each of its joint values."""
    return [np.array([sum((cells[c] for c in row), 0 * cells[0]) for row in of]) for of in links]


def naive_scatter_to_cells(links, tables, n_cells):
    """Its transpose: (n_cells, C) sums of the blocks' tables by linked cell."""
    out = np.zeros((n_cells, tables[0].shape[1]))
    for of, table in zip(links, tables, strict=True):
        for row, value in zip(of, table, strict=True):
            for c in row:
                out[c] += value
    return out


def naive_look_up(keys, tables, bias):
    """Scores (N, C): `bias` plus one row of each block's table."""
    return np.array([bias + sum(table[k] for table, k in zip(tables, row, strict=True)) for row in np.asarray(keys).T])


def naive_sums(keys, sizes, residual):
    """One table (J, C) a block: the residuals (N, C) summed by key."""
    out = [np.zeros((size, residual.shape[1])) for size in sizes]
    for row, r in zip(np.asarray(keys).T, residual, strict=True):
        for table, k in zip(out, row, strict=True):
            table[k] += r
    return out


def naive_locate(codes, levels, order, seen):
    """Row of the cell table (N, T) where only the cells `seen`, a list of (tuple, its levels), have one of their own.

    Before them lie, for each tuple, a row for cells not seen, then for each tuple a row for levels that are none.
    """
    tuples = tuples_of(levels, order)
    number = {cell: 2 * len(tuples) + s for s, cell in enumerate(seen)}
    out = []
    for row in np.asarray(codes).T.tolist():
        absent = [any(row[j] >= levels[j] for j in t) for t in tuples]
        cells = [(t, tuple(row[j] for j in t)) for t in tuples]
        out.append([len(tuples) + k if absent[k] else number.get(cell, k) for k, cell in enumerate(cells)])
    return out
