#!/usr/bin/env bash
# Builds the charts' bundle if Node.js is here or can be installed; if not, says what is left out and how to get it.
set -uo pipefail
cd "$(dirname "$0")"

if ! bash debian.sh nodejs npm -- node npm; then
  echo "left out: the charts of audit pages, which have tables instead. They need Node.js: install nodejs and npm, then run make web."
elif ! { npm ci --silent && npm run --silent build; }; then
  rm -f dist/charts.js
  echo "left out: the charts of audit pages, which have tables instead. They could not be bundled: run make web with a network connection."
fi
