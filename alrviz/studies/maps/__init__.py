"""Decision maps: classifiers on a plane of two columns."""
