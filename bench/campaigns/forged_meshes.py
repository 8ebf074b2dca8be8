"""Forged meshes: GLB files whose counts lie, texts of many parts, and names of other files."""

import json
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np

from bench.campaigns.forged_archives import SPECIAL, special
from rtmbs.model import Mesh

LARGEST = 1_000_000  # bytes of a text
NUMBERS = (-1, 0, 1, 2, 3, 4, 2**16, 2**31, 2**53, 10**18, 2.5, "3", None, [], True)


def read(path: Path) -> Any:
    """Return the corners of all triangles (k, 3, 3)."""
    mesh = Mesh(path)
    return mesh.vertices[mesh.faces]


def shape(rng: np.random.Generator, most: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Return random vertices, as a file of single precision holds them, and faces."""
    points = rng.normal(size=(int(rng.integers(3, most)), 3)).astype(np.float32)
    return points, np.array([rng.choice(len(points), 3, replace=False) for _ in range(rng.integers(1, most))])


def plain_glb(points: np.ndarray, faces: np.ndarray) -> tuple[dict[str, Any], bytes]:
    """Return the description and the data of a mesh at its place."""
    data = points.astype("<f4").tobytes()
    corners = faces.astype("<u2").tobytes()
    return {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": len(points), "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 3 * len(faces), "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteLength": len(data)},
            {"buffer": 0, "byteOffset": len(data), "byteLength": len(corners)},
        ],
        "buffers": [{"byteLength": len(data) + len(corners)}],
    }, data + corners  # fmt: skip


def glb(tree: Any, data: bytes, text: bytes | None = None) -> bytes:
    text = json.dumps(tree, separators=(",", ":")).encode() if text is None else text
    text += b" " * (-len(text) % 4)
    data += bytes(-len(data) % 4)
    head = b"glTF" + struct.pack("<II", 2, 28 + len(text) + len(data))
    return head + struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(data), 0x004E4942) + data


def lying_glb(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """One number of the description is another one; it is read as it was, or refused."""
    points, faces = shape(rng)
    tree, data = plain_glb(points, faces)
    group = str(rng.choice(["accessors", "bufferViews", "nodes", "scenes", "meshes", "buffers"]))
    target = tree[group][int(rng.integers(len(tree[group])))]
    key = str(rng.choice([*target, "byteOffset", "byteStride", "count", "sparse", "mode", "children"]))
    was, target[key] = target.get(key), NUMBERS[int(rng.integers(len(NUMBERS)))]
    path = folder / "a.glb"
    path.write_bytes(glb(tree, data))
    if group in ("buffers", "scenes") or key not in ("count", "byteLength", "byteOffset"):
        return path, points[faces] if was == target[key] or key not in ("bufferView", "mesh") else None
    shorter = type(target[key]) is int and 0 < target[key] <= (was or 0)
    return path, Anything() if shorter or key == "byteOffset" else points[faces]


class Anything:
    """Stands for what a file says when it says less than it did, in order."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def many_glb(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """Many instances of a mesh, or one mesh of many parts, or a circle of nodes."""
    points, faces = shape(rng, int(rng.choice([4, 2000])))
    tree, data = plain_glb(points, faces)
    count, way = int(rng.choice([3, 500, 15000])), int(rng.integers(4))
    truth: Any = np.concatenate([points[faces]] * count) if count * len(faces) < 10**6 else None
    if way == 0:
        tree["nodes"], tree["scenes"] = [{"mesh": 0}] * count, [{"nodes": list(range(count))}]
    elif way == 1:
        tree["meshes"][0]["primitives"] *= count
    elif way == 2:
        tree["nodes"] = [{"mesh": 0, "children": [k + 1]} for k in range(count - 1)] + [{"mesh": 0}]
    else:
        tree["nodes"], truth = [{"mesh": 0, "children": [0]}], None
    path = folder / "a.glb"
    path.write_bytes(glb(tree, data))
    return path, truth


def deep_glb(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """Nested JSON, other files as buffers, no values, or a chunk that is longer than the file."""
    tree, data = plain_glb(*shape(rng))
    text, way = None, int(rng.integers(5))
    if way == 0:
        text = b"[" * int(rng.choice([1000, 400000]))
    elif way == 1:
        tree["buffers"][0]["uri"] = str(rng.choice(["/dev/zero", "/etc/passwd", "pipe", "data:;base64,AAAA"]))
        os.mkfifo(folder / "pipe")
    elif way == 2:
        del tree["accessors"][0]["bufferView"]
        tree["accessors"][0]["count"] = int(rng.choice([10**5, 2 * 10**7]))
    elif way == 3:
        tree["extensionsRequired"] = ["KHR_draco_mesh_compression"]
        tree["accessors"][0].pop("bufferView")
    made = bytearray(glb(tree, data, text))
    if way == 4:
        struct.pack_into("<I", made, int(rng.choice([8, 12])), int(rng.choice([2**32 - 1, 2**31, 10**6])))
    (folder / "a.glb").write_bytes(bytes(made))
    return folder / "a.glb", None


def text_obj(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """A sound OBJ that names materials, textures and groups in any alphabet."""
    points, faces = shape(rng)
    lines = ["# G\xf6\xdfe", f"mtllib {rng.choice(['pipe', '/dev/zero', '/etc/passwd', '../x'])}"]
    lines += [f"v {x!r} {y!r} {z!r}" for x, y, z in points.tolist()]
    for number, face in enumerate(faces.tolist()):
        lines += [f"usemtl m{number}", f"o o{number}"] if rng.integers(2) else []
        lines.append("f " + " ".join(f"{k + 1}{rng.choice(['', '/1', '//2', '/7/9'])}" for k in face))
    os.mkfifo(folder / "pipe")
    (folder / "a.obj").write_bytes("\n".join(lines).encode("latin-1"))
    return folder / "a.obj", points[faces]


LINES = {
    ".obj": ["v 0 0 0\n", "f 1 2 3\n", "f 1 2 3 4 5 6\n", "usemtl a{0}\nf 1 2 3\n", "o a{0}\n", "\\\n", "\n", "f 1\n"],
    ".stl": ["solid a\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendsolid a\n", "vertex 0\n", "solid\n", "endsolid\n"],
    ".off": ["3 0 1 2\n", "4 0 1 2 0\n", "1 0\n", "0 0 0\n", "#\n", "OFF\n", "\n"],
    ".ply": ["3 0 1 2\n", "4 0 1 2 0\n", "0\n", "1 0\n", "0 0 0\n", "\n"],
}
HEADS = {
    ".obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\n",
    ".stl": "solid a\n",
    ".off": "OFF\n3 {0} 0\n0 0 0\n1 0 0\n0 1 0\n",
    ".ply": "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
    "element face {0}\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n",
}


def long_text(rng: np.random.Generator, folder: Path, size: int = LARGEST) -> tuple[Path, Any]:
    """A megabyte of one or two lines, and counts that lie."""
    ending = str(rng.choice(list(LINES)))
    kinds = [str(one) for one in rng.choice(LINES[ending], int(rng.integers(1, 3)))]
    size = int(rng.choice([size // 50, size // 50, size // 50, size]))
    repeated = size // max(sum(len(kind) for kind in kinds), 1)
    lines = "".join("".join(kinds).replace("{0}", str(k)) for k in range(repeated))
    claimed = int(rng.choice([repeated * len(kinds), repeated, 1, 0, 2**31, 10**15]))
    path = folder / f"a{ending}"
    path.write_text(HEADS[ending].replace("{0}", str(claimed)) + lines, encoding="latin-1")
    return path, Anything()


def lying_binary(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """A binary STL or PLY whose count is another one."""
    points, faces = shape(rng)
    count = int(rng.choice([len(faces), len(faces) - 1, len(faces) + 1, 2**32 - 1, 2**31, 0]))
    if rng.integers(2):
        rows = np.zeros(len(faces), [("n", "<f4", 3), ("v", "<f4", (3, 3)), ("a", "<u2")])
        rows["v"] = points[faces]
        path, data = folder / "a.stl", bytes(80) + struct.pack("<I", count) + rows.tobytes()
    else:
        head = (
            f"ply\nformat binary_little_endian 1.0\nelement vertex {len(points)}\nproperty float x\nproperty float y\n"
            f"property float z\nelement face {count}\nproperty list {rng.choice(['uchar', 'uchar', 'uint'])} int "
            "vertex_indices\nend_header\n"
        )
        rows = np.zeros(len(faces), [("n", "u1"), ("f", "<i4", 3)])
        rows["n"], rows["f"] = 3, faces
        path, data = folder / "a.ply", head.encode() + points.astype("<f4").tobytes() + rows.tobytes()
        count = count if "uchar" in head else -1
    path.write_bytes(data)
    return path, points[faces] if count == len(faces) else None


def no_mesh(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """A pipe, a device, a folder or nothing in the place of a mesh."""
    path = folder / f"a{rng.choice(['.stl', '.obj', '.ply', '.glb', '.off'])}"
    special(str(rng.choice(SPECIAL)), path)
    return path, None


def forgers() -> list[tuple[Any, Any]]:
    """Return (forge, read) of each kind."""
    import trimesh  # before the first file, which would pay for it

    trimesh.load(trimesh.util.wrap_as_stream(trimesh.creation.box().export(file_type="stl")), file_type="stl")
    kinds = (lying_glb, many_glb, deep_glb, text_obj, long_text, lying_binary, no_mesh)
    return [(one, read) for one in kinds]
