"""State: everything a simulation needs to go on, and its file."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import StateError

FORMAT = 1
KINDS = {"fingerprint": "U", "k": "i"}  # numpy's letter of an entry that is not float64
FLOAT = np.dtype(np.float64)
SCALARS = ("fingerprint", "t_ref", "k", "h")

Array = NDArray[np.float64]


@dataclass(slots=True)
class State:
    """Time, coordinates, rates, accelerations, multipliers, reference rotations and inputs of one instant.

    Saving a State, loading it and going on gives the same numbers bit for bit.
    """

    fingerprint: str  # of the System it belongs to
    t_ref: float  # time of k = 0 [s]
    k: int  # steps since t_ref
    h: float  # step [s]
    z: Array  # (n,) [rad or m]
    zd: Array  # (n,)
    zdd: Array  # (n,)
    lam: Array  # (m,) multipliers of the loop equations [N or N m]
    alpha: Array  # (m,) penalty factors, frozen when h was set
    R0: Array  # (nr, 3, 3) reference rotations of spherical and floating joints
    u: Array  # (nu,) inputs

    @property
    def t(self) -> float:
        """Time [s], t_ref + k h: no sum of rounded steps."""
        return self.t_ref + self.k * self.h

    def tidy(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Make the arrays named in ``shapes`` what kernels read and write: a person may have put others here.

        Raises StateError for one that holds no numbers or has another shape.
        """
        for name, shape in shapes.items():
            values: Any = getattr(self, name)
            usual = isinstance(values, np.ndarray) and values.dtype is FLOAT and values.shape == shape
            if usual and values.flags.carray:
                continue
            try:
                numbers = np.array(values, np.float64, order="C")
            except (TypeError, ValueError):
                raise StateError(f"{name} of the state is {values!r}; the step needs {shape} numbers") from None
            if numbers.shape != shape:
                raise StateError(f"{name} of the state has shape {numbers.shape}; the step needs {shape}")
            setattr(self, name, numbers)

    def copy(self) -> Self:
        """Return a State that shares no memory with this one."""
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        values |= {name: value.copy() for name, value in values.items() if isinstance(value, np.ndarray)}
        return type(self)(**values)

    def save(self, path: str | Path) -> None:
        """Write the state to an ``npz`` file without pickle."""
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        with open(path, "wb") as file:
            np.savez(file, format=FORMAT, **values)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a state file.

        Raises StateError naming the file and the entry when it is no state file, truncated, of another format or holds
        a number that is not finite.
        """
        file = f"state file {str(path)!r}"
        try:
            data = read_arrays(path)
        except FileNotFoundError:
            raise StateError(f"{file} does not exist") from None
        except Exception as error:  # a damaged archive may raise anything
            raise StateError(f"{file} is truncated or no state file ({error}); save it again") from error
        if "format" in data and not np.array_equal(data["format"], FORMAT):
            raise StateError(f"{file} has format {data['format']}, this version reads format {FORMAT}")
        names = [f.name for f in fields(cls)]
        if missing := [name for name in ("format", *names) if name not in data]:
            raise StateError(f"{file} lacks {', '.join(missing)}; save it again with State.save")
        return cls(**{name: entry(name, data[name], file) for name in names})

    def check_fit(self, other: "State", what: str) -> None:
        """Refuse a state that cannot go on where ``other`` stands; raises StateError naming ``what`` and the entry."""
        if self.fingerprint != other.fingerprint:
            raise StateError(f"{what}: it belongs to another model")
        if not (np.isfinite(self.h) and self.h > 0.0):
            raise StateError(f"{what}: h is {self.h!r}; it must be a positive number")
        for f in fields(self):
            mine, wanted = np.asarray(getattr(self, f.name)), np.asarray(getattr(other, f.name))
            if mine.shape != wanted.shape:
                raise StateError(f"{what}: {f.name} has shape {mine.shape}, the model needs {wanted.shape}")
            if f.name != "fingerprint" and not np.all(np.isfinite(mine)):
                raise StateError(f"{what}: {f.name} holds a number that is not finite")


def read_arrays(path: str | Path) -> dict[str, Array]:
    """Return the arrays of an ``npz`` file by name."""
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def entry(name: str, value: Array, file: str) -> Any:
    """Return one entry of a state file, scalars as Python's own; raises StateError naming file and entry."""
    kind = KINDS.get(name, "f")
    if value.dtype.kind != kind or (kind == "f" and value.dtype != np.float64):
        raise StateError(f"{file}: {name} is of type {value.dtype}; save it again with State.save")
    if kind == "f" and not np.all(np.isfinite(value)):
        raise StateError(f"{file}: {name} holds a number that is not finite")
    if name not in SCALARS:
        return value
    if value.shape != ():
        raise StateError(f"{file}: {name} has shape {value.shape}, one value is needed; save it again with State.save")
    return value.item()
