"""Tables larger than memory: read in batches, coded once into a file, and passed over chunk by chunk."""
