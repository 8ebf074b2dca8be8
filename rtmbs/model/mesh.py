"""``Mesh``, a shape of triangles from a file: GLB by a reader of our own, other formats by trimesh.

A file of a few hundred bytes may claim millions of vertices or instances. Every count is held against the bytes that
are there before an array is made. Materials, animations and skins are left out; compressed and sparse values, and
data in other files, are refused.
Source: glTF 2.0 Specification, Khronos Group, sections 3.5 (scenes), 3.6 (accessors), 3.7 (meshes) and 4 (GLB).

A mesh file may name textures and libraries of materials, which may be any file, or have thousands of parts, which take
trimesh minutes. Nothing but vertices and faces reaches trimesh, from memory, so no other file is opened. GLB files have
a reader of their own.
"""

import io
import os
import re
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.files import DamagedFile, check_unpacked, from_json, opened
from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import Array, numbers, rotation
from rtmbs.model.shapes import ORIGIN, Surface, checked_triangles, keep, positive

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
        return finite_numbers(node["matrix"], 16).reshape(4, 4).T
    place = np.eye(4)
    x, y, z, w = finite_numbers(node.get("rotation", (0, 0, 0, 1)), 4)
    place[:3, :3] = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]) * finite_numbers(node.get("scale", (1, 1, 1)), 3)  # fmt: skip
    place[:3, 3] = finite_numbers(node.get("translation", (0, 0, 0)), 3)
    return place


def finite_numbers(values: Any, count: int) -> Array:
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


# ---- ``Mesh``, a shape of triangles from a file, and the safe reading of mesh files by trimesh ----------------------


MOST_FACES = 2_000_000
MOST_BYTES = 1_000_000_000
NEEDS = "meshes need trimesh; pip install 'rtmbs[mesh]' brings it"
MOST_ROWS = 6_000_000  # vertices and triangles of all meshes of a text
MOST_HEADER, MOST_ELEMENTS, MOST_PROPERTIES = 64_000, 16, 100  # of a PLY file: bytes, and lines of two kinds
VERTEX = re.compile(rb"vertex[ \t]+([^\r\n]+)", re.IGNORECASE)
OBJ_LINE = re.compile(rb"^[ \t]*([vf])[ \t]+([^\r\n#]*)", re.MULTILINE)
CONTINUED = re.compile(rb"\\\r?\n")
SLASHES = re.compile(rb"/[^ \t]*")


class Triangles:
    """Vertices (v, 3) and faces (k, 3) as a file has them, in its own unit and axes."""

    def __init__(self, vertices: Any, faces: Any) -> None:
        self.vertices, self.faces = np.asarray(vertices, float), np.asarray(faces)


class Version(NamedTuple):
    """A file as it was at one time: what changes when the file does."""

    device: int
    number: int
    size: int
    changed: int  # [ns]
    ending: str


class Meshes:
    """The files that one text names: each is read once, and all meshes together have a bounded number of rows."""

    def __init__(self) -> None:
        self.read: dict[Version, Triangles] = {}
        self.rows = 0


NAMED: ContextVar[Meshes | None] = ContextVar("NAMED", default=None)


@contextmanager
def read_once() -> Iterator[None]:
    """Read each mesh file once in this block, however many bodies name it."""
    token = NAMED.set(Meshes())
    try:
        yield
    finally:
        NAMED.reset(token)


def triangles_of(path: Path, what: str) -> Triangles:
    """Return the triangles of a file, the parts of a scene in one; ModelError when there are none."""
    ending, named = path.suffix.lower(), NAMED.get() or Meshes()
    if ending not in READERS:
        raise ModelError(f"{what}: the ending is {path.suffix or 'missing'}; it must be one of {', '.join(READERS)}")
    try:
        with opened(path, MOST_BYTES) as file:
            about = os.fstat(file.fileno())
            version = Version(about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, ending)
            found = named.read.get(version) or triangles_in(file.read(), ending, what)
    except DamagedFile as error:
        raise ModelError(f"{what} {error}") from None
    named.read[version] = found
    named.rows += len(found.vertices) + len(found.faces)
    if named.rows > MOST_ROWS:
        raise ModelError(f"{what}: all meshes together have more than {MOST_ROWS} vertices and triangles; reduce them")
    return found


