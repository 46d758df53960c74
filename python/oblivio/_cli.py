"""The ``oblivio`` command: the Rust program, started from Python."""

import sys

from oblivio import _oblivio


def main() -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(_oblivio.cli_main(["oblivio", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
