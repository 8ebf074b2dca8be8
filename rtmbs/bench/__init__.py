"""Measured runs: ``python -m rtmbs.bench fourbar --ny 4 --nz 40``, and their exact references."""
