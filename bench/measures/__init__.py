"""Measurements behind ``bench/figures.py`` and ``tests/physics``: each returns numbers, none judges them."""
