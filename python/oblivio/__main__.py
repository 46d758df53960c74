"""``python -m oblivio`` is the ``oblivio`` command."""

from oblivio._cli import main

if __name__ == "__main__":
    main()
