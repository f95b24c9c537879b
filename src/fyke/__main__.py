"""``python -m fyke``: the command ``fyke``."""

from __future__ import annotations

import sys

from fyke.command.main import main

if __name__ == "__main__":
    sys.exit(main())
