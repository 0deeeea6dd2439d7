"""What comes in, made into arrays of one library and one kind of number.

Everything below `attend` is written once, on the array API standard, and runs on NumPy, PyTorch and JAX.
Lists become NumPy arrays, unless something beside them says which library is meant.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj, is_numpy_array, is_torch_array

from regard.errors import DtypeError, InputError, ShapeError

Array: TypeAlias = Any
Namespace: TypeAlias = Any


class Numbers(NamedTuple):
    """Arrays of one library (``xp`` is its namespace) and one ``dtype``, which the result is given back in."""

    xp: Namespace
    dtype: Any
    arrays: dict[str, Array]


def numbers(optional: Collection[str] = (), /, **named: Any) -> Numbers:
    """The named values as floating-point arrays of one library; integers become its default float.

    One that is None is left out if it is ``optional``.

    >>> numbers(query=[5, 1, 20]).arrays["query"]
    array([ 5.,  1., 20.])
    """
    given = {name: value for name, value in named.items() if value is not None or name not in optional}
    if missing := [name for name, value in given.items() if value is None]:
        raise InputError(f"{missing[0]} is None; give numbers")
    like = _guide(given)
    arrays = {name: to_array(value, name, like) for name, value in given.items()}
    xp = array_namespace(*arrays.values())
    floats = [_float_dtype(xp, array, name) for name, array in arrays.items()]
    dtype = floats[0]
    for other in floats[1:]:
        dtype = xp.result_type(dtype, other)
    return Numbers(xp, dtype, {name: cast(xp, array, dtype) for name, array in arrays.items()})


def widened(array: Array) -> Array:
    """float16 and bfloat16 as float32, to compute in; other floats as they are."""
    xp = array_namespace(array)
    return cast(xp, array, xp.float32) if _is_half(array.dtype) else array


def to_array(value: Any, name: str, like: Array = None) -> Array:
    """``value`` as an array of the library of ``like`` (NumPy when there is none)."""
    if is_array_api_obj(value) and not is_numpy_array(value):
        return value
    array = _numpy_array(value, name)
    if like is None or is_numpy_array(like):
        return array
    writable = array if array.flags.writeable else array.copy()  # torch warns of tensors that share read-only memory
    return array_namespace(like).asarray(writable, device=device(like))


def beside(value: Any, name: str, like: Array) -> Array:
    """``value`` (a list, NumPy array, or array of the same library) beside ``like``: same library, same dtype."""
    array = to_array(value, name, like)
    xp = array_namespace(like)
    if array_namespace(array) is not xp:
        raise InputError(_mixed({name: array, "query": like}))
    _float_dtype(xp, array, name)
    return cast(xp, array, like.dtype)


def boolean(value: Any, name: str, like: Array) -> Array:
    """``value`` as a boolean array of the library of ``like``."""
    array = to_array(value, name, like)
    xp = array_namespace(like)
    if array_namespace(array) is not xp:
        raise InputError(_mixed({name: array, "query": like}))
    if array.dtype != xp.bool:
        raise DtypeError(
            f"{name} must be boolean, True where a query may look; it is {_dtype_name(array.dtype)}. "
            f"Compare it ({name} != 0), or pass numbers that are added to the scores as bias=."
        )
    return array


def check_sizes(*, least: int = 1, **sizes: Any) -> None:
    """Refuse sizes that are no whole numbers, or too small.

    >>> check_sizes(heads=0)
    Traceback (most recent call last):
    regard.errors.InputError: heads must be a whole number, 1 or more; it is 0
    """
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < least:
            raise InputError(f"{name} must be a whole number, {least} or more; it is {size!r}")


def cast(xp: Namespace, array: Array, dtype: Any) -> Array:
    """``array`` in ``dtype``, itself when it is so already."""
    return array if array.dtype == dtype else xp.astype(array, dtype)


def broadcast_shapes(named: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that all of them broadcast to, or an error that names them."""
    try:
        return tuple(np.broadcast_shapes(*named.values()))
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in named.items())
        raise ShapeError(f"the batch dimensions do not fit together: {listed}; each pair must be equal or 1") from None


def all_finite(xp: Namespace, *arrays: Array) -> bool:
    """Whether every entry is surely finite; False while JAX traces or torch maps (vmap), where values are not known.

    One pass over each array, as a sum is finite only if all entries are; and one answer that a device is waited for.
    """
    sums = [xp.sum(array, dtype=xp.float32 if _is_half(array.dtype) else None) for array in arrays]
    try:
        return bool(xp.all(xp.isfinite(xp.stack(sums))))
    except (TypeError, RuntimeError):
        return False


def _guide(given: Mapping[str, Any]) -> Array:
    """The array that says which library is meant; None when all are lists."""
    arrays = {name: value for name, value in given.items() if is_array_api_obj(value)}
    libraries = {array_namespace(value) for value in arrays.values()}
    if len(libraries) > 1:
        raise InputError(_mixed(arrays))
    return next(iter(arrays.values()), None)


def _mixed(arrays: Mapping[str, Array]) -> str:
    kinds = ", ".join(f"{name} is of {type(array).__module__.partition('.')[0]}" for name, array in arrays.items())
    return f"the arrays are of different libraries: {kinds}. Convert them to one."


def _numpy_array(value: Any, name: str) -> Array:
    if isinstance(value, str | bytes):
        raise DtypeError(f"{name} must be numbers, not the text {value!r}")
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise DtypeError(
            f"{name} is a NumPy masked array, whose mask attention cannot follow. Fill it ({name}.filled(0)), and say "
            "with visible= which keys may be looked at."
        )
    try:
        array = np.asarray(value)
    except ValueError:
        raise ShapeError(f"{name} is ragged: its rows differ in length. Give every row the same length.") from None
    if array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
        raise DtypeError(f"{name} must be real numbers; it holds {array.dtype} ({_shorten(value)})")
    return array


def _float_dtype(xp: Namespace, array: Array, name: str) -> Any:
    if _is_float(xp, array.dtype):
        return array.dtype
    if xp.isdtype(array.dtype, ("integral", "bool")):
        return xp.empty(0).dtype  # the library's default float
    raise DtypeError(f"{name} must be real numbers; it is {_dtype_name(array.dtype)}")


def _is_float(xp: Namespace, dtype: Any) -> bool:
    return _dtype_name(dtype) == "bfloat16" or bool(xp.isdtype(dtype, "real floating"))


def _is_half(dtype: Any) -> bool:
    return _dtype_name(dtype) in ("float16", "bfloat16")


def _dtype_name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


__all__ = [
    "Array",
    "Namespace",
    "Numbers",
    "all_finite",
    "array_namespace",
    "beside",
    "boolean",
    "broadcast_shapes",
    "cast",
    "check_sizes",
    "is_numpy_array",
    "is_torch_array",
    "numbers",
    "to_array",
    "widened",
]
