"""Formulations: accelerations and multipliers of M a + Phi_q^T lam = F, Phi(q, t) = 0 at a state, one file a form.

Names are resolved on first use: reading this package loads neither scipy nor the rooms below.
"""

import lazy_loader

from rtmbs.formulations.registry import PLACES
from rtmbs.limits.keywords import lazily

__getattr__, __dir__, __all__ = lazily(
    __name__,
    lazy_loader.attach(
        __name__,
        submod_attrs={
            **{module: [kind] for module, kind in PLACES.values()},
            "consistent": ["consistent_state"],
            "contract": ["ConstrainedSystem", "Formulation", "SystemWithStates"],
            "correction": ["Correcting", "corrected"],
            "error_equation": ["Disturbance", "error_response", "transfer_function"],
            "error_plot": ["plot_error_response"],
            "errors": ["FormulationError"],
            "function_system": ["FunctionSystem"],
            "gains": ["STABILITY", "critical_gains", "gain_bound", "gains_for_method", "gains_for_step"],
            "joint_coordinates": ["JointCoordinates"],
            "reference_point": ["ReferencePointCoordinates"],
            "registry": ["FORMULATIONS"],
            "sparse_forms": ["SparseForms"],
        },
    ),
)
