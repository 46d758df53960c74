"""Replays the cases at which `make explore` saw a test of this package fail."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CASES = json.loads(Path(__file__).with_name("explored.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['test']} with seed {case['seed']}")
def test_a_case_that_failed_once(case):
    environment = os.environ | {"OBLIVIO_EXAMPLES": str(case["examples"])}
    seed = ["--hypothesis-profile=explore", f"--hypothesis-seed={case['seed']}"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *seed, case["test"]]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert run.returncode == 0, run.stdout + run.stderr
