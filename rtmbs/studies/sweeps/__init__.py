"""Many runs of one function that makes a Model: designs, engines, and one table. The names are public in ``rtmbs``."""
