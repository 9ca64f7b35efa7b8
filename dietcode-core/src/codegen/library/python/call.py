"""Calls of the library with arrays as they are. Written by `dietcode build-lib`."""

import ctypes
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


# Memory that DLPack calls the CPU's, or that a driver has pinned there.
_HOST = (1, 3)
# Element types: as typestr, as DLPack's code and bits.
_TYPES = {"f32": ("<f4", (2, 32)), "f16": ("<f2", (2, 16)), "bf16": ("<V2", (4, 16))}
_SIZES = {"f32": 4, "f16": 2, "bf16": 2}

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def _by_interface(array, element, is_written):
    """Address, shape and strides in elements by `__array_interface__`."""
    interface = array.__array_interface__
    if interface["typestr"] != _TYPES[element][0]:
        raise ValueError(f"must have elements of {element}, but has {interface['typestr']}")
    address, is_read_only = interface["data"]
    if is_written and is_read_only:
        raise ValueError("is the output, but cannot be written")
    shape, strides = interface["shape"], interface.get("strides")
    if strides is not None:
        if any(stride % _SIZES[element] for stride in strides):
            raise ValueError(f"has strides of {strides} bytes, expected multiples of {_SIZES[element]}")
        strides = [stride // _SIZES[element] for stride in strides]
    return address, shape, strides


def _by_dlpack(array, element, kept):
    """The same by `__dlpack__`."""
    device, _ = array.__dlpack_device__()
    if device not in _HOST:
        raise ValueError(f"is in the memory of a device (of DLPack's type {int(device)}), expected host memory")
    capsule = array.__dlpack__()
    kept.append(capsule)  # It ends the loan of the memory when it goes.
    tensor = _Tensor.from_address(_pointer(capsule, b"dltensor"))
    if (tensor.code, tensor.bits) != _TYPES[element][1] or tensor.lanes != 1:
        found = f"{tensor.lanes} numbers of DLPack's code {tensor.code} and {tensor.bits} bits"
        raise ValueError(f"must have elements of {element}, but has {found}")
    shape = tensor.shape[: tensor.ndim]
    strides = tensor.strides[: tensor.ndim] if tensor.strides else None
    return (tensor.data or 0) + tensor.byte_offset, shape, strides


def call(kernel, parameters, operands, threads):
    arguments, kept = [], []
    for (name, element, rank, is_written), operand in zip(parameters, operands):
        if rank == 0:
            arguments.append(ctypes.c_float(operand))
            continue
        try:
            if hasattr(operand, "__array_interface__"):
                address, shape, strides = _by_interface(operand, element, is_written)
            elif hasattr(operand, "__dlpack__"):
                address, shape, strides = _by_dlpack(operand, element, kept)
            else:
                raise TypeError(f"is a {type(operand).__name__}, expected an array with __array_interface__ or __dlpack__")
            if len(shape) != rank:
                raise ValueError(f"must have {rank} dimensions, but has {len(shape)} (shape {list(shape)})")
        except (TypeError, ValueError) as error:
            raise type(error)(f"{kernel}: `{name}` {error}") from None
        integers = ctypes.c_int64 * rank
        strides = integers(*strides) if strides is not None else None
        arguments += [ctypes.c_void_p(address), integers(*shape), strides]
    status = getattr(_library, f"{NAME}_{kernel}")(*arguments, ctypes.c_int(threads))
    if status:
        kind = ValueError if status == INPUT else RuntimeError
        raise kind(_text("error_message"))


def _text(function):
    function = getattr(_library, f"{NAME}_{function}")
    function.restype = ctypes.c_char_p
    return function().decode()


def version():
    """What the library was built by and for, and which micro-kernels each kernel has."""
    return _text("version")
