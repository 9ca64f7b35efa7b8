"""Checks and times every candidate of every kernel: what its function runs, and each micro-kernel for itself. Written by `dietcode build-lib`.

    python -m NAME.explore [KERNEL...]    times them, and shows the error of each beside its bound
    pytest --pyargs NAME.explore          checks them

Results are held to those of the nest as plain Rust, on numbers (128 + k) / 256 with random k from 0 to 127, which all element types hold,
and once more with the signs of the first input turned. They may differ by 2 (g + u) s, where s is the largest magnitude of a result, u the
unit roundoff of its elements if they have 16 bits and else 0, and g = n v / (1 - n v) with v = 2**-24 and n roundings of a term (Higham,
Accuracy and Stability of Numerical Algorithms, section 3.1): the terms of a sum of products share a sign. Of a nest that subtracts, or takes
a function of a sum that magnifies errors, as exp does, the bound is an estimate; `dietcode explore` has that of the nest.
DIETCODE_SEED is what the numbers are drawn by; without it they are other ones each time.
"""

import functools
import os
import random
import statistics
import sys
import time

import numpy as np

SEED = int(os.environ.get("DIETCODE_SEED", random.getrandbits(32)))
# What each type rounds by at most.
_ROUNDOFF = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
_INTEGERS = {"u8": np.uint8, "i8": np.int8, "i32": np.int32}


class _Bf16:
    """An array of bf16, which numpy has no type for: the upper halves of the bits of floats."""

    def __init__(self, values):
        self.bits = (values.view(np.uint32) >> 16).astype(np.uint16)
        self.__array_interface__ = {**self.bits.__array_interface__, "typestr": "<V2", "descr": [("", "<V2")]}

    def astype(self, dtype):
        return (self.bits.astype(np.uint32) << 16).view(np.float32).astype(dtype)


def _array(values, element):
    of = {"f32": np.float32, "f64": np.float64, "f16": np.float16, **_INTEGERS}
    return _Bf16(values.astype(np.float32)) if element == "bf16" else values.astype(of[element])


def _operand(of, element, rank):
    if rank > 0:
        return _array(of, element)
    return int(of) if element in _INTEGERS else float(of)


def _computes(parameters):
    """The type of values that are stored; sums of integers are exact."""
    elements = [element for _, element, _, _ in parameters]
    if all(element in _INTEGERS for element in elements):
        return "i32"
    return "f64" if "f64" in elements else "f32"


def _operands(kernel, values, turned=False):
    """Arrays and numbers of what the parameters hold, with the signs of the first input turned or not."""
    parameters, output, _ = KERNELS[kernel]
    first = next((n for n, (_, _, rank, _) in enumerate(parameters) if rank > 0 and n != output), None)
    signed = (-of if turned and n == first else of for n, of in enumerate(values))
    return [_operand(of, element, rank) for of, (_, element, rank, _) in zip(signed, parameters)]


def _computed(kernel, values, candidate, turned):
    parameters, output, _ = KERNELS[kernel]
    operands = _operands(kernel, values, turned)
    call(kernel, parameters, operands, 0, candidate)
    return operands[output].astype(np.float64)


@functools.lru_cache(maxsize=1)
def _case(kernel, at):
    """What the parameters hold at a shape, and what the nest computes of it, also with the signs turned."""
    drawn, nest = np.random.default_rng([SEED, at]), len(candidates(kernel)) - 1

    def tensor(element, dims):
        if element in _INTEGERS:
            return drawn.integers(0, 128, dims)
        # Numbers of 64 bits have all of them, so that one that was narrowed on the way shows.
        return drawn.uniform(0.5, 1, dims) if element == "f64" else (128 + drawn.integers(0, 128, dims)) / 256

    parameters, _, shapes = KERNELS[kernel]
    values = [tensor(element, dims) for (_, element, _, _), dims in zip(parameters, shapes[at][1])]
    return values, [_computed(kernel, values, nest, turned) for turned in (False, True)]


