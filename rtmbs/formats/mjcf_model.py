"""The model that MuJoCo compiles of an MJCF, and the names that its elements have here."""

from pathlib import Path
from typing import Any, NamedTuple

from rtmbs.errors import InputError, LanguageError
from rtmbs.formats.assembly import BACKWARDS, ModelAssembly

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
