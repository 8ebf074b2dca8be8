"""The native library steps with the bytes of a Simulation, and keeps to its contract."""

import ctypes
import re
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

import rtmbs
import rtmbs.export
from bench.native_bytes import MECHANISMS, H, equal_steps, hopping_ball, state_bytes
from bench.native_host import HEAD, Mechanism
from rtmbs import contact
from rtmbs.export.packages import exported
from rtmbs.library import build
from tests.nonholonomic import MOTIONS


def run_both(sim, it, steps, before=None):
    """Take steps in both worlds, with inputs before each; return the first step with other bytes, or -1."""
    for k in range(steps):
        if before is not None:
            for name, value in before(k).items():
                sim.inputs[name] = value
                assert it.set(name, value) == 0
        report = sim.step()
        assert report.outcome.accepted
        assert it.library.rtmbs_taken(it.step())
        if state_bytes(sim) != it.arrays:
            return k
    return -1


CASES = {
    "slider_crank": {}, "bricard": {}, "governor": {}, "fourbar": {"ny": 2, "nz": 5}, "top": {}, "driven_fourbar": {},
}  # fmt: skip


@pytest.mark.parametrize("name", MECHANISMS)
def test_steps_have_the_bytes_of_a_simulation_and_of_an_fmu(library, name):
    one = MECHANISMS[name]
    sim = rtmbs.Simulation(one.make(), h=H)
    found = exported(sim, list(one.inputs), (), H, None)
    it = Mechanism(library, found.file)
    assert it.arrays == state_bytes(sim)
    assert equal_steps(library, found, sim, 200, one.inputs) == 200
    assert np.abs(sim.state.zd).max() > 1e-3  # it moves


@pytest.mark.parametrize("motion", ["disc", "sleigh", "cart"])
def test_wheels_and_blades_step_with_the_bytes_of_a_simulation(load, motion):
    sim = rtmbs.Simulation(MOTIONS[motion]().model.compile(), h=1e-3)
    it = load(sim)
    assert run_both(sim, it, 100) == -1


def test_contacts_and_stops_step_with_the_bytes_of_a_simulation(load):
    sim = rtmbs.Simulation(hopping_ball().compile(), h=1e-3)
    assert run_both(sim, load(sim), 300) == -1
    result = rtmbs.Simulation(hopping_ball().compile(), h=1e-3).run(0.3)
    assert result["floor.penetration"].max() > 0.0 == result["floor.penetration"].min()  # it comes and goes
    assert result["hinge.angle"].max() > 0.05


@pytest.mark.parametrize("name", ["pin", "end", "heap"])
def test_contacts_that_a_library_does_not_renew_are_refused_by_name(name):
    m = hopping_ball()
    if name == "pin":
        m.add_friction(name, joint="hinge", coefficient=0.1, radius=0.01)
    elif name == "end":
        m.add_rigid_stop(name, "hinge", lower=-1.0, restitution=0.0)
    else:
        m.add_contacts(name, [("ground", contact.Plane()), "ball"], stiffness=1e4)
    with pytest.raises(rtmbs.errors.InputError, match=f"'{name}'"):
        exported(m.compile(), (), (), 1e-3, None)


def test_many_steps_in_one_call_are_single_steps(load):
    system = build("bricard").compile()
    one, many = load(system), load(system)
    for _ in range(50):
        assert one.step() == 0
    assert many.step(50) == 0
    assert one.state == many.state


def refusal(sim, channel):
    """Return why a channel cannot be exported; "" when it can."""
    try:
        exported(sim, (), [channel], 1e-3, None)
    except rtmbs.errors.InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", CASES)
def test_every_channel_has_the_bytes_of_a_simulation(load, name):
    """The kernel of the outputs and the channels of a Result are two ways to the same numbers."""
    sim = rtmbs.Simulation(build(name, **CASES[name]).compile(), h=1e-3)
    names = [channel for channel in sim.keys() if channel != "t" and not refusal(sim, channel)]  # noqa: SIM118
    it, sources = load(sim, outputs=names), sim._channels().sources(sim.state)
    for _ in range(20):
        sim.step()
    assert it.step(20) == 0
    for channel in names:
        axes = sources[channel].axes
        found = np.array([it.read(f"{channel}[{axis}]") for axis in axes] if axes else [it.read(channel)])
        assert found.tobytes() == sim.read([channel]).tobytes(), channel
        # a Result adds the terms of a point's place and acceleration in another order
        assert np.abs(found - np.ravel(sim[channel])).max() <= 1e-14 * max(1.0, np.abs(found).max()), channel
    kinds = {channel.rpartition(".")[2] for channel in names}
    assert {"position", "velocity", "acceleration", "mass_center", "kinetic", "total"} <= kinds


@pytest.mark.parametrize("name", ["top", "slider_crank", "bricard"])
def test_reactions_that_balance_determines_are_exported(name):
    sim = rtmbs.Simulation(build(name).compile(), h=1e-3)
    names = [joint for joint in sim.system.joints if refusal(sim, f"{joint}.reaction") == ""]
    assert bool(names) == (name != "bricard")  # which is held more than once


def test_a_state_goes_on_in_another_instance(load):
    system = build("governor").compile()
    first, second = load(system), load(system)
    first.step(100)
    kept = first.state
    first.step(100)
    second.state = kept
    second.step(100)
    assert first.state == second.state


def test_a_thousand_saved_states_go_on_with_the_same_bytes(load):
    system, rng, same = build("top").compile(), np.random.default_rng(3), 0
    one, other = load(system), load(system)
    for _ in range(1000):
        assert one.step(int(rng.integers(1, 6))) == 0
        if rng.random() < 0.2:
            assert one.advance(float(rng.uniform(0.3, 2.7)) * 1e-3) == 0
        other.step(int(rng.integers(0, 4)))
        other.state = one.state
        one.step(2)
        other.step(2)
        same += one.state == other.state
    assert same == 1000


