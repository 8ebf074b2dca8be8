"""FMUs of FMI 3.0 and 2.0: validated by two checkers, simulated by fmpy with the bytes of a Simulation."""

import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest

import rtmbs
from rtmbs.commands.cli import main
from rtmbs.errors import InputError, UnknownNameError
from rtmbs.export import packages
from rtmbs.library import build
from tests.commands.test_kinematic_runs import HANGING

fmpy = pytest.importorskip("fmpy")
from fmpy.fmi2 import FMU2Slave  # noqa: E402
from fmpy.fmi3 import FMU3Slave  # noqa: E402
from fmpy.validation import validate_fmu  # noqa: E402

H = 1e-3
OUTPUTS = ["slider.position", "slide.displacement", "slide.acceleration", "energy.total"]
BOTH = pytest.mark.parametrize("fmi", [3, 2])


@pytest.fixture(scope="module")
def system():
    """A slider-crank."""
    return build("slider_crank").compile()


@pytest.fixture(scope="module", params=[3, 2])
def fmu(request, system, tmp_path_factory):
    """Its FMU, of both versions."""
    path = tmp_path_factory.mktemp("fmu") / f"slider{request.param}.fmu"
    return rtmbs.export_fmu(system, path, fmi=request.param, inputs=["gravity"], outputs=OUTPUTS, h=H)


class Importer:
    """One instance of an FMU by single calls of fmpy."""

    def __init__(self, path, token=None, log=None):
        self.description = fmpy.read_model_description(str(path))
        self.folder = fmpy.extract(str(path))
        self.three = self.description.fmiVersion.startswith("3")
        kind = FMU3Slave if self.three else FMU2Slave
        guid = token or (self.description.instantiationToken if self.three else self.description.guid)
        self.fmu = kind(
            guid=guid, unzipDirectory=self.folder,
            modelIdentifier=self.description.coSimulation.modelIdentifier, instanceName="one",
        )  # fmt: skip
        self.vr = {variable.name: variable.valueReference for variable in self.description.modelVariables}
        self.fmu.instantiate(loggingOn=True)

    def start(self, time=0.0):
        if not self.three:
            self.fmu.setupExperiment(startTime=time)
            self.fmu.enterInitializationMode()
        else:
            self.fmu.enterInitializationMode(startTime=time)
        self.fmu.exitInitializationMode()
        return self

    def get(self, name):
        read = self.fmu.getFloat64 if self.three else self.fmu.getReal
        return read([self.vr[name]])[0]

    def set(self, name, value):
        write = self.fmu.setFloat64 if self.three else self.fmu.setReal
        write([self.vr[name]], [value])

    def step(self, t, size):
        self.fmu.doStep(currentCommunicationPoint=t, communicationStepSize=size)

    def derivative(self, unknowns, knowns, seed):
        places = [self.vr[name] for name in unknowns], [self.vr[name] for name in knowns]
        return self.fmu.getDirectionalDerivative(*places, seed)

    @property
    def state(self):
        state = self.fmu.getFMUState()
        found = self.fmu.serializeFMUState(state)
        self.fmu.freeFMUState(state)
        return found

    @state.setter
    def state(self, content):
        state = self.fmu.deserializeFMUState(content)
        self.fmu.setFMUState(state)
        self.fmu.freeFMUState(state)


def test_fmpy_finds_nothing_to_remark(fmu):
    assert validate_fmu(str(fmu)) == []


