"""What clusters do, without any: the tree of states, the parts of a fit, and engines that are not installed."""

import itertools
import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import oblivio as ob
from oblivio.distributed import _tree
from oblivio.distributed._failures import Failure, located
from oblivio.distributed._parts import ROWS, Counting, Task, attempt, here, pieces
from oblivio.distributed._roles import Roles


def joined(states):
    return b"(" + b" ".join(states) + b")"


def leaves(numbers):
    return [(number, f"{number}".encode()) for number in numbers]


class Parts:
    """An engine in this process: a table cut into parts, whose work is pickled as it would be for a worker."""

    def __init__(self, frame, cuts, twice=(), batch=7):
        self.table = pa.Table.from_pandas(frame, preserve_index=False)
        self.names = self.table.column_names
        self.cuts, self.twice, self.batch = [0, *cuts, len(frame)], twice, batch

    def schema(self, columns):
        return self.table.select(columns).schema

    def states(self, work, columns):
        return [(part, sound(state)) for part, state in self.run(work, columns)]

    def merged(self, work, columns, parts):
        rows = [row for part, state in self.run(work, columns) for row in _tree.rows_of(part, state)]
        return sound(_tree.root(_tree.states_of(reversed(rows)), work.merge))

    def run(self, work, columns):
        work = pickle.loads(pickle.dumps(work))
        table = self.table.select(list(columns))
        for part, (first, last) in enumerate(itertools.pairwise(self.cuts)):
            rows = table.slice(first, last - first)
            for _ in range(1 + (part in self.twice)):
                if len(rows):
                    yield part, attempt(work, part, rows.to_batches(max_chunksize=self.batch))


def sound(state):
    if isinstance(state, Failure):
        raise state.error()
    return state


@pytest.fixture
def rows(table):
    features, group, target = table
    weights = pd.Series(np.arange(len(group)) % 3, name="weight", dtype=float)
    return pd.concat([features, group.map({0: "x", 1: "y", 2: "z"}), target, weights], axis=1)


def test_the_tree_joins_four_neighbours_at_a_time():
    assert _tree.root(leaves(range(6)), joined) == b"((0 1 2 3) (4 5))"
    assert _tree.root(leaves(range(18)), joined).endswith(b"(8 9 10 11) (12 13 14 15)) (16 17))")


def test_a_part_without_rows_keeps_its_number():
    assert _tree.root(leaves([1, 3, 4]), joined) == b"((1 3) 4)"
    assert _tree.root(leaves([9]), joined) == b"9"
    assert _tree.root([], joined) is None


def test_the_tree_does_not_depend_on_who_was_first():
    states = leaves(range(21))
    shuffled = [states[k] for k in np.random.default_rng(0).permutation(21)]
    assert _tree.root(shuffled, joined) == _tree.root(states, joined)


def test_levels_on_workers_and_the_rest_here_are_the_same_tree():
    states = leaves(range(70))
    left = states
    for _ in range(_tree.levels([key for key, _ in states])):
        left = _tree.level(left, joined)
    assert len(left) <= _tree.WIDTH
    assert _tree.root(left, joined) == _tree.root(states, joined)


def test_a_part_that_comes_twice_counts_once():
    assert _tree.root([*leaves(range(5)), *leaves([2, 4])], joined) == _tree.root(leaves(range(5)), joined)


def test_a_part_that_comes_twice_with_other_bytes_is_refused():
    with pytest.raises(ob.InvalidInputError, match="part 2 came twice with different results"):
        _tree.root([*leaves(range(5)), (2, b"other")], joined)
    chunks = [*_tree.rows_of(2, b"one"), *_tree.rows_of(2, b"other")]
    with pytest.raises(ob.InvalidInputError, match="part 2 came twice with different results"):
        _tree.states_of(chunks)


def test_states_travel_in_chunks_of_any_order(monkeypatch):
    monkeypatch.setattr(_tree, "CHUNK", 10)
    states = [(7, bytes(range(35))), (0, b""), (3, b"0123456789")]
    chunks = [row for key, state in states for row in _tree.rows_of(key, state)]
    assert [len(state) for _, _, _, state in chunks] == [10, 10, 10, 5, 0, 10]
    assert _tree.states_of([*reversed(chunks), *chunks[:3]]) == sorted(states)
    with pytest.raises(ob.InvalidInputError, match="part 7 arrived with 3 of 4 chunks"):
        _tree.states_of(chunks[1:])


