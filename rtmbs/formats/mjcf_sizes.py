"""Numbers that an MJCF asks MuJoCo to keep, which a short text can make gigabytes of: they are bounded before it reads.

Textures, fields of heights, built-in meshes, sensors, delays, states of actuators, user data and keyframes count. User
data of a kind have the width of its longest entry in each element of this kind. A keyframe has all coordinates.
"""

import math
from collections.abc import Callable

from rtmbs.formats.xml_tree import Element

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
