"""Comparison of methods of time integration and formulations: runs, drift, robustness, and their page."""
