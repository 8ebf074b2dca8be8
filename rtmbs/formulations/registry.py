"""Formulations by name: one line each. A line and its file are all that a formulation has."""

from rtmbs.formulations.contract import Formulation
from rtmbs.limits.register import Register

PLACES = {  # name: (module, class)
    "direct": ("direct", "Direct"),
    "baumgarte": ("baumgarte", "Baumgarte"),
    "partitioning": ("partitioning", "Partitioning"),
    "qr": ("qr", "QR"),
    "svd": ("svd", "SVD"),
    "null-space": ("null_space", "NullSpace"),
    "penalty": ("penalty", "Penalty"),
    "augmented-lagrangian": ("augmented_lagrangian", "AugmentedLagrangian"),
    "recursive": ("recursive", "Recursive"),
}

FORMULATIONS: Register[Formulation] = Register("formulation", "rtmbs.formulations", PLACES)
