"""stages.py STAGE...: runs targets of the Makefile, then prints what each took and what was compiled twice.

Stages joined by + run at the same time; each prints its output when it ends. The first stage that fails ends the run
with its exit code.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main(stages):
    """Run the stages; the exit code is that of the first one that fails."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "rustc"
        log.touch()
        environment = dict(os.environ)
        # Another wrapper, such as a compiler cache, stays.
        if "RUSTC_WRAPPER" not in environment:
            environment |= {"RUSTC_WRAPPER": str(ROOT / "tools/rustc-log.sh"), "OBLIVIO_RUSTC_LOG": str(log)}
        lines, code, start = [], 0, time.monotonic()
        for stage in stages:
            before = log.read_text().count("\n")
            ended = run_together(stage.split("+"), environment)
            units = log.read_text().count("\n") - before
            for name, seconds, failure in ended:
                lines.append((name, seconds, units, f"failed, exit code {failure}" if failure else "ok"))
                code = code or failure
                # What a group compiled is counted once.
                units = 0
            if code:
                break
        report(lines, time.monotonic() - start, log.read_text().splitlines())
    return code


def run_together(names, environment):
    """Run targets at the same time; name, seconds and exit code of each."""
    print(f"\n=== make {' and make '.join(names)}", flush=True)
    alone = len(names) == 1

    def run(name):
        command = ["make", "--no-print-directory", name]
        start = time.monotonic()
        # Outputs of several targets would be mixed.
        output = {} if alone else {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = subprocess.run(command, cwd=ROOT, env=environment, check=False, **output)
        seconds = time.monotonic() - start
        if not alone:
            sys.stdout.write(f"\n--- make {name}\n{done.stdout.decode(errors='replace')}")
            sys.stdout.flush()
        return name, seconds, done.returncode

    with ThreadPoolExecutor(len(names)) as pool:
        return list(pool.map(run, names))


def report(lines, total, units):
    """Print a line for each stage and each crate that was compiled more than once."""
    width = max(len(line[0]) for line in lines)
    print(f"\n{'stage':{width}}  seconds  compiled")
    for stage, seconds, count, outcome in lines:
        print(f"{stage:{width}}  {seconds:7.1f}  {count:8}  {outcome}")
    print(f"{'total':{width}}  {total:7.1f}  {sum(line[2] for line in lines):8}")
    repeated = repetitions(units)
    if not repeated:
        print("No crate was compiled more than once for the same purpose.")
    for name, runs in repeated:
        seconds = ", ".join(f"{run:.1f} s" for run in runs)
        print(f"compiled {len(runs)} times: {name} ({seconds})")


def repetitions(units):
    """Crates compiled more than once for the same purpose, with the processor seconds of each time."""
    seconds = defaultdict(list)
    for unit in units:
        user, system, package, version, command = unit.split(" ", 4)
        purpose = purpose_of(command)
        if purpose:
            seconds[f"{package} {version}: {purpose}"].append(in_seconds(user) + in_seconds(system))
    repeated = [(name, sorted(runs, reverse=True)) for name, runs in seconds.items() if len(runs) > 1]
    return sorted(repeated, key=lambda item: -sum(item[1][1:]))


def in_seconds(text):
    """Seconds of what `times` of the shell prints: 1m2.50s."""
    minutes, seconds = text.rstrip("s").split("m")
    return 60 * int(minutes) + float(seconds)


def purpose_of(command):
    """What a run of the compiler makes; None if it only answers a question of cargo or of a build script."""
    name = re.search(r"--crate-name (\S+)", command)
    kind = re.search(r"--crate-type (\S+)", command)
    if name is None or name[1] in {"___", "probe"} or "--emit" not in command:
        return None
    what = "tests" if "--test" in command.split() else kind[1] if kind else "program"
    checks = "link" not in re.search(r"--emit[= ](\S+)", command)[1].split(",")
    return f"{name[1]} ({what}, {'check' if checks else 'build'})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
