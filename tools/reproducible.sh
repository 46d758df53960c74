#!/usr/bin/env bash
# reproducible.sh PYTHON: builds the wheel and the archive of the last commit in two folders of different names, and compares them byte by byte.
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
python="$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

for copy in one another/place; do
  git clone --quiet "$root" "$work/$copy"
  # The charts are built in, and are the same for both: what is compared is what cargo and maturin make.
  if [ -d "$root/web/dist" ]; then cp -r "$root/web/dist" "$work/$copy/web/dist"; fi
  bash "$work/$copy/tools/dist.sh"
  bash "$work/$copy/tools/wheel.sh" "$python"
done

cd "$work/one/dist"
for file in *.tar.gz *.whl; do
  cmp "$file" "$work/another/place/dist/$file"
  echo "the same bytes twice: $file"
done
