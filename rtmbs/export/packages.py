"""Export of a mechanism and its step: an FMU, or a folder with the native library."""

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rtmbs.contact.convex import refuse_convex
from rtmbs.contact.joints import refuse_bearings
from rtmbs.contact.switched import refuse_rigid
from rtmbs.core.files import replacing
from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.export.channels import Ports, ports_of
from rtmbs.export.fmu import PLATFORMS, Description, identifier, token_of, write_archive
from rtmbs.export.instance import Instance, instance_of
from rtmbs.export.mechanism_file import checksum, mechanism_bytes
from rtmbs.export.native_library import HOST, ending, native_library
from rtmbs.integrators.contract import Method
from rtmbs.integrators.penalty_trapezoidal import PenaltyTrapezoidal
from rtmbs.jit.native_code import TARGETS
from rtmbs.simulation.simulation import Simulation
from rtmbs.system.contact_tables import refuse_sets
from rtmbs.system.system import System

HERE = Path(__file__).parent / "c"
VERSIONS = (2, 3)  # of FMI
KINDS = ("co-simulation", "model-exchange")  # of FMUs
EXCHANGE = KINDS[1]
LICENSES = ("fmi3Functions.h", "fmi2Functions.h")  # headers whose licence stands in them


class Exported(NamedTuple):
    """One mechanism, ready to be written."""

    instance: Instance
    ports: Ports
    name: str
    token: str
    h: float
    file: bytes  # mechanism file


def export_fmu(
    system: System,
    path: str | Path,
    *,
    fmi: int = 3,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    h: float = 1e-3,
    method: Method | None = None,
    targets: Sequence[str] = (HOST,),
    kind: str = "co-simulation",
) -> Path:
    """Write an FMU, which needs no Python: in co-simulation the steps are those of a Simulation, bit for bit.

    For model exchange the importer integrates. The continuous states are independent coordinates, their rates and
    states of force laws. The FMU chooses the coordinates at the start, and others in event mode where these no longer
    serve.

    Parameters
    ----------
    system : System
        Compiled mechanism. A Simulation at its start goes as well; its ``h`` and method are taken.
    path : str or Path
        Archive to write, such as ``car.fmu``.
    fmi : {2, 3}, default 3
        Version of FMI.
    inputs : sequence of str, optional
        Inputs by name; a host sets them between communication points. All others become tunable parameters.
    outputs : sequence of str, optional
        Channels by name, or components such as ``block.position[x]``.
    h : float, default 1e-3
        Step [s]. Communication steps are multiples of it.
    method : Method, optional
        ``PenaltyTrapezoidal()`` unless given.
    targets : sequence of str, optional
        Processors and systems: keys of ``rtmbs.jit.native_code.TARGETS``.
    kind : {"co-simulation", "model-exchange"}, optional
        Whether the FMU steps itself, or gives derivatives of states to the importer.

    Returns
    -------
    Path
        Archive that was written.

    Raises
    ------
    InputError
        For an option out of range, for a mechanism that Python must evaluate, and without a C compiler.
    UnknownNameError
        For an unknown input, channel or target.

    Examples
    --------
    >>> rtmbs.export_fmu(system, "car.fmu", inputs=["drive.torque"], outputs=["chassis.position"])  # doctest: +SKIP
    """
    if type(fmi) is not int or fmi not in VERSIONS:
        raise InputError(f"fmi is {shown(fmi)}; it must be 2 or 3")
    if kind not in KINDS:
        raise unknown_name("kind of FMU", kind, KINDS)
    found = exported(system, inputs, outputs, h, method)
    states = states_of(found) if kind == EXCHANGE else 0
    description = Description(found.name, found.token, found.ports, found.h, states)
    members = {"modelDescription.xml": description.xml(fmi).encode()}
    members["resources/mechanism.rtm"] = found.file
    for target in targets_of(targets):
        folder = PLATFORMS[target][0 if fmi == 3 else 1]
        name = f"binaries/{folder}/{description.identifier}{ending(target)}"
        if name in members:
            raise InputError(f"targets {shown(list(targets))} hold two libraries for {folder}; an FMU has room for one")
        members[name] = native_library(found.instance, target).read_bytes()
    members["documentation/licenses/fmi.txt"] = "".join(license_of(HERE / "fmi" / one) for one in LICENSES).encode()
    write_archive(Path(path), members)
    return Path(path)


