"""Campaigns: claims about every mechanism, tried on random ones; ``python -m bench.campaigns`` says how many held."""
