"""The studies themselves: which order, comparison, bias and variance, learning curve, path of alpha."""
