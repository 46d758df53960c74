"""install.py [--copy]: makes the package importable by this interpreter, from the crates of `make build-tests`.

The extension is taken as it is: `pip install .` and maturin would compile every crate again, with other features.
By default the package is imported from this folder, so that changes are seen at once; with --copy it is copied.
"""

import os
import re
import shutil
import stat
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python/oblivio"
LIBRARIES = {"darwin": "lib_oblivio.dylib", "win32": "_oblivio.dll"}
EXTENSION = "_oblivio.pyd" if sys.platform == "win32" else "_oblivio.abi3.so"

COMMAND = """#!{python}
from oblivio._cli import main

main()
"""


def main(copies):
    """Install the package for this interpreter."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    library = target / "debug" / LIBRARIES.get(sys.platform, "lib_oblivio.so")
    if not library.exists():
        sys.exit(f"{library} is not there: run `make build-tests` first")
    place = Path(sysconfig.get_path("purelib"))
    shutil.rmtree(place / "oblivio", ignore_errors=True)
    if copies:
        (place / "oblivio.pth").unlink(missing_ok=True)
        ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
        shutil.copytree(PACKAGE, place / "oblivio", ignore=ignored)
        replace(library, place / "oblivio" / EXTENSION)
    else:
        (place / "oblivio.pth").write_text(f"{PACKAGE.parent}\n", encoding="utf-8")
        replace(library, PACKAGE / EXTENSION)
    describe(place)
    command = Path(sysconfig.get_path("scripts")) / "oblivio"
    command.write_text(COMMAND.format(python=sys.executable), encoding="utf-8")
    command.chmod(command.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def replace(source, target):
    """Copy a file under a temporary name first: a process that has the old one loaded keeps it."""
    draft = target.with_name(f".{target.name}.new")
    shutil.copy2(source, draft)
    draft.replace(target)


def describe(place):
    """Write what pip reads of an installed package."""
    text = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    version = re.search(r'^version = "(.+)"', text, re.MULTILINE)[1]
    for old in place.glob("oblivio-*.dist-info"):
        shutil.rmtree(old)
    folder = place / f"oblivio-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: oblivio\nVersion: {version}\n", encoding="utf-8")
    (folder / "INSTALLER").write_text("make\n", encoding="utf-8")


if __name__ == "__main__":
    main(copies="--copy" in sys.argv[1:])
