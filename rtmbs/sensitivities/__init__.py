"""Exact derivatives of a run by parameters: the direct method and the adjoint of the discrete steps (METHODS 1.37)."""
