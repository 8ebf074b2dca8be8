"""Statements of the language, one function each; ``language/read.py`` imports these files, which registers them."""
