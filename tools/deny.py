"""What is built in: licences, duplicates and sources of the crates, licences of the Python packages of the tests.

Known vulnerabilities are looked up by `cargo deny` and `pip-audit` where these are installed and their databases
answer; where not, that is said and the rest is checked.
"""

import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import tomllib

ROOT = Path(__file__).resolve().parent.parent
REGISTRY = "registry"
# Python packages of the tests are not passed on, so weak copyleft is no obstacle there.
UNWANTED = re.compile(r"\b(AGPL|SSPL|Commons[- ]Clause|proprietary)", re.IGNORECASE)


def satisfied(expression: str, allowed: set[str]) -> bool:
    """Whether a licence expression (SPDX, or the older form with slashes) can be met by allowed licences."""
    tokens = re.findall(r"[()]|[^\s()]+", expression.replace("/", " OR "))
    position = 0

    def take() -> str:
        nonlocal position
        position += 1
        return tokens[position - 1]

    def peek() -> str | None:
        return tokens[position] if position < len(tokens) else None

    def either() -> bool:
        met = both()
        while peek() == "OR":
            take()
            met = both() or met
        return met

    def both() -> bool:
        met = one()
        while peek() == "AND":
            take()
            met = one() and met
        return met

    def one() -> bool:
        if peek() == "(":
            take()
            met = either()
            take()
            return met
        name = take()
        if peek() == "WITH":
            take()
            name = f"{name} WITH {take()}"
        return name in allowed

    met = either()
    return met and position == len(tokens)


def crates(packages: list[dict], allowed: set[str]) -> list[str]:
    """What is wrong with the crates of a lock file."""
    problems = []
    for package in packages:
        name = f"{package['name']} {package['version']}"
        source = package["source"]
        if source is not None and source.split("+")[0] != REGISTRY:
            problems.append(f"{name} comes from elsewhere than the registry; depend on a released version")
        licence = package["license"]
        if licence is None or not satisfied(licence, allowed):
            problems.append(f"{name} has the licence {licence}, which deny.toml does not allow")
    return problems


def duplicates(packages: list[dict]) -> list[str]:
    """The crates of which several versions are built."""
    versions = defaultdict(list)
    for package in packages:
        versions[package["name"]].append(package["version"])
    return [f"{name} {', '.join(sorted(found))}" for name, found in sorted(versions.items()) if len(found) > 1]


def licence_of(distribution: importlib.metadata.Distribution) -> str:
    """All that an installed distribution says of its licence."""
    metadata = distribution.metadata
    said = [metadata.get("License-Expression"), (metadata.get("License") or "")[:80]]
    said += [c for c in metadata.get_all("Classifier") or [] if c.startswith("License ::")]
    return "; ".join(text for text in said if text)


def check_crates() -> list[str]:
    """Licences, duplicates and sources of the crates."""
    if shutil.which("cargo-deny"):
        checks = ["licenses", "bans", "sources"]
        fetched = subprocess.run(["cargo", "deny", "fetch", "db"], cwd=ROOT, capture_output=True)
        if fetched.returncode == 0:
            checks.append("advisories")
        else:
            print("The database of advisories cannot be had: none is looked up for the crates.")
        print(f"cargo deny: {', '.join(checks)}.")
        found = subprocess.run(["cargo", "deny", "check", *checks], cwd=ROOT)
        return [] if found.returncode == 0 else ["cargo deny refuses the crates"]
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if found.returncode != 0:
        return ["Cargo.lock is not up to date, or the crates cannot be had: run `cargo metadata --locked`"]
    packages = json.loads(found.stdout)["packages"]
    rules = tomllib.loads((ROOT / "deny.toml").read_text())
    several = duplicates(packages)
    print(
        f"{len(packages)} crates: licences and sources are checked; "
        "cargo deny is not installed, so no advisory is looked up."
    )
    print(f"In several versions: {'; '.join(several) or 'none'}.")
    return crates(packages, set(rules["licenses"]["allow"]))


def audited() -> list[dict]:
    """The packages that pip-audit's database knows; none where it cannot be asked."""
    program = Path(sys.executable).with_name("pip-audit")
    command = [program, "--timeout", "5", "--progress-spinner", "off", "--format", "json", "--skip-editable"]
    try:
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
        packages = json.loads(found.stdout)["dependencies"]
    except (OSError, subprocess.TimeoutExpired, json.JSONDecodeError, KeyError):
        return []
    return [package for package in packages if "skip_reason" not in package]


def check_packages() -> list[str]:
    """Known vulnerabilities of the installed packages if a database answers, else their licences."""
    looked_up = audited()
    if looked_up:
        print(f"pip-audit: {len(looked_up)} packages looked up.")
        return [f"{p['name']} {p['version']}: {v['id']}" for p in looked_up for v in p["vulns"]]
    print("pip-audit's database cannot be asked: the licences of the installed packages are checked, and no more.")
    problems = []
    for distribution in importlib.metadata.distributions():
        licence = licence_of(distribution)
        if UNWANTED.search(licence):
            problems.append(f"{distribution.metadata['Name']} has the licence {licence}")
    return problems


def main() -> int:
    """Prints what was checked and what is wrong."""
    problems = check_crates() + check_packages()
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
