"""The hosts of apps/hosts: C, C++, Python and a coupled FMU print the same line, digit for digit."""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import rtmbs

ROOT = Path(rtmbs.__file__).parents[1]
HOSTS = ROOT / "apps" / "hosts"
COMPILER = os.environ.get("CC") or "cc"
needs_c = pytest.mark.skipif(not shutil.which(COMPILER), reason="no C compiler")


def told(*words):
    """Return what a program prints; it must end well."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The exported folder of the hosts in C and C++."""
    place = tmp_path_factory.mktemp("hosts") / "crank"
    told(sys.executable, HOSTS / "crank.py", place)
    return place


@pytest.fixture(scope="module")
def line():
    """What the host in Python prints."""
    found = told(sys.executable, HOSTS / "controlled.py")
    assert found.startswith("t = 2 s, speed = ")
    return found


def compiled(folder, source, *more):
    """Return a program in C that is linked with the library of a folder, every warning an error."""
    program = folder.parent / source.stem
    flags = ["-O2", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-ffp-contract=off", f"-I{folder}"]
    link = [f"-L{folder}", "-lrtmbs", "-lm", f"-Wl,-rpath,{folder}"]
    subprocess.run([COMPILER, *flags, *more, source, *link, "-o", program], check=True)
    return program


@needs_c
def test_the_host_in_c(folder, line):
    program = compiled(folder, HOSTS / "c" / "main.c")
    assert told(program, folder / "spatial_slider_crank.rtm") == line
    done = subprocess.run([program, folder / "rtmbs.h"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "not a mechanism file" in done.stderr


@needs_c
def test_the_host_in_c_in_real_time(folder, line):
    program = compiled(folder, HOSTS / "c" / "main.c")
    done = subprocess.run(
        [program, folder / "spatial_slider_crank.rtm", "--real-time"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == line
    assert re.search(r"latest sample: \d+\.\d+ ms behind its time", done.stderr)


@needs_c
def test_the_host_in_cpp_is_a_project_of_cmake(folder, line, tmp_path):
    if not shutil.which("cmake") or not (shutil.which("c++") or shutil.which("g++")):
        pytest.skip("no cmake or no C++ compiler")
    made = subprocess.run(
        ["cmake", "-S", HOSTS / "cpp", "-B", tmp_path, f"-DRTMBS_FOLDER={folder}"], capture_output=True
    )
    assert made.returncode == 0, made.stderr.decode()
    built = subprocess.run(["cmake", "--build", tmp_path], capture_output=True)
    assert built.returncode == 0, built.stderr.decode()
    assert told(tmp_path / "host", folder / "spatial_slider_crank.rtm") == line


@needs_c
def test_the_coupled_fmu(line):
    if find_spec("fmpy") is None:
        pytest.skip("fmpy is not installed")
    assert told(sys.executable, HOSTS / "coupled.py") == line


SIMULINK = r"""
function new_system(name)
  global blocks = struct(); global lines = {}; global system = name;
end
function add_block(kind, path, varargin)
  global blocks; global system;
  assert(strncmp(path, [system "/"], numel(system) + 1));
  name = path(numel(system) + 2 : end); key = strrep(name, " ", "_");
  assert(! isfield(blocks, key));
  blocks.(key) = struct("kind", kind); set_param(path, varargin{:});
end
function set_param(path, varargin)
  global blocks; global system;
  assert(mod(numel(varargin), 2) == 0 && iscellstr(varargin));
  if strcmp(path, system), return; end
  key = strrep(path(numel(system) + 2 : end), " ", "_");
  for k = 1 : 2 : numel(varargin), blocks.(key).(varargin{k}) = varargin{k + 1}; end
end
function add_line(name, from, to)
  global blocks; global lines;
  for one = {from, to}, assert(isfield(blocks, strrep(regexprep(one{1}, "/\\d+$", ""), " ", "_"))); end
  assert(! any(strcmp(lines, to))); lines{end + 1} = to;
end
function out = sim(name)
  global blocks; global lines;
  keys = fieldnames(blocks);
  for k = 1 : numel(keys)
    one = blocks.(keys{k}); printf("%s|%s", keys{k}, one.kind);
    names = fieldnames(one);
    for j = 2 : numel(names), printf("|%s=%s", names{j}, one.(names{j})); end
    printf("\n");
  end
  for k = 1 : numel(lines), printf("to %s\n", lines{k}); end
  out.speed = 0;
end
"""


def test_the_script_for_simulink_names_blocks_variables_and_ports(tmp_path):
    """Octave runs it with functions in place of Simulink's, which check blocks, parameters and lines."""
    if not shutil.which("octave-cli"):
        pytest.skip("Octave is not installed")
    script = HOSTS / "simulink" / "crank.m"
    place = tmp_path / "checked.m"
    place.write_text("1;\n" + SIMULINK + script.read_text())
    done = subprocess.run(["octave-cli", "--no-init-file", place], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = done.stdout
    assert "crank|simulink_extras/FMU Import/FMU|FMUName=crank.fmu|FMUSampleTime=0.01" in text
    inputs = {"error": 2, "torque": 2, "proportional": 1, "integral": 1, "integral gain": 1, "crank": 1, "speed": 1}
    ends = sorted(line[3:] for line in text.splitlines() if line.startswith("to "))
    assert ends == sorted(f"{name}/{port}" for name, ports in inputs.items() for port in range(1, ports + 1))
    assert "speed = 0 rad/s" in text


def test_numbers_of_all_hosts_are_the_same():
    """The controller stands in five files: in Python, C, C++, FMI and Simulink."""
    texts = {path.name: path.read_text() for path in HOSTS.rglob("*") if path.suffix in (".py", ".c", ".cpp", ".m")}
    for name, pattern in {
        "crank.py": r"= 8\.0, 0\.6, 2\.0", "main.c": r"REFERENCE 8\.0[^#]*#define KP 0\.6\n#define KI 2\.0",
        "main.cpp": r"reference = 8\.0, kp = 0\.6, ki = 2\.0", "controller.c": r"8\.0, 0\.6, 2\.0",
        "crank.m": r"reference = '8';[^;]*;?[^k]*kp = '0\.6';\s*ki = '2'",
    }.items():  # fmt: skip
        assert re.search(pattern, texts[name]), name
