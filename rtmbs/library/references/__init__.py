"""Exact references: reduced equations of motion integrated to 1e-12, and closed forms. SI units throughout.

Nothing here uses the mechanics of rtmbs; that is the point. Every function takes one time or an array of times.
"""

from rtmbs.library.references.fourbar import fourbar
from rtmbs.library.references.linkages import crank_rocker, driven_rocker, planar_slider_crank
from rtmbs.library.references.motion import Motion
from rtmbs.library.references.pendulums import pendulum, windows, windows_energy
from rtmbs.library.references.top import top

__all__ = [
    "Motion",
    "crank_rocker",
    "driven_rocker",
    "fourbar",
    "pendulum",
    "planar_slider_crank",
    "top",
    "windows",
    "windows_energy",
]
