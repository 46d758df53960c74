"""What the documentation says, runs; what the package promises, is there."""

import doctest
import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import oblivio as ob

MODULES = ["oblivio", *(f"oblivio.{module.name}" for module in pkgutil.iter_modules(ob.__path__))]
PYTHON_MODULES = [name for name in MODULES if not name.endswith(("._oblivio", ".__main__"))]


@pytest.mark.parametrize("name", PYTHON_MODULES)
def test_examples_run(name):
    with warnings.catch_warnings():
        # Examples show what they warn of by not warning at all.
        warnings.simplefilter("error")
        results = doctest.testmod(importlib.import_module(name), verbose=False)
    assert results.failed == 0


def test_every_class_has_an_example():
    for name in (
        "ObliviousRidge",
        "ObliviousTransformer",
        "ObliviousRelease",
        "ObliviousKernel",
        "Offset",
        "Kernel",
        "Moments",
    ):
        assert ">>> " in inspect.getdoc(getattr(ob, name))


def test_every_public_name_is_there_and_documented():
    assert sorted(ob.__all__) == dir(ob)
    for name in ob.__all__:
        value = getattr(ob, name)
        if name != "__version__":
            assert inspect.getdoc(value), name
    with pytest.raises(AttributeError, match="module 'oblivio' has no attribute 'nonsense'"):
        _ = ob.nonsense
    namespace = {}
    exec("from oblivio import *", namespace)
    assert set(ob.__all__) <= set(namespace)


def test_every_public_method_is_documented():
    for name in ("ObliviousRidge", "ObliviousTransformer", "ObliviousRelease", "ObliviousKernel", "Offset", "Moments"):
        for method, value in vars(getattr(ob, name)).items():
            if inspect.isfunction(value) and not method.startswith("_"):
                assert value.__doc__, f"{name}.{method}"


def test_every_parameter_is_documented():
    for name in ("ObliviousRidge", "ObliviousTransformer", "ObliviousRelease", "ObliviousKernel", "Offset", "Moments"):
        text = inspect.getdoc(getattr(ob, name)).split("Attributes\n")[0]
        for parameter in inspect.signature(getattr(ob, name)).parameters:
            assert parameter in text, f"{name}: {parameter}"


def test_every_attribute_that_is_documented_is_there(table):
    X, s, y = table
    for model in (
        ob.ObliviousRidge(standardize=False),
        ob.ObliviousRidge(standardize=False, n_components=4),
        ob.ObliviousTransformer(standardize=False, n_components=4),
    ):
        section = inspect.getdoc(model).split("Attributes\n")[1].split("Examples\n")[0]
        names = [line.split(" : ")[0] for line in section.splitlines() if " : " in line and not line.startswith(" ")]
        model.fit(X, y, sensitive_features=s)
        assert len(names) >= 2
        for name in names:
            assert hasattr(model, name), name


def test_import_is_light():
    """The command line must not wait for scikit-learn."""
    code = (
        "import sys, oblivio, oblivio._cli; "
        "print([m for m in ('sklearn', 'pandas', 'polars', 'pyarrow', 'narwhals', 'tqdm') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], encoding="utf-8") == "[]\n"


@pytest.mark.slow
def test_the_stub_matches_the_extension():
    command = [sys.executable, "-m", "mypy.stubtest", "oblivio._oblivio"]
    environment = os.environ | {"MYPY_FORCE_COLOR": "0"}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, env=environment, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_is_typed():
    assert (Path(ob.__file__).parent / "py.typed").exists()
    assert (Path(ob.__file__).parent / "_oblivio.pyi").exists()
