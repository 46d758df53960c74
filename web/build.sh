#!/usr/bin/env bash
# Builds the charts' bundle if Node.js is here or can be installed; says so in one sentence if not.
set -uo pipefail
cd "$(dirname "$0")"

if ! bash debian.sh nodejs npm -- node npm; then
  echo "There is no Node.js here: pages will have tables in place of charts."
elif ! { npm ci --silent && npm run --silent build; }; then
  rm -f dist/charts.js
  echo "The charts could not be bundled: pages will have tables in place of charts."
fi
