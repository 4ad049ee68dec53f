"""exactformer."""
