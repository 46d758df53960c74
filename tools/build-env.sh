# Sourced by the scripts that build what is passed on: no path of this machine gets in, and no time but that of the last commit.
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cargo_home="${CARGO_HOME:-$HOME/.cargo}"
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2> /dev/null || echo 315532800)}"
export RUSTFLAGS="${RUSTFLAGS:-} --remap-path-prefix=$cargo_home=/cargo --remap-path-prefix=$root=/oblivio"
export CFLAGS="${CFLAGS:-} -ffile-prefix-map=$cargo_home=/cargo -ffile-prefix-map=$root=/oblivio"
export CARGO_TARGET_DIR="$root/target/dist"
export LC_ALL=C TZ=UTC

# Refuses a file that names a folder of this machine.
without_paths() {
  for path in "$root" "$cargo_home" "$HOME/.rustup"; do
    if grep --quiet --text --fixed-strings "$path" "$1"; then
      echo "error: $1 holds the path of a folder of this machine" >&2
      return 1
    fi
  done
}
