# SPDX-License-Identifier: MIT OR Apache-2.0
"""Serialization, and advanced publishers and subscribers."""

import struct as _struct
import typing as _typing

from ._zonda import (
    AdvancedPublisher,
    AdvancedSubscriber,
    CacheConfig,
    HistoryConfig,
    Miss,
    MissDetectionConfig,
    RecoveryConfig,
    RepliesConfig,
    SampleMissListener,
    ZBytes,
    declare_advanced_publisher,
    declare_advanced_subscriber,
)


class Int8(int):
    """An integer that is serialized in 8 bits."""


class Int16(int):
    """An integer that is serialized in 16 bits."""


class Int32(int):
    """An integer that is serialized in 32 bits, as `int` is."""


class Int64(int):
    """An integer that is serialized in 64 bits."""


class Int128(int):
    """An integer that is serialized in 128 bits."""


class UInt8(int):
    """An integer without sign that is serialized in 8 bits."""


class UInt16(int):
    """An integer without sign that is serialized in 16 bits."""


class UInt32(int):
    """An integer without sign that is serialized in 32 bits."""


class UInt64(int):
    """An integer without sign that is serialized in 64 bits."""


class UInt128(int):
    """An integer without sign that is serialized in 128 bits."""


class Float32(float):
    """A number that is serialized in 32 bits."""


class Float64(float):
    """A number that is serialized in 64 bits, as `float` is."""


class ZDeserializeError(Exception):
    """The bytes are no value of the type."""


_INTEGERS = {
    int: (4, True),
    Int8: (1, True),
    Int16: (2, True),
    Int32: (4, True),
    Int64: (8, True),
    Int128: (16, True),
    UInt8: (1, False),
    UInt16: (2, False),
    UInt32: (4, False),
    UInt64: (8, False),
    UInt128: (16, False),
}
_FLOATS = {float: _struct.Struct("<d"), Float64: _struct.Struct("<d"), Float32: _struct.Struct("<f")}
_TEXTS = (str, bytes, bytearray, ZBytes)
_COLLECTIONS = (list, dict, set, frozenset)
_SUPPORTED = {bool, tuple, *_INTEGERS, *_FLOATS, *_TEXTS, *_COLLECTIONS}


def _write_length(out, length):
    while length >= 0x80:
        out.append(length & 0x7F | 0x80)
        length >>= 7
    out.append(length)


def _write_same(out, values):
    kind = None
    for value in values:
        if kind is not None and type(value) is not kind:
            raise ValueError("all items of a collection must have the same type")
        kind = type(value)
        _write(out, value)


def _write(out, value):
    kind = type(value)
    if kind in _INTEGERS:
        size, signed = _INTEGERS[kind]
        out += value.to_bytes(size, "little", signed=signed)
    elif kind in _FLOATS:
        out += _FLOATS[kind].pack(value)
    elif kind is bool:
        out.append(value)
    elif kind in _TEXTS:
        content = value.encode() if kind is str else bytes(value)
        _write_length(out, len(content))
        out += content
    elif kind is tuple:
        for item in value:
            _write(out, item)
    elif kind is dict:
        _write_length(out, len(value))
        keys, values = {type(key) for key in value}, {type(item) for item in value.values()}
        if len(keys) > 1 or len(values) > 1:
            raise ValueError("all items of a collection must have the same type")
        for key, item in value.items():
            _write(out, key)
            _write(out, item)
    elif kind in _COLLECTIONS:
        _write_length(out, len(value))
        _write_same(out, value)
    else:
        raise TypeError(f"type {kind.__name__} is not supported")


def z_serialize(obj):
    """Serializes a number, bool, str, bytes, bytearray, ZBytes, or a list, tuple, dict, set or frozenset of them.

    Raises TypeError for other types, ValueError for a collection of several types, OverflowError for a number out of range.

    >>> bytes(z_serialize([1, 2]))
    b'\\x02\\x01\\x00\\x00\\x00\\x02\\x00\\x00\\x00'
    """
    out = bytearray()
    _write(out, obj)
    return ZBytes(bytes(out))


class _Reader:
    __slots__ = ("content", "place")

    def __init__(self, content):
        self.content = content
        self.place = 0

    def take(self, length):
        end = self.place + length
        if end > len(self.content):
            raise ZDeserializeError("deserialization error: the bytes end too early")
        taken = self.content[self.place : end]
        self.place = end
        return taken

    def length(self):
        length = shift = 0
        while True:
            byte = self.take(1)[0]
            length |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 63:
                raise ZDeserializeError("deserialization error: a length of more than 64 bits")
        if length > len(self.content):
            raise ZDeserializeError("deserialization error: a length beyond the end")
        return length


def _read(reader, tp):
    kind = _typing.get_origin(tp) or tp
    if kind not in _SUPPORTED:
        raise TypeError(f"type {getattr(kind, '__name__', kind)} is not supported")
    if kind in _INTEGERS:
        size, signed = _INTEGERS[kind]
        return kind(int.from_bytes(reader.take(size), "little", signed=signed))
    if kind in _FLOATS:
        form = _FLOATS[kind]
        return kind(form.unpack(reader.take(form.size))[0])
    if kind is bool:
        byte = reader.take(1)[0]
        if byte > 1:
            raise ZDeserializeError("deserialization error: a bool is 0 or 1")
        return byte == 1
    if kind in _TEXTS:
        content = bytes(reader.take(reader.length()))
        if kind is not str:
            return kind(content)
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise ZDeserializeError(f"deserialization error: {error}") from None
    items = _typing.get_args(tp)
    if not items:
        raise ValueError("collection types must be specialized with their generic parameter(s)")
    if kind is tuple:
        return tuple(_read(reader, item) for item in items)
    count = range(reader.length())
    if kind is dict:
        return {_read(reader, items[0]): _read(reader, items[1]) for _ in count}
    return kind(_read(reader, items[0]) for _ in count)


def z_deserialize(tp, zbytes):
    """Reads a value of type `tp`, such as `int` or `dict[str, list[float]]`.

    Raises ZDeserializeError if the bytes are no such value, TypeError for a type that is not supported.

    >>> z_deserialize(list[int], z_serialize([1, 2]))
    [1, 2]
    """
    reader = _Reader(bytes(zbytes))
    value = _read(reader, tp)
    if reader.place != len(reader.content):
        raise ZDeserializeError("deserialization error: bytes are left over")
    return value
