"""Linear solvers with ``factor`` and ``solve``, rank and least change; nothing about mechanics."""
