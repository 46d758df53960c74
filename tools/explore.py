"""explore.py [--rounds N] [--cases N] [--seed N]: runs the random tests with fresh seeds.

`make test` draws the same cases in every run. A failure found here becomes a case that `make test` replays. Cases of
Rust tests are in folders `proptest-regressions`, cases of Python tests in tests/python/explored.json. Commit a case
together with the repair.
"""

import argparse
import json
import os
import re
import secrets
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXPLORED = ROOT / "tests/python/explored.json"
CARGO = [os.environ.get("CARGO", "cargo"), "test", "--workspace", "--tests"]
PYTEST = [".venv/bin/python", "-m", "pytest"]
# Examples of a Python test in a round.
EXAMPLES = 100
# The exit codes of pytest where tests passed, and where some failed.
PASSED, FAILED = 0, 1


def main(arguments=None):
    """Run the rounds; the exit code is 1 if a test failed."""
    parser = argparse.ArgumentParser(prog="explore.py", description="Runs the random tests with fresh seeds.")
    parser.add_argument("--rounds", type=int, default=10, help="number of seeds")
    parser.add_argument("--cases", type=int, help="cases of every test in a round, in place of each test's own number")
    parser.add_argument("--seed", type=int, help="seed of the first round; the next ones follow it")
    options = parser.parse_args(arguments)
    suites = [RustTests(options.cases), PythonTests(options.cases)]
    return explore(suites, seeds(options.rounds, options.seed))


def seeds(rounds, first=None):
    """One seed for each round: drawn, or counted from the first."""
    return [secrets.randbits(32) if first is None else first + k for k in range(rounds)]


def explore(suites, seeds):
    """Run each suite with each seed; a test that failed is left out of later rounds."""
    start, failures = time.monotonic(), []
    for number, seed in enumerate(seeds, 1):
        for suite in suites:
            begun = time.monotonic()
            failed, output = suite.run(seed)
            seconds = time.monotonic() - begun
            outcome = "crashed" if failed is None else f"{len(failed)} failed"
            print(f"round {number} of {len(seeds)}, seed {seed}: {suite.name}, {seconds:.1f} s, {outcome}", flush=True)
            if failed != []:
                print(output)
            if failed is None:
                failures.append(shlex.join(suite.command(suite.left, seed)))
                print(f"CRASHED with seed {seed}; replay it with\n  {failures[-1]}", flush=True)
            for test in failed or []:
                suite.keep(test, seed)
                failures.append(shlex.join(suite.command([test], seed)))
                print(f"FAILED {test} with seed {seed}; replay it with\n  {failures[-1]}", flush=True)
    minutes = (time.monotonic() - start) / 60
    print("\n  ".join([f"\n{len(seeds)} rounds in {minutes:.1f} min: {len(failures)} failures", *failures]))
    return 1 if failures else 0


def run(command):
    """Run a command in the root folder: its exit code and what it prints."""
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    return done.returncode, done.stdout


class RustTests:
    """The tests that use proptest, which keeps failures itself."""

    name = "Rust"

    def __init__(self, cases=None):
        code, output = run([*CARGO, "--", "--list"])
        if code:
            sys.exit(output)
        self.cases = cases
        self.left = random_tests(rust_sources(), re.findall(r"^(\S+): test$", output, re.MULTILINE))

    def command(self, tests, seed):
        """The command that runs tests with a seed."""
        cases = [] if self.cases is None else [f"PROPTEST_CASES={self.cases}"]
        return ["env", f"PROPTEST_RNG_SEED={seed}", *cases, *CARGO, "--no-fail-fast", "--", "--exact", *tests]

    def run(self, seed):
        """The tests that fail with a seed, None after a crash, and what was printed."""
        if not self.left:
            return [], ""
        code, output = run(self.command(self.left, seed))
        failed = re.findall(r"^test (\S+)(?: - should panic)? \.\.\. FAILED$", output, re.MULTILINE)
        if code and not failed:
            return None, output
        self.left = [test for test in self.left if test not in failed]
        return failed, "\n".join(re.findall(r"^failures:\n\n(.*?)^failures:$", output, re.MULTILINE | re.DOTALL))

    def keep(self, test, seed):
        """Nothing to do: the runner of the test has written its file."""


