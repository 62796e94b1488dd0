"""Which order? Test log loss against n."""
