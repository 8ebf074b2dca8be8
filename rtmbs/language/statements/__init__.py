"""What each statement of the language does. Importing this room registers all of them."""

from rtmbs.language.statements import bodies, drivers, forces, initials, joints, systems

__all__ = ["bodies", "drivers", "forces", "initials", "joints", "systems"]
