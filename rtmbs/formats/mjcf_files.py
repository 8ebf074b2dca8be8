"""Files and sizes that an MJCF names, looked at before MuJoCo opens it: all lie in the folder of the file or package.

Includes are read from the folder of the file or of the including file. Attached models (``<asset><model file>``) have
a folder of their own. A short text can ask for gigabytes by copies of bodies, whose number is bounded, or by numbers
(``mjcf_sizes``). Images count by their headers.
"""

import struct
from pathlib import Path

from rtmbs.core.reading import DamagedFile, opened, whole
from rtmbs.errors import ModelError
from rtmbs.formats.mesh_files import MeshFiles
from rtmbs.formats.mjcf_sizes import check_cells, product_of
from rtmbs.formats.xml_tree import MOST_BYTES, Element, parse_xml

NAMED = (
    "file", "meshdir", "texturedir", "assetdir", "fileright", "fileleft", "fileup", "filedown", "filefront", "fileback",
)  # fmt: skip
FOLDERS = ("meshdir", "texturedir", "assetdir")
MOST_FILES = 200
MOST_COPIES = 10_000  # elements that replicate, composite, flexcomp and attach add
IMAGES = ("texture", "hfield")
PNG, HEADER, CHANNELS = b"\x89PNG\r\n\x1a\n", 24, 4.0  # width and height end the header
COUNTED = ("replicate", "composite", "flexcomp")


def check_files(root: Element, path: Path, files: MeshFiles) -> None:
    """Refuse an MJCF that names a file outside of its folder, or asks for too much memory: LanguageError."""
    MJCFFiles().size(root, path.resolve(), files)


class MJCFFiles:
    """Files that one MJCF is made of, with their numbers of elements."""

    def __init__(self) -> None:
        self.sizes: dict[Path, int] = {}  # elements by file of a model, copies included
        self.open: list[Path] = []  # models that are looked at, each named by the one before
        self.count = 0

    def size(self, root: Element, path: Path, files: MeshFiles) -> int:
        """Return the number of elements of a model, with those that it includes and attaches."""
        if path in self.open:
            raise root.fault(f"model {str(path)!r} attaches itself; a model must be attached to another one")
        if path in self.sizes:
            return self.sizes[path]
        self.open.append(path)
        trees, inner = self.included(root, path.parent, files)
        elements = [(element, base) for tree, base in trees for element in tree.walk()]
        folders = [one.attributes[key] for one, _ in elements for key in FOLDERS if key in one.attributes]
        models: dict[str, int] = {}
        pixels = 0.0
        for element, base in elements:
            for key in NAMED:
                if key in element.attributes:
                    found = check_place(element, key, ["", *folders], files, {path.parent, base})
                    pixels += max(map(numbers_of_image, found), default=0.0) if element.tag in IMAGES else 0.0
            if element.tag == "model" and "file" in element.attributes:
                place = (path.parent / element.attributes["file"]).resolve()
                if place.is_file():
                    tree = self.tree(element, place, files)
                    if tree.tag != "mujoco":
                        raise element.fault(f"<model>: {str(place)!r} begins with <{tree.tag}>; it must be <mujoco>")
                    models[element.attributes.get("name", "")] = self.size(tree, place, files.of(place))
        size = copies(root, inner, models)
        check_cells(root, [element for element, _ in elements], pixels, size)
        if size - len(elements) > MOST_COPIES:
            raise root.fault(f"{size} elements are made of {len(elements)}; {MOST_COPIES} more are the most")
        self.open.pop()
        self.sizes[path] = size
        return size

    def included(
        self, root: Element, folder: Path, files: MeshFiles
    ) -> tuple[list[tuple[Element, Path]], dict[Element, list[Element]]]:
        """Return the trees of a model, each with its folder, and those that an include leads to."""
        trees, met = [(root, folder)], set[Path]()
        inner: dict[Element, list[Element]] = {}
        for tree, base in trees:
            for element in tree.walk():
                if element.tag != "include" or "file" not in element.attributes:
                    continue
                check_place(element, "file", [""], files, {folder, base})
                for place in {(one / element.attributes["file"]).resolve(): None for one in (base, folder)}:
                    if place not in met and place.is_file():
                        met.add(place)
                        found = self.tree(element, place, files)
                        trees.append((found, place.parent))
                        inner.setdefault(element, []).append(found)
        return trees, inner

    def tree(self, element: Element, path: Path, files: MeshFiles) -> Element:
        """Return the root of a file that an element names."""
        self.count += 1
        if self.count > MOST_FILES:
            raise element.fault(f"more than {MOST_FILES} files are included; a model has fewer")
        check_place(element, "file", [""], files, {files.folder})
        try:
            return parse_xml(whole(path, MOST_BYTES), str(path))
        except DamagedFile as error:
            raise element.fault(f"included file {str(path)!r} {error}") from None


def check_place(element: Element, key: str, folders: list[str], files: MeshFiles, bases: set[Path]) -> list[Path]:
    """Return the paths that a name may mean; refuse one that leads outside from any of the folders."""
    found = []
    for folder in folders if key not in FOLDERS else [""]:
        address = f"{folder}/{element.attributes[key]}" if folder else element.attributes[key]
        for base in bases:
            try:
                found += [files.place(one, base) for one in {address, address.replace("\\", "/")}]  # MuJoCo opens both
            except ModelError as error:
                raise element.fault(f"<{element.tag}>: {error}") from None
    return found


def numbers_of_image(path: Path) -> float:
    """Return the numbers that a PNG unpacks to, four for each pixel, by its header; 0 of any other file."""
    try:
        with opened(path) as file:
            head = file.read(HEADER)
    except DamagedFile:  # MuJoCo refuses it, or there is none
        return 0.0
    if len(head) < HEADER or not head.startswith(PNG):
        return 0.0
    width, height = struct.unpack(">II", head[-8:])
    return CHANNELS * float(width) * float(height)


def copies(root: Element, inner: dict[Element, list[Element]], models: dict[str, int]) -> int:
    """Return the number of elements of a model, copies by replicate, composite, flexcomp and attach included."""
    found, waiting = 0.0, [(root, 1.0)]
    for element, many in waiting:
        if element.tag in COUNTED:
            many *= max(product_of(element, "count"), product_of(element, "cellcount"), 1.0)
        if element.tag in ("attach", "model"):
            name = element.attributes.get("model" if element.tag == "attach" else "name", "")
            found += many * models.get(name, max(models.values(), default=0))
        found += many
        waiting += [(child, many) for child in (*element.children, *inner.get(element, ()))]
    return int(min(found, 1e15))