def triangles_in(data: bytes, ending: str, what: str) -> Triangles:
    """Return the triangles of the bytes of a file."""
    try:
        found = Triangles(*READERS[ending](data))
    except DamagedFile as error:
        raise ModelError(f"{what} cannot be read as a mesh: it {error}") from None
    except ModelError as refusal:
        raise ModelError(f"{what}: {refusal}") from None
    except IndexError:
        raise ModelError(f"{what} cannot be read as a mesh: a triangle names a vertex that is not there") from None
    except Exception as error:  # noqa: BLE001 - a damaged file may raise anything
        raise ModelError(f"{what} cannot be read as a mesh: {type(error).__name__}: {error}") from None
    if not len(found.faces):
        raise ModelError(f"{what} holds no triangle")
    if len(found.faces) > MOST_FACES:
        raise ModelError(f"{what} has {len(found.faces)} triangles; at most {MOST_FACES} can be drawn; reduce the mesh")
    return found


def by_trimesh(data: bytes, form: str) -> tuple[Any, Any]:
    """Return vertices and faces as trimesh reads them, from memory and without any other file."""
    try:
        import trimesh
    except ImportError:
        raise ModelError(NEEDS) from None
    read: Any = trimesh.load(io.BytesIO(data), file_type=form, force="mesh", process=False)
    return read.vertices, read.faces


def stl(data: bytes) -> tuple[Any, Any]:
    """Return the triangles of an STL file; the solids of a text are one."""
    if len(data) >= 84 and 84 + 50 * int.from_bytes(data[80:84], "little") == len(data):
        return by_trimesh(bytes(80) + data[80:], "stl")  # the comment may be anything
    if data[:512].lstrip()[:5].lower() != b"solid":
        raise DamagedFile("is no STL file: its triangles do not fill it, and it is no text that begins with solid")
    lines = b"\n".join(b"vertex " + line for line in VERTEX.findall(data))
    return by_trimesh(b"solid mesh\n" + lines + b"\nendsolid mesh\n", "stl")


def obj(data: bytes) -> tuple[Any, Any]:
    """Return the triangles of an OBJ file; names, normals, textures and materials are left out."""
    vertices, faces = [], []
    for kind, rest in OBJ_LINE.findall(CONTINUED.sub(b" ", data)):
        if kind == b"f":
            faces += triangulated(SLASHES.sub(b"", rest).split())
        elif len(words := rest.split()) >= 3:
            vertices.append(b"v " + b" ".join(words[:3]))
        else:
            raise DamagedFile(f"has a vertex {rest[:40].decode(errors='replace')!r}; three numbers are needed")
    return by_trimesh(b"\n".join([*vertices, *faces]) + b"\n", "obj") if faces else ((), ())


def triangulated(corners: list[bytes]) -> list[bytes]:
    """Return the lines of a polygon; one of many corners is cut into a fan: trimesh takes long for many sizes."""
    if len(corners) <= 4:
        return [b"f " + b" ".join(corners)]
    return [b"f " + b" ".join((corners[0], *corners[k : k + 2])) for k in range(1, len(corners) - 1)]


