"""Selection: which tuples a selective model keeps, and how many it needs."""
