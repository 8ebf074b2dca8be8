"""Exact derivatives of a run by parameters: direct method and discrete adjoint (METHODS 1.37)."""
