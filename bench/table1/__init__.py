"""Table 1 of the paper, measured by every source of K and C: ``python -m bench.table1``."""
