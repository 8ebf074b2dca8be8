"""Packages that only some uses of a result need: one sentence says what to install."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from rtmbs.errors import InputError


def needed(package: str, use: str, extra: str) -> Any:
    """Return a package; InputError names the use, the package and the extra when it is not installed."""
    if find_spec(package) is None:
        raise InputError(f"{use} needs {package}; install it with pip install 'rtmbs[{extra}]'")
    return import_module(package)
