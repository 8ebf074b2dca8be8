"""Writer of glTF: a motion as an animation that browsers and Blender play, one GLB file with the shapes of the bodies.

A body is a node with a translation and a rotation at each sample. The root node turns z upwards into the y upwards of
glTF. Numbers are single precision, as the format has them.
Source: glTF 2.0 Specification, Khronos Group, sections 3.6 (accessors), 3.11 (animations) and 4 (GLB).
"""

import json
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.files import replacing
from rtmbs.errors import InputError, shown
from rtmbs.formats.assembly import Array, Placement
from rtmbs.formats.shapes import ellipsoid
from rtmbs.model import Bar, Box, Cylinder, Model, Sphere, Surface
from rtmbs.model.body import GROUND
from rtmbs.model.checks import perpendiculars
from rtmbs.model.shapes import Looks

if TYPE_CHECKING:
    from rtmbs.results.result import Result

AROUND = 24  # corners of a round shape
UP = (-0.7071067811865476, 0.0, 0.0, 0.7071067811865476)  # quaternion (x, y, z, w): z of the world becomes y
FLOATS, UNSIGNED = 5126, 5125  # component types
VERTICES, CORNERS = 34962, 34963  # targets of buffer views
GREY = (0.55, 0.58, 0.62)
JSON, BINARY = 0x4E4F534A, 0x004E4942


class Buffers:
    """Binary chunk of a GLB with its views and accessors."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.views: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []

    def add(self, values: Any, kind: str, target: int | None = None) -> int:
        """Add numbers and return the number of their accessor."""
        whole = kind == "SCALAR" and np.asarray(values).dtype.kind in "iu"
        rows: NDArray[Any] = np.ascontiguousarray(values, np.uint32 if whole else np.float32)
        view: dict[str, Any] = {"buffer": 0, "byteOffset": len(self.data), "byteLength": rows.nbytes}
        self.views.append(view if target is None else view | {"target": target})
        self.data += rows.tobytes()
        flat = rows.reshape(len(rows), -1)
        self.accessors.append({
            "bufferView": len(self.views) - 1, "componentType": UNSIGNED if whole else FLOATS, "count": len(rows),
            "type": kind, "min": flat.min(axis=0).tolist(), "max": flat.max(axis=0).tolist(),
        })  # fmt: skip
        return len(self.accessors) - 1


def write_gltf(result: "Result", model: Model, path: str | Path) -> None:
    """Write the motion of a Result as an animation with the shapes of its Model: one GLB file.

    Parameters
    ----------
    result : Result
        Motion, with the positions and orientations of all bodies.
    model : Model
        Model of the result, whose shapes are drawn.
    path : str or Path
        File that ends in .glb.

    Raises
    ------
    InputError
        For another ending, an empty motion, and a model of another mechanism.
    WriteError
        For a file that cannot be written.

    Examples
    --------
    >>> result = sim.run(2.0)
    >>> rtmbs.write_gltf(result, model, "motion.glb")
    """
    if Path(path).suffix.lower() != ".glb":
        raise InputError(f"file {str(path)!r} cannot be a GLB by its ending; it must be .glb")
    if not isinstance(model, Model):
        raise InputError(
            f"write_gltf takes the Model of the result, not {shown(model)}; give the one that was compiled"
        )
    names = [name for name in model.bodies if name != GROUND]
    known = set(result.names())
    if missing := [name for name in names if f"{name}.position" not in known]:
        raise InputError(f"the result has no body {missing[0]!r}; it must be one of this model with all its channels")
    motion = {name: (result[f"{name}.position"], result[f"{name}.orientation"]) for name in names}
    data = glb(np.asarray(result.t), motion, model)
    with replacing(str(path)) as file:
        file.write(data)


def glb(t: Array, motion: dict[str, tuple[Array, Array]], model: Model) -> bytes:
    """Return the bytes of a GLB of a motion: positions (S, 3) and quaternions (w, x, y, z) (S, 4) by body."""
    buffers, meshes, materials = Buffers(), list[dict[str, Any]](), list[dict[str, Any]]()
    nodes: list[dict[str, Any]] = [{"name": model.name, "rotation": UP, "children": []}]
    samplers, channels = list[dict[str, Any]](), list[dict[str, Any]]()
    times = buffers.add(t, "SCALAR") if len(t) > 1 else -1
    for name in [GROUND, *motion]:
        position, orientation = motion.get(name, (np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]])))
        turned = orientation[:, [1, 2, 3, 0]]
        node: dict[str, Any] = {"name": name, "translation": position[0].tolist(), "rotation": turned[0].tolist()}
        nodes[0]["children"].append(len(nodes))
        if mesh := mesh_of(model.looks.get(name), buffers, materials, name):
            node["mesh"] = len(meshes)
            meshes.append(mesh)
        if times >= 0 and name in motion:
            for what, values, kind in (("translation", position, "VEC3"), ("rotation", turned, "VEC4")):
                channels.append({"sampler": len(samplers), "target": {"node": len(nodes), "path": what}})
                samplers.append({"input": times, "output": buffers.add(values, kind), "interpolation": "LINEAR"})
        nodes.append(node)
    tree: dict[str, Any] = {
        "asset": {"version": "2.0", "generator": "rtmbs"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": nodes,
        "accessors": buffers.accessors, "bufferViews": buffers.views, "buffers": [{"byteLength": len(buffers.data)}],
    }  # fmt: skip
    tree |= {"meshes": meshes, "materials": materials} if meshes else {}
    tree |= {"animations": [{"name": "motion", "samplers": samplers, "channels": channels}]} if channels else {}
    return packed(tree, bytes(buffers.data))


def packed(tree: dict[str, Any], binary: bytes) -> bytes:
    """Return a GLB of a description and a binary chunk, both padded to four bytes."""
    if not binary:
        tree = {key: value for key, value in tree.items() if key not in ("buffers", "bufferViews", "accessors")}
    text = json.dumps(tree, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    binary += bytes(-len(binary) % 4)
    chunks = struct.pack("<2I", len(text), JSON) + text
    chunks += struct.pack("<2I", len(binary), BINARY) + binary if binary else b""
    return b"glTF" + struct.pack("<2I", 2, 12 + len(chunks)) + chunks


# ---- shapes ----------------------------------------------------------------------------------------------------------


def mesh_of(looks: Looks | None, buffers: Buffers, materials: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return the mesh of a body's shapes with one material; empty without shapes."""
    if looks is None or not looks.shapes:
        return {}
    color = looks.color or ""
    rgb = [int(color[k : k + 2], 16) / 255.0 for k in (1, 3, 5)] if color else GREY
    material = {"pbrMetallicRoughness": {"baseColorFactor": [*rgb, looks.opacity], "metallicFactor": 0.2}}
    materials.append(material | ({"alphaMode": "BLEND"} if looks.opacity < 1.0 else {}) | {"doubleSided": True})
    primitives = []
    for shape in looks.shapes:
        vertices, faces = triangles(shape)
        places = {"POSITION": buffers.add(vertices, "VEC3", VERTICES)}
        corners = buffers.add(np.ascontiguousarray(faces, np.uint32).reshape(-1), "SCALAR", CORNERS)
        primitives.append({"attributes": places, "indices": corners, "material": len(materials) - 1})
    return {"name": name, "primitives": primitives}


