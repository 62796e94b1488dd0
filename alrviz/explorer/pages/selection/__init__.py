"""Selection: which tuples a model is made of, and how many it needs."""