def test_a_second_checker_finds_nothing_to_remark(fmu):
    tool = Path(sys.executable).parent / "fmutool"
    if not tool.is_file():
        pytest.skip("fmutool is not installed")
    done = subprocess.run([tool, "-input", fmu, "-check"], capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert "seems to be compliant" in said
    assert "No semantic error" in said
    assert "ERROR" not in said
    assert "WARNING" not in said


def test_a_second_importer_gets_the_bytes_of_a_simulation(fmu, system):
    """fmuloader binds every function of the standard, and knows nothing of fmpy."""
    loader = pytest.importorskip("fmuloader.fmi3" if "slider3" in fmu.name else "fmuloader.fmi2")
    description = fmpy.read_model_description(str(fmu))
    references = {variable.name: variable.valueReference for variable in description.modelVariables}
    kind, name = getattr(loader, "Fmi3Slave", None), description.coSimulation.modelIdentifier
    if kind:
        it = kind(str(fmu), model_identifier=name)
        it.instantiate_co_simulation("one", instantiation_token=description.instantiationToken)
    else:
        it = loader.Fmi2Slave(str(fmu), model_identifier=name)
        it.instantiate("one", loader.Fmi2Type.CO_SIMULATION, guid=description.guid)
        it.setup_experiment(start_time=0.0)
    it.enter_initialization_mode(**({"start_time": 0.0} if kind else {}))
    it.exit_initialization_mode()
    sim, read = rtmbs.Simulation(system, h=H), it.get_float64 if kind else it.get_real
    for k in range(100):
        it.do_step(k * H, H)
        sim.step()
    assert read([references[f"slider.position[{axis}]"] for axis in "xyz"]) == sim.read(["slider.position"]).tolist()
    it.terminate()
    it.free_instance()


@pytest.mark.parametrize("every", [1, 7, 50])
def test_communication_steps_of_several_steps_give_the_bytes_of_a_simulation(fmu, system, every):
    sim, it = rtmbs.Simulation(system, h=H), Importer(fmu).start()
    for k in range(0, 350, every):
        it.step(k * H, every * H)
        for _ in range(every):
            sim.step()
        assert it.get("slide.displacement") == sim["slide.displacement"]
        assert [it.get(f"slider.position[{axis}]") for axis in "xyz"] == sim.read(["slider.position"]).tolist()


def test_fmpy_simulates_it_with_an_input(fmu, system):
    t = np.arange(301) * H
    g = np.column_stack((0.1 * np.sin(t), 0.0 * t, -9.81 + np.cos(3.0 * t)))
    names = [f"gravity[{k}]" for k in range(3)]
    given = np.array(list(zip(t, *g.T, strict=True)), dtype=[("time", float), *((name, float) for name in names)])
    found = fmpy.simulate_fmu(
        str(fmu), stop_time=0.3, step_size=H, output_interval=H, input=given, output=["slide.displacement"],
        fmi_type="CoSimulation",
    )  # fmt: skip
    sim = rtmbs.Simulation(system, h=H)
    wanted = [sim["slide.displacement"]]
    for k in range(300):
        sim.inputs["gravity"] = g[k]
        sim.step()
        wanted.append(sim["slide.displacement"])
    assert len(found) == 301
    assert np.abs(found["slide.displacement"] - wanted).max() < 1e-12


def test_a_state_goes_on_in_another_instance(fmu):
    first, second = Importer(fmu).start(), Importer(fmu).start()
    first.step(0.0, 10 * H)
    kept = first.state
    first.step(10 * H, 10 * H)
    second.state = kept
    second.step(10 * H, 10 * H)
    assert first.state == second.state
    assert first.get("energy.total") == second.get("energy.total")


def test_instances_in_threads_do_not_disturb_each_other(fmu):
    several = [Importer(fmu).start() for _ in range(4)]
    threads = [threading.Thread(target=lambda it=it: [it.step(k * H, H) for k in range(500)]) for it in several[1:]]
    for thread in threads:
        thread.start()
    for k in range(500):
        several[0].step(k * H, H)
    for thread in threads:
        thread.join()
    assert len({it.state for it in several}) == 1


def test_what_does_not_fit_is_refused_and_changes_nothing(fmu):
    it = Importer(fmu).start()
    it.step(0.0, H)
    before = it.state
    for t, size in ((H, 1e-4 * H), (0.0, H), (H, 0.0), (H, -H), (H, float("nan")), (H, float("inf")), (1.5 * H, H)):
        with pytest.raises(Exception, match=r"[Ss]tatus|Discard|discard|return"):
            it.step(t, size)
        assert it.state == before
    with pytest.raises(Exception, match=r"[Ss]tatus|Error|error|return"):
        it.set("gravity[0]", float("nan"))
    with pytest.raises(Exception, match=r"[Ss]tatus|Error|error|return"):
        it.set("energy.total", 1.0)
    assert it.state == before


def test_a_refused_variable_is_named(fmu, capfd):
    it = Importer(fmu).start()
    for name, value in (("energy.total", 1.0), ("gravity[1]", float("nan"))):
        with pytest.raises(Exception, match=r"[Ss]tatus|Error|error|return"):
            it.set(name, value)
        assert f"{name} (value reference {it.vr[name]})" in capfd.readouterr().out
    it.vr["none"] = 99
    with pytest.raises(Exception, match=r"[Ss]tatus|Error|error|return"):
        it.get("none")
    assert "a variable (value reference 99) does not exist" in capfd.readouterr().out


@pytest.mark.parametrize(("share", "parts"), [(0.4, 1), (1.5, 2), (2.5, 3)])
def test_a_communication_step_that_is_no_multiple_is_taken_in_equal_steps(fmu, system, share, parts):
    sim, it = rtmbs.Simulation(system, h=H), Importer(fmu).start()
    t = 0.0
    for _ in range(40):
        it.step(t, share * H)
        sim.h = share * H / parts
        for _ in range(parts):
            assert sim.step().outcome.accepted
        t = it.get("time")
        assert it.get("slide.displacement") == pytest.approx(sim["slide.displacement"], rel=1e-12)
        assert it.get("energy.total") == pytest.approx(sim["energy.total"], rel=1e-11)
    assert t == pytest.approx(40 * share * H, rel=1e-13)
    it.step(t, 3 * H)  # and whole steps from there on
    sim.h = H
    for _ in range(3):
        sim.step()
    assert it.get("slide.displacement") == pytest.approx(sim["slide.displacement"], rel=1e-12)


def test_directional_derivatives_are_those_of_fmi(fmu, system):
    it = Importer(fmu).start()
    it.step(0.0, 20 * H)
    unknowns, knowns = ["slide.acceleration", "energy.total"], ["gravity[0]", "gravity[2]"]
    unknowns = [name for name in unknowns if name in it.vr]
    found = it.derivative(unknowns, knowns, [1.0, -2.0])
    before = {name: it.get(name) for name in unknowns}
    it.set("gravity[0]", it.get("gravity[0]") + 1.0)
    it.set("gravity[2]", it.get("gravity[2]") - 2.0)
    wanted = [it.get(name) - before[name] for name in unknowns]  # both are linear in gravity
    assert found == pytest.approx(wanted, rel=1e-6, abs=1e-9)
    assert max(map(abs, wanted)) > 1e-3
    with pytest.raises(Exception, match=r"[Ss]tatus|Error|error|return"):
        it.derivative(["gravity[0]"], knowns, [1.0, 1.0])


def test_a_wrong_token_is_refused(fmu):
    with pytest.raises(Exception, match=r"[Ii]nstantiat"):
        Importer(fmu, token="{00000000-0000-0000-0000-000000000000}")


def test_steps_before_the_initialisation_are_refused(fmu):
    it = Importer(fmu)
    with pytest.raises(Exception, match=r"[Ss]tatus|Error|error|return"):
        it.step(0.0, H)


def test_a_simulation_may_start_at_another_time(fmu):
    one, other = Importer(fmu).start(), Importer(fmu).start(2.0)
    one.step(0.0, 5 * H)
    other.step(2.0, 5 * H)
    assert one.get("slide.displacement") == other.get("slide.displacement")
    assert other.get("time") == 2.0 + 5 * H


def test_inputs_and_parameters_have_causality_unit_and_start(fmu):
    found = {variable.name: variable for variable in fmpy.read_model_description(str(fmu)).modelVariables}
    assert found["gravity[2]"].causality == "input"
    assert float(found["gravity[2]"].start) == -9.81
    assert found["gravity[2]"].unit == "m/s^2"
    assert found["energy.total"].causality == "output"
    assert found["energy.total"].unit == "J"


@BOTH
def test_archives_repeat_byte_for_byte(system, tmp_path, fmi):
    one = rtmbs.export_fmu(system, tmp_path / "one.fmu", fmi=fmi, outputs=["energy.total"])
    other = rtmbs.export_fmu(system, tmp_path / "other.fmu", fmi=fmi, outputs=["energy.total"])
    assert one.read_bytes() == other.read_bytes()
    names = zipfile.ZipFile(one).namelist()
    assert names[0] == "modelDescription.xml"
    assert "resources/mechanism.rtm" in names


def called_law(t, kinematics, parameters):
    """A law that no recorder takes."""
    total = 0.0
    while float(kinematics.z) > total + 1e9:
        total += 1.0
    return -total


def test_a_law_that_python_is_asked_for_is_refused_by_name(tmp_path):
    model = build("pendulum")
    model.add_force("own", called_law, joint=next(iter(model.joints)))
    with pytest.warns(rtmbs.RtmbsWarning, match="own"):
        system = model.compile()
    with pytest.raises(InputError, match="force 'own': the law could not be recorded"):
        rtmbs.export_fmu(system, tmp_path / "x.fmu")


def test_without_a_compiler_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(packages.shutil, "which", lambda name: None)
    monkeypatch.setattr(packages, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"no C compiler for x86_64_v2-linux was found.*rtmbs\[export\]"):
        packages.linker("x86_64_v2-linux")


@pytest.mark.parametrize("fmi", [2, 3])
def test_several_targets_are_in_one_archive(monkeypatch, tmp_path, fmi):
    monkeypatch.setattr(packages, "native_library", lambda instance, target: Path(__file__))  # the layout is looked at
    path = tmp_path / "all.fmu"
    words = ["export", "fourbar", "--ny", "2", "--nz", "3", "--fmi", str(fmi), "--outputs", "energy.total"]
    words += [word for one in ("x86_64_v2-linux", "aarch64-linux", "x86_64-windows") for word in ("--target", one)]
    assert main([*words, "--out", str(path)]) == 0
    names = {Path(name).parent.name for name in zipfile.ZipFile(path).namelist() if name.startswith("binaries/")}
    assert names == (
        {"linux64", "aarch64-linux", "win64"}
        if fmi == 2
        else {
            "x86_64-linux",
            "aarch64-linux",
            "x86_64-windows",
        }
    )
    assert main([*words[:6], *words[-4:], "--out", str(tmp_path / "folder")]) == 2  # a native library has one


def test_bad_input_is_one_sentence(system, tmp_path):
    path = tmp_path / "x.fmu"
    with pytest.raises(UnknownNameError, match=r"slider\.position"):
        rtmbs.export_fmu(system, path, outputs=["slider.positon"])
    with pytest.raises(UnknownNameError, match="gravity"):
        rtmbs.export_fmu(system, path, inputs=["gravty"])
    with pytest.raises(InputError, match="it must be 2 or 3"):
        rtmbs.export_fmu(system, path, fmi=1)
    with pytest.raises(InputError, match="it must be a list of names"):
        rtmbs.export_fmu(system, path, outputs="energy.total")
    with pytest.raises(InputError, match="inputs is None; it must be a list of names"):
        rtmbs.export_fmu(system, path, inputs=None)
    with pytest.raises(InputError, match=r"an export takes a compiled System, not Model.*write model\.compile\(\)"):
        rtmbs.export_fmu(rtmbs.library.build("top"), path)
    with pytest.raises(UnknownNameError, match="x86_64_v2-linux"):
        rtmbs.export_fmu(system, path, targets=["x86_64_v2-linx"])
    with pytest.raises(InputError, match="room for one"):
        rtmbs.export_fmu(system, path, targets=["x86_64_v2-linux", "x86_64_v2-linux"])
    with pytest.raises(InputError, match="only the fused step"):
        rtmbs.export_fmu(system, path, method=rtmbs.VariationalMidpoint())
    with pytest.raises(InputError, match="evaluated in Python only"):
        rtmbs.export_fmu(system, path, outputs=["momentum.linear"])
    assert not path.exists()


def test_a_function_of_time_that_cannot_be_recorded_is_refused_by_name(tmp_path):
    model = build("crank_rocker")
    joint = next(iter(model.joints.values()))

    def torque(t):
        return float(np.interp(float(t), [0.0, 1.0], [0.0, 1.0]))

    model.add_force("motor", rtmbs.Motor(torque), joint=joint.name)
    with pytest.raises(InputError, match=r"motor.*recorded"):
        rtmbs.export_fmu(model.compile(), tmp_path / "x.fmu")


def test_the_command_writes_an_fmu(tmp_path, capsys):
    path = tmp_path / "slider.fmu"
    words = ["export", "slider_crank", "--fmi", "3", "--inputs", "gravity", "--outputs", "energy.total,slider.position"]
    assert main([*words, "--h", "1e-3", "--out", str(path)]) == 0
    assert capsys.readouterr().out.strip() == str(path)
    assert validate_fmu(str(path)) == []
    path, file = tmp_path / "file.fmu", tmp_path / "hanging.mks"
    file.write_text(HANGING.replace("KIND", "DYNAMIC ANALYSIS"))
    words = ["export", str(file), "--fmi", "2", "--outputs", "energy.total"]
    assert main([*words, "--out", str(path)]) == 0
    assert validate_fmu(str(path)) == []
    capsys.readouterr()
    with pytest.raises(SystemExit):  # no option of this mechanism
        main(["export", "slider_crank", "--ny", "2", "--out", str(path)])
    assert "--ny" in capsys.readouterr().err
    assert main(["export", "slider_crank", "--outputs", "energy.totl", "--out", str(path)]) != 0
    assert "energy.total" in capsys.readouterr().err
