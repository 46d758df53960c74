"""One table says what settings there are: signatures, docstrings and documentation follow from it."""

import importlib.util
import inspect
from pathlib import Path

import pytest

import oblivio as ob
from oblivio import _oblivio
from oblivio._settings import default_of, settings_of, values_of

ROOT = Path(__file__).resolve().parents[2]

spec = importlib.util.spec_from_file_location("settings_tool", ROOT / "tools" / "settings.py")
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)

TABLE = _oblivio.settings()
WRITTEN = {fitter: getattr(ob, name) for fitter, (name, _) in tool.ESTIMATORS.items()}
BY_HAND = {"offset": ob.Offset, "release": ob.ObliviousRelease}
#: Parameters that the table leaves to their class: a model to wrap, and the parts of a release.
OWN = {
    "offset": {"estimator", "cv"},
    "release": {"method", "missing_values", "ranges", "bandwidths", "discrete"},
}


def test_generated_parts_are_as_the_table_has_them():
    for path, text in tool.files(TABLE).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is stale: run `make settings`"


@pytest.mark.parametrize(("fitter", "kind"), [*WRITTEN.items(), *BY_HAND.items()])
def test_signatures_have_the_settings_of_the_table_and_their_defaults(fitter, kind):
    found = {
        name: parameter.default
        for name, parameter in inspect.signature(kind).parameters.items()
        if name not in OWN.get(fitter, set())
    }
    wanted = {setting["python"]: default_of(setting, fitter) for setting in settings_of(fitter)}
    wanted = {name: tuple(value) if isinstance(value, list) else value for name, value in wanted.items()}
    assert found == wanted
    # True equals 1 and 1 equals 1.0, which a reader of the signature would not say.
    assert {name: type(value) for name, value in found.items()} == {name: type(wanted[name]) for name in found}


@pytest.mark.parametrize("kind", WRITTEN.values())
def test_docstrings_describe_every_parameter_after_an_example(kind):
    text = kind.__doc__
    for name in inspect.signature(kind).parameters:
        assert text.count(f"\n    {name} : ") == 1, name
    assert text.index("Examples\n") < text.index("Parameters\n") < text.index("Other Parameters\n")


def test_unknown_parameters_are_refused():
    with pytest.raises(TypeError, match="strenght"):
        ob.ObliviousRidge(strenght=0.5)
    with pytest.raises(ValueError, match="strenght"):
        ob.ObliviousRidge().set_params(strenght=0.5)


def test_values_of_an_estimator_carry_the_names_of_the_table():
    names = {setting["name"] for setting in TABLE}
    for fitter, kind in WRITTEN.items():
        found = values_of(kind(), fitter)
        assert found.keys() <= names
        for setting in settings_of(fitter):
            if setting["name"] in found and setting["default"] is not None and not setting["exceptions"]:
                assert found[setting["name"]] == setting["default"], (fitter, setting["name"])
    chosen = values_of(ob.ObliviousLogistic(C=2, threshold=0.3, fit_intercept=False, cells=4), "logistic")
    assert (chosen["cost"], chosen["threshold"], chosen["intercept"], chosen["cells"]) == (2.0, "0.3", False, "4")


@pytest.mark.parametrize(
    ("parameter", "value", "words"),
    [
        ("strength", "all", "strength must be a number, got 'all'"),
        ("n_components", 0, "n_components must be a positive whole number, got 0"),
        ("binning", 3, "binning must be a name, got 3"),
    ],
)
def test_wrong_kinds_of_values_are_refused_by_the_name_of_the_parameter(parameter, value, words):
    model = ob.ObliviousRidge(**({"n_components": 2} | {parameter: value}))
    with pytest.raises(_oblivio.InvalidInputError, match=words):
        model.fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0], sensitive_features=["a", "b", "a"])
