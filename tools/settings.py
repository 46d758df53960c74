"""Writes what follows from the table of settings: signatures and docstrings of the estimators, and docs/settings.md.

`make settings` runs it with the built program, which prints the table. In each estimator it writes the signature
between `# settings: begin` and `# settings: end`, and the sections Parameters and Other Parameters of the docstring.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "oblivio"
WIDTH = 120
BEGIN, END = "    # settings: begin\n", "\n    # settings: end\n"

#: The class and the file of each estimator whose signature is written, by its name in the table.
ESTIMATORS = {
    "ridge": ("ObliviousRidge", "_ridge.py"),
    "ridge-cv": ("ObliviousRidgeCV", "_ridge_cv.py"),
    "svc": ("ObliviousSVC", "_classifier.py"),
    "logistic": ("ObliviousLogistic", "_classifier.py"),
    "transformer": ("ObliviousTransformer", "_transformer.py"),
    "kernel": ("ObliviousKernel", "_kernel.py"),
    "moments": ("Moments", "_moments.py"),
}

#: Others that have settings, as documentation names them.
OTHERS = {"offset": "Offset", "release": "ObliviousRelease", "frontier": "frontier"}

Setting = dict[str, Any]


def parameters(table: list[Setting], fitter: str) -> list[Setting]:
    """The settings that are parameters of an estimator."""
    return [setting for setting in table if setting["python"] and fitter in setting["used_by"]]


def default_of(setting: Setting, fitter: str | None) -> Any:
    """The default of an estimator, or of the table."""
    return setting["exceptions"].get(fitter, setting["default"])


def literal(value: Any) -> str:
    """A default as Python source."""
    if isinstance(value, list):
        return f"({', '.join(literal(item) for item in value)}{',' if len(value) == 1 else ''})"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return re.sub(r"e-0", "e-", repr(value))


def annotation(setting: Setting, default: Any) -> str:
    """The type of a parameter as an annotation."""
    kind = setting["kind"]["type"]
    if setting["form"]:
        return "Any"
    if isinstance(default, bool):
        return "bool"
    names = {"number": "float", "count": "int", "word": "str"}
    if kind not in names:
        return "float" if isinstance(default, float) else "Any"
    return names[kind] + (" | None" if default is None else "")


def extra_of(setting: Setting, fitter: str) -> Setting | None:
    """Values that an estimator takes besides the ones of the table."""
    extra: Setting | None = setting["extra"]
    return extra if extra and fitter in extra["used_by"] else None


def form(setting: Setting, default: Any, fitter: str) -> str:
    """The values of a parameter in words."""
    kind = setting["kind"]
    if extra := extra_of(setting, fitter):
        return str(extra["form"])
    if setting["form"]:
        return str(setting["form"])
    if isinstance(default, bool):
        return "bool"
    if kind["type"] == "word":
        words = [literal(word) for word in kind["words"]]
        return "{" + ", ".join(["None"] * (default is None) + words) + "}"
    if kind["type"] in ("text", "object"):
        return str(kind["form"])
    return {"number": "float", "count": "int"}[kind["type"]] + (" or None" if default is None else "")


def signature(table: list[Setting], fitter: str) -> str:
    """The constructor of an estimator."""
    own = [(setting["python"], setting, default_of(setting, fitter)) for setting in parameters(table, fitter)]
    lines = ["def __init__(", "    self,", "    *,"]
    lines += [f"    {name}: {annotation(setting, default)} = {literal(default)}," for name, setting, default in own]
    lines += [") -> None:", *(f"    self.{name} = {name}" for name, _, _ in own)]
    return "".join(f"    {line}\n" for line in lines)


def sections(table: list[Setting], fitter: str) -> str:
    """The sections of a docstring that describe the parameters: those for everyone, then the others."""
    written = []
    for title, level in (("Parameters", "common"), ("Other Parameters", "expert")):
        own = [setting for setting in parameters(table, fitter) if setting["level"] == level]
        written.append(f"    {title}\n    {'-' * len(title)}\n" + "".join(entry(setting, fitter) for setting in own))
    return "\n".join(written)


def entry(setting: Setting, fitter: str) -> str:
    """One parameter in a docstring."""
    default = default_of(setting, fitter)
    extra = extra_of(setting, fitter)
    text = textwrap.fill(
        f"{setting['help']} {extra['help']}" if extra else setting["help"],
        WIDTH,
        initial_indent=" " * 8,
        subsequent_indent=" " * 8,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return f"    {setting['python']} : {form(setting, default, fitter)}, default={literal(default)}\n{text}\n"


def rewritten(source: str, name: str, fitter: str, table: list[Setting]) -> str:
    """The source of a module with the parts of one class as the table has them."""
    start = source.index(f"\nclass {name}(")
    after = source.find("\nclass ", start + 1)
    stop = len(source) if after < 0 else after
    body = source[start:stop]
    found = re.search(r"    Parameters\n    -+\n.*?(?=\n    Attributes\n    -+\n|    \"\"\"\n)", body, re.DOTALL)
    if found is None or BEGIN not in body or END not in body:
        raise SystemExit(f"{name} has no place for its parameters: a section Parameters, and the two comments")
    body = body[: found.start()] + sections(table, fitter) + body[found.end() :]
    before, rest = body.split(BEGIN, 1)
    rest = rest.split(END, 1)[1]
    return source[:start] + before + BEGIN + signature(table, fitter) + END + rest + source[stop:]


def page(table: list[Setting]) -> str:
    """docs/settings.md"""
    users = {fitter: name for fitter, (name, _) in ESTIMATORS.items()} | OTHERS
    lines = [
        "# Settings",
        "",
        "Every setting with its flag, its Python parameter, its values and default. `make settings` writes this page",
        "from the table in `crates/oblivio/src/settings`, from which the program and the estimators take theirs.",
    ]
    for group in dict.fromkeys(setting["group"] for setting in table):
        lines += ["", f"## {group}", "", "| setting | values | default | meaning |", "|---|---|---|---|"]
        for setting in table:
            if setting["group"] == group:
                lines.append("| " + " | ".join(cells(setting, users)) + " |")
    return "\n".join(lines) + "\n"


def cells(setting: Setting, users: dict[str, str]) -> list[str]:
    """The row of a setting."""
    flag, python = setting["flag"], setting["python"]
    names = [f"`--{flag}`"] * bool(flag) + [f"`{python}`"] * bool(python)
    kind = setting["kind"]
    if kind["type"] == "number":
        values = f"number, {kind['range']}"
    elif kind["type"] == "count":
        values = f"whole number, {kind['least']} or more"
    elif kind["type"] == "switch":
        values = "yes or no"
    else:
        values = ", ".join(f"`{word}`" for word in kind["words"]) if "words" in kind else kind["form"]
    default = "none" if setting["default"] is None else f"`{literal(setting['default'])}`"
    for fitter, value in setting["exceptions"].items():
        default += f"; `{users[fitter]}`: `{literal(value)}`"
    text = setting["help"]
    if extra := setting["extra"]:
        text += f" {', '.join(f'`{users[fitter]}`' for fitter in extra['used_by'])}: {extra['help']}"
    return [", ".join(names), values, default, text.replace("|", "\\|")]


def files(table: list[Setting]) -> dict[Path, str]:
    """Every file that follows from the table, as it must be."""
    found: dict[Path, str] = {}
    for fitter, (name, file) in ESTIMATORS.items():
        path = PACKAGE / file
        source = found.get(path) or path.read_text(encoding="utf-8")
        found[path] = rewritten(source, name, fitter, table)
    found[ROOT / "docs" / "settings.md"] = page(table)
    return found


def main(program: str) -> None:
    """Write the files that the program's table asks for."""
    printed = subprocess.run([program, "settings"], check=True, capture_output=True, text=True).stdout
    for path, text in files(json.loads(printed)).items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main(sys.argv[1])
