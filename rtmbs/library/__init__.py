"""Mechanisms by name: benchmark problems and the models that tests and documents refer to.

    rtmbs.library.build("fourbar", ny=4, nz=40)  ->  Model

To add one, write a function that returns a ``Model`` in a file of its own and give it a line in ``MECHANISMS``.
"""

import inspect
from collections.abc import Callable
from typing import Any

from rtmbs.errors import unknown_name
from rtmbs.library.benchmarks import andrews, bricard, drive_pose, governor, loop, pendulum, single_joint, top, windows
from rtmbs.library.linkages import crank_rocker, driven_fourbar, fourbar, planar_slider_crank, slider_crank
from rtmbs.model import Model

__all__ = ["build", "defaults", "describe", "drive_pose", "names"]

MECHANISMS: dict[str, Callable[..., Model]] = {
    "andrews": andrews,
    "bricard": bricard,
    "crank_rocker": crank_rocker,
    "driven_fourbar": driven_fourbar,
    "fourbar": fourbar,
    "governor": governor,
    "loop": loop,
    "pendulum": pendulum,
    "planar_slider_crank": planar_slider_crank,
    "single_joint": single_joint,
    "slider_crank": slider_crank,
    "top": top,
    "windows": windows,
}

# Speed at which the viewer plays a mechanism, simulated over wall time; 1 for all others.
WATCHED_AT: dict[str, float] = {"andrews": 0.01}


def names() -> list[str]:
    """Return the names of all mechanisms, sorted.

    Returns
    -------
    list[str]
        Names of all mechanisms, sorted.
    """
    return sorted(MECHANISMS)


def build(name: str, **options: Any) -> Model:
    """Return the mechanism ``name``; its options are those of ``defaults(name)``.

    Parameters
    ----------
    name : str
        Name of a mechanism.
    **options : object
        Options of the mechanism, see ``defaults``.

    Returns
    -------
    Model
        Model of the mechanism.

    Raises
    ------
    UnknownNameError
        For an unknown name; the nearest ones are listed.
    """
    known = defaults(name)
    for option in options:
        if option not in known:
            raise unknown_name(f"option of '{name}'", option, known)
    return MECHANISMS[name](**options)


def defaults(name: str) -> dict[str, Any]:
    """Return the options of a mechanism and their default values.

    Parameters
    ----------
    name : str
        Name of a mechanism.

    Returns
    -------
    dict[str, object]
        Default values of the options by name.
    """
    parameters = inspect.signature(_builder(name)).parameters
    return {parameter.name: parameter.default for parameter in parameters.values()}


def describe(name: str) -> str:
    """Return the description of a mechanism with its source, numbers and units.

    Parameters
    ----------
    name : str
        Name of a mechanism.

    Returns
    -------
    str
        Description with source, numbers and units.
    """
    return (inspect.getdoc(_builder(name)) or "").partition("\n\nReturns\n")[0]


def _builder(name: str) -> Callable[..., Model]:
    if name not in MECHANISMS:
        raise unknown_name("mechanism", name, MECHANISMS)
    return MECHANISMS[name]
