"""Triangles of a GLB file: the meshes of its scene, each where its nodes place it.

A file of a few hundred bytes may claim millions of vertices or instances. Every count is held against the bytes that
are there before an array is made. Materials, animations and skins are left out; compressed and sparse values, and
data in other files, are refused.
Source: glTF 2.0 Specification, Khronos Group, sections 3.5 (scenes), 3.6 (accessors), 3.7 (meshes) and 4 (GLB).
"""

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.files.reading import DamagedFile, check_unpacked, from_json

Array = NDArray[np.float64]
Faces = NDArray[np.int64]
Part = tuple[Array, Faces]

JSON, BINARY = 0x4E4F534A, 0x004E4942
TYPES = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
TRIANGLES, STRIP, FAN = 4, 5, 6
MOVED = {"matrix", "translation", "rotation", "scale"}
HERE = np.eye(4)
BYTES = 48  # of a vertex or a face of an instance


def read_glb(data: bytes) -> Part:
    """Return vertices (v, 3) and faces (k, 3) of a GLB file; DamagedFile for what it cannot be, or is not read."""
    tree, binary = chunks(data)
    if any("uri" in one for one in entries(tree, "buffers")):
        raise DamagedFile("names other files for its buffers; export it as one file")
    meshes: dict[int, list[Part]] = {}
    places = placed(tree)
    used = sorted({number for number, _ in places})
    found = entries(tree, "meshes")
    for number in used:
        meshes[number] = parts(tree, found[number], binary, len(data))
        check_unpacked(BYTES * sum(weight(one) for one in meshes.values()), len(data), "meshes")
    check_unpacked(BYTES * sum(weight(meshes[number]) for number, _ in places), len(data), "instances")
    vertices: list[Array] = [np.zeros((0, 3))]
    faces: list[Faces] = [np.zeros((0, 3), np.int64)]
    count = 0
    for number, place in places:
        for points, corners in meshes[number]:
            vertices.append(points if place is HERE else points @ place[:3, :3].T + place[:3, 3])
            faces.append(corners + count)
            count += len(points)
    return np.concatenate(vertices), np.concatenate(faces)


def weight(mesh: list[Part]) -> int:
    """Return the vertices and faces of a mesh, in sum; a part without any counts as one."""
    return sum(len(points) + len(corners) + 1 for points, corners in mesh)


