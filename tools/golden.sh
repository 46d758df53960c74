#!/usr/bin/env bash
# golden.sh [BASE]: records the golden cases at the commit BASE and compares the current tree with the record, bit for bit.
#
# BASE is, if not given, the merge base with origin/main (with main where there is no such branch), and the parent of HEAD where
# the merge base is HEAD itself and nothing is uncommitted. The record stays in target/golden and is used again.
# OBLIVIO_GOLDEN_BOUND=1e-13 lets numbers differ by this relative amount, OBLIVIO_GOLDEN_BYTES=0 leaves the bytes of files out.
set -euo pipefail
cd "$(dirname "$0")/.."
root="$PWD"
export RAYON_NUM_THREADS=2
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}"
# In the crate that imports all others which the cases need.
harness="$(dirname "$(git ls-files 'crates/*/tests/golden/main.rs')")"

base="${1:-}"
if [ -z "$base" ]; then
  base="$(git merge-base HEAD origin/main 2>/dev/null || git merge-base HEAD main)"
  if [ "$base" = "$(git rev-parse HEAD)" ] && [ -z "$(git status --porcelain)" ]; then base=HEAD~1; fi
fi
base="$(git rev-parse --verify "$base^{commit}")"
record="$CARGO_TARGET_DIR/golden/$base.json"

# One set of features for the whole workspace, as in `make test`: no foreign crate is compiled again.
run() {
  cargo test --quiet --workspace --test golden -- --nocapture
}

if [ ! -f "$record" ]; then
  # A folder with the same name every time: builds of earlier bases are overwritten. Foreign crates come from the shared folder.
  tree="$CARGO_TARGET_DIR/golden/tree"
  remove() { git worktree remove --force "$tree" 2>/dev/null || true; git worktree prune; }
  remove
  trap remove EXIT
  git worktree add --quiet --detach "$tree" "$base"
  # The base records with its own harness, whose imports fit it. An older commit borrows the current one.
  if ! compgen -G "$tree/crates/*/tests/golden" >/dev/null; then
    echo "$base has no golden harness: it borrows the current one."
    cp -r "$harness" "$tree/$harness"
  fi
  echo "Recording at $(git log -1 --format='%h %s' "$base")"
  (cd "$tree" && OBLIVIO_GOLDEN=record OBLIVIO_GOLDEN_FILE="$record" run)
fi
echo "Comparing with $(git log -1 --format='%h %s' "$base")"
OBLIVIO_GOLDEN="$record" run
