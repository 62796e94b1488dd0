"""Density features from the definition: a row that is left out loses weight, and everything is summed anew for it."""

import numpy as np

LIMIT = 30.0


def naive_silverman(x, weights):
    """1.06 sigma N^(-1/5) over the rows that have a number."""
    there = ~np.isnan(x)
    mean = np.average(x[there], weights=weights[there])
    sigma = np.sqrt(np.average((x[there] - mean) ** 2, weights=weights[there]))
    return 1.06 * sigma * weights[there].sum() ** -0.2


def naive_log_sums(x, sources, y, weights, h, classes):
    """log S_k(x) of each class, by the largest exponent."""
    out = np.full(classes, -np.inf)
    for k in range(classes):
        of = (y == k) & (weights > 0) & ~np.isnan(sources)
        exponents = np.log(weights[of]) - (x - sources[of]) ** 2 / (2 * h**2)
        if of.any():
            out[k] = exponents.max() + np.log(np.exp(exponents - exponents.max()).sum())
    return out


def naive_log_counts(same, y, weights, m, counts):
    """log of the smoothed counts of the rows that are the `same`."""
    with np.errstate(divide="ignore"):
        return np.log(np.bincount(y[same], weights[same], minlength=len(counts)) + m * counts / counts.sum())


def naive_phi(log_s, counts, n_features):
    """phi (K,) of one feature of one row; counts (C,) are N_k."""
    share = 1 - 1 / n_features
    with np.errstate(divide="ignore"):
        logs = np.log(counts / counts.sum())
    if np.isneginf(log_s).all():
        phi = (1 - share) * logs if len(logs) > 2 else (1 - share) * (logs[1:] - logs[:1])
    elif len(logs) > 2:
        phi = np.where(np.isneginf(log_s), -np.inf, log_s - np.logaddexp.reduce(log_s) - share * np.maximum(logs, -1e9))
    else:
        phi = log_s[1:] - log_s[:1] - share * (np.maximum(logs[1:], -1e9) - np.maximum(logs[:1], -1e9))
        phi = phi if np.isfinite(log_s).all() else np.sign(log_s[1:] - log_s[:1]) * np.inf
    return np.clip(phi, -LIMIT, LIMIT)


def naive_features(numbers, codes, levels, y, weights, classes, h, m, rows=None, leave_out=False):
    """phi (D, K, N) of the training rows, or of `rows` = (numbers, codes); every column has a feature."""
    new_numbers, new_codes = (numbers, codes) if rows is None else rows
    count = (new_numbers if len(new_numbers) else new_codes).shape[1]
    out = []
    for i in range(count):
        left = np.array(weights, float)
        left[i] -= min(1.0, left[i]) if leave_out else 0.0
        counts = np.bincount(y, left, minlength=classes)
        logs = [_number(x[i], column, y, left, bandwidth, m, counts)
                for x, column, bandwidth in zip(new_numbers, numbers, h, strict=True)]  # fmt: skip
        logs += [naive_log_counts((column == c[i]) & (c[i] < size), y, left, m, counts)
                 for c, column, size in zip(new_codes, codes, levels, strict=True)]  # fmt: skip
        out.append([naive_phi(of, counts, len(logs)) for of in logs])
    return np.moveaxis(np.array(out), 0, -1)


def _number(x, column, y, weights, h, m, counts):
    if np.isnan(x):
        return naive_log_counts(np.isnan(column), y, weights, m, counts)
    return naive_log_sums(x, column, y, weights, h, len(counts))
