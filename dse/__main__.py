"""``python -m dse``: the command line."""

from __future__ import annotations

from dse.commands.main import main

if __name__ == "__main__":
    main()
