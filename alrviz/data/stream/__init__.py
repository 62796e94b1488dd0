"""Tables larger than memory: read in batches, encoded once into a file, and processed chunk by chunk."""
