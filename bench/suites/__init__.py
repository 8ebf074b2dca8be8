"""Suites of pytest-benchmark: ``make bench``, then ``python -m bench.compare OLD.json NEW.json``."""
