#!/bin/sh
# RUSTC_WRAPPER of tools/stages.py: runs the compiler and adds a line to $OBLIVIO_RUSTC_LOG: processor time, package, version, arguments.
"$@"
code=$?
own="$OBLIVIO_RUSTC_LOG.$$"
times > "$own"
{ read -r _; read -r spent; } < "$own"
rm -f "$own"
printf '%s %s %s %s\n' "$spent" "$CARGO_PKG_NAME" "$CARGO_PKG_VERSION" "$*" >> "$OBLIVIO_RUSTC_LOG"
exit $code