def test_the_first_failure_takes_the_place_of_the_result():
    failures = [(6, Failure("ValueError", "late")), (1, Failure("NumericalError", "early"))]
    found = _tree.root([*leaves([0, 2, 5]), *failures], joined)
    assert found == Failure("NumericalError", "early")
    (row,) = _tree.rows_of(0, found)
    ((_, again),) = _tree.states_of([row])
    assert isinstance(again.error(), ob.NumericalError)


def test_a_failure_says_where():
    error = located(ob.UnknownCategoryError("value in row 3"), 12, 5000)
    assert isinstance(error, ob.UnknownCategoryError)
    assert str(error) == "value in row 3 (rows counted from row 5000 of part 12)"
    assert str(located(pa.ArrowInvalid("no"), 1, 0)) == "no (part 1)"


def test_batches_are_read_in_larger_pieces():
    batch = pa.record_batch({"a": np.zeros(10_000)})
    found = [(first, table.num_rows) for first, table in pieces([batch, batch.slice(0, 0), *[batch] * 7])]
    assert found == [(0, 70_000), (70_000, 10_000)]
    assert found[0][1] >= ROWS


def test_weights_that_are_all_zero_in_a_batch_are_counted():
    batches = [pa.record_batch({"w": [0.0, 0.0]}), pa.record_batch({"w": [2.0, 0.0]})]
    assert Counting.read(Counting("w")(0, batches)) == (4, 1)
    failure = attempt(Counting("w"), 5, [*batches, pa.record_batch({"w": [None, 1.0]})])
    assert failure.kind == "ValueError"
    assert failure.sentence.endswith("(part 5)")


def test_only_workers_leave_cores_alone(monkeypatch):
    # Set first, so that it is put back as it was.
    monkeypatch.setenv("RAYON_NUM_THREADS", "2")
    monkeypatch.delenv("RAYON_NUM_THREADS")
    Task().settle()
    assert "RAYON_NUM_THREADS" not in os.environ
    Task(driver=(here()[0], -1)).settle()
    assert os.environ["RAYON_NUM_THREADS"] == "1"


def test_roles_by_name():
    names = ["a", "b.c", "part", "s", "y", "w"]
    estimator = ob.ObliviousRidge(standardize=False, sensitive_feature_ids="s", control_feature_ids=["a"])
    roles = Roles.of(estimator, names, label="y", sample_weight="w")
    assert (roles.features, roles.sensitive, roles.control) == (["a", "b.c", "part"], ["s"], ["a"])
    assert roles.columns == ["a", "b.c", "part", "s", "y", "w"]


@pytest.mark.parametrize(
    ("parameters", "given", "sentence"),
    [
        ({}, {"label": "target"}, "label names 'target', which is not a column"),
        ({}, {"label": "y", "sensitive": "sexx"}, "did you mean 'sex'"),
        ({}, {"label": "y", "sensitive": 1}, "sensitive must be names of columns, got 1"),
        ({}, {"label": "y", "sensitive": ["sex", "sex"]}, "names 'sex' twice"),
        ({}, {"label": "y", "sensitive": "sex", "control": "sex"}, "both sensitive and a legitimate factor"),
        ({}, {"label": "y", "features": ["a", "y"]}, "both the label and a feature"),
        ({}, {"label": ["a", "y"]}, "label must be one column"),
        ({"sensitive_feature_ids": [0]}, {"label": "y"}, "sensitive_feature_ids must be names of columns"),
        ({"sensitive_feature_ids": "a"}, {"label": "y", "sensitive": "sex"}, "given twice"),
        ({"categorical_features": ["sex"]}, {"label": "y", "sensitive": "sex"}, "which is sensitive"),
        ({}, {"label": "y", "sensitive": ["a", "sex"]}, "no column is left"),
    ],
)
def test_roles_are_refused_in_one_sentence(parameters, given, sentence):
    with pytest.raises(ob.InvalidInputError, match=sentence):
        Roles.of(ob.ObliviousRidge(**({"standardize": False} | parameters)), ["a", "sex", "y"], **given)


@pytest.mark.parametrize("cuts", [(), (25,), (3, 3, 10, 11, 30, 44)])
def test_parts_come_to_what_one_machine_finds(rows, cuts):
    features = ["a", "b", "c"]
    given = {"sensitive_features": rows[["group"]]}
    model = ob.ObliviousRidge(n_components=12, standardize=True)
    one = model.fit(rows[features], rows["y"], sample_weight=rows["weight"], **given)
    expected = one.predict(rows[features], **given)
    roles = {"label": "y", "sensitive": "group", "sample_weight": "weight"}
    found = [
        ob.distributed.fit(
            Parts(rows, cuts, twice, batch), ob.ObliviousRidge(**({"standardize": False} | model.get_params())), **roles
        )
        for twice, batch in [((), 7), ((0, len(cuts)), 100)]
    ]
    assert found[0].model_.to_bytes() == found[1].model_.to_bytes()
    assert found[0].solver_ == one.solver_
    np.testing.assert_allclose(found[0].predict(rows[features], **given), expected, rtol=1e-10)


