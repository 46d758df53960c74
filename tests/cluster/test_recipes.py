"""The recipes of docs/clusters.md, run as they are written."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import oblivio as ob

HERE = Path(__file__).parents[2]
JAVA = shutil.which("java")


def blocks(section):
    """The Python of a section."""
    text = (HERE / "docs/clusters.md").read_text()
    (found,) = re.findall(rf"^## {re.escape(section)}$(.*?)(?=^## |\Z)", text, re.M | re.S)
    return re.findall(r"^```python\n(.*?)^```$", found, re.M | re.S)


def run(folder, *programs, path=None):
    """Run the programs one after the other in one process, in a folder with the page's table."""
    ob.datasets.admissions(4000, random_state=1).frame.to_parquet(folder / "people.parquet")
    script = folder / "recipe.py"
    script.write_text("\n".join(programs))
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    environment.pop("PYTHONPATH", None)
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    done = subprocess.run([sys.executable, script], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.skipif(JAVA is None, reason="the Connect server of Spark needs Java, which is not here")
def test_a_spark_session_on_a_laptop_and_the_learners_of_spark(tmp_path):
    connect, _ = blocks("A Spark session")
    printed = run(tmp_path, connect, *blocks("On Spark"), *blocks("Support vector machines and logistic regression"))
    assert "avg(prediction)" in printed
    assert "depend" in printed
    assert ob.load(tmp_path / "model.oblivio").n_components_ == 100


def test_sail_needs_no_java(tmp_path):
    _, sail = blocks("A Spark session")
    printed = run(tmp_path, sail, *blocks("On Spark"), path=HERE / ".venv-cluster/sail")
    assert "avg(prediction)" in printed


def test_dask(tmp_path):
    printed = run(tmp_path, *blocks("On Dask"))
    assert "prediction" in printed
    assert "depend" in printed
