"""Functions of the user in a pickle: by name where another process can import them, by value otherwise."""

import pickle
from contextlib import suppress
from typing import Any

from rtmbs.errors import InputError, shown


def packed(what: str, function: Any) -> Any:
    """Return a function as a pickle may hold it: itself, or the bytes that cloudpickle writes of a lambda or the like.

    Raises InputError, which says ``what`` the function belongs to, for one that holds what cannot be copied.
    """
    with suppress(Exception):  # pickle raises whatever an object raises
        pickle.dumps(function)
        return function
    import cloudpickle

    try:
        return cloudpickle.dumps(function)
    except Exception as error:
        raise InputError(
            f"{what} cannot be pickled: {shown(function)} holds what no other process can be handed ({error}); let it "
            "make that itself"
        ) from error


def unpacked(held: Any) -> Any:
    """Return the function that ``packed`` was given."""
    return pickle.loads(held) if isinstance(held, bytes) else held
