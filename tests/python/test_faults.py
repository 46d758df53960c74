"""``save`` where things go wrong around it: kills, full disks, pipes and devices."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import oblivio
from oblivio import ObliviousRidge

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="kills and devices as Linux has them"),
]

ROUNDS = int(os.environ.get("OBLIVIO_SOAK", "20"))

SAVES = """
import sys, oblivio
model, target = oblivio.load(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
while True:
    model.save(target)
"""

# One import serves all rounds: those that are killed are forks.
KILLED = """
import os, pathlib, random, signal, sys, time, oblivio
source, target, rounds = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
model, whole, drafts = oblivio.load(source), source.read_bytes(), 0
random.seed(0)
for _ in range(rounds):
    target.write_bytes(b"old")
    child = os.fork()
    while child == 0:
        model.save(target)
    time.sleep(random.uniform(0, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert target.read_bytes() in (b"old", whole), "half a file"
    left = [path for path in target.parent.iterdir() if path not in (source, target)]
    assert len(left) <= 1 and all(path.name.startswith(".oblivio-") for path in left), left
    drafts += len(left)
    [path.unlink() for path in left]
print(f"kill -9: {rounds} rounds, {drafts} drafts left")
"""


@pytest.fixture
def model() -> ObliviousRidge:
    generator = np.random.default_rng(0)
    x = generator.normal(size=(400, 3))
    return ObliviousRidge(standardize=False).fit(x, x[:, 0], sensitive_features=x[:, 1] > 0)


def test_a_kill_at_any_moment_leaves_one_of_the_two_files(model: ObliviousRidge, tmp_path: Path) -> None:
    source, target = tmp_path / "source.oblivio", tmp_path / "target.oblivio"
    model.save(source)
    command = [sys.executable, "-c", KILLED, source, target, str(ROUNDS)]
    print(subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout)


def test_a_full_disk_keeps_the_old_file(model: ObliviousRidge, tmp_path: Path) -> None:
    source, folder = tmp_path / "source.oblivio", tmp_path / "folder"
    model.save(source)
    folder.mkdir()
    script = (
        f"mount -t tmpfs tmpfs {folder} -o size=8k || exit 99; printf old > {folder}/target; "
        f'"$0" -c "$1" {source} {folder}/target; code=$?; ls -A {folder}; cat {folder}/target; exit $code'
    )
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, sys.executable, SAVES]
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip("file systems cannot be mounted here")
    assert "No space left on device" in done.stderr
    assert done.stdout.split() == ["ready", "target", "old"]


def test_pipes_devices_and_links_stay_what_they_are(model: ObliviousRidge, tmp_path: Path) -> None:
    source, pipe, link = tmp_path / "source.oblivio", tmp_path / "pipe", tmp_path / "link.oblivio"
    model.save(source)
    whole = source.read_bytes()
    os.mkfifo(pipe)
    writer = threading.Thread(target=model.save, args=[pipe])
    writer.start()
    assert pipe.read_bytes() == whole
    writer.join()
    assert pipe.is_fifo()
    with pytest.raises(OSError, match="No space left"):
        model.save("/dev/full")
    assert Path("/dev/full").is_char_device()
    (tmp_path / "real.oblivio").write_bytes(b"old")
    link.symlink_to("real.oblivio")
    model.save(link)
    assert link.is_symlink()
    assert (tmp_path / "real.oblivio").read_bytes() == whole


@pytest.mark.parametrize("name", ["a b.oblivio", "line\nbreak.oblivio", "-m.oblivio", os.fsdecode(b"\xff\xfe.oblivio")])
def test_files_may_have_any_name(model: ObliviousRidge, tmp_path: Path, name: str) -> None:
    model.save(tmp_path / name)
    rows = np.zeros((2, 3))
    sensitive = [True, False]
    read = oblivio.load(tmp_path / name).predict(rows, sensitive_features=sensitive)
    np.testing.assert_array_equal(read, model.predict(rows, sensitive_features=sensitive))
