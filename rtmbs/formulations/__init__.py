"""Formulations: accelerations and multipliers of M a + Phi_q^T lam = F, Phi(q, t) = 0 at a state.

Names are resolved on first use: reading this package loads neither scipy nor the rooms below.
"""

import re

import lazy_loader

from rtmbs.core.names import ADDING, Register, lazily
from rtmbs.formulations.contract import Formulation

PLACES = {  # name: (module, class)
    "direct": ("direct", "Direct"),
    "baumgarte": ("baumgarte", "Baumgarte"),
    "partitioning": ("partitioning", "Partitioning"),
    "qr": ("null_space", "QR"),
    "svd": ("null_space", "SVD"),
    "null-space": ("null_space", "NullSpace"),
    "zero-eigenvalues": ("null_space", "ZeroEigenvalues"),
    "householder": ("null_space", "Householder"),
    "ider-amirouche": ("null_space", "IderAmirouche"),
    "hemami-weimer": ("null_space", "HemamiWeimer"),
    "wampler": ("null_space", "Wampler"),
    "least-squares-completion": ("null_space", "LeastSquaresCompletion"),
    "penalty": ("penalty", "Penalty"),
    "augmented-lagrangian": ("penalty", "AugmentedLagrangian"),
    "recursive": ("recursive", "Recursive"),
}
MODULES = {module for module, _ in PLACES.values()}
FORMULATIONS: Register[Formulation] = Register("formulation", "rtmbs.formulations", PLACES)


def add_formulation(kind: type[Formulation]) -> None:
    """Add a formulation of the user to ``FORMULATIONS``: ``UdwadiaKalaba`` as ``udwadia-kalaba``."""
    FORMULATIONS.add(re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower(), kind)


ADDING[Formulation] = add_formulation

__getattr__, __dir__, __all__ = lazily(
    __name__,
    lazy_loader.attach(
        __name__,
        submod_attrs={
            **{one: [kind for module, kind in PLACES.values() if module == one] for one in MODULES},
            "compiled": ["Compiled"],
            "consistent": ["Correcting", "consistent_state", "corrected"],
            "contract": [
                "ConstrainedSystem",
                "Formulation",
                "FormulationError",
                "SparseForms",
                "SystemWithRateConstraints",
                "SystemWithStates",
            ],
            "stabilisation": [
                "STABILITY",
                "Disturbance",
                "critical_gains",
                "error_response",
                "gain_bound",
                "gains_for_method",
                "gains_for_step",
                "plot_error_response",
                "transfer_function",
            ],
            "function_system": ["FunctionSystem", "check_system"],
            "joint_coordinates": ["JointCoordinates"],
            "kane": ["KaneSystem"],
            "reference_point": ["ReferencePointCoordinates"],
        },
    ),
)
