"""No reader opens a file in another way than ``rtmbs.core.files``, which takes regular files of a bounded size."""

import ast
import re
from pathlib import Path

from tests.trees import tree_of

ROOT = Path(__file__).parents[2] / "rtmbs"
READERS = {
    "np": {"load", "fromfile", "genfromtxt", "memmap"},
    "numpy": {"load", "fromfile", "genfromtxt", "memmap"},
    "h5py": {"File"},
    "trimesh": {"load", "load_mesh", "load_scene"},
    "parquet": {"read_table", "read_metadata", "ParquetFile"},
    "json": {"load"},
    "tomllib": {"load"},
    "pickle": {"load", "loads"},
    "io": {"open", "FileIO"},
    "os": {"open"},
}
WORDS = re.compile(rf"\b({'|'.join({'open', 'read_text', 'read_bytes'}.union(*READERS.values()))})\(")
ALLOWED = {
    "core/files.py": "opens files for all readers, and writes",
    "results/hdf5_check.py": "looks at HDF5 files in a process with little time and memory",
    "results/file_formats.py": "opens what hdf5_check looked at, and writes tables and HDF5",
    "results/tables.py": "opens what it has looked at",
    "model/mesh.py": "hands bytes in memory to trimesh",
    "core/bounds.py": "files of the system",
    "jit/dispatch.py": "the folder of kernels, which nobody else may write to",
    "jit/cache_folder.py": "sources of rtmbs",
    "jit/compile_progress.py": "sources of rtmbs",
    "jit/prebuilt.py": "the library of rtmbs, or that of the folder which the user names",
    "jit/prebuilt_code.py": "types that a process of the maker wrote",
    "language/parse.py": "the grammar of rtmbs",
    "commands/arguments.py": "a page of rtmbs, and the null device",
    "viewer/web/content.py": "files of the page of rtmbs",
    "viewer/notebook.py": "a page that it wrote itself",
    "viewer/qt/plots.py": "writes",
    "studies/sweeps/engines.py": "the null device, and bytes that the process of the sweep wrote",
    "jit/native_code.py": "the Instance that the process of the user wrote",
    "export/packages.py": "sources of rtmbs, and the library that was just made",
    "system/user_functions.py": "bytes within a pickle that the user loads",
}


def opens(tree: ast.AST) -> list[str]:
    """Return the calls of a module that open a file."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id == "open":
            found.append("open")
        if isinstance(node.func, ast.Attribute):
            owner = node.func.value
            name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
            path_open = node.func.attr == "open" and node.args and isinstance(node.args[0], ast.Constant)
            if node.func.attr in ("read_text", "read_bytes") or node.func.attr in READERS.get(name, ()) or path_open:
                found.append(f"{name}.{node.func.attr}")
    return found


def test_the_search_finds_what_opens_files():
    said = "open('a')\nnp.load('a')\nh5py.File('a')\ntrimesh.load('a')\n"
    said += "arrow.parquet.read_table('a')\nPath('a').open('rb')\np.read_text()"
    assert len(opens(ast.parse(said))) == 7


def test_no_other_file_opens_files():
    found = {}
    for path in ROOT.rglob("*.py"):
        said = WORDS.search(path.read_text(encoding="utf-8"))  # most files have none of the words
        if said and (calls := opens(tree_of(path))):
            found[path.relative_to(ROOT).as_posix()] = calls
    assert {name: calls for name, calls in found.items() if name not in ALLOWED} == {}
    assert set(ALLOWED) == set(found)