def triangles(shape: Any) -> tuple[Array, NDArray[np.int64]]:
    """Return vertices (v, 3) in body axes and faces (k, 3) of a shape."""
    if isinstance(shape, Surface):
        return shape.vertices, shape.faces
    if isinstance(shape, Sphere):
        found = ellipsoid((shape.radius,) * 3, Placement(shape.center, np.eye(3)))
        return found.vertices, found.faces
    if isinstance(shape, Box):
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
        quads = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
        faces = [corner for a, b, c, d in quads for corner in ((a, b, c), (a, c, d))]
        return (0.5 * signs * shape.size) @ shape.axes.T + shape.center, np.array(faces)
    if isinstance(shape, Bar):
        along = shape.end - shape.start
        shape = Cylinder(shape.radius, float(np.linalg.norm(along)), 0.5 * (shape.start + shape.end), along)
    assert isinstance(shape, Cylinder)
    return cylinder(shape)


def cylinder(shape: Cylinder) -> tuple[Array, NDArray[np.int64]]:
    """Return the triangles of a cylinder: two rings and two middles."""
    x, y = perpendiculars(shape.axis)
    angle = 2.0 * np.pi * np.arange(AROUND) / AROUND
    ring = shape.radius * (np.outer(np.cos(angle), x) + np.outer(np.sin(angle), y)) + shape.center
    half = 0.5 * shape.length * shape.axis
    vertices = np.concatenate((ring - half, ring + half, [shape.center - half, shape.center + half]))
    faces = []
    for k in range(AROUND):
        n = (k + 1) % AROUND
        faces += [
            (k, n, AROUND + n),
            (k, AROUND + n, AROUND + k),
            (2 * AROUND, n, k),
            (2 * AROUND + 1, AROUND + k, AROUND + n),
        ]
    return vertices, np.array(faces)
