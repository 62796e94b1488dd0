"""Models as data: cell spaces, generative tables, parameterisations and prediction."""
