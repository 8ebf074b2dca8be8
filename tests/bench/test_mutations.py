"""The mutation campaign: its operators, its draw, and a small package in which one planted fault is found."""

import ast

import pytest

pytest.importorskip("cosmic_ray", reason="cosmic-ray is not installed; pip install 'rtmbs[dev]' brings it")

from cosmic_ray.mutating import mutate_code

from bench.mutations.campaign import ROOMS, Campaign, Summary, read_reasons
from bench.mutations.campaign import TESTS as TESTS_OF_CAMPAIGN
from bench.mutations.draw import code_lines, drawn, mutant_of, mutated, places
from bench.mutations.operators import OWN, operators
from bench.mutations.record import statement_lines
from tests.patches import ROOT

SOURCE = '''"""Areas."""

LIMIT = 4


def area(a: float, b: float = 1.0) -> float:
    """Return a * b."""
    return a * b


def grown(values: list) -> list:
    """Add one to each."""
    for k in range(len(values)):
        values[k] += (
            1
        )
    return values


def unused(a):
    return a + 1
'''
TESTS = """
from small.area import area, grown

def test_area():
    assert area(2.0, 3.0) == 6.0

def test_growth():
    assert len(grown([1, 2])) == 2

def test_that_fails():
    assert area(1.0) == 5.0
"""


@pytest.mark.parametrize("operator", OWN)
def test_an_operator_does_as_its_examples_say(operator):
    for example in operator.examples():
        assert mutate_code(example.pre_mutation_code, operator(), example.occurrence) == example.post_mutation_code


def test_words_and_annotations_are_not_mutated():
    assert set(places(SOURCE)) == {3, 6, 8, 13, 14, 15, 21}
    assert code_lines(SOURCE) == {3, 6, 8, 11, 13, 14, 15, 16, 17, 20, 21}


def test_every_mutant_is_python_and_differs():
    for line, choices in places(SOURCE).items():
        for operator, occurrence in choices:
            text = mutated(SOURCE, operator, occurrence)
            assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(SOURCE))
            one = mutant_of(SOURCE, "area.py", line, operator, occurrence)
            assert one.before != one.after


def test_a_seed_draws_the_same_mutants():
    one, other = (drawn(ROOT, ["rtmbs/forces"], 12, seed) for seed in (3, 4))
    assert one == drawn(ROOT, ["rtmbs/forces"], 12, 3) != other
    assert len(set(one)) == 12
    assert {mutant.operator for mutant in one} <= set(operators())


def test_the_rooms_and_the_reasons_are_of_files_that_exist():
    assert [room for room in ROOMS if not any((ROOT / room).rglob("*.py"))] == []
    assert [part for part in TESTS_OF_CAMPAIGN if not (ROOT / part).exists()] == []
    named = {file for file, _, _ in read_reasons(ROOT / "bench/mutations/reasons.toml")}
    assert sorted(file for file in named if not (ROOT / file).is_file()) == []


def test_lines_of_a_statement():
    assert statement_lines(SOURCE, 3) == [], "runs when the module is imported"
    assert statement_lines(SOURCE, 13) == [13]
    assert statement_lines(SOURCE, 15) == [14, 15, 16]


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """A campaign of three mutants on a package of one file: its root, and the verdict of each by line."""
    root = tmp_path_factory.mktemp("root")
    for name, text in {"small/area.py": SOURCE, "small/__init__.py": "", "tests/test_area.py": TESTS}.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\nmarkers = ['slow']\n", encoding="utf-8")
    campaign = Campaign(root, root / "build", ("small",), ("tests",))
    assert not campaign.recorded()
    campaign.record()
    assert campaign.recorded()
    planted = {8: "ReplaceBinaryOperator_Mul_Div", 14: "DropStatement", 21: "ReplaceBinaryOperator_Add_Sub"}
    mutants = [mutant_of(SOURCE, "small/area.py", line, name, 0) for line, name in planted.items()]
    found = campaign.run(mutants, 2, budget=60.0)
    assert campaign.run(mutants, 1, budget=60.0) == found, "kept, not tried again"
    return root, dict(zip(planted, found, strict=True))


@pytest.mark.slow
def test_a_planted_fault_is_found_by_its_test(verdicts):
    found = verdicts[1][8]
    assert found.outcome == "killed"
    assert found.by.startswith("tests/test_area.py::test_area: assert ")
    assert found.ran == 1, "the test that fails without the fault is not asked"


@pytest.mark.slow
def test_the_package_itself_is_not_touched(verdicts):
    assert (verdicts[0] / "small" / "area.py").read_text(encoding="utf-8") == SOURCE


@pytest.mark.slow
def test_survivors_are_listed_and_reasons_counted(verdicts, tmp_path):
    found = verdicts[1]
    assert (found[14].outcome, found[14].ran) == ("survived", 1)
    assert found[21].outcome == "untested"
    summary = Summary(list(found.values()), {})
    assert summary.share == pytest.approx(1.0 / 3.0)
    assert "survived (1 tests ran, 0 left out): small/area.py:14 DropStatement\n" in str(summary)
    assert "untested (0 tests ran, 0 left out): small/area.py:21" in str(summary)
    lines = "before = 'values[k] += ( 1 )'\nafter = 'pass'\nreason = 'Only for show.'\n"
    (tmp_path / "reasons.toml").write_text(f"[[equivalent]]\nfile = 'small/area.py'\n{lines}", encoding="utf-8")
    summary = Summary(list(found.values()), read_reasons(tmp_path / "reasons.toml"))
    assert summary.share == pytest.approx(0.5)
    assert "    Only for show." in str(summary).splitlines()
