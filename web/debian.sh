#!/usr/bin/env bash
# debian.sh PACKAGE... -- COMMAND...: installs Debian's packages if a command is absent and that can be done.
# Succeeds if all the commands are there in the end.
packages=()
while [ "$#" -gt 0 ] && [ "$1" != "--" ]; do
  packages+=("$1")
  shift
done
shift

present() {
  for command in "$@"; do
    command -v "$command" > /dev/null || return 1
  done
}

install() { DEBIAN_FRONTEND=noninteractive apt-get install --yes "${packages[@]}" > /dev/null 2>&1; }

if ! present "$@" && [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
  # One installation at a time: targets of the Makefile run beside each other.
  exec 9> "${TMPDIR:-/tmp}/oblivio-apt.lock" && flock 9
  install || { apt-get update > /dev/null 2>&1 && install; }
fi
present "$@"
