"""Compilation of an MJCF by MuJoCo, and the check of its files and sizes before.

The model that MuJoCo compiles of an MJCF, and the names that its elements have here.

Files and sizes that an MJCF names, looked at before MuJoCo opens it: all lie in the folder of the file or package.

Includes are read from the folder of the file or of the including file. Attached models (``<asset><model file>``) have
a folder of their own. Images count by their headers. A short text can ask for gigabytes by copies of bodies, whose
number is bounded, or by numbers that MuJoCo is to keep: textures, fields of heights, built-in meshes, sensors, delays,
states of actuators, user data and keyframes. User data of a kind have the width of its longest entry in each element of
this kind. A keyframe has all coordinates.
"""

import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from rtmbs.core.files import DamagedFile, opened, whole
from rtmbs.errors import InputError, LanguageError, ModelError
from rtmbs.formats.assembly import BACKWARDS, ModelAssembly
from rtmbs.formats.shapes import MeshFiles
from rtmbs.formats.xml_tree import MOST_BYTES, Element, parse_xml

NEEDS = "MJCF files need MuJoCo; pip install 'rtmbs[robots]' brings it"


class MuJoCoModel(NamedTuple):
    """A compiled model of MuJoCo and the names that its elements have here."""

    model: Any
    bodies: list[str]  # "" the world
    joints: list[str]
    off: frozenset[str] = frozenset()  # parts that flags switch off, such as spring
    backwards: frozenset[str] = frozenset()  # joints whose second body is the parent


def compiled_model(assembly: ModelAssembly, path: Path) -> Any:
    """Return the compiled model; without its meshes where these are missing and no mass comes from them."""
    try:
        import mujoco
    except ImportError:
        raise InputError(NEEDS) from None
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: None)  # it would write a file
    try:
        try:
            return mujoco.MjModel.from_xml_path(str(path))
        except ValueError as error:
            first = " ".join(str(error).split())
        return without_meshes(mujoco, assembly, path, first)
    finally:
        mujoco.set_mju_user_warning(before)


def without_meshes(mujoco: Any, assembly: ModelAssembly, path: Path, first: str) -> Any:
    """Return the compiled model without meshes and textures; LanguageError where a mass depends on them."""
    refusal = LanguageError(f"MuJoCo refuses the file: {first}", file=assembly.file)
    if "opening file" not in first and "not found" not in first:
        raise refusal
    try:
        spec = mujoco.MjSpec.from_file(str(path))
        weighed = [body.name or "?" for body in spec.bodies[1:] if not body.explicitinertial and drawn_by_mesh(body)]
        if weighed:
            raise LanguageError(
                f"body {weighed[0]!r} takes its mass from a mesh that is missing ({first}); give its inertial",
                file=assembly.file,
            )
        for geom in [one for one in spec.geoms if is_mesh(one)]:
            spec.delete(geom)
        for coloured in (*spec.geoms, *spec.sites, *spec.tendons):
            coloured.material = ""
        for element in (*spec.meshes, *spec.skins, *spec.materials, *spec.textures):
            spec.delete(element)
        compiled = spec.compile()
    except LanguageError:
        raise
    except ValueError:
        raise refusal from None
    assembly.note("meshes and textures", f"are left out: {first}")
    return compiled


def drawn_by_mesh(body: Any) -> bool:
    """True for a body with a mesh that has a mass."""
    return any(is_mesh(geom) and geom.mass != 0.0 and geom.density != 0.0 for geom in body.geoms)


def is_mesh(geom: Any) -> bool:
    """True for a geometry of triangles from a file."""
    return bool(geom.meshname)


def body_names(model: Any) -> list[str]:
    """Return the names of the bodies, "" for the world."""
    return ["", *(model.body(i).name or f"body_{i}" for i in range(1, model.nbody))]


def joint_names(model: Any) -> list[str]:
    """Return the names of the joints; a joint without one has that of its body."""
    found: list[str] = []
    for j in range(model.njnt):
        body = int(model.jnt_bodyid[j])
        plain = model.joint(j).name or f"{model.body(body).name or f'body_{body}'}_joint"
        found.append(plain if plain not in found else f"{plain}_{j}")
    return found


def backward_joints(model: Any) -> frozenset[str]:
    """Return the joints that a text of the file marks: their second body is the parent."""
    texts = [model.names[int(at) :].split(b"\0", 1)[0].decode(errors="replace") for at in model.name_textadr]
    return frozenset(one.removeprefix(f"{BACKWARDS}:") for one in texts if one.startswith(f"{BACKWARDS}:"))


def switched_off(model: Any) -> frozenset[str]:
    """Return the parts that flags of the file switch off: gravity, spring, damper, equality, actuation and others."""
    import mujoco

    bits = mujoco.mjtDisableBit.__members__.items()
    found = {
        name.removeprefix("mjDSBL_").lower()
        for name, bit in bits
        if name.startswith("mjDSBL_") and model.opt.disableflags & int(bit)
    }
    found |= {"spring", "damper"} if "passive" in found else set()  # one flag before MuJoCo 3.4
    return frozenset(found | ({"equality", "frictionloss"} if "constraint" in found else set()))


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


