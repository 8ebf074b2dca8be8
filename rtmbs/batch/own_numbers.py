"""Numbers of tables and settings that differ between copies: their layout in one row, and tables that look at it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.integrators.settings import Settings
from rtmbs.system.dof_layout import Lump, merge_inertias
from rtmbs.system.system import BodyInfo, System
from rtmbs.system.tables import Tables

Array = NDArray[np.float64]
Path = tuple[str, ...]
OF_SETTINGS = ("absolute", "typical", "pace", "scale", "mass")  # arrays of numbers
FOUND = ("balance", "component"), ("balance", "first")  # what the start finds


class Field(NamedTuple):
    """An array of the tables, or of the settings, and its place in the row."""

    path: Path  # ("settings", name) of settings
    shape: tuple[int, ...]
    place: slice


class OwnLayout(NamedTuple):
    """Layout of the numbers that differ between copies."""

    fields: tuple[Field, ...]
    size: int

    def row(self, tables: Tables, settings: Settings, out: Array) -> None:
        """Write the numbers of one copy to ``out`` (size,)."""
        for field in self.fields:
            out[field.place] = value_at(tables, settings, field.path).reshape(-1)

    def looking_at(self, tables: Tables, settings: Settings, row: Array) -> tuple[Tables, Settings]:
        """Return tables and settings whose arrays that differ are parts of ``row`` (size,)."""
        for path, shape, place in self.fields:
            part = row[place].reshape(shape)
            if path[0] == "settings":
                of_settings: dict[str, Any] = {path[1]: part}
                settings = settings._replace(**of_settings)
            else:
                tables = replaced(tables, path, part)
        return tables, settings


NO_LAYOUT = OwnLayout((), 0)


def value_at(tables: Tables, settings: Settings, path: Path) -> Array:
    """Return the array at a path."""
    value: Any = settings if path[0] == "settings" else tables
    for name in path[path[0] == "settings" :]:
        value = getattr(value, name)
    return np.asarray(value)


def replaced(table: Any, path: Path, value: Array) -> Any:
    """Return nested tables with another array at a path."""
    inner = value if len(path) == 1 else replaced(getattr(table, path[0]), path[1:], value)
    return table._replace(**{path[0]: inner})


def leaves(table: Any, path: Path = ()) -> Iterator[tuple[Path, Array]]:
    """Yield the path and the array of every field of nested tables."""
    for name in table._fields:
        value = getattr(table, name)
        if hasattr(value, "_fields"):
            yield from leaves(value, (*path, name))
        else:
            yield (*path, name), np.asarray(value)


def layout_of(base: tuple[Tables, Settings], others: Sequence[tuple[Tables, Settings]]) -> OwnLayout:
    """Return the layout of what differs in ``others`` from ``base``: arrays of floats of equal shapes."""
    differs: dict[Path, tuple[int, ...]] = {}
    ours = dict(leaves(base[0]))
    for tables, settings in others:
        for path, value in leaves(tables):
            if value is ours[path] or path in differs or value.dtype.kind != "f":
                continue
            if not np.array_equal(value, ours[path]):
                differs[path] = value.shape
        for name in OF_SETTINGS:
            value = getattr(settings, name)
            if ("settings", name) not in differs and not np.array_equal(value, getattr(base[1], name)):
                differs["settings", name] = np.shape(value)
    return layout(differs)


def layout(shapes: dict[Path, tuple[int, ...]]) -> OwnLayout:
    """Return the layout of arrays of these shapes, one after the other."""
    fields, first = [], 0
    for path, shape in shapes.items():
        size = int(np.prod(shape))
        fields.append(Field(path, shape, slice(first, first + size)))
        first += size
    return OwnLayout(tuple(fields), first)


def check_same_structure(base: System, other: System, k: int) -> None:
    """Refuse a System whose tree, equations, inputs or force laws are not those of the first one: InputError."""
    ours, theirs = dict(leaves(base.tables)), dict(leaves(other.tables))
    same = ours.keys() == theirs.keys() and base.coordinate_names == other.coordinate_names
    same = same and base.row_names == other.row_names and list(base.inputs) == list(other.inputs)
    same = same and base.u0.shape == other.u0.shape and not (base.called or other.called)
    same = same and [one[:2] for one in base.signals] == [one[:2] for one in other.signals]
    for path, value in ours.items() if same else ():
        one = theirs[path]
        equal = value.shape == one.shape and (value.dtype.kind == "f" or np.array_equal(value, one))
        same = same and equal and ("program" not in path or np.array_equal(value, one))
    if not same:
        raise InputError(
            f"system {k} of the Batch is another mechanism than the first: copies differ in masses, points and inputs "
            "only; build the same bodies, joints and forces, and mark the joints that are cut"
        )


# ---- masses ---------------------------------------------------------------------------------------------------------


def with_mass(body: BodyInfo, mass: float, inertia: Array | None) -> BodyInfo:
    """Return a body with another mass [kg] and inertia (3, 3); one that is not given grows with the mass."""
    if inertia is None:
        inertia = body.inertia * (mass / body.mass if body.mass > 0.0 else 1.0)
    return body._replace(mass=mass, inertia=inertia)


def merged(tables: Tables, bodies: Mapping[str, BodyInfo], dof: int) -> Tables:
    """Return tables in which a dof carries the masses of ``bodies`` that are welded to it, as ``compile`` does."""
    lumps = [lump_of(body) for body in bodies.values() if body.dof == dof]
    whole, dofs = merge_inertias(lumps), tables.dofs
    mass, center, inertia = dofs.mass.copy(), dofs.mass_center.copy(), dofs.inertia.copy()
    mass[dof], center[dof], inertia[dof] = whole.mass, whole.center, whole.inertia
    return tables._replace(dofs=dofs._replace(mass=mass, mass_center=center, inertia=inertia))


def lump_of(body: BodyInfo) -> Lump:
    """Return the mass of a body in axes of its dof."""
    turned = body.rotation @ body.inertia @ body.rotation.T
    return Lump(body.mass, body.rotation @ body.center_of_mass + body.position, 0.5 * (turned + turned.T))
