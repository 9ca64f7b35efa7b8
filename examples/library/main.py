"""Calls the functions of a library that dietcode has made, by ctypes, and compares them with numpy. In this folder:

    dietcode build-lib dense.json conv2d.json scores.json -o lib
    python main.py
"""

import ctypes
import pathlib
import sys

import numpy as np

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "lib")
library = ctypes.CDLL(folder / "libkernels.so")
library.kernels_error_message.restype = ctypes.c_char_p
library.kernels_version.restype = ctypes.c_char_p


def call(kernel, *operands, threads=0):
    """Calls a kernel with arrays, which are not copied, and floats; the output is written in place."""
    arguments = []
    for operand in operands:
        if isinstance(operand, np.ndarray):
            integers = ctypes.c_int64 * operand.ndim
            strides = (stride // operand.itemsize for stride in operand.strides)
            arguments += [ctypes.c_void_p(operand.ctypes.data), integers(*operand.shape), integers(*strides)]
        else:
            arguments.append(ctypes.c_float(operand))
    if getattr(library, "kernels_" + kernel)(*arguments, threads):
        raise ValueError(library.kernels_error_message().decode())


def check(what, found, expected, terms):
    """Both are sums of so many products, in different orders: each within gamma(terms) of the sum of their magnitudes (Higham, Accuracy and
    Stability of Numerical Algorithms, section 3.1), here below one each; a result of 16 bits is rounded once more."""
    unit = np.finfo(np.float32).eps / 2
    bound = 2 * terms * unit / (1 - terms * unit) * terms
    if found.dtype == np.float16:
        bound = bound + np.abs(expected) * np.finfo(np.float16).eps / 2 + 2.0**-25
    error = np.abs(found - expected)
    if not (error <= bound).all():
        sys.exit(f"{what}: an error of {error.max()}, expected at most {bound}")
    print(f"{what}: as numpy says")


print(library.kernels_version().decode())
random = np.random.default_rng()


def noise(*shape, dtype=np.float32):
    return random.uniform(-1, 1, shape).astype(dtype)


for m in (1, 37, 200):
    x = noise(m, 800)[:, 13:781]  # a part of a larger array: rows with gaps
    w, b = noise(251, 768), noise(251)
    y = np.full((m, 251), np.nan, np.float32)
    call("dense", x, w, b, y)
    check(f"dense, {m} rows", y, np.maximum(x.astype(np.float64) @ w.T + b, 0), 769)

image, filters = noise(5, 31, 2 * 29)[::2, :, :29], noise(7, 3, 3, 5)  # each second channel
y = np.full((7, 29, 25), np.nan, np.float32)
call("conv2d", image, filters, y, threads=2)
windows = np.lib.stride_tricks.sliding_window_view(image.astype(np.float64), (3, 5), axis=(1, 2))
check("conv2d, 29 x 25", y, np.einsum("chwrs,ocrs->ohw", windows, filters), 3 * 3 * 5)

q, k = noise(3, 19, 64, dtype=np.float16), noise(3, 23, 64, dtype=np.float16)
s = np.full((3, 19, 23), np.nan, np.float16)
call("scores", 0.125, q, k, s)
check("scores of float16", s, 0.125 * q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1), 65)

try:
    call("dense", noise(4, 768).T, noise(4, 4), noise(4), y[0, :4])
except ValueError as error:
    print("refused, as it should be:", error)
else:
    sys.exit("a transposed array was taken")