def test_features_of_parts(rows):
    model = ob.ObliviousTransformer(standardize=False, n_components=6)
    given = {"sensitive_features": rows[["group"]]}
    expected = model.fit_transform(rows[["a", "b"]], **given)
    found = ob.ObliviousTransformer(standardize=False, n_components=6)
    ob.distributed.fit(Parts(rows, [20, 41]), found, sensitive="group", features=["a", "b"])
    np.testing.assert_allclose(found.transform(rows[["a", "b"]], **given), expected, atol=1e-12)


def test_an_audit_of_all_rows_is_that_of_one_machine(rows):
    features, given = rows[["a", "b", "c"]], {"sensitive_features": rows[["group"]]}
    model = ob.ObliviousRidge(standardize=False, n_components=12).fit(features, rows["y"], **given)
    options = {"n_permutations": 19, "n_resamples": 19}
    found = ob.distributed.audit(Parts(rows, [20, 41]), model, label="y", **options)
    expected = ob.audit(model.predict(features, **given), rows[["group"]], rows["y"], **options)
    assert found.to_dict() == expected.to_dict()


def test_a_sample_does_not_depend_on_the_parts(rows):
    features, given = rows[["a", "b", "c"]], {"sensitive_features": rows[["group"]]}
    model = ob.ObliviousRidge(standardize=False, n_components=12).fit(features, rows["y"], **given)
    options = {"rows": 40, "n_permutations": 19, "n_resamples": 19}
    found = [ob.distributed.audit(Parts(rows, cuts), model, **options) for cuts in ([], [20, 20, 41])]
    assert found[0].title == "Audit (40 of 60 rows)"
    assert found[0].to_dict() == found[1].to_dict()


def test_numbers_that_begin_at_any_byte(rows):
    def moved(values):
        shifted = np.zeros(values.nbytes + 1, np.uint8)[1:].view(np.float64).reshape(values.shape)
        shifted[...] = values
        assert not shifted.flags.aligned
        return shifted

    given = {"X": rows[["a"]].to_numpy(), "y": rows["y"].to_numpy(), "sample_weight": rows["weight"].to_numpy()}
    models = [ob.ObliviousRidge(standardize=False, n_components=5).fit(**given, sensitive_features=rows["group"])]
    given = {name: moved(values) for name, values in given.items()}
    models.append(ob.ObliviousRidge(standardize=False, n_components=5).fit(**given, sensitive_features=rows["group"]))
    assert models[0].model_.to_bytes() == models[1].model_.to_bytes()


def test_errors_of_parts_name_them(rows):
    rows.loc[33, "b"] = np.nan
    model = ob.ObliviousRidge(standardize=False, n_components=5, missing_features="error")
    with pytest.raises(ob.InvalidInputError, match=r"column 'b', row 13; .* \(rows counted from row 0 of part 1\)"):
        ob.distributed.fit(Parts(rows, [20]), model, label="y", sensitive="group")


def test_missing_features_are_filled_in_as_on_one_machine(rows):
    rows.loc[[3, 33], "b"] = np.nan
    model = ob.ObliviousRidge(standardize=False, n_components=5)
    scores = []
    for cuts in ([], [20], [4, 34]):
        found = ob.distributed.fit(Parts(rows, cuts), model, label="y", sensitive="group")
        assert "2 values of features are missing: b (2)" in " ".join(found.notes_)
        scores.append(found.predict(rows))
    np.testing.assert_allclose(scores[1:], [scores[0]] * 2, rtol=0, atol=1e-10)


def test_a_table_that_changes_is_refused(rows):
    class Changing(Parts):
        def run(self, work, columns):
            self.cuts = [0, self.cuts[1] + 1, len(rows)]
            return super().run(work, columns)

    with pytest.raises(ob.InvalidInputError, match="changed between two passes"):
        ob.distributed.fit(
            Changing(rows, [20]), ob.ObliviousRidge(standardize=False, n_components=5), label="y", sensitive="group"
        )


