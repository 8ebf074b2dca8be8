"""``Mesh``, a shape of triangles from a file, and the safe reading of mesh files by trimesh.

A mesh file may name textures and libraries of materials, which may be any file, or have thousands of parts, which take
trimesh minutes. Nothing but vertices and faces reaches trimesh, from memory, so no other file is opened. GLB files have
a reader of their own (``glb.py``).
"""

import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import ModelError, shown
from rtmbs.files.reading import DamagedFile, opened
from rtmbs.model.checks import Array, numbers, rotation
from rtmbs.model.glb import read_glb
from rtmbs.model.shapes import ORIGIN, Surface, checked_triangles, keep, positive

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
        vertices = scale * np.asarray(read.vertices, float) @ axes.T + position
        keep(self, file=str(self.file), scale=scale, position=position, axes=axes)
        keep(self, **checked_triangles(vertices, read.faces, what))
