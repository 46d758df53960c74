#!/usr/bin/env bash
# check-wheel.sh PYTHON WHEEL: passes `twine check`, and can be installed and used where there is no compiler.
set -euo pipefail
python="$1"
wheel="$(realpath "$2")"
smoke="$(realpath "$(dirname "$0")/smoke.py")"
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
clean python -c 'import shutil; assert not any(map(shutil.which, ("cargo", "rustc", "cc", "gcc", "clang"))), "there is a compiler after all"'
clean python "$smoke"
