"""Long work: Ctrl-C, threads, progress, subinterpreters."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import oblivio as ob

pytestmark = pytest.mark.slow

LONG = """
import os, signal, socket, sys, threading, time
import numpy as np
import oblivio as ob

rng = np.random.default_rng(0)
X, y, s = rng.normal(size=({rows}, 5)), rng.normal(size={rows}), rng.integers(0, 3, {rows})
model = ob.ObliviousRidge().fit(X[:50], y[:50], sensitive_features=s[:50])
# Python runs handlers when the engine returns; a byte here comes with the signal.
signalled, wakeup = socket.socketpair()
wakeup.setblocking(False)
signal.set_wakeup_fd(wakeup.fileno())
spent = []
threading.Thread(target=lambda: signalled.recv(1) and spent.append(time.process_time()), daemon=True).start()
print("ready", flush=True)
try:
    {call}
    print("finished", flush=True)
except KeyboardInterrupt:
    # Faster than a switch of threads: nothing is noted yet.
    seconds = (time.process_time() - spent[0]) / os.cpu_count() if spent else 0.0
    print("interrupted", seconds, hasattr(model, "model_"), flush=True)
# The interpreter is whole: it still computes.
print(model.fit(X[:50], y[:50], sensitive_features=s[:50]).predict(X[:2], sensitive_features=s[:2]).shape, flush=True)
os._exit(0)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send to a process")
@pytest.mark.parametrize(
    ("call", "kept"),
    [
        ("model.fit(X, y, sensitive_features=s)", False),
        ("ob.ObliviousKernel().fit(X, sensitive_features=s)", True),
        (
            "kernel = ob.ObliviousKernel(kernel='laplacian').fit(X[:50], sensitive_features=s[:50])\n"
            "    [kernel.matrix(X, s, X, s) for _ in range(99)]",
            True,
        ),
        pytest.param(
            "kernel = ob.ObliviousKernel(kernel='laplacian').fit(X[:50], sensitive_features=s[:50])\n"
            "    [kernel.matrix(X, s) for _ in range(99)]",
            True,
        ),
        ("[ob.ObliviousRidge(n_components=300).fit(X, y, sensitive_features=s) for _ in range(999)]", True),
        (
            "moments = ob.Moments(kernel='rbf').update(X[:500], s[:500], y[:500])\n"
            "    try:\n"
            "        [moments.update(X, s, y) for _ in range(999)]\n"
            "    finally:\n"
            "        assert (moments.n_rows - 500) % len(X) == 0, 'all rows of an update or none'",
            True,
        ),
        (
            "model.set_params(n_components=200).partial_fit(X[:500], y[:500], sensitive_features=s[:500])\n"
            "    [model.partial_fit(X, y, sensitive_features=s) for _ in range(999)]",
            True,
        ),
    ],
    ids=["fit", "kernel fit", "matrix", "symmetric matrix", "explicit fit", "moments", "partial fit"],
)
def test_ctrl_c(call, kept):
    if call.startswith("ob.ObliviousKernel"):
        call = f"[{call} for _ in range(999)]"
    program = LONG.format(rows=9000, call=call)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        word, *rest = process.stdout.readline().split()
        if word == "finished":
            pytest.skip("this machine was done before the signal")
        assert word == "interrupted"
        # Seconds of each core, so that other work on the machine does not count.
        assert float(rest[0]) < 1.5
        assert rest[1] == str(kept), "an interrupted fit leaves the object unfitted"
        assert process.stdout.readline() == "(2,)\n"
        assert process.wait(timeout=60) == 0


def sample(rows, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, 4)), rng.normal(size=rows), rng.integers(0, 3, rows)


def _fit(X, y, s):
    return lambda: ob.ObliviousRidge(standardize=False).fit(X, y, sensitive_features=s)


def _update(X, y, s):
    moments = ob.Moments(kernel="rbf", n_components=400).update(X[:1000], s[:1000], y[:1000])
    X, y, s = np.tile(X, (5, 1)), np.tile(y, 5), np.tile(s, 5)
    return lambda: moments.update(X, s, y)


@pytest.mark.parametrize("work", [_fit, _update])
def test_the_lock_is_free_during(work):
    """Another thread counts on while the engine works; under a held lock it would stand still."""
    work = work(*sample(4000))
    counts, done = [], threading.Event()

    def count():
        while not done.is_set():
            counts.append(time.monotonic())
            time.sleep(0.002)

    thread = threading.Thread(target=count)
    thread.start()
    start = time.monotonic()
    work()
    end = time.monotonic()
    done.set()
    thread.join()
    during = [moment for moment in counts if start < moment < end]
    assert len(during) > 5
    assert np.diff([start, *during, end]).max() < 0.5 * (end - start) + 0.05


