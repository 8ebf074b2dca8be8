"""A System in motion: steps and runs, failures, options, inputs, pacing.

``Simulation`` is resolved on first use: reading this package loads neither numba nor scipy.
"""

from typing import TYPE_CHECKING

import lazy_loader

from rtmbs.core.names import lazily

if TYPE_CHECKING:
    from rtmbs.simulation.simulation import Simulation as Simulation

__getattr__, __dir__, __all__ = lazily(
    __name__, lazy_loader.attach(__name__, submod_attrs={"simulation": ["Simulation"]})
)