def deviation(kernel, at, candidate):
    """The largest error of a candidate at a shape, and its bound, of the two checks that with the larger share."""
    parameters, output, shapes = KERNELS[kernel]
    computes, stored = _computes(parameters), parameters[output][1]
    n = shapes[at][3] * _ROUNDOFF.get(computes, 0.0)
    if n >= 0.5:
        raise ValueError(f"{kernel} at {shapes[at][0]}: results of {shapes[at][3]} roundings cannot be compared")
    (values, both), found = _case(kernel, at), []
    for turned, expected in enumerate(both):
        computed = _computed(kernel, values, candidate, turned)
        same = (computed == expected) | (np.isnan(computed) & np.isnan(expected))
        with np.errstate(invalid="ignore"):
            error = np.where(same, 0.0, np.abs(computed - expected)).max()
        largest = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
        rounding = 0.0 if stored == computes else _ROUNDOFF[stored]
        bound = 2 * (n / (1 - n) + rounding) * largest + float(np.finfo(np.float64 if stored == "f64" else np.float32).tiny)
        found.append((error, bound))
    # An error that is no number is more than any bound.
    return max(found, key=lambda of: np.inf if np.isnan(of[0]) else of[0] / of[1])


def seconds(kernel, at, candidate):
    """The median of calls, of which there are five at least, for 0.1 s."""
    parameters, operands, times = KERNELS[kernel][0], _operands(kernel, _case(kernel, at)[0]), []
    call(kernel, parameters, operands, 0, candidate)
    while len(times) < 5 or sum(times) < 0.1:
        start = time.perf_counter()
        call(kernel, parameters, operands, 0, candidate)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _all(kernels):
    """Each kernel, shape and candidate but the last, which the others are held to."""
    for kernel in kernels:
        for at in range(len(KERNELS[kernel][2])):
            yield from ((kernel, at, candidate) for candidate in range(len(candidates(kernel)) - 1))


def pytest_generate_tests(metafunc):
    names = {kernel: candidates(kernel) for kernel in KERNELS}
    ids = [f"{k}-{KERNELS[k][2][at][0]}-{names[k][candidate]}" for k, at, candidate in _all(KERNELS)]
    metafunc.parametrize(("kernel", "at", "candidate"), list(_all(KERNELS)), ids=ids)


def test_candidate(kernel, at, candidate):
    error, bound = deviation(kernel, at, candidate)
    name, shape = candidates(kernel)[candidate], KERNELS[kernel][2][at][0]
    assert error <= bound, f"{name} of {kernel} at {shape} (DIETCODE_SEED={SEED})"


def main(kernels):
    unknown = [kernel for kernel in kernels if kernel not in KERNELS]
    if unknown:
        sys.exit(f"there is no kernel {unknown[0]!r}, expected one of {', '.join(KERNELS)}")
    wrong = []
    for kernel in kernels or KERNELS:
        for at, (shape, _, operations, _) in enumerate(KERNELS[kernel][2]):
            rows = []
            for _, _, candidate in (of for of in _all([kernel]) if of[1] == at):
                name = candidates(kernel)[candidate]
                try:
                    rate = operations / seconds(kernel, at, candidate) / 1e9
                    rows.append((rate, *deviation(kernel, at, candidate), name))
                except RuntimeError as error:
                    # One that this machine cannot run, or has no memory for.
                    print(f"\n{name} of {kernel} at {shape}: {error}")
                    wrong.append(f"{name} of {kernel} at {shape}")
            print(f"\n{kernel} at {shape}\n{'GFLOP/s':>10} {'error':>9} {'bound':>9}  candidate")
            for rate, error, bound, name in sorted(rows, reverse=True):
                print(f"{rate:10.2f} {error:9.1e} {bound:9.1e}  {name}{'' if error <= bound else '  is wrong'}")
                if not error <= bound:
                    wrong.append(f"{name} of {kernel} at {shape}")
    if wrong:
        sys.exit(f"\nwrong (DIETCODE_SEED={SEED}): " + ", ".join(wrong))


if __name__ == "__main__":
    main(sys.argv[1:])
