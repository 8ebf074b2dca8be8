"""State: everything a simulation needs to go on, and its file."""

import zipfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import StateError

FORMAT = 1

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
        try:
            with np.load(path, allow_pickle=False) as file:
                data = {name: file[name] for name in file.files}
        except FileNotFoundError:
            raise StateError(f"state file {str(path)!r} does not exist") from None
        except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
            raise StateError(
                f"state file {str(path)!r} is truncated or no state file ({error}); save it again"
            ) from error
        names = {f.name for f in fields(cls)}
        if missing := sorted(names - data.keys()):
            raise StateError(f"state file {str(path)!r} lacks {', '.join(missing)}; save it again with State.save")
        if (found := int(data["format"]) if "format" in data else 0) != FORMAT:
            raise StateError(f"state file {str(path)!r} has format {found}, this version reads format {FORMAT}")
        for name in sorted(names - {"fingerprint"}):
            if not np.all(np.isfinite(data[name])):
                raise StateError(f"state file {str(path)!r}: {name} holds a number that is not finite")
        scalars: dict[str, Any] = {"fingerprint": str(data["fingerprint"]), "k": int(data["k"])}
        scalars |= {name: float(data[name]) for name in ("t_ref", "h")}
        return cls(**{name: scalars.get(name, data[name]) for name in names})
