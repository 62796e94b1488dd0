"""Which order? Held-out log loss against n."""