def chunks(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the description and the binary chunk."""
    if len(data) < 20 or data[:4] != b"glTF":
        raise DamagedFile("does not begin as a GLB file")
    version, length, size, kind = struct.unpack_from("<4I", data, 4)
    if version != 2:
        raise DamagedFile(f"is of version {version} of GLB; version 2 is read")
    if length > len(data) or kind != JSON or 20 + size > length:
        raise DamagedFile(f"says that it has {length} bytes and a description of {size}; it has {len(data)}")
    tree, start = from_json(data[20 : 20 + size]), 20 + size
    if not isinstance(tree, dict):
        raise DamagedFile("has no description")
    while start + 8 <= length:
        size, kind = struct.unpack_from("<2I", data, start)
        if start + 8 + size > length:
            raise DamagedFile(f"says that a chunk has {size} bytes; {length - start - 8} are left")
        if kind == BINARY:
            return tree, data[start + 8 : start + 8 + size]
        start += 8 + size
    return tree, b""


def entries(tree: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return a list of the description; DamagedFile when it is none."""
    found = tree.get(name, [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise DamagedFile(f"has {name} that are no list of descriptions")
    return found


def entry(tree: dict[str, Any], name: str, number: Any) -> dict[str, Any]:
    """Return one entry of a list of the description."""
    found = entries(tree, name)
    return found[whole(number, name, len(found) - 1)]


def whole(value: Any, what: str, most: int, least: int = 0) -> int:
    """Return a whole number in a range; DamagedFile for anything else."""
    if type(value) is not int or not least <= value <= most:
        raise DamagedFile(f"has {what} {str(value)[:20]!r}; it must be a whole number from {least} to {most}")
    return value


# -------------------------------------------------------------------------------------------------------------- scenes


def placed(tree: dict[str, Any]) -> list[tuple[int, Array]]:
    """Return the number of a mesh and its place, a 4 x 4 matrix, for each node of the scene that has one."""
    nodes, meshes = entries(tree, "nodes"), entries(tree, "meshes")
    if not nodes:
        return [(number, HERE) for number in range(len(meshes))]
    found: list[tuple[int, Array]] = []
    met: set[int] = set()
    waiting = [(number, HERE) for number in roots(tree, nodes)]
    while waiting:
        number, above = waiting.pop()
        node = nodes[whole(number, "a node", len(nodes) - 1)]
        if number in met:
            raise DamagedFile(f"places node {number} twice; a node has one place")
        met.add(number)
        here = above @ local(node) if MOVED & node.keys() else above
        if "mesh" in node:
            found.append((whole(node["mesh"], "a mesh", len(meshes) - 1), here))
        children = node.get("children", [])
        if not isinstance(children, list):
            raise DamagedFile("has a node whose children are no list")
        waiting += [(child, here) for child in reversed(children)]
    return found


def roots(tree: dict[str, Any], nodes: list[dict[str, Any]]) -> list[Any]:
    """Return the nodes that the scene begins with; all that hang on no other one where there is no scene."""
    scenes = entries(tree, "scenes")
    if scenes:
        found = entry(tree, "scenes", tree.get("scene", 0)).get("nodes", [])
        if not isinstance(found, list):
            raise DamagedFile("has a scene whose nodes are no list")
        return found[::-1]
    below = {child for node in nodes for child in node.get("children", []) if type(child) is int}
    return [number for number in range(len(nodes)) if number not in below][::-1]


def local(node: dict[str, Any]) -> Array:
    """Return the place of a node in the one above it, a 4 x 4 matrix."""
    if "matrix" in node:
        return numbers(node["matrix"], 16).reshape(4, 4).T
    place = np.eye(4)
    x, y, z, w = numbers(node.get("rotation", (0, 0, 0, 1)), 4)
    place[:3, :3] = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]) * numbers(node.get("scale", (1, 1, 1)), 3)  # fmt: skip
    place[:3, 3] = numbers(node.get("translation", (0, 0, 0)), 3)
    return place


def numbers(values: Any, count: int) -> Array:
    """Return so many finite numbers; DamagedFile for anything else."""
    try:
        found = np.array(values, float)
    except (TypeError, ValueError, OverflowError):
        found = np.zeros(0)
    if found.shape != (count,) or not np.all(np.abs(found) < 1e30):
        raise DamagedFile(f"places a node by {str(values)[:40]}; {count} numbers are needed")
    return found


# -------------------------------------------------------------------------------------------------------------- meshes


def parts(tree: dict[str, Any], mesh: dict[str, Any], binary: bytes, size: int) -> list[Part]:
    """Return the triangles of a mesh, one pair of arrays a primitive that has triangles."""
    found = []
    total = 0
    for primitive in entries(mesh, "primitives"):
        mode, attributes = primitive.get("mode", TRIANGLES), primitive.get("attributes")
        if mode not in (TRIANGLES, STRIP, FAN):
            continue
        if not isinstance(attributes, dict) or "POSITION" not in attributes:
            raise DamagedFile("has a mesh without positions")
        points = values(tree, attributes["POSITION"], binary, "VEC3").astype(float)
        flat = np.arange(len(points))
        if "indices" in primitive:
            flat = values(tree, primitive["indices"], binary, "SCALAR")[:, 0].astype(np.int64)
            if view_of(tree, attributes["POSITION"]) == view_of(tree, primitive["indices"]):
                raise DamagedFile("has positions and corners in one bufferView; each kind needs its own")
        found.append((points, triangles(flat, mode)))
        total += weight(found[-1:])
        check_unpacked(BYTES * total, size, "triangles")
    return found


def triangles(flat: Faces, mode: int) -> Faces:
    """Return the corners of triangles (k, 3) from those that a primitive lists one after the other."""
    if mode == TRIANGLES:
        if len(flat) % 3:
            raise DamagedFile(f"has a mesh of {len(flat)} corners; triangles have three each")
        return flat.reshape(-1, 3)
    if mode == FAN:
        return np.column_stack((np.full(max(len(flat) - 2, 0), flat[0]), flat[1:-1], flat[2:]))
    strip = np.column_stack((flat[:-2], flat[1:-1], flat[2:]))
    strip[1::2, :2] = strip[1::2, 1::-1]  # every other one is turned
    return strip[(strip[:, 0] != strip[:, 1]) & (strip[:, 1] != strip[:, 2]) & (strip[:, 2] != strip[:, 0])]


def values(tree: dict[str, Any], number: Any, binary: bytes, shape: str) -> NDArray[Any]:
    """Return the rows of an accessor, as they lie in the binary chunk."""
    accessor = entry(tree, "accessors", number)
    if "sparse" in accessor or "bufferView" not in accessor:
        raise DamagedFile("has values that are sparse, compressed or missing; export it with plain values")
    view = entry(tree, "bufferViews", accessor["bufferView"])
    code = accessor.get("componentType")
    if accessor.get("type") != shape or code not in TYPES or view.get("buffer") != 0:
        raise DamagedFile(f"has values of type {str(accessor.get('type'))[:20]!r} where {shape} is needed")
    kind, columns = np.dtype(TYPES[code]), 3 if shape == "VEC3" else 1
    if columns == 1 and kind.kind != "u":
        raise DamagedFile(f"counts corners in {kind.name}; whole numbers without a sign are needed")
    start, room = span(view, len(binary))
    offset = whole(accessor.get("byteOffset", 0), "a byteOffset", room)
    count = whole(accessor.get("count"), "a count", len(binary), 1)
    row = columns * kind.itemsize
    stride = whole(view.get("byteStride", row), "a byteStride", len(binary), row)
    if offset + (count - 1) * stride + row > room:
        raise DamagedFile(f"says that it has {count} values, and {room} bytes are there")
    rows = np.ndarray((count, columns), kind, binary, start + offset, (stride, kind.itemsize))
    if kind.kind != "f" and accessor.get("normalized"):
        return np.maximum(rows / np.iinfo(kind).max, -1.0)
    return rows


def view_of(tree: dict[str, Any], number: Any) -> Any:
    """Return the number of the view of the binary chunk that an accessor reads."""
    return entry(tree, "accessors", number)["bufferView"]


def span(view: dict[str, Any], size: int) -> tuple[int, int]:
    """Return where a view of the binary chunk begins, and its bytes."""
    start = whole(view.get("byteOffset", 0), "a byteOffset", size)
    return start, whole(view.get("byteLength"), "a byteLength", size - start)