def test_one_plan_can_gather_in_many_threads():
    X, y, s = sample(4000)
    plan = ob.Moments(kernel="rbf", n_components=50).update(X, s, y).empty()
    parts = np.split(np.arange(4000), 8)
    with ThreadPoolExecutor(4) as pool:
        shards = list(pool.map(lambda rows: plan.empty().update(X[rows], s[rows], y[rows]), parts))
    merged = plan.empty()
    for shard in shards:
        merged.merge(shard)
    expected = plan.empty().update(X, s, y).ridge().predict(X, sensitive_features=s)
    np.testing.assert_allclose(merged.ridge().predict(X, sensitive_features=s), expected, atol=1e-10)


def test_two_fits_in_two_threads_are_the_two_one_after_the_other():
    samples = [sample(1200, seed) for seed in (1, 2)]

    def fit(k):
        X, y, s = samples[k]
        model = ob.ObliviousRidge(standardize=False, reference="half", random_state=k).fit(X, y, sensitive_features=s)
        features = ob.ObliviousTransformer(standardize=False, n_components=40, random_state=k)
        return model.predict(X, sensitive_features=s), features.fit_transform(X, sensitive_features=s)

    alone = [fit(0), fit(1)]
    for _ in range(3):
        with ThreadPoolExecutor(2) as pool:
            together = list(pool.map(fit, (0, 1)))
        for k in (0, 1):
            for one, other in zip(alone[k], together[k], strict=True):
                np.testing.assert_array_equal(one, other)


def test_one_model_can_predict_in_many_threads():
    X, y, s = sample(800)
    model = ob.ObliviousRidge(standardize=False).fit(X, y, sensitive_features=s)
    expected = model.predict(X, sensitive_features=s)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: model.predict(X, sensitive_features=s), range(12)):
            np.testing.assert_array_equal(found, expected)


def test_joblib_processes():
    from joblib import Parallel, delayed

    X, y, s = sample(300)
    fit = ob.ObliviousRidge(standardize=False).fit
    results = Parallel(n_jobs=2)(delayed(fit)(X, y, sensitive_features=s) for _ in range(2))
    expected = ob.ObliviousRidge(standardize=False).fit(X, y, sensitive_features=s).predict(X, sensitive_features=s)
    for model in results:
        np.testing.assert_array_equal(model.predict(X, sensitive_features=s), expected)


def test_verbose_shows_a_bar(capfd):
    X, y, s = sample(3500)
    model = ob.ObliviousRidge(standardize=False, verbose=True).fit(X, y, sensitive_features=s)
    assert "%|" in capfd.readouterr().err
    quiet = ob.ObliviousRidge(standardize=False).fit(X, y, sensitive_features=s)
    np.testing.assert_array_equal(model.dual_coef_, quiet.dual_coef_)
    assert capfd.readouterr().err == ""


def test_verbose_without_tqdm(capfd, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    X, y, s = sample(50)
    ob.ObliviousRidge(standardize=False, verbose=True).fit(X, y, sensitive_features=s)
    assert capfd.readouterr().err == ""


def test_bars_are_closed_when_the_work_is_done():
    from tqdm.auto import tqdm

    X, y, s = sample(50)
    model = ob.ObliviousRidge(standardize=False, verbose=True).fit(X, y, sensitive_features=s)
    model.predict(X, sensitive_features=s)
    assert len(getattr(tqdm, "_instances", [])) == 0


SUBINTERPRETER = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
one = interpreters.create()
code = '''
try:
    import oblivio._oblivio
    print("imported")
except ImportError:
    print("refused")
'''
run = getattr(interpreters, "exec", None) or interpreters.run_string
run(one, code)
import oblivio._oblivio
print(oblivio._oblivio.__version__)
"""


def test_a_subinterpreter_imports_or_refuses_but_does_not_crash():
    done = subprocess.run([sys.executable, "-c", SUBINTERPRETER], capture_output=True, encoding="utf-8", check=False)
    if "No module named '_xxsubinterpreters'" in done.stderr:
        pytest.skip("this Python has no subinterpreters")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] in ("imported", "refused")
    assert done.stdout.split()[1] == ob.__version__