def ply(data: bytes) -> tuple[Any, Any]:
    """Return the triangles of a PLY file, whose header counts no more rows than there may be."""
    head, mark, _ = data[: MOST_HEADER + 20].partition(b"end_header")
    if not data.startswith(b"ply") or not mark:
        raise DamagedFile(f"is no PLY file: it has no header of at most {MOST_HEADER} bytes")
    lines = [line.split() for line in head.decode("utf-8", "replace").splitlines()]
    lines = [line for line in lines if line and line[0] not in ("comment", "obj_info")]
    elements = [line for line in lines if line[0] == "element"]
    if len(elements) > MOST_ELEMENTS or len(lines) > MOST_PROPERTIES:
        raise DamagedFile(f"has a header of {len(lines)} lines and {len(elements)} elements; a mesh has fewer")
    counts = [int(line[2]) for line in elements if len(line) == 3 and line[2].isdecimal() and len(line[2]) < 12]
    if len(counts) < len(elements) or sum(counts) > len(data):
        raise DamagedFile(f"counts {sum(counts)} rows, and has {len(data)} bytes")
    body = data[data.find(b"\n", len(head)) + 1 :]
    if any(line[:2] == ["format", "ascii"] for line in lines):
        rows = [row for one in body.splitlines() if (row := one.strip())]
        if len(rows) < sum(counts):
            raise DamagedFile(f"counts {sum(counts)} rows, and has {len(rows)}")
        check_faces(lines, counts, rows)
        body = b"\n".join(rows)
    plain = "\n".join(" ".join(line) for line in lines).encode()
    return by_trimesh(plain + b"\nend_header\n" + body, "ply")


def check_faces(lines: list[list[str]], counts: list[int], rows: list[bytes]) -> None:
    """Refuse faces of fewer than three corners: DamagedFile."""
    names = [line[1] for line in lines if line[0] == "element"]
    if "face" in names and [line[1] for line in lines[-1:] if line[0] == "property" and len(line) == 5] == ["list"]:
        place = names.index("face")
        start = sum(counts[:place])
        for row in rows[start : start + counts[place]]:
            if row[:2] in (b"0", b"1", b"2", b"0 ", b"1 ", b"2 "):
                raise DamagedFile(f"has the face {row[:40].decode(errors='replace')!r}, which is no triangle")


def off(data: bytes) -> tuple[Any, Any]:
    """Return the triangles of an OFF file; a comment may be in any alphabet."""
    return by_trimesh(data.decode("utf-8", "replace").encode(), "off")


READERS: dict[str, Callable[[bytes], tuple[Any, Any]]] = {
    ".stl": stl, ".obj": obj, ".ply": ply, ".glb": read_glb, ".off": off,
}  # fmt: skip
ENDINGS = tuple(READERS)


@dataclass(frozen=True, eq=False)
class Mesh(Surface):
    """Triangles of an STL, OBJ, PLY, GLB or OFF file, in body axes.

    The triangles are kept, so the file may be gone later.

    Parameters
    ----------
    file : str
        Path of an STL, OBJ, PLY, GLB or OFF file.
    scale : float, default 1.0
        Metres a unit of the file; 0.001 for a drawing in millimetres.
    position : ndarray, default ORIGIN
        (3,) of the file's origin in body axes [m].
    axes : ndarray, optional
        3 x 3 rotation of the file's axes to body axes, or a quaternion (w, x, y, z).

    Raises
    ------
    ModelError
        For a file that is missing or no mesh, and without the package trimesh (extra ``mesh``).

    Examples
    --------
    >>> model.add_body("hull", shape=rtmbs.Mesh("hull.stl", scale=0.001), mass=12.0, inertia=(0.3, 0.4, 0.5))
    """

    vertices: Array = field(init=False, repr=False)
    faces: NDArray[np.int64] = field(init=False, repr=False)
    file: str = field(kw_only=False)
    scale: float = 1.0
    position: Array = ORIGIN  # type: ignore[assignment]
    axes: Array = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not isinstance(self.file, str | Path):
            raise ModelError(f"Mesh: file is {shown(self.file)}; it must be the name of a mesh file")
        what = f"Mesh {str(self.file)!r}"
        scale, position = positive(self.scale, f"{what}: scale"), numbers(self.position, f"{what}: position", (3,))
        axes = rotation(np.eye(3) if self.axes is None else self.axes, f"{what}: axes")
        read = triangles_of(Path(self.file), what)
        vertices = np.asarray(read.vertices, float)
        if not np.all(np.isfinite(vertices)):
            raise ModelError(f"{what} cannot be read as a mesh: a vertex has a number that is not finite")
        vertices = scale * vertices @ axes.T + position
        keep(self, file=str(self.file), scale=scale, position=position, axes=axes)
        keep(self, **checked_triangles(vertices, read.faces, what))
