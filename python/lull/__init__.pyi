# SPDX-License-Identifier: MIT
import collections
import datetime
import os
from typing import Any, Iterable, Iterator, NamedTuple, Optional, Sequence, Union

_Path = Union[str, bytes, os.PathLike[str]]
_Time = Union[int, datetime.datetime]
_Texts = Union[str, Sequence[str]]
_Numbers = Union[int, Sequence[int]]

class Error(Exception): ...

class EnumValue(int):
    label: Optional[str]
    def __new__(cls, value: int, label: Optional[str]) -> EnumValue: ...

class Event:
    time_ns: int
    name: str
    host: str
    cpu: Optional[int]
    def __getitem__(self, path: str) -> Any: ...

class Trace(NamedTuple):
    path: str
    host: str
    tracer: Optional[str]
    domain: Optional[str]
    kernel: Optional[str]
    name: Optional[str]
    format: str
    clock_name: Optional[str]
    clock_frequency_hz: int
    clock_offset_ns: int
    begin_ns: int
    end_ns: int
    stream_count: int
    packet_count: int
    size_bytes: int

class Loss(NamedTuple):
    host: str
    trace: int
    stream: int
    begin_ns: int
    end_ns: int
    events: int
    packets: int

class HostClock(NamedTuple):
    is_joined: bool
    bound_ns: Optional[int]

class Field(NamedTuple):
    path: str
    kind: str
    is_optional: bool
    is_signed: bool
    is_big_endian: bool
    size_bits: int
    length: int

class ClassInfo(NamedTuple):
    number: int
    name: str
    trace: int
    fields: list[Field]

class Columns(dict[str, Any]):
    present: dict[str, Any]

class Table(list[dict[str, Any]]):
    name: Optional[str]
    title: Optional[str]
    keys: list[str]
    def columns(self) -> dict[str, Any]: ...
    def frame(self) -> Any: ...

class Process(NamedTuple):
    comm: Optional[str]
    tid: Optional[int]
    pid: Optional[int]

class Irq(NamedTuple):
    is_hard: bool
    number: int
    name: Optional[str]

class Path(NamedTuple):
    segments: Table
    by_state: Table
    by_task: Table
    by_host: Table
    begin_ns: int
    end_ns: int
    lost_events: int
    lost_packets: int
    waits: Table
    by_cause: Table
    by_mode: Table
    by_container: Table
    @property
    def duration_ns(self) -> int: ...

class Result(NamedTuple):
    begin_ns: int
    end_ns: int
    number: int
    period: Optional[str]
    captures: Optional[str]
    is_complete: bool
    lost_events: int
    lost_packets: int
    notes: list[str]
    tables: dict[str, Table]
    def __getitem__(self, name: str) -> Table: ...  # type: ignore[override]

class Session:
    def __init__(self, *paths: _Path) -> None: ...
    @property
    def hosts(self) -> list[str]: ...
    @property
    def traces(self) -> list[Trace]: ...
    @property
    def problems(self) -> list[str]: ...
    @property
    def losses(self) -> list[Loss]: ...
    @property
    def range(self) -> Optional[tuple[int, int]]: ...
    def classes(self) -> list[ClassInfo]: ...
    def join_clocks(self) -> dict[str, HostClock]: ...
    def events(
        self, *names: str, begin: Optional[_Time] = ..., end: Optional[_Time] = ..., host: Union[str, int, None] = ...,
        cpu: Optional[_Numbers] = ..., filter: Optional[str] = ...
    ) -> Iterator[Event]: ...
    def count(
        self, *names: str, begin: Optional[_Time] = ..., end: Optional[_Time] = ..., host: Union[str, int, None] = ...,
        cpu: Optional[_Numbers] = ..., filter: Optional[str] = ...
    ) -> collections.Counter[str]: ...
    def columns(
        self, names: _Texts, fields: Optional[_Texts] = ..., *, begin: Optional[_Time] = ..., end: Optional[_Time] = ...,
        host: Union[str, int, None] = ..., cpu: Optional[_Numbers] = ..., filter: Optional[str] = ..., text: str = ...
    ) -> Columns: ...
    def requests(
        self, *, slowest: Optional[int] = ..., port: Optional[int] = ..., host: Union[str, int, None] = ...,
        tid: Optional[_Numbers] = ..., pid: Optional[_Numbers] = ..., comm: Optional[_Texts] = ...,
        container: Optional[_Texts] = ..., begin: Optional[_Time] = ..., end: Optional[_Time] = ...,
        filter: Optional[str] = ...
    ) -> Table: ...
    def instances(
        self, period: _Texts, *, captures: Optional[_Texts] = ..., select: Optional[str] = ..., slowest: Optional[int] = ...,
        host: Union[str, int, None] = ..., tid: Optional[_Numbers] = ..., pid: Optional[_Numbers] = ..., comm: Optional[_Texts] = ..., container: Optional[_Texts] = ...,
        begin: Optional[_Time] = ..., end: Optional[_Time] = ..., filter: Optional[str] = ...
    ) -> Table: ...
    def critpath(
        self, *, request: Optional[int] = ..., period: Optional[_Texts] = ..., instance: Optional[int] = ...,
        captures: Optional[_Texts] = ..., select: Optional[str] = ..., host: Union[str, int, None] = ...,
        tid: Optional[_Numbers] = ..., pid: Optional[_Numbers] = ..., comm: Optional[_Texts] = ...,
        container: Optional[_Texts] = ..., begin: Optional[_Time] = ..., end: Optional[_Time] = ...,
        unbounded: bool = ..., filter: Optional[str] = ...
    ) -> Path: ...
    def why(
        self, *, period: Optional[_Texts] = ..., captures: Optional[_Texts] = ..., group_by: Optional[_Texts] = ...,
        select: Optional[str] = ..., port: Optional[int] = ..., slowest: Union[int, str, None] = ...,
        slower_than_ns: Optional[int] = ..., typical: tuple[float, float] = ..., limit: int = ...,
        host: Union[str, int, None] = ..., tid: Optional[_Numbers] = ..., pid: Optional[_Numbers] = ..., comm: Optional[_Texts] = ..., container: Optional[_Texts] = ...,
        begin: Optional[_Time] = ..., end: Optional[_Time] = ..., filter: Optional[str] = ...
    ) -> list[dict[str, Any]]: ...
    def states(
        self, path: _Path, *, group: Optional[str] = ..., row: Optional[str] = ..., log: bool = ..., kernel: bool = ...,
        limit: int = ..., refresh: Optional[str] = ..., partial: bool = ..., begin: Optional[_Time] = ...,
        end: Optional[_Time] = ..., host: Union[str, int, None] = ..., filter: Optional[str] = ...
    ) -> list[Result]: ...
    def analyses(self) -> list[str]: ...
    def analysis(
        self, name: str, *, begin: Optional[_Time] = ..., end: Optional[_Time] = ..., host: Union[str, int, None] = ...,
        filter: Optional[str] = ..., **settings: Any
    ) -> list[Result]: ...

def requests(trace: Union[Session, _Path, Iterable[_Path]], **arguments: Any) -> Table: ...
def critpath(trace: Union[Session, _Path, Iterable[_Path]], **arguments: Any) -> Path: ...
def why(trace: Union[Session, _Path, Iterable[_Path]], **arguments: Any) -> list[dict[str, Any]]: ...
def analysis(name: str, trace: Union[Session, _Path, Iterable[_Path]], **arguments: Any) -> list[Result]: ...
