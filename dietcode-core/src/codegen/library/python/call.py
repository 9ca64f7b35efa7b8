"""Calls of the library with arrays as they are. Written by `dietcode build-lib`."""

import ctypes
import operator
import pathlib


class _Tensor(ctypes.Structure):
    """`DLTensor` of dlpack.h."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    """`DLManagedTensorVersioned` of dlpack.h."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_READ_ONLY = 1

# Memory that DLPack calls the CPU's, or that a driver has pinned there.
_HOST = (1, 3)
# Element types: as typestr, as DLPack's code and bits.
_TYPES = {
    "f32": ("<f4", (2, 32)),
    "f16": ("<f2", (2, 16)),
    "bf16": ("<V2", (4, 16)),
    "f64": ("<f8", (2, 64)),
    "u8": ("|u1", (1, 8)),
    "i8": ("|i1", (0, 8)),
    "i32": ("<i4", (0, 32)),
}
_SIZES = {"f32": 4, "f16": 2, "bf16": 2, "f64": 8, "u8": 1, "i8": 1, "i32": 4}
_SCALARS = {"f32": ctypes.c_float, "f64": ctypes.c_double}


def _integer(number):
    """A scalar of 32 bits, which ctypes would cut off."""
    number = operator.index(number)
    if not -(2**31) <= number < 2**31:
        raise ValueError(f"is {number}, which is no integer of 32 bits")
    return ctypes.c_int32(number)
_NOT_WRITABLE = "is the output, but cannot be written"

_pointer, _is_called = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_IsValid
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_is_called.restype, _is_called.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)


def _by_interface(array, element, is_written):
    """Address, shape and strides in elements by `__array_interface__`."""
    interface = array.__array_interface__
    if interface["typestr"] != _TYPES[element][0]:
        raise ValueError(f"must have elements of {element}, but has {interface['typestr']}")
    data = interface.get("data")
    if not isinstance(data, tuple) or len(data) != 2:
        raise ValueError(f"has __array_interface__ with data {data!r}, expected (address, whether it is read-only)")
    address, is_read_only = data
    if is_written and is_read_only:
        raise ValueError(_NOT_WRITABLE)
    shape, strides = interface["shape"], interface.get("strides")
    if strides is not None:
        if any(stride % _SIZES[element] for stride in strides):
            raise ValueError(f"has strides of {strides} bytes, expected multiples of {_SIZES[element]}")
        strides = [stride // _SIZES[element] for stride in strides]
    return address, shape, strides


def _capsule(array):
    """Of DLPack 1.0, which says what cannot be written; of arrays that do not know it, as they have it."""
    try:
        return array.__dlpack__(max_version=(1, 0))
    except TypeError:
        return array.__dlpack__()


def _by_dlpack(array, element, is_written, kept):
    """The same by `__dlpack__`."""
    device, _ = array.__dlpack_device__()
    if device not in _HOST:
        raise ValueError(f"is in the memory of a device (of DLPack's type {int(device)}), expected host memory")
    capsule = _capsule(array)
    kept.append(capsule)  # It ends the loan of the memory when it goes.
    if _is_called(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        if versioned.major != 1:
            raise ValueError(f"is given by DLPack {versioned.major}.{versioned.minor}, expected 1.0 or older")
        if is_written and versioned.flags & _READ_ONLY:
            raise ValueError(_NOT_WRITABLE)
        tensor = versioned.tensor
    else:
        tensor = _Tensor.from_address(_pointer(capsule, b"dltensor"))
    if (tensor.code, tensor.bits) != _TYPES[element][1] or tensor.lanes != 1:
        found = f"{tensor.lanes} numbers of DLPack's code {tensor.code} and {tensor.bits} bits"
        raise ValueError(f"must have elements of {element}, but has {found}")
    shape = tensor.shape[: tensor.ndim]
    strides = tensor.strides[: tensor.ndim] if tensor.strides else None
    return (tensor.data or 0) + tensor.byte_offset, shape, strides


def call(kernel, parameters, operands, threads, candidate=None):
    arguments, kept = [], []
    try:
        threads = operator.index(threads)
    except TypeError as error:
        raise TypeError(f"{kernel}: `threads` {error}") from None
    if not -(2**31) <= threads < 2**31:
        raise ValueError(f"{kernel}: cannot use {threads} threads")
    for (name, element, rank, is_written), operand in zip(parameters, operands):
        try:
            if rank == 0:
                arguments.append(_SCALARS.get(element, _integer)(operand))
                continue
            if hasattr(operand, "__array_interface__"):
                address, shape, strides = _by_interface(operand, element, is_written)
            elif hasattr(operand, "__dlpack__"):
                address, shape, strides = _by_dlpack(operand, element, is_written, kept)
            else:
                raise TypeError(f"is a {type(operand).__name__}, expected an array with __array_interface__ or __dlpack__")
            if len(shape) != rank:
                raise ValueError(f"must have {rank} dimensions, but has {len(shape)} (shape {list(shape)})")
        except TypeError as error:
            raise TypeError(f"{kernel}: `{name}` {error}") from None
        except (ValueError, BufferError) as error:
            raise ValueError(f"{kernel}: `{name}` {error}") from None
        integers = ctypes.c_int64 * rank
        strides = integers(*strides) if strides is not None else None
        arguments += [ctypes.c_void_p(address), integers(*shape), strides]
    function = f"{NAME}_{kernel}"
    if candidate is not None:
        function, arguments = function + "_candidate", [ctypes.c_int(candidate), *arguments]
    status = getattr(_library, function)(*arguments, ctypes.c_int(threads))
    if status:
        kind = ValueError if status == INPUT else RuntimeError
        raise kind(_text("error_message"))


def _text(function, *arguments):
    function = getattr(_library, f"{NAME}_{function}")
    function.restype = ctypes.c_char_p
    text = function(*arguments)
    return None if text is None else text.decode()


def candidates(kernel):
    """What computes a kernel, by number: what its function runs, the micro-kernels, and the nest as plain Rust."""
    names = []
    while (name := _text(f"{kernel}_candidate_name", ctypes.c_int(len(names)))) is not None:
        names.append(name)
    return names


def version():
    """What the library was built by and for, and which micro-kernels each kernel has."""
    return _text("version")
