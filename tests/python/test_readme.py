"""Every Python block of the README and the docs runs; those on clusters in tests/cluster/test_recipes.py."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(set((ROOT / "docs").glob("*.md")) - {ROOT / "docs/clusters.md"})]
BLOCKS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
]


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.filterwarnings("ignore::oblivio.OblivioWarning")
def test_block_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "block", "exec"), {})


@pytest.mark.filterwarnings("ignore::oblivio.OblivioWarning")
def test_the_readme_example_runs_on_polars():
    import oblivio as ob

    people = ob.datasets.admissions(600, random_state=1, backend="polars")
    X, y = people.frame.drop(["success", "admitted", "region"]), people.frame["success"]
    model = ob.ObliviousRidge(sensitive_feature_ids=["sex", "age"], cells=4, standardize=True).fit(X, y)
    pandas = ob.datasets.admissions(600, random_state=1)
    same = ob.ObliviousRidge(sensitive_feature_ids=["sex", "age"], cells=4, standardize=True).fit(
        pandas.frame.drop(["success", "admitted", "region"], axis=1), pandas.frame["success"]
    )
    assert (model.predict(X) == same.predict(pandas.frame[X.columns])).all()
