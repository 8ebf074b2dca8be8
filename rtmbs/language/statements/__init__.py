"""What each statement of the language does. Importing this room registers all of them."""

from rtmbs.language.statements import bodies, couplers, drivers, forces, joints, system

__all__ = ["bodies", "couplers", "drivers", "forces", "joints", "system"]
