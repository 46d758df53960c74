"""What the files of all engines share. Each file is run in a process of its own: a process has one kind of Spark."""

import shutil
from pathlib import Path

import cloudpickle
import pytest

pytest.register_assert_rewrite("cases", "accidents", "learners")

import accidents  # noqa: E402
import cases  # noqa: E402
import engines  # noqa: E402
import learners  # noqa: E402
import simulated  # noqa: E402

# Workers have the wheel and not this folder, so functions of these files travel whole.
HELPERS = (accidents, cases, engines, learners, simulated)
for helper in HELPERS:
    cloudpickle.register_pickle_by_value(helper)
try:
    from pyspark import cloudpickle as sparks_own

    for helper in HELPERS:
        sparks_own.register_pickle_by_value(helper)
except ImportError:
    pass


def pytest_configure(config):
    config.addinivalue_line("markers", "large: twenty million rows; `make test-cluster-large` runs it")
    config.addinivalue_line("filterwarnings", "ignore:PySpark does not yet:FutureWarning")
    config.addinivalue_line("filterwarnings", "ignore:Failed to set spark:UserWarning")


def pytest_collection_modifyitems(config, items):
    """Twenty million rows only where they are asked for."""
    if config.option.markexpr:
        return
    large = [item for item in items if item.get_closest_marker("large")]
    config.hook.pytest_deselected(items=large)
    items[:] = [item for item in items if item not in large]


@pytest.fixture(scope="session")
def logs(request):
    """A folder for the engine's logs, which stays."""
    folder = Path(request.config.rootpath) / "out/cluster" / Path(request.session.items[0].path).stem
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
