"""From generative to discriminative: losses along alpha."""
