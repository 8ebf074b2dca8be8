"""Files: what they include, and what is no model file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rtmbs.errors import LanguageError
from rtmbs.language import build, read
from rtmbs.language.parse import MOST_BYTES
from rtmbs.language.read import MOST_FILES
from tests.cases import spread
from tests.language.files import SLIDER_CRANK
from tests.patience import LONGEST

ROOT = Path(__file__).parents[2]
WHOLE = 'MODEL m\nSYSTEM (KINEMATIC ANALYSIS);\ninclude "{}";\nENDMODEL\n'
PART = "BODY crank (pqr = [(0, 0, 0), (0, 0, 1), (1, 0, 0)]);\n"


@pytest.fixture
def folder(tmp_path):
    inside = tmp_path / "models"
    (inside / "parts").mkdir(parents=True)
    return inside


def write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refusal(path):
    with pytest.raises(LanguageError) as found:
        read(path)
    message = str(found.value)
    assert "\n" not in message
    return message


def test_a_file_includes_statements_in_its_place(folder):
    write(folder / "parts" / "crank.mks", 'constant r = 2;\ninclude "more.mks";\n' + PART)
    write(folder / "parts" / "more.mks", "// nothing but a comment\n")
    top = write(folder / "top.mks", WHOLE.format("parts/crank.mks").replace("ENDMODEL", "BODY b (mass = r);\nENDMODEL"))
    document = read(top)
    assert list(document.model.bodies) == ["ground", "crank", "b"]
    assert document.model.bodies["b"].mass == 2.0
    place = document.places["body crank"]
    assert (Path(place.file), place.line, place.column) == (folder / "parts" / "crank.mks", 3, 6)


def test_a_whole_model_can_be_included(folder):
    write(folder / "crank.mks", f"# whole\n model other\n{PART} ENDMODEL")
    assert "crank" in read(write(folder / "top.mks", WHOLE.format("crank.mks"))).model.bodies


def test_an_error_in_an_included_file_points_there(folder):
    write(folder / "part.mks", PART.replace("pqr", "pqrs"))
    message = refusal(write(folder / "top.mks", WHOLE.format("part.mks")))
    assert message.startswith(f"{folder}/part.mks:1:13: body 'crank' takes no 'pqrs'; did you mean 'pqr'?")


def test_a_file_that_includes_itself(folder):
    message = refusal(write(folder / "top.mks", WHOLE.format("top.mks")))
    assert "top.mks:3:9: top.mks includes top.mks: a file cannot include itself" in message


def test_two_files_that_include_each_other(folder):
    write(folder / "a.mks", 'include "b.mks";')
    write(folder / "b.mks", 'include "parts/../a.mks";')
    message = refusal(write(folder / "top.mks", WHOLE.format("a.mks")))
    assert "b.mks:1:9: a.mks includes b.mks includes a.mks" in message


def test_files_that_include_more_and_more(folder):
    for k in range(40):
        write(folder / f"{k}.mks", f'include "{k + 1}.mks"; include "{k + 1}.mks";')
    write(folder / "40.mks", "")
    assert f"more than {MOST_FILES} files" in refusal(write(folder / "top.mks", WHOLE.format("0.mks")))


def test_words_of_included_files_are_counted(folder):
    write(folder / "many.mks", f"constant c = {'1 + ' * 12_000} 1;")
    text = WHOLE.format("many.mks").replace("include", 'include "many.mks"; include')
    assert "with this file there are more than 30,000 words" in refusal(write(folder / "top.mks", text))


@pytest.mark.parametrize("name", ["../outside.mks", "/etc/passwd", "parts/../../outside.mks", "parts/link.mks"])
def test_an_include_that_leaves_its_folder(folder, name):
    write(folder.parent / "outside.mks", PART)
    (folder / "parts" / "link.mks").symlink_to(folder.parent / "outside.mks")
    message = refusal(write(folder / "top.mks", WHOLE.format(name)))
    assert "is outside the folder of the model" in message
    assert "crank" not in message
    assert "root:" not in message


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("none.mks", "does not exist"),
        ("parts", "is a folder"),
        ("a" * 5000, "cannot be"),
        ("round.mks", "cannot be"),
        ("", "is a folder"),
    ],
)
def test_an_include_that_cannot_be_read(folder, name, sentence):
    (folder / "round.mks").symlink_to(folder / "round.mks")
    message = refusal(write(folder / "top.mks", WHOLE.format(name)))
    assert sentence in message
    assert "top.mks:3:" in message


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"\xff\xfe\x00M", "is no text: byte 0 is not UTF-8"),
        (b"MODEL a\n\xc3\x28", "is no text: byte 8 is not UTF-8"),
        (b"MODEL a \x00", "is no text: byte 8 is zero"),
        (SLIDER_CRANK.encode("utf-16"), "is no text: byte 0"),
        (os.urandom(2000), "is no text"),
        (b"", "expected MODEL"),
    ],
)
def test_bytes_that_are_no_text(tmp_path, data, sentence):
    assert sentence in refusal(write(tmp_path / "a.mks", data))


def test_a_mark_of_byte_order_and_other_line_ends_are_text(tmp_path):
    text = ("\ufeff" + SLIDER_CRANK).replace("\n", "\r\n")
    assert len(read(write(tmp_path / "a.mks", text)).model.joints) == 4
    assert len(build(text).model.joints) == 4


def test_a_file_that_is_not_there(tmp_path):
    assert "does not exist" in refusal(tmp_path / "a.mks")
    assert "is a folder" in refusal(tmp_path)
    assert "cannot be read" in refusal(tmp_path / "a\0b.mks")


def test_a_file_that_may_not_be_read(tmp_path):
    path = write(tmp_path / "a.mks", SLIDER_CRANK)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    assert "cannot be read" in refusal(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_device_and_a_pipe_are_no_files(tmp_path):
    """A pipe that nobody writes to is not waited for."""
    os.mkfifo(tmp_path / "pipe.mks")
    assert "is a pipe or a device" in refusal("/dev/zero")
    assert "is a pipe or a device" in refusal(tmp_path / "pipe.mks")
    assert "is a pipe or a device" in refusal(write(tmp_path / "top.mks", WHOLE.format("pipe.mks")))


def test_fifty_megabytes_are_refused_unread(tmp_path):
    path = tmp_path / "large.mks"
    with path.open("wb") as file:
        file.truncate(50_000_000)
    assert f"{path}: is 50 MB long; at most {MOST_BYTES / 1e6:g} MB are read" in refusal(path)


WORST = {  # below 1 MB each
    "sums": "MODEL a b (c = " + "1 + " * 240_000 + "1); ENDMODEL",
    "brackets": "MODEL a b (c = " + "(" * 900_000,
    "rows": "MODEL a b (c = [" + "1, " * 49_000 + "1]); ENDMODEL",
    "statements": "MODEL a " + "BODY b; " * 24_000 + "ENDMODEL",
    "powers": "MODEL a b (c = " + "2 ^ " * 49_000 + "1); ENDMODEL",
    "a name": "MODEL a b (c = " + "x" * 900_000 + "); ENDMODEL",
    "names": "MODEL a SYSTEM (KINEMATIC ANALYSIS);" + "".join(f"triad {'a' * 99}{k} (body = b);" for k in range(8000)),
    "a closed comment": "MODEL a /*" + "*x" * 450_000 + "*/",
    "a long name": 'MODEL "' + "x" * 900_000 + '" ; ENDMODEL',
    "a comment": "MODEL a /*" + "*" * 900_000,
    "quotes": 'MODEL a "' * 90_000,
    "back slashes": 'MODEL "' + "\\" * 900_000,
    "digits": "MODEL a b (c = " + "1" * 900_000 + "); ENDMODEL",
    "units": "MODEL a b (c = 1 " + "m*" * 400_000 + "m); ENDMODEL",
    "lines": "\n" * 900_000 + "MODEL",
}

MEASURE = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
from rtmbs.errors import LanguageError
from rtmbs.language import read
try:
    read(sys.argv[1])
    print("taken")
except LanguageError as error:
    with open("/proc/self/status") as file:
        peak = next(line.split()[1] for line in file if line.startswith("VmHWM"))  # of this program alone
    print(len(str(error).splitlines()), int(peak) // 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of the memory stands nowhere here")
@pytest.mark.parametrize("case", spread(WORST, 4))
def test_the_worst_of_a_megabyte_takes_little_memory(case, tmp_path):
    """Time is measured by the campaign ``language_fuzz``; a hang ends here by the time that the process may take."""
    path = write(tmp_path / "worst.mks", WORST[case])
    assert path.stat().st_size < 1_000_000
    command = [sys.executable, "-c", MEASURE, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST, check=True)
    lines, megabytes = map(int, done.stdout.split())
    assert lines == 1
    assert megabytes < 256
