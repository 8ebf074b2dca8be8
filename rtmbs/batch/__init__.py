"""Many copies of one mechanism, stepped together."""
