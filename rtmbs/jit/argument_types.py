"""Names of the types of arguments, without numba: a kernel of a library is found by them.

A name says no less than numba's type, so two values of one name may run the same machine code. ``prebuilt_code`` finds
the same names from numba's types.
"""

import hashlib
from typing import Any

import numpy as np

from rtmbs.jit.struct import Struct

_structs: dict[int, str] = {}  # by the signatures of structs


def type_name(value: Any) -> str:
    """Return the name of the type of an array, a struct, a tuple or a number; "" for a type that is not known here."""
    if isinstance(value, np.ndarray):
        return array_name(value.dtype, value.ndim, layout_of(value), value.flags.aligned, value.flags.writeable)
    if isinstance(value, Struct):
        if value.signature is None:
            return ""
        if value.signature not in _structs:
            _structs[value.signature] = struct_name(type(value), [type_name(part) for part in value])  # type: ignore[attr-defined]
        return _structs[value.signature]
    if isinstance(value, tuple):
        return tuple_name(type(value), [type_name(part) for part in value])
    return NUMBERS.get(type(value), "")


NUMBERS: dict[type, str] = {int: "i", np.int64: "i", float: "d", np.float64: "d", bool: "b", np.bool_: "b"}


def layout_of(array: Any) -> str:
    """Return numba's letter of the order of an array in memory."""
    if array.flags.c_contiguous:
        return "C"
    return "F" if array.flags.f_contiguous else "A"


def array_name(dtype: Any, rank: int, layout: str, aligned: bool, writeable: bool) -> str:
    """Return the name of the type of an array."""
    return f"A{rank}{np.dtype(dtype).str}{layout}{'' if aligned else 'u'}{'' if writeable else 'r'}"


def tuple_name(kind: type, parts: list[str]) -> str:
    """Return the name of the type of a tuple; a named one by its class."""
    name = "" if kind is tuple else f"{kind.__module__}.{kind.__qualname__}"
    return f"{name}({','.join(parts)})" if all(parts) else ""


def struct_name(kind: type, parts: list[str]) -> str:
    """Return the name of the type of a struct; its fields are in a digest, for there are hundreds."""
    digest = hashlib.sha256(",".join(parts).encode()).hexdigest()[:16]
    return f"S{kind.__module__}.{kind.__qualname__}.{digest}" if all(parts) else ""
