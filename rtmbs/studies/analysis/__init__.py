"""Analyses of a state or a motion: equilibria, linearisation, modes, inverse dynamics, power and loads."""
