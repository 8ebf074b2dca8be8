"""Commands of the console script, one file each."""