def test_states_of_others_are_refused(load):
    first, second = load(build("governor").compile()), load(build("top").compile())
    before = first.state
    for wrong in (second.state, before[:-8], b"", before[:8] + b"\0" * 8 + before[16:]):
        with pytest.raises(ValueError, match="not a state"):
            first.state = wrong
    assert first.state == before
    assert len(before) > HEAD


def test_a_span_that_no_step_covers_is_refused(load):
    it = load(build("top").compile())
    before = it.state
    for span in (0.0, -1e-3, 1e-8, float("nan"), float("inf"), 1e30):
        assert it.advance(span) == 21
        assert it.state == before


def test_bad_calls_return_a_status(load):
    it = load(build("slider_crank").compile(), inputs=["gravity"])
    before = it.state
    assert it.set("no such input", 1.0) == 20
    for value in (float("nan"), float("inf"), 1e101):
        assert it.set("gravity[0]", value) == 21
    assert it.step(-1) == 22
    assert it.state == before
    assert np.isnan(it.read("no such output"))
    assert it.library.rtmbs_status_text(22) != it.library.rtmbs_status_text(99)
    assert it.library.rtmbs_version().decode() == rtmbs.__version__


def test_threads_do_not_disturb_each_other(load):
    system = build("bricard").compile()
    alone = load(system)
    alone.step(2000)
    several = [load(system) for _ in range(3)]
    threads = [threading.Thread(target=it.step, args=(2000,)) for it in several]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(it.state == alone.state for it in several)


def test_the_library_needs_the_c_library_only(library_file):
    text = subprocess.run(["nm", "-D", "--undefined-only", library_file], capture_output=True, text=True).stdout
    assert "malloc" in text or "calloc" in text
    for word in ("Py", "NRT", "exit", "printf@", "puts", "numba"):
        assert word not in text.replace("snprintf@", "").replace("__cxa_finalize", ""), word
    exported_names = subprocess.run(["nm", "-D", "--defined-only", library_file], capture_output=True, text=True).stdout
    names = {line.split()[-1] for line in exported_names.splitlines()}
    assert sum(name.startswith("fmi3") for name in names) == 75
    assert all(name.startswith(("rtmbs_", "fmi2", "fmi3")) for name in names)


def test_reset_goes_back_to_the_start(load):
    it = load(build("top").compile())
    start = it.state
    it.step(10)
    assert it.state != start
    it.library.rtmbs_reset(it.it)
    assert it.state == start


def test_a_file_in_a_folder_is_loaded(library, tmp_path):
    found = exported(build("top").compile(), (), (), 1e-3, None)
    (tmp_path / "top.rtm").write_bytes(found.file)
    error = ctypes.create_string_buffer(300)
    it = library.rtmbs_load(str(tmp_path / "top.rtm").encode(), error, 300)
    assert it
    library.rtmbs_free(it)
    assert not library.rtmbs_load(str(tmp_path / "none.rtm").encode(), error, 300)
    assert b"cannot be opened" in error.value
    assert isinstance(Mechanism(library, found.file), Mechanism)


def test_the_folder_for_a_host_in_c_runs(tmp_path):
    system = build("slider_crank").compile()
    folder = rtmbs.export_library(system, tmp_path / "slider", outputs=["slider.position", "energy.total"])
    names = {path.name for path in folder.iterdir()}
    assert {"librtmbs.so", "rtmbs.h", "main.c", "CMakeLists.txt", "spatial_slider_crank.rtm"} == names
    command = ["cc", "main.c", "-L.", "-lrtmbs", "-Wl,-rpath,$ORIGIN", "-o", "main"]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run(["./main", "spatial_slider_crank.rtm", "200"], cwd=folder, capture_output=True, text=True)
    sim = rtmbs.Simulation(system, h=1e-3)
    for _ in range(200):
        sim.step()
    found = dict(line.rsplit(" ", 1)[0].split(" = ") for line in done.stdout.splitlines())
    assert float(found["t"]) == sim.t
    assert float(found["slider.position[x]"]) == sim.read(["slider.position"])[0]
    refused = subprocess.run(["./main", "none.rtm"], cwd=folder, capture_output=True, text=True)
    assert refused.returncode == 1
    assert "cannot be opened" in refused.stderr


def test_the_header_is_c_and_cpp(tmp_path):
    header = Path(rtmbs.export.__file__).parent / "c"
    for word, flags in (("c", ["-std=c99"]), ("c++", ["-std=c++11"])):
        source = tmp_path / "host"
        source.write_text('#include "rtmbs.h"\nint main(void) { return rtmbs_abi() == RTMBS_ABI ? 0 : 1; }\n')
        command = [
            "cc",
            "-x",
            word,
            *flags,
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
            "-fsyntax-only",
            f"-I{header}",
        ]
        assert subprocess.run([*command, source]).returncode == 0


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(rtmbs.errors.InputError, match="cannot be written"):
        rtmbs.export_library(build("top").compile(), tmp_path / "file" / "folder")
    with pytest.raises(rtmbs.errors.InputError, match="it is a file; give a folder"):
        rtmbs.export_library(build("top").compile(), tmp_path / "file")


def test_the_examples_of_the_page_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (Path(rtmbs.__file__).parents[1] / "docs" / "embedding.md").read_text(encoding="utf-8")
    names = {"__name__": "page"}
    for example in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(example, "embedding.md", "exec"), names)
    assert (tmp_path / "slider.fmu").is_file()
    assert (tmp_path / "slider" / "librtmbs.so").is_file()
