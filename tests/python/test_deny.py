"""The checks of licences: what an expression allows, and what is refused."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).resolve().parents[2] / "tools" / "deny.py"
SPEC = importlib.util.spec_from_file_location("deny", PATH)
deny = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(deny)

ALLOWED = {"MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"}


@pytest.mark.parametrize(
    ("expression", "met"),
    [
        ("MIT", True),
        ("GPL-3.0", False),
        ("GPL-3.0 OR MIT", True),
        ("MIT/Apache-2.0", True),
        ("Apache-2.0 / GPL-3.0", True),
        ("MIT AND GPL-3.0", False),
        ("(MIT OR GPL-3.0) AND Unicode-3.0", True),
        ("(MIT OR Apache-2.0) AND GPL-3.0", False),
        ("GPL-3.0 OR MIT AND Unicode-3.0", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("MIT WITH something", False),
    ],
)
def test_a_licence_expression_is_met_by_what_is_allowed(expression, met):
    assert deny.satisfied(expression, ALLOWED) is met


def package(**changes):
    return {"name": "p", "version": "1.0", "source": "registry+x", "license": "MIT"} | changes


def test_crates_of_other_licences_and_sources_are_named():
    assert deny.crates([package(), package(source=None)], ALLOWED) == []
    (licence,) = deny.crates([package(license="AGPL-3.0")], ALLOWED)
    assert "p 1.0 has the licence AGPL-3.0" in licence
    (none,) = deny.crates([package(license=None)], ALLOWED)
    assert "None" in none
    (source,) = deny.crates([package(source="git+x")], ALLOWED)
    assert "elsewhere" in source


def test_duplicates_are_listed():
    packages = [package(), package(version="2.0"), package(name="q")]
    assert deny.duplicates(packages) == ["p 1.0, 2.0"]
