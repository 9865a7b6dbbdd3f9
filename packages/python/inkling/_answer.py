"""Reads JSON objects into dataclasses, by the types of their fields."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Tuple, Type, TypeVar, Union, get_args, get_origin, get_type_hints

from ._data import DataState

_T = TypeVar("_T", bound="Answer")
# Reads a field's value; None if the value is used as it is.
_Reader = Optional[Callable[[Any], Any]]


class Answer:
    """A dataclass that is read from a JSON object.

    A field `json` gets the object, and a field `data` the state of the data behind it.
    """

    @classmethod
    def read(cls: Type[_T], it: Any, data: DataState = DataState()) -> _T:
        """Raises an error if a field is missing or a flag is not a boolean. It does not check texts and numbers."""
        values = {}
        for name, is_required, reader in _FIELDS.get(cls) or _fields_of(cls):
            value = it[name] if is_required else it.get(name)
            values[name] = value if reader is None else reader(value)
        if "json" in cls.__annotations__:
            values["json"] = it
        if "data" in cls.__annotations__:
            values["data"] = data
        return cls(**values)


_FIELDS: Dict[type, List[Tuple[str, bool, _Reader]]] = {}


def _fields_of(answer: Any) -> List[Tuple[str, bool, _Reader]]:
    types = get_type_hints(answer)
    _FIELDS[answer] = [
        (field.name, field.default is dataclasses.MISSING, _reader_of(types[field.name]))
        for field in dataclasses.fields(answer)
        if field.name not in ("json", "data")
    ]
    return _FIELDS[answer]


def _reader_of(kind: Any) -> _Reader:
    if get_origin(kind) is Union:  # of the type and None
        read = _reader_of(get_args(kind)[0])
        return read and partial(_if_there, read)
    if get_origin(kind) is tuple:
        read = _reader_of(get_args(kind)[0])
        return partial(_each, read) if read else tuple
    if isinstance(kind, type) and issubclass(kind, Answer):
        return kind.read
    return _flag if kind is bool else None


def _if_there(read: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else read(value)


def _each(read: Callable[[Any], Any], values: Any) -> Any:
    return tuple(map(read, values))


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("a flag must be true or false")
    return value
