"""tools/explore.py: which tests are random, which seeds they get, and what is kept of a failure."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("explore", ROOT / "tools/explore.py")
explore = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(explore)

SOURCE = """
#[test]
fn fixed() {
    assert!(true);
}

#[test]
#[should_panic]
fn by_a_runner() {
    let mut runner = TestRunner::new(ProptestConfig::default());
}

mod tests {
    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Documented.
        #[test]
        fn drawn(x in 0..9) {
            prop_assert!(x < 9);
        }

        #[test]
        #[ignore]
        fn also_drawn(
            x in 0..9,
        ) {
        }
    }

    fn helper() {}
}
"""


class Suite:
    """Tests one of which fails with one seed, and one of which crashes with another."""

    name, left = "tests", ["a test", "other"]

    def __init__(self, fails_with, crashes_with=None):
        self.fails_with, self.crashes_with, self.kept = fails_with, crashes_with, []

    def command(self, tests, seed):
        return ["run", *tests, f"--seed={seed}"]

    def run(self, seed):
        if seed == self.crashes_with:
            return None, "a signal"
        return (["a test"], "its output") if seed == self.fails_with else ([], "")

    def keep(self, test, seed):
        self.kept.append((test, seed))


def test_random_functions_are_found_in_blocks_and_by_their_runner():
    assert sorted(explore.random_functions(SOURCE)) == ["also_drawn", "by_a_runner", "drawn"]


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("crates/oblivio/src/lib.rs", ""),
        ("crates/oblivio/src/kernel/text.rs", "kernel::text"),
        ("crates/oblivio/src/partition/mod.rs", "partition"),
        ("crates/oblivio/src/partition/tests.rs", "partition::tests"),
        ("crates/oblivio/tests/engine/parts.rs", "parts"),
        ("crates/oblivio/tests/engine/main.rs", ""),
        ("crates/oblivio/tests/allocation.rs", ""),
    ],
)
def test_modules_of_files(path, module):
    assert explore.module_of(path) == module


def test_random_tests_are_listed_under_their_modules():
    listed = ["kernel::by_a_runner", "kernel::tests::also_drawn", "kernel::tests::drawn"]
    others = ["other::drawn", "kernel::other::drawn"]
    assert explore.random_tests([("kernel", SOURCE)], listed + others) == listed


def test_a_random_test_that_cargo_does_not_list_is_named():
    with pytest.raises(SystemExit, match="`by_a_runner` of module `kernel`"):
        explore.random_tests([("kernel", SOURCE)], ["kernel::tests::drawn", "kernel::tests::also_drawn"])


def test_every_file_that_uses_proptest_has_a_random_test():
    for module, text in explore.rust_sources():
        if "use proptest::" in text:
            assert explore.random_functions(text), module


def test_seeds_are_fresh_or_counted():
    assert explore.seeds(3, 7) == [7, 8, 9]
    assert explore.seeds(3) != explore.seeds(3)


def test_a_failure_is_kept_and_the_rounds_go_on(capsys):
    suites = [Suite(fails_with=5), Suite(fails_with=6)]
    assert explore.explore(suites, [4, 5, 6]) == 1
    assert [suite.kept for suite in suites] == [[("a test", 5)], [("a test", 6)]]
    printed = capsys.readouterr().out
    assert "FAILED a test with seed 5; replay it with\n  run 'a test' --seed=5\n" in printed
    assert "its output" in printed
    assert "\n3 rounds in 0.0 min: 2 failures\n" in printed


def test_a_crash_names_all_tests_that_ran_and_the_rounds_go_on(capsys):
    assert explore.explore([Suite(fails_with=None, crashes_with=5)], [5, 6]) == 1
    printed = capsys.readouterr().out
    assert "a signal" in printed
    assert "CRASHED with seed 5; replay it with\n  run 'a test' other --seed=5\n" in printed
    assert "\n2 rounds in 0.0 min: 1 failures\n  run 'a test' other --seed=5\n" in printed


def test_without_a_failure_the_exit_code_is_zero(capsys):
    assert explore.explore([Suite(fails_with=None)], [1]) == 0
    assert "1 rounds in 0.0 min: 0 failures" in capsys.readouterr().out


def test_a_case_is_kept_once(tmp_path):
    path = tmp_path / "explored.json"
    path.write_text("[]\n")
    cases = [{"test": "a[ü]", "seed": 1, "examples": 100}, {"test": "b", "seed": 2, "examples": 100}]
    for case in [*cases, *cases]:
        explore.keep(path, case)
    assert json.loads(path.read_text(encoding="utf-8")) == cases
    assert len(path.read_text(encoding="utf-8").splitlines()) == 4
