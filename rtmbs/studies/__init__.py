"""Studies of a mechanism: equilibria, modes, inverse dynamics, derivatives of runs, many runs."""
