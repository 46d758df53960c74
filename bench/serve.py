"""The example server at saturation: requests a second, latency, errors, and the server's memory from beginning to end.

Usage: serve.py --server PROGRAM --program OBLIVIO [--seconds N] [--connections N] [--components N]. Needs `wrk`.
"""

import argparse
import csv
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

# Reports what wrk itself does not: answers that are no success, as JSON on the last line.
SCRIPT = """
wrk.method = "POST"
wrk.body = {body}
wrk.headers["Content-Type"] = "application/json"
function done(summary, latency)
  local at = {{}}
  for _, p in ipairs({{50, 90, 99, 99.9}}) do at[#at + 1] = string.format("[%g, %d]", p, latency:percentile(p)) end
  local e = summary.errors
  io.write(string.format('\\n{{"requests": %d, "microseconds": %d, "latency": [%s], "most": %d, "errors": %d}}\\n',
    summary.requests, summary.duration, table.concat(at, ","), latency.max,
    e.connect + e.read + e.write + e.status + e.timeout))
end
"""


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", type=Path, required=True)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--components", type=int, default=256)
    return parser.parse_args()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def ask(port, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", data, timeout=5) as answer:
        return json.load(answer)


def resident_megabytes(process):
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def fitted(program, folder, rows, components):
    table, model = folder / "table.csv", folder / "model.oblivio"
    subprocess.run(
        [program, "simulate", "admissions", "--rows", str(rows), "-o", table], check=True, capture_output=True
    )
    fit = ["fit", table, "--sensitive", "age,sex", "--target", "admitted", "--learner", "logistic"]
    fit += ["--components", str(components), "-o", model]
    subprocess.run([program, *fit], check=True, capture_output=True)
    return table, model


def first_row(table, schema):
    with table.open(newline="") as file:
        row = next(csv.DictReader(file))
    kinds = {column["name"]: column["kind"] for column in schema["columns"]}
    return {name: float(row[name]) if kind == "number" else row[name] for name, kind in kinds.items()}


def load(port, path, body, seconds, connections, folder, server):
    script = folder / "load.lua"
    quoted = "[==[" + json.dumps(body) + "]==]"
    script.write_text(SCRIPT.format(body=quoted))
    wrk = [
        "wrk",
        "-t",
        "2",
        "-c",
        str(connections),
        "-d",
        f"{seconds}s",
        "-s",
        script,
        f"http://127.0.0.1:{port}{path}",
    ]
    running = subprocess.Popen(wrk, stdout=subprocess.PIPE, text=True)
    time.sleep(min(5, seconds / 4))
    memory = [resident_megabytes(server)]
    time.sleep(max(0, seconds / 2 - min(5, seconds / 4)))
    memory.append(resident_megabytes(server))
    out, _ = running.communicate()
    memory.append(resident_megabytes(server))
    found = json.loads(out.strip().splitlines()[-1])
    return found, memory


def show(what, found, memory):
    rate = found["requests"] / found["microseconds"] * 1e6
    latency = ", ".join(f"p{p:g} {microseconds / 1000:.2f} ms" for p, microseconds in found["latency"])
    shown = " / ".join(f"{m:.1f}" for m in memory)
    print(
        f"{what}: {rate:.0f} requests/s; {latency}, most {found['most'] / 1000:.2f} ms; {found['errors']} errors; "
        f"memory after 5 s / half-way / at the end {shown} MB"
    )


def main():
    options = arguments()
    if shutil.which("wrk") is None:
        print("There is no wrk here: install Debian's package of that name.", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table, model = fitted(options.program, folder, options.rows, options.components)
        port = free_port()
        server = subprocess.Popen([options.server, model, f"127.0.0.1:{port}"], stderr=subprocess.DEVNULL)
        try:
            for _ in range(100):
                try:
                    ask(port, "/health")
                    break
                except OSError:
                    time.sleep(0.1)
            row = first_row(table, ask(port, "/schema"))
            answer = ask(port, "/predict", row)
            print(f"{len(row)} columns, {options.components} landmarks, {options.connections} connections; {answer}")
            failed = 0
            batch = [row] * 100
            for what, path, body, seconds in [
                ("one row", "/predict", row, options.seconds),
                ("batches of 100 rows", "/batch", batch, options.seconds),
            ]:
                found, memory = load(port, path, body, seconds, options.connections, folder, server)
                show(what, found, memory)
                # Threads take memory of their own when they are first needed: what counts is the second half.
                flat = memory[-1] <= 1.05 * memory[1] + 1
                failed += found["errors"] + (not flat)
                if not flat:
                    print("error: memory grows", file=sys.stderr)
            server.send_signal(signal.SIGTERM)
            stopped = server.wait(timeout=10)
            print(f"SIGTERM: the server ended with {stopped}")
            return 1 if failed or stopped else 0
        finally:
            server.kill()


if __name__ == "__main__":
    sys.exit(main())
