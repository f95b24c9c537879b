"""Which of a few names each string is."""

from __future__ import annotations

from fyke.engine.kernels.jit import jit


@jit
def match_names(offsets, data, name_offsets, names, codes):
    """Write the number of the name that each string between neighbouring offsets is; -1 for none."""
    count = len(name_offsets) - 1
    for row in range(len(codes)):
        begin = offsets[row]
        length = offsets[row + 1] - begin
        codes[row] = -1
        for k in range(count):
            first = name_offsets[k]
            if name_offsets[k + 1] - first != length:
                continue
            at = 0
            while at < length and data[begin + at] == names[first + at]:
                at += 1
            if at == length:
                codes[row] = k
                break