MOST_CELLS = 20_000_000
OF_IMAGES = 0.3  # part that a number of an image counts: it takes a byte, and 1.4 while it is unpacked; others take 8
OF_VERTEX = 200.0  # numbers that a vertex of a mesh takes while MuJoCo compiles it
RANGES = 14.0  # numbers of a pixel of a range finder: distance, direction, origin, point, normal, depth
TOUCHES = 17.0  # numbers of a contact
OF_KEY = 200.0  # for its name and time
OF_STATE = 13.0  # coordinates and rates of a free joint


def check_cells(root: Element, elements: list[Element], pixels: float, size: int) -> None:
    """Refuse an MJCF of too many numbers: LanguageError; ``size`` is its number of elements with copies."""
    found = sum(COUNTS[one.tag](one) for one in elements if one.tag in COUNTS) + OF_IMAGES * pixels
    found += sum(history(one) for one in elements if "nsample" in one.attributes)
    found += sum(product_of(one, "actdim") for one in elements if "actdim" in one.attributes)
    found += ranges(elements) + user_data(elements, size) + keyframes(elements, size)
    if found > MOST_CELLS:
        raise root.fault(
            f"textures, fields of heights, meshes, sensors, keyframes and user data have {found:.3g} numbers; "
            f"{MOST_CELLS} are the most"
        )


def texture(element: Element) -> float:
    """Return the numbers of a texture."""
    width, height = product_of(element, "width"), product_of(element, "height")
    flat = element.attributes.get("type", "cube") == "2d"
    return max(product_of(element, "nchannel"), 3.0) * (width * height if flat else max(width, height, 6 * width**2))


def mesh(element: Element) -> float:
    """Return the numbers of a built-in mesh: the first of its parameters are counts of vertices along its sides."""
    counts = [*numbers_of(element, "params"), 0.0, 0.0][:2]
    kind = element.attributes.get("builtin", "")
    if "params" not in element.attributes or kind in ("sphere", "hemisphere"):  # MuJoCo bounds these
        return 0.0
    if kind in ("plate", "wedge"):
        return OF_VERTEX * counts[0] * counts[1]
    if kind == "cone":  # its ends are polygons, and the time grows with the square
        return counts[0] ** 2 + 2.0 * OF_VERTEX * counts[0]
    return OF_VERTEX * max(counts[0], 1.0 if kind.startswith("super") else counts[1]) ** 2


COUNTS: dict[str, Callable[[Element], float]] = {
    "texture": texture,
    "mesh": mesh,
    "hfield": lambda element: product_of(element, "nrow") * product_of(element, "ncol"),
    "numeric": lambda element: product_of(element, "size"),
    "user": lambda element: product_of(element, "dim"),
    "contact": lambda element: TOUCHES * product_of(element, "num"),
    "size": lambda element: product_of(element, "nuserdata"),
}


def history(element: Element) -> float:
    """Return the numbers of the samples that a delay keeps."""
    return 2.0 * product_of(element, "nsample") * max(product_of(element, "dim"), 4.0)


def ranges(elements: list[Element]) -> float:
    """Return the numbers of range finders with a camera, each of as many pixels as the largest camera."""
    finders = sum(one.tag == "rangefinder" and "camera" in one.attributes for one in elements)
    pixels = max((product_of(one, "resolution") for one in elements if one.tag == "camera"), default=0.0)
    return RANGES * finders * pixels


def user_data(elements: list[Element], size: int) -> float:
    """Return the numbers of user data: as many for each element of a kind as the longest of them has."""
    widths: dict[str, int] = {}
    for one in elements:
        if "user" in one.attributes:
            widths[one.tag] = max(widths.get(one.tag, 0), len(one.attributes["user"].split()))
    stated = [product_of(one, key) for one in elements if one.tag == "size" for key in one.attributes
              if key.startswith("nuser_")]  # fmt: skip
    return size * max([0.0, *widths.values(), *stated])


def keyframes(elements: list[Element], size: int) -> float:
    """Return the numbers of keyframes: coordinates and rates of all joints for each."""
    stated = sum(product_of(one, "nkey") for one in elements if one.tag == "size")
    keys = max(stated, sum(one.tag == "key" for one in elements))
    moving = sum(one.tag in ("joint", "freejoint") or "mocap" in one.attributes for one in elements)
    return keys * (OF_KEY + OF_STATE * moving * size / len(elements))


def numbers_of(element: Element, key: str) -> list[float]:
    """Return the sizes of the numbers of an attribute; none without one, or where it is none, which MuJoCo refuses."""
    try:
        found = [abs(float(word)) for word in element.attributes.get(key, "0").split()]
    except ValueError:
        return []
    return found if all(map(math.isfinite, found)) else []


def product_of(element: Element, key: str) -> float:
    """Return the product of the numbers of an attribute; 0 without one, or where it is none."""
    found = numbers_of(element, key)
    return math.prod(found) if found else 0.0