def rust_sources():
    """Module path and text of every file of Rust that tests can be in: not the crate that only helps tests."""
    _, names = run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.rs"])
    for name in names.split():
        if name.startswith("crates/oblivio-testing/"):
            continue
        yield module_of(name), (ROOT / name).read_text(encoding="utf-8")


def module_of(path):
    """The path of the module that a file holds, in its crate or its program of tests."""
    parts = Path(path).with_suffix("").parts
    if "src" in parts:
        parts = parts[parts.index("src") + 1 :]
    elif "tests" in parts:
        # What follows is the name of a program of tests.
        parts = parts[parts.index("tests") + 2 :]
    return "::".join(part for part in parts if part not in {"lib", "main", "mod"})


def random_tests(sources, listed):
    """The listed tests that draw their cases by proptest. A test in the source that is not listed ends the program."""
    found = []
    for module, text in sources:
        inner = "|".join(re.findall(r"^ *mod (\w+) \{", text, re.MULTILINE))
        for name in random_functions(text):
            path = f"{module}::" if module else ""
            pattern = re.compile(rf"{path}(?:(?:{inner})::)*{name}" if inner else path + name)
            tests = [test for test in listed if pattern.fullmatch(test)]
            if not tests:
                sys.exit(f"the random test `{name}` of module `{module}` is not among the tests that cargo lists")
            found += tests
    return sorted(set(found))


def random_functions(text):
    """The names of tests in blocks of `proptest!` and of tests that start a runner, in a text formatted by rustfmt."""
    names = []
    for block in re.finditer(r"^( *)proptest! \{\n(.*?)^\1\}", text, re.MULTILINE | re.DOTALL):
        names += re.findall(r"#\[test\]\n(?: *#\[[^\n]*\n)* *fn (\w+)", block[2])
    for test in re.finditer(r"^( *)#\[test\]\n(?: *#\[[^\n]*\n)* *fn (\w+)(.*?)^\1\}", text, re.MULTILINE | re.DOTALL):
        if "TestRunner::new" in test[3]:
            names.append(test[2])
    return names


class PythonTests:
    """The tests that use hypothesis."""

    name = "Python"

    def __init__(self, cases=None):
        code, output = run([*PYTEST, "-m", "hypothesis", "--collect-only"])
        if code:
            sys.exit(output)
        self.cases = EXAMPLES if cases is None else cases
        self.left = [line for line in output.splitlines() if "::" in line]

    def command(self, tests, seed):
        """The command that runs tests with a seed."""
        seeded = ["--hypothesis-profile=explore", f"--hypothesis-seed={seed}"]
        return ["env", f"OBLIVIO_EXAMPLES={self.cases}", *PYTEST, *seeded, *tests]

    def run(self, seed):
        """The tests that fail with a seed, None after a crash, and what was printed."""
        if not self.left:
            return [], ""
        with tempfile.TemporaryDirectory() as folder:
            code, output = run([*self.command(self.left, seed), "-o", f"cache_dir={folder}"])
            listed = Path(folder) / "v/cache/lastfailed"
            failed = list(json.loads(listed.read_text())) if listed.exists() else []
        if code not in {PASSED, FAILED}:
            return None, output
        self.left = [test for test in self.left if test not in failed]
        return failed, output

    def keep(self, test, seed):
        """Add a case to the list that a test replays."""
        keep(EXPLORED, {"test": test, "seed": seed, "examples": self.cases})


def keep(path, case):
    """Add a case to a list in a file, once."""
    cases = json.loads(path.read_text(encoding="utf-8"))
    if case not in cases:
        lines = ",\n".join(f"  {json.dumps(known)}" for known in [*cases, case])
        path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
