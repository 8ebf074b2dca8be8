"""Contact of shapes, stops and dry friction of joints, as force laws with exact derivatives in plain NumPy.

``Model.add_contact``, ``Model.add_stop`` and ``Model.add_friction`` add them. Names are resolved on first use.
"""

import lazy_loader

from rtmbs.core.names import lazily

__getattr__, __dir__, __all__ = lazily(
    __name__,
    lazy_loader.attach(
        __name__,
        submod_attrs={
            "elastic_rope": ["Sheave", "capstan_coefficient"],
            "elements": ["Contact", "ContactSet"],
            "friction": ["DryFriction"],
            "normal_force": ["NormalForce", "dissipation_for"],
            "pairs": ["Ellipsoid", "Plane"],
            "profile": ["Profile"],
        },
    ),
)