@pytest.mark.parametrize("passes", [1, 2])
def test_passes_begin_anew_where_a_table_was_cut_into_other_parts(rows, passes):
    class Cut(Parts):
        done = 0

        def run(self, work, columns):
            self.done += 1
            if self.done == passes + 1:
                self.cuts = [0, 7, 33, len(rows)]
            return super().run(work, columns)

    table, roles = Cut(rows, [20]), {"label": "y", "sensitive": "group"}
    found = ob.distributed.fit(table, ob.ObliviousRidge(standardize=False, n_components=5), **roles)
    assert table.done == passes + 1 + 3
    expected = ob.distributed.fit(Parts(rows, [7, 33]), ob.ObliviousRidge(standardize=False, n_components=5), **roles)
    assert found.model_.to_bytes() == expected.model_.to_bytes()


@pytest.mark.parametrize("mean", ["cells", "smooth"])
def test_shares_plans_and_surveys_are_as_large_as_the_page_says(mean):
    class Weighed(Parts):
        def run(self, work, columns):
            self.plan = getattr(work, "plan", None)
            for part, state in super().run(work, columns):
                self.states_ = [*getattr(self, "states_", []), (type(work).__name__, len(state))]
                yield part, state

    people = ob.datasets.admissions(4000, random_state=1).frame
    features, sensitive = ["income", "hours", "gpa", "test"], ["sex", "age"]
    table = Weighed(people, [1000, 2000, 3000], batch=1000)
    cells = 4 if mean == "cells" else "auto"
    model = ob.ObliviousRidge(n_components=100, standardize=True, conditional_mean=mean, cells=cells)
    ob.distributed.fit(table, model, label="success", sensitive=sensitive, features=features)
    m, d, parts, columns = model.n_components_, len(features), 4, len(features) + len(sensitive)
    share, survey = 4 * (m + 2) * (m + 3), 8 * len(people) / parts * (columns + 6)
    weighed = {kind: max(size for of, size in table.states_ if of == kind) for kind, _ in table.states_}
    assert survey < weighed["Surveying"] < 1.1 * survey + 4000
    if mean == "cells":
        share += 8 * len(model.cells_) * (m + 2)
        assert share < weighed["Gathering"] < 1.1 * share + 8000
        plan = 8 * m * (m + d + 1)
        assert plan < len(table.plan) < 1.1 * plan + 8000
    else:
        assert share < weighed["Gathering"] < share + 8 * 200 * (200 + m + 2)


def test_tables_without_rows_or_weight(rows):
    model, roles = (
        ob.ObliviousRidge(standardize=False, n_components=5),
        {"label": "y", "sensitive": "group", "sample_weight": "weight"},
    )
    with pytest.raises(ob.InvalidInputError, match="the table has no rows"):
        ob.distributed.fit(Parts(rows[:0], []), model, **roles)
    with pytest.raises(ob.InvalidInputError, match="all sample weights are zero"):
        ob.distributed.fit(Parts(rows.assign(weight=0.0), []), model, **roles)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (ob.ObliviousRidge(standardize=False), "n_components=None has none"),
        (ob.ObliviousRidge(standardize=False, n_components=5, mode="m-oblivious"), "cannot do mode='m-oblivious'"),
        (ob.ObliviousTransformer(standardize=False, reference="half"), "cannot do reference='half'"),
        (ob.ObliviousSVC(standardize=False, n_components=5), "ObliviousSVC cannot be fitted on a cluster"),
    ],
)
def test_what_sums_cannot_do_is_refused(rows, model, sentence):
    label = None if isinstance(model, ob.ObliviousTransformer) else "y"
    with pytest.raises(ob.InvalidInputError, match=sentence):
        ob.distributed.fit(Parts(rows, []), model, label=label, sensitive="group")


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=False)


@pytest.mark.parametrize(("engine", "package"), [("spark", "pyspark"), ("dask", "dask"), ("spark", "pyarrow")])
def test_a_missing_package_gives_one_sentence(engine, package):
    done = run(
        "import sys\n"
        "class Stub:\n    pass\n"
        f"sys.modules[{package!r}] = None\n"
        + ("sys.modules['pyspark'] = sys.modules['pyspark.sql'] = Stub()\n" if package == "pyarrow" else "")
        + "import oblivio as ob\n"
        f"try:\n    ob.ObliviousTransformer().fit_{engine}(None)\n"
        "except ImportError as error:\n    print(error)\n"
    )
    assert done.stdout.strip().endswith(f'needs {package}: pip install "oblivio[{engine}]"'), done.stderr


def test_the_core_imports_no_engine():
    done = run(
        # pandas has an interest of its own in pyarrow.
        "import sys\nsys.modules['pandas'] = None\n"
        "from oblivio import *\nimport oblivio.distributed\n"
        "engines = {'pyspark', 'dask', 'distributed', 'pyarrow'}\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & engines))"
    )
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
