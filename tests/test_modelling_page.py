"""What docs/modelling.md shows does run, and the page names every public element."""

import re
from pathlib import Path

import rtmbs

PAGE = (Path(__file__).parent.parent / "docs" / "modelling.md").read_text(encoding="utf-8")


def test_the_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for example in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(example, "modelling.md", "exec"), names)
    assert names["again"].names() == names["result"].names()
    assert (tmp_path / "lift.csv").read_text().startswith("t (s),")
    assert len(names["result"]) > 1


def test_the_page_names_what_a_model_takes():
    adders = [name for name in dir(rtmbs.Model) if name.startswith(("add_", "set_"))]
    kinds = {*rtmbs.model.joints.JOINT_TYPES, *rtmbs.model.forces.FORCE_TYPES, *rtmbs.model.profiles.PROFILES}
    kinds &= {*rtmbs.__all__}
    missing = [name for name in (*adders, *kinds, "Input", "Recorder", "load_result") if f"`{name}`" not in PAGE]
    missing = [name for name in missing if f"rtmbs.{name}" not in PAGE]
    assert not missing
