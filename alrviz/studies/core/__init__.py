"""What a study is: tasks, workers, splits, seeds, checkpoints, results."""
