"""What a first user forgets or meets: said once, with the cure."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import oblivio as ob

RNG = np.random.default_rng(5)
X, S = RNG.normal(size=(40, 2)), RNG.integers(0, 2, 40)
Y = X[:, 0] + S

LEARNERS = [ob.ObliviousRidge, ob.ObliviousRidgeCV, ob.ObliviousSVC, ob.ObliviousLogistic]
OTHERS = [ob.ObliviousTransformer, ob.ObliviousKernel, ob.ObliviousRelease, lambda **k: ob.Offset(Ridge(), **k)]


def said(make, **keywords):
    """What a fit says about missing sensitive features."""
    model = make(n_components=5) if make is ob.ObliviousTransformer else make()
    target = (X[:, 0] > 0).astype(int) if isinstance(model, (ob.ObliviousSVC, ob.ObliviousLogistic)) else Y
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, target, **keywords)
    return [found for found in caught if "no sensitive features were given" in str(found.message)]


class TestNoSensitiveFeatures:
    @pytest.mark.parametrize("make", LEARNERS + OTHERS)
    def test_a_fit_says_once_that_nothing_is_removed(self, make):
        found = said(make)
        assert len(found) == 1
        assert issubclass(found[0].category, ob.OblivioWarning)
        assert found[0].filename == __file__
        assert "pass sensitive_features= to fit" in str(found[0].message)
        assert ("mode='plain'" in str(found[0].message)) == (make in LEARNERS)

    @pytest.mark.parametrize("make", LEARNERS + OTHERS)
    def test_a_fit_with_some_says_nothing(self, make):
        assert said(make, sensitive_features=S) == []

    @pytest.mark.parametrize("kind", LEARNERS)
    def test_nor_does_one_that_is_meant_to_be_plain(self, kind):
        assert said(lambda: kind(mode="plain")) == []

    def test_nor_does_strength_0(self):
        assert said(lambda: ob.ObliviousRidge(strength=0)) == []

    def test_batches_say_it_once(self):
        model = ob.ObliviousRidge(n_components=5)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.partial_fit(X[:20], Y[:20]).partial_fit(X[20:], Y[20:])
        assert sum("no sensitive features" in str(found.message) for found in caught) == 1


class TestWarningsOfNewRows:
    def test_each_kind_is_said_once_for_each_fit(self):
        S_text = np.array(["a", "b"])[S]
        new = np.array(["a", "c"])[S]
        model = ob.ObliviousRidge(handle_unknown="population").fit(X, Y, sensitive_features=S_text)

        def said():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model.predict(X, sensitive_features=new)
            return [str(found.message) for found in caught]

        first = said()
        assert len(first) == 1 and "rows have a sensitive category without reference rows" in first[0]
        assert said() == []
        model.fit(X, Y, sensitive_features=S_text)
        assert said() == first
