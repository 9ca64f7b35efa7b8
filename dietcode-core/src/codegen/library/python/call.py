"""Calls of the library with arrays as they are. Written by `dietcode build-lib`.

A call on a device returns when the kernel stands in the stream: its arrays must stay until it has run.
"""

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

# Memory that DLPack calls the CPU's, or that a driver has pinned there; memory of a CUDA device, or managed by its driver.
_HOST, _DEVICE = (1, 3), (2, 13)
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


def _by_interface(interface, element, is_written):
    """Address, shape and strides in elements by `__array_interface__` or `__cuda_array_interface__`."""
    if interface["typestr"] != _TYPES[element][0]:
        raise ValueError(f"must have elements of {element}, but has {interface['typestr']}")
    data = interface.get("data")
    if not isinstance(data, tuple) or len(data) != 2:
        raise ValueError(f"has an interface with data {data!r}, expected (address, whether it is read-only)")
    address, is_read_only = data
    if is_written and is_read_only:
        raise ValueError(_NOT_WRITABLE)
    shape, strides = interface["shape"], interface.get("strides")
    if strides is not None:
        if any(stride % _SIZES[element] for stride in strides):
            raise ValueError(f"has strides of {strides} bytes, expected multiples of {_SIZES[element]}")
        strides = [stride // _SIZES[element] for stride in strides]
    return address, shape, strides


def _place(array):
    """The number of the CUDA device that DLPack says an array is on; None: host memory."""
    device, number = array.__dlpack_device__()
    if device in _HOST:
        return None
    if ON_CUDA and device in _DEVICE:
        return number
    expected = "host memory or that of a CUDA device" if ON_CUDA else "host memory"
    raise ValueError(f"is in the memory of a device (of DLPack's type {int(device)}), expected {expected}")


def _capsule(array, **options):
    """Of DLPack 1.0, which says what cannot be written; of arrays that do not know it, as they have it."""
    try:
        return array.__dlpack__(max_version=(1, 0), **options)
    except TypeError:
        return array.__dlpack__(**options)


def _by_dlpack(array, place, stream, element, is_written, kept):
    """The same by `__dlpack__`; what is on a device may be used in the order of a stream."""
    capsule = _capsule(array) if place is None else _capsule(array, stream=stream or 1)  # 1: the default one
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


def _is_by_cuda(array):
    known = hasattr(array, "__array_interface__") or hasattr(array, "__dlpack__")
    return ON_CUDA and not known and hasattr(array, "__cuda_array_interface__")


def _stream_of(operands, stream):
    """The stream that was asked for, or else the one that the arrays name."""
    named = {operand.__cuda_array_interface__.get("stream") for operand in operands if _is_by_cuda(operand)} - {None}
    if stream is None and len(named) > 1:
        raise ValueError(f"its arrays name the streams {sorted(named)}, of which `stream` must choose one")
    return named.pop() if stream is None and named else stream


def _found(operand, stream, device, element, is_written, kept):
    """Where an array is, None for host memory, its address, shape and strides in elements."""
    if hasattr(operand, "__array_interface__"):
        return None, *_by_interface(operand.__array_interface__, element, is_written)
    if hasattr(operand, "__dlpack__"):
        place = _place(operand)
        return place, *_by_dlpack(operand, place, stream, element, is_written, kept)
    if _is_by_cuda(operand):
        return device, *_by_interface(operand.__cuda_array_interface__, element, is_written)
    raise TypeError(f"is a {type(operand).__name__}, expected an array with __array_interface__ or __dlpack__")


def _number(kernel, name, number, least, end):
    try:
        number = operator.index(number)
    except TypeError as error:
        raise TypeError(f"{kernel}: `{name}` {error}") from None
    if not least <= number < end:
        raise ValueError(f"{kernel}: cannot use {number} {name}")
    return number


def call(kernel, parameters, operands, threads, candidate=None, stream=None, device=0):
    arguments, kept, places = [], [], {}
    threads, device = (_number(kernel, name, of, -(2**31), 2**31) for name, of in (("threads", threads), ("device", device)))
    try:
        stream = _stream_of(operands, stream)
    except ValueError as error:
        raise ValueError(f"{kernel}: {error}") from None
    stream = None if stream is None else _number(kernel, "stream", stream, 0, 2**64)
    for (name, element, rank, is_written), operand in zip(parameters, operands):
        try:
            if rank == 0:
                arguments.append(_SCALARS.get(element, _integer)(operand))
                continue
            place, address, shape, strides = _found(operand, stream, device, element, is_written, kept)
            places[name] = place
            if len(shape) != rank:
                raise ValueError(f"must have {rank} dimensions, but has {len(shape)} (shape {list(shape)})")
        except TypeError as error:
            raise TypeError(f"{kernel}: `{name}` {error}") from None
        except (ValueError, BufferError) as error:
            raise ValueError(f"{kernel}: `{name}` {error}") from None
        integers = ctypes.c_int64 * rank
        strides = integers(*strides) if strides is not None else None
        arguments += [ctypes.c_void_p(address), integers(*shape), strides]
    if len(set(places.values())) > 1:
        found = ", ".join(f"`{name}` is {'in host memory' if place is None else f'on cuda:{place}'}" for name, place in places.items())
        raise ValueError(f"{kernel}: its tensors must be in one place, but {found}")
    place, function = next(iter(places.values()), None), f"{NAME}_{kernel}"
    if place is not None:
        if candidate is not None:
            raise ValueError(f"{kernel}: candidate {candidate} is for host memory, but its tensors are on cuda:{place}")
        function, last = function + "_cuda", [ctypes.c_int(place), ctypes.c_void_p(stream)]
    else:
        last = [ctypes.c_int(threads)]
        if candidate is not None:
            function, arguments = function + "_candidate", [ctypes.c_int(candidate), *arguments]
    status = getattr(_library, function)(*arguments, *last)
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
