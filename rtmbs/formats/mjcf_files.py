"""Files that an MJCF names, looked at before MuJoCo opens them: all must lie in the folder of the file or package."""

from pathlib import Path

from rtmbs.core.reading import DamagedFile, whole
from rtmbs.errors import ModelError
from rtmbs.formats.mesh_files import MeshFiles
from rtmbs.formats.xml_tree import MOST_BYTES, Element, parse_xml

NAMED = (
    "file", "meshdir", "texturedir", "assetdir", "fileright", "fileleft", "fileup", "filedown", "filefront", "fileback",
)  # fmt: skip
FOLDERS = ("meshdir", "texturedir", "assetdir")
MOST_INCLUDES = 200


def check_files(root: Element, path: Path, files: MeshFiles) -> None:
    """Refuse an MJCF that names a file outside of its folder, also through its includes: LanguageError."""
    folder = path.resolve().parent
    waiting, met = [root], {path.resolve()}
    folders = [element.attributes[key] for element in root.walk() for key in FOLDERS if key in element.attributes]
    for tree in waiting:
        for element in tree.walk():
            for key in NAMED:
                if key in element.attributes:
                    check_place(element, key, ["", *folders], files)
            if element.tag == "include" and "file" in element.attributes:
                inner = (folder / element.attributes["file"]).resolve()
                if inner not in met and inner.is_file():
                    met.add(inner)
                    waiting.append(included(element, inner))
        if len(met) > MOST_INCLUDES:
            raise root.fault(f"more than {MOST_INCLUDES} files are included; a model has fewer")


def check_place(element: Element, key: str, folders: list[str], files: MeshFiles) -> None:
    """Refuse a name that leads outside from any of the folders."""
    for folder in folders if key not in FOLDERS else [""]:
        address = f"{folder}/{element.attributes[key]}" if folder else element.attributes[key]
        try:
            files.place(address)
        except ModelError as error:
            raise element.fault(f"<{element.tag}>: {error}") from None


def included(element: Element, path: Path) -> Element:
    """Return the root of an included file."""
    try:
        return parse_xml(whole(path, MOST_BYTES), str(path))
    except DamagedFile as error:
        raise element.fault(f"included file {str(path)!r} {error}") from None