def export_library(
    system: System,
    folder: str | Path,
    *,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    h: float = 1e-3,
    method: Method | None = None,
    target: str = HOST,
) -> Path:
    """Write a folder for a C or C++ host: library, header, mechanism file, a program that runs it, CMakeLists.txt.

    Parameters
    ----------
    system : System
        Compiled mechanism, or a Simulation at its start.
    folder : str or Path
        Folder to write to; it is made if needed.
    inputs : sequence of str, optional
        Inputs by name. All others can be set as well.
    outputs : sequence of str, optional
        Channels by name, or components such as ``block.position[x]``.
    h : float, default 1e-3
        Step [s].
    method : Method, optional
        ``PenaltyTrapezoidal()`` unless given.
    target : str, optional
        Processor and system: a key of ``rtmbs.jit.native_code.TARGETS``.

    Returns
    -------
    Path
        Folder that was written.

    Raises
    ------
    InputError
        For an option out of range, a mechanism that Python must evaluate, a folder that cannot be written, and without
        a C compiler.
    UnknownNameError
        For an unknown input, channel or target.

    Examples
    --------
    >>> rtmbs.export_library(system, "car/", outputs=["chassis.position"])  # doctest: +SKIP
    """
    found, place = exported(system, inputs, outputs, h, method), Path(folder)
    if place.is_file():
        raise InputError(f"{place} cannot be written: it is a file; give a folder")
    library = native_library(found.instance, target)
    stem = identifier(found.name)
    try:
        place.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(library, place / f"librtmbs{ending(target)}")
        for name, target_name in (
            ("rtmbs.h", "rtmbs.h"),
            ("CMakeLists.txt.in", "CMakeLists.txt"),
            ("main.c.in", "main.c"),
        ):
            text = (HERE / name).read_text().replace("@MECHANISM@", f"{stem}.rtm")
            with replacing(place / target_name) as file:
                file.write(text.encode())
        with replacing(place / f"{stem}.rtm") as file:
            file.write(found.file)
    except OSError as error:
        raise InputError(f"{place} cannot be written ({error.strerror or error}); give another folder") from error
    return place


def states_of(found: Exported) -> int:
    """Return the number of continuous states of a mechanism; InputError for one without."""
    count = 2 * found.instance.freedom + len(found.instance.s)
    if count == 0:
        raise InputError(f"{found.name} has no degree of freedom and no state, and model exchange needs one")
    return count


def exported(system: Any, inputs: Sequence[str], outputs: Sequence[str], h: float, method: Method | None) -> Exported:
    """Return a mechanism with its file; InputError for one that Python must evaluate."""
    for what, names in (("inputs", inputs), ("outputs", outputs)):
        several = isinstance(names, Iterable) and not isinstance(names, str)
        if not several or not all(isinstance(name, str) for name in names):
            raise InputError(f"{what} is {shown(names)}; it must be a list of names")
    if not isinstance(system, System | Simulation):
        raise InputError(f"an export takes a compiled System, not {shown(system)}; write model.compile()")
    sim = system if isinstance(system, Simulation) else Simulation(system, h=h, method=method)
    check_exportable(sim)
    ports = ports_of(sim, inputs, outputs)
    instance = instance_of(sim, ports)
    content = mechanism_bytes(instance, ports, sim.system.name, "", sim.t)
    token = token_of([checksum(content).to_bytes(8, "little")])
    content = mechanism_bytes(instance, ports, sim.system.name, token, sim.t)
    return Exported(instance, ports, sim.system.name, token, sim.h, content)


def check_exportable(sim: Simulation) -> None:
    """Refuse a Simulation that the native library cannot step: InputError."""
    method, system = sim.method, sim.system
    if not isinstance(method, PenaltyTrapezoidal) or not method.fused:
        raise InputError(f"method is {shown(method)}; only the fused step of PenaltyTrapezoidal() can be exported")
    refuse_bearings(system.bearings, "an export")
    refuse_convex(system.forces, "an export")
    refuse_sets(system, "an export")
    refuse_rigid(system.rigid, "an export")
    if system.called:
        names = ", ".join(repr(law.name) for law in system.called)
        raise InputError(
            f"force {names}: the law could not be recorded, so only Python can call it, and a native library cannot; "
            "the warning of compile says why"
        )
    if sim.equations.source is not None:
        raise InputError("the native library differentiates by the closed form; export with jacobian='structured'")
    if system.signals and sim.t != 0.0:
        raise InputError(
            f"functions of time act, so the export begins at t = 0 s, not at {sim.t:g} s; take a new Simulation"
        )


def targets_of(targets: Sequence[str]) -> Sequence[str]:
    """Return targets as a list; InputError for anything else and for none, UnknownNameError for an unknown one."""
    if isinstance(targets, str) or not targets:
        raise InputError(f"targets is {shown(targets)}; it must be a list of {', '.join(TARGETS)}")
    for target in targets:
        if target not in TARGETS:
            raise unknown_name("target", target, TARGETS)
    return targets


def license_of(header: Path) -> str:
    """Return the first comment of a header that holds its licence."""
    text = header.read_text()
    begin = text.index("Copyright (C)")
    return text[begin : text.index("*/", begin)].rstrip() + "\n\n"
