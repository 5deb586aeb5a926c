"""Element types of programs, and NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import InputError

#: NumPy's types by the names of element types.
DTYPES: dict[str, np.dtype[Any]] = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "complex128": np.dtype(np.complex128),
    "complex64": np.dtype(np.complex64),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "u8": np.dtype(np.uint8),
    "bool": np.dtype(np.bool_),
}

#: The names of element types by NumPy's.
ELEMENTS: dict[np.dtype[Any], str] = {dtype: name for name, dtype in DTYPES.items()}


def dtype_of(element: str) -> np.dtype[Any]:
    """NumPy's type for an element type."""
    try:
        return DTYPES[element]
    except KeyError:
        raise InputError(f"NumPy has no type for elements of type {element}") from None


def is_element(dtype: np.dtype[Any]) -> bool:
    """Whether programs have elements of exactly this type."""
    return dtype in ELEMENTS


def element_of(dtype: np.dtype[Any]) -> str:
    """The element type that holds all values of one of NumPy's types."""
    native = dtype.newbyteorder("=")
    if native in ELEMENTS:
        return ELEMENTS[native]
    wider = {"uint16": "i32", "uint32": "i64", "longdouble": "f64"}
    if native.name in wider:
        return wider[native.name]
    raise InputError(f"arrays of type {dtype} are not supported")


def converted(array: np.ndarray[Any, Any], dtype: np.dtype[Any], name: str) -> np.ndarray[Any, Any]:
    """The array with elements of another type, which must hold them: floats may be rounded, nothing else changes."""
    if array.dtype == dtype:
        return array
    if np.can_cast(array.dtype, dtype, "safe") or {array.dtype.kind, dtype.kind} <= {"f"}:
        return array.astype(dtype)
    if {array.dtype.kind, dtype.kind} <= {"c"} or (array.dtype.kind in "iufb" and dtype.kind in "fc"):
        return array.astype(dtype)
    if array.dtype.kind in "iub" and dtype.kind in "iub":
        made = array.astype(dtype)
        if np.array_equal(made, array):
            return made
        raise InputError(f"`{name}` has elements of type {dtype}, which do not hold all of the array's")
    raise InputError(f"`{name}` has elements of type {dtype}, but the array's are of type {array.dtype}")
