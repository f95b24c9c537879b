"""How kernels run: compiled, compiled with checked bounds, or as plain Python."""

from __future__ import annotations

import os

ENABLED = os.environ.get("FYKE_JIT", "1") != "0"
BOUNDSCHECK = os.environ.get("FYKE_BOUNDSCHECK", "0") == "1"
