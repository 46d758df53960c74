"""The runs that docs/paper.md tells of, with its seeds."""

import csv
import re
from pathlib import Path

import pytest

import oblivio as ob

PAGE = Path(__file__).parents[2] / "docs" / "paper.md"


def command(*arguments):
    assert ob._oblivio.cli_main(["oblivio", *map(str, arguments)]) == 0


@pytest.mark.slow
def test_ten_runs_in_the_papers_setting(tmp_path, capfd):
    settings = "--sensitive s --target y --kernel rbf(gamma=1) --no-standardize --alpha 1 --cells 16 --binning dyadic"
    page = PAGE.read_text(encoding="utf-8")
    for setting in [
        "--no-standardize --alpha 1",
        "--cells 16 --binning dyadic --sensitive-bounds=-5:5 --reference half",
    ]:
        assert setting in page
    errors = []
    for seed in range(1, 11):
        train, test, model = tmp_path / "train.csv", tmp_path / "test.csv", tmp_path / "model.oblivio"
        scores = tmp_path / "scores.csv"
        for path, own in [(train, seed), (test, seed + 100)]:
            command("simulate", "ridge-1", "--mix", 0, "--rows", 1000, "--seed", own, "-o", path)
        command("fit", train, *settings.split(), "--sensitive-bounds=-5:5", "--reference", "half", "-o", model)
        command("predict", model, test, "--keep", "y", "-o", scores)
        with scores.open(encoding="utf-8") as lines:
            rows = list(csv.reader(lines))[1:]
        errors.append(sum((float(a) - float(b)) ** 2 for a, b in rows) / len(rows))
    capfd.readouterr()
    low, high = re.search(r"Ten runs lay between ([0-9.]+) and ([0-9.]+)", page).groups()
    # The page has one place.
    assert abs(min(errors) - float(low)) < 0.051
    assert abs(max(errors) - float(high)) < 0.051
