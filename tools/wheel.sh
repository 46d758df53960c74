#!/usr/bin/env bash
# wheel.sh PYTHON [FOLDER]: the wheel, for every CPython from 3.10 on, and what is to be said of it.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/build-env.sh
python="$1"
out="${2:-dist}"

rm -f "$out"/oblivio-*.whl
"$(dirname "$python")/maturin" build --profile dist --locked --interpreter "$python" --out "$out"
wheel="$(ls "$out"/oblivio-*-abi3-*.whl)"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
"$python" -m zipfile --extract "$wheel" "$work"
find "$work" -type f -print0 | while read -r -d '' file; do without_paths "$file"; done
bash tools/check-wheel.sh "$python" "$wheel"
sha256sum "$wheel"
