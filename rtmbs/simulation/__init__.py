"""A System in motion: steps and runs, failures, options, inputs, pacing.

``Simulation`` is resolved on first use: reading this package loads neither numba nor scipy.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rtmbs.simulation.simulation import Simulation as Simulation

__all__ = ["Simulation"]


def __getattr__(name: str) -> Any:
    if name != "Simulation":
        raise AttributeError(f"module 'rtmbs.simulation' has no attribute '{name}'", name=name, obj=None)
    from rtmbs.simulation.simulation import Simulation

    globals()[name] = Simulation
    return Simulation
