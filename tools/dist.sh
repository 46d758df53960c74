#!/usr/bin/env bash
# dist.sh [FOLDER]: the stripped program with completions, manual pages and licences as dist/oblivio-VERSION-TARGET.tar.gz, and its sum.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/build-env.sh
out="${1:-dist}"
version="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)"
target="$(rustc -vV | sed -n 's/^host: //p')"
name="oblivio-$version-$target"

"${CARGO:-cargo}" build --profile dist --locked --package oblivio-cli --config 'profile.dist.strip="symbols"'
program="$CARGO_TARGET_DIR/dist/oblivio"
without_paths "$program"

rm -rf "${out:?}/$name"
mkdir -p "$out/$name/completions" "$out/$name/man"
install -m 755 "$program" "$out/$name/oblivio"
for shell in bash zsh fish; do
  "$program" completions "$shell" > "$out/$name/completions/oblivio.$shell"
done
"$program" man "$out/$name/man"
install -m 644 README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$out/$name/"
(cd "$out/$name" && find . -type f ! -name SHA256SUMS | sort | xargs sha256sum > SHA256SUMS)
chmod -R u=rwX,go=rX "$out/$name"

tar --create --directory "$out" --format=ustar --sort=name --owner=0 --group=0 --numeric-owner \
  --mtime="@$SOURCE_DATE_EPOCH" "$name" | gzip --no-name --best > "$out/$name.tar.gz"
(cd "$out" && sha256sum "$name.tar.gz" | tee "$name.tar.gz.sha256")
