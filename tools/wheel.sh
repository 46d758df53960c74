#!/usr/bin/env bash
# wheel.sh PYTHON [FOLDER]: the wheel, for every CPython from 3.10 on; then what `twine check` and a machine without a compiler say of it.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/build-env.sh
python="$1"
out="${2:-dist}"
tools="$(dirname "$python")"

rm -f "$out"/oblivio-*.whl
"$tools/maturin" build --release --locked --interpreter "$python" --out "$out"
wheel="$(ls "$out"/oblivio-*-abi3-*.whl)"
"$tools/twine" check --strict "$wheel"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
"$python" -m zipfile --extract "$wheel" "$work/wheel"
without_paths "$(find "$work/wheel" -name '*.so')"

# A PATH with nothing but the interpreter's own folder: neither cargo nor a C compiler can be found.
"$python" -m venv "$work/venv"
clean="env -i HOME=$work PATH=$work/venv/bin PIP_CONFIG_FILE=${PIP_CONFIG_FILE:-/etc/pip.conf} PIP_INDEX_URL=${PIP_INDEX_URL:-}"
[ -n "${PIP_INDEX_URL:-}" ] || clean="${clean% PIP_INDEX_URL=}"
$clean "$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: "$PWD/$wheel"
$clean "$work/venv/bin/python" - << 'PYTHON'
import shutil

import numpy as np
import oblivio as ob

assert not any(map(shutil.which, ("cargo", "rustc", "cc", "gcc", "clang"))), "there is a compiler after all"
rng = np.random.default_rng(0)
s = rng.integers(0, 2, 200)
x = rng.normal(size=(200, 2)) + s[:, None]
y = x[:, 0] + 2 * s
scores = ob.ObliviousRidge(alpha=0.1).fit(x, y, sensitive_features=s).predict(x, sensitive_features=s)
gap = abs(scores[s == 1].mean() - scores[s == 0].mean())
before = abs(y[s == 1].mean() - y[s == 0].mean())
assert gap < 1e-9 < 2 < before, (gap, before)
print(f"installed without a compiler: the gap of the means is {before:.2f} in the target and {gap:.0e} in the scores")
PYTHON
$clean "$work/venv/bin/oblivio" --version
sha256sum "$wheel"
