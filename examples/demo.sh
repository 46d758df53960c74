#!/usr/bin/env bash
# The main job on a simulated table of university applicants: fit plain and oblivious ridge regression on one
# set of rows, score another, and audit what the scores have to do with sex and age there; then release the rows themselves.
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

run audit "$out/new.csv" --model "$out/oblivious.oblivio" --baseline "$out/plain.oblivio" \
    --title "University applicants, scored with and without sex and age" -o "$out/report.html" -o "$out/report.csv"

# The rows themselves, for people who need rows.
run release "$out/train.csv" --sensitive sex,age --target success --drop admitted -o "$out/released.csv" \
    --model "$out/release.oblivio"
run transform "$out/release.oblivio" "$out/new.csv" -o "$out/new-released.csv"

printf '\nAll of this is about rows that no model has seen: 12 groups of sex and age. The plain scores differ from group to\n'
printf 'group; the means of the oblivious ones hardly more than by chance. Open the report: %s\n' "$out/report.html"
printf 'The released rows, and what an adversary still finds in them: %s, %s\n' "$out/released.csv" "$out/released.release.html"
