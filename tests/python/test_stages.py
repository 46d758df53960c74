"""tools/stages.py: the seconds of each stage, and the crates that were compiled twice."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("stages", ROOT / "tools/stages.py")
stages = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(stages)

LIBRARY = "rustc --crate-name faer --edition=2021 lib.rs --crate-type lib --emit=dep-info,metadata,link -C opt-level=3"


def unit(spent, command, package="faer", version="0.24.4"):
    return f"{spent} 0m0.5s {package} {version} {command}"


def test_a_crate_compiled_twice_for_one_purpose_is_listed_with_its_seconds():
    again = LIBRARY.replace("opt-level=3", "opt-level=2")
    found = stages.repetitions([unit("1m30s", LIBRARY), unit("0m11.5s", again)])
    assert found == [("faer 0.24.4: faer (lib, build)", [90.5, 12.0])]


def test_tests_checks_and_other_versions_are_other_purposes():
    checked = LIBRARY.replace("metadata,link", "metadata")
    units = [
        unit("0m1s", LIBRARY),
        unit("0m1s", LIBRARY + " --test"),
        unit("0m1s", checked),
        unit("0m1s", LIBRARY, version="0.23.0"),
    ]
    assert stages.repetitions(units) == []


def test_questions_to_the_compiler_are_no_compilation():
    assert stages.purpose_of("rustc -vV") is None
    assert stages.purpose_of("rustc - --crate-name ___ --print=file-names --crate-type bin --emit=link") is None


def test_a_failed_stage_ends_the_run_with_its_exit_code(capfd):
    assert stages.main(["no-such-target", "help"]) == 2
    printed = capfd.readouterr().out
    assert "no-such-target" in printed and "failed, exit code 2" in printed
    assert "make help" not in printed


def test_stages_side_by_side_are_both_ended_and_reported(capfd):
    assert stages.main(["help+no-such-target", "help"]) == 2
    printed = capfd.readouterr().out
    assert printed.count("--- make help") == 1
    assert "No rule to make target" in printed
    assert [line.split()[0] for line in printed.splitlines() if line.endswith("  ok")] == ["help"]
