#!/usr/bin/env bash
# check-wheel.sh PYTHON WHEEL: passes `twine check`, and can be installed and used where there is no compiler.
set -euo pipefail
python="$1"
wheel="$(realpath "$2")"
"$(dirname "$python")/twine" check --strict "$wheel"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/venv"
# Where packages come from is the environment's business; of all else nothing is passed on, and PATH has the interpreter alone.
packages=()
while IFS= read -r setting; do packages+=("$setting"); done < <(env | grep '^PIP_' || true)
clean() { env -i "${packages[@]}" HOME="$work" PATH="$work/venv/bin" "$@"; }
clean python -m pip install --quiet --disable-pip-version-check --only-binary :all: "$wheel"
cd "$work"
clean python - << 'PYTHON'
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
assert gap < 1e-9 and before > 2, (gap, before)
print(f"installed without a compiler: the gap of the means is {before:.2f} in the target and {gap:.0e} in the scores")
PYTHON
clean oblivio --version
