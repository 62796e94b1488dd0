"""Tasks of a study, the workers that compute them, their results and checkpoints."""
