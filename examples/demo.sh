#!/usr/bin/env bash
# The main job on a simulated table of university applicants: fit plain and oblivious ridge regression on one
# set of rows, score another, and compare what the scores have to do with sex and age there.
# Usage: examples/demo.sh PROGRAM OUTPUT_FOLDER
set -euo pipefail
program=$1
out=$2
mkdir -p "$out"

run() {
    printf '\n$ oblivio'
    printf ' %s' "$@"
    printf '\n'
    "$program" "$@"
}

run simulate admissions --rows 3000 --seed 1 -o "$out/train.csv"
run simulate admissions --rows 3000 --seed 2 -o "$out/new.csv"

for mode in plain oblivious; do
    run fit "$out/train.csv" --sensitive sex,age --cells 4 --target success --drop admitted,region \
        --mode "$mode" -o "$out/$mode.oblivio"
    run predict "$out/$mode.oblivio" "$out/new.csv" --keep sex,age -o "$out/$mode.csv"
done

printf '\nThe tables under "mean score on these rows" are about rows that no model has seen: 12 groups of sex and age.\n'
printf 'The plain scores differ from group to group; the oblivious ones hardly more than by chance. Scores: %s\n' "$out"
