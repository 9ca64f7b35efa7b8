"""Calls the kernels as a Python package, with arrays of numpy and whatever says by DLPack where its elements are. In this folder:

    dietcode build-lib dense.json conv2d.json scores.json -o lib --python
    python -m pip install lib/python
    python wheel.py
"""

import sys

import kernels
import numpy as np


class Foreign:
    """An array of another library, of which DLPack is all that is known."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def refused(kind, sentence, call):
    try:
        call()
    except kind as error:
        print("refused, as it should be:", error)
        if sentence not in str(error):
            sys.exit(f"expected: {sentence}")
    else:
        sys.exit(f"taken, expected: {sentence}")


# Small integers: their sums are exact in any order, so that results can be compared to the bit.
x = (np.arange(37 * 771, dtype=np.float32) % 7 - 3).reshape(37, 771)[:, 1:769]  # rows with gaps
w, b = np.arange(256 * 768, dtype=np.float32).reshape(256, 768) % 5 - 2, np.arange(256, dtype=np.float32) % 9 - 4
expected = np.maximum(x @ w.T + b, 0)

for of in (np.asarray, Foreign):
    y = np.full((37, 256), np.nan, np.float32)
    kernels.dense(of(x), of(w), of(b), of(y), threads=2)
    assert (y == expected).all()
    print("dense: as numpy says")

q, k = np.ones((2, 5, 64), np.float16), np.full((2, 7, 64), 2, np.float16)
s = np.empty((2, 5, 7), np.float16)
kernels.scores(0.125, q, Foreign(k), s)
assert (s == 16).all()
print("scores: as numpy says")

y.flags.writeable = False
refused(ValueError, "`y` is the output, but cannot be written", lambda: kernels.dense(x, w, b, y))
y = y.copy()
refused(ValueError, "`x` must have elements of f32, but has <f8", lambda: kernels.dense(x.astype(float), w, b, y))
refused(ValueError, "`w` must have elements of f32, but has 1 numbers of", lambda: kernels.dense(x, Foreign(q), b, y))
refused(ValueError, "`b` must have 1 dimensions, but has 2", lambda: kernels.dense(x, w, w, y))
refused(TypeError, "`b` is a list, expected an array", lambda: kernels.dense(x, w, [1.0], y))
refused(ValueError, "dimension 1 of `w` is 767, but must be K = 768", lambda: kernels.dense(x, w[:, 1:], b, y))
refused(ValueError, "the array of shape [256, 768] has strides [1, 256]", lambda: kernels.dense(x, np.asfortranarray(w), b, y))
refused(ValueError, "the output `y` (bytes", lambda: kernels.dense(x, y.ravel()[: 4 * 768].reshape(4, 768), b[:4], y[:, :4]))
refused(ValueError, "cannot use -1 threads", lambda: kernels.dense(x, w, b, y, threads=-1))
refused(ValueError, "cannot use 4294967297 threads", lambda: kernels.dense(x, w, b, y, threads=2**32 + 1))
refused(TypeError, "`threads` 'float' object", lambda: kernels.dense(x, w, b, y, threads=2.0))
y.flags.writeable = False
refused(ValueError, "dense: `y` ", lambda: kernels.dense(x, w, b, Foreign(y)))
