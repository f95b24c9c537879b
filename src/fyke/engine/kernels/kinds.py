"""Kinds of arrays that kernels work on: the type of their values and the number of their dimensions.

They are always contiguous.  To a type checker they are arrays; a kernel is compiled for what they say.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from fyke.engine.kernels.arrays import NUMBER, Array

Integers = Annotated[Array, np.dtype(np.int64), 1]
Floats = Annotated[Array, np.dtype(np.float64), 1]
Numbers = Annotated[Array, np.dtype(NUMBER), 1]
Codes = Annotated[Array, np.dtype(np.int32), 1]
Bytes = Annotated[Array, np.dtype(np.uint8), 1]
Flags = Annotated[Array, np.dtype(np.bool_), 1]
Words = Annotated[Array, np.dtype(np.uint64), 1]
Letters = Annotated[Array, np.dtype(np.uint16), 1]
IntegerRows = Annotated[Array, np.dtype(np.int64), 2]
FloatRows = Annotated[Array, np.dtype(np.float64), 2]
ByteRows = Annotated[Array, np.dtype(np.uint8), 2]
WordRows = Annotated[Array, np.dtype(np.uint64), 2]
LetterRows = Annotated[Array, np.dtype(np.uint16), 2]
