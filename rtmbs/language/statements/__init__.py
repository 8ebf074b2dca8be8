"""Statements of the language, one function each. Importing this package registers all of them."""

from rtmbs.language.statements import bodies, couplers, drivers, forces, joints, system

__all__ = ["bodies", "couplers", "drivers", "forces", "joints", "system"]
