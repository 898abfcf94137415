"""Growth: the oldest published version that carries a value, so that whoever tells nothing new is read by everybody.

A version may add fields with defaults at the top of a record, and symbols to enums. A value that has only defaults in
the added fields and no added symbol is the same value in the older version, and is written in that one. Old workers,
gates and tools so go on reading what they read before, until somebody has something to tell that is new.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from unmask.schemas.history import PublishedSchema, published

__all__ = ["Filling", "by_fields", "carrier", "filling", "with_defaults"]

_Check = Callable[[Any], bool]
"""Whether a value holds nothing that the older version has no word for."""


@dataclass(frozen=True, slots=True)
class Filling:
    """The fields that a version lacks and the newest has, with their defaults."""

    plain: dict[str, Any]
    """What does not change, and may be shared."""
    made: tuple[tuple[str, Callable[[], Any]], ...]
    """Empty lists and maps, which every value has its own of."""

    def fill(self, value: dict[str, Any]) -> None:
        """Puts the defaults into a value that was read with that version's schema."""
        value.update(self.plain)
        for name, make in self.made:
            value[name] = make()


@dataclass(frozen=True, slots=True)
class _Growth:
    """What the newest version of a record has and an older one lacks."""

    schema: PublishedSchema
    added: tuple[tuple[str, Any], ...]
    """Fields and their defaults."""
    fits: tuple[tuple[str, _Check], ...]
    """Fields in which symbols may stand that the older version lacks."""
    filling: Filling

    def fields_of(self, value: dict[str, Any]) -> dict[str, Any] | None:
        """The value without the added fields; None where it tells something in one of them."""
        silent = False
        for name, default in self.added:
            if name in value:
                if not _is(value[name], default):
                    return None
                silent = True
        if silent:
            value = value.copy()
            for name, _ in self.added:
                value.pop(name, None)
        return value

    def knows_symbols(self, value: Mapping[str, Any]) -> bool:
        """Whether the older version has all symbols that stand in the value."""
        return all(fits(value[name]) for name, fits in self.fits if name in value)


def by_fields(record: str, value: dict[str, Any]) -> tuple[PublishedSchema, dict[str, Any]]:
    """The oldest version whose fields carry the value, and the value as that version has it.

    Its symbols are not looked at: writing tells more cheaply whether they are that version's. A value may leave out
    fields that were added after the first version; where the newest is needed, they get their defaults.
    """
    growths, newest = _growths(record)
    for growth in growths:
        told = growth.fields_of(value)
        if told is not None:
            return growth.schema, told
    return newest, _whole(growths, value)


def carrier(record: str, value: dict[str, Any]) -> tuple[PublishedSchema, dict[str, Any]]:
    """The oldest version that carries the value by its fields and symbols, and the value as that version has it."""
    growths, newest = _growths(record)
    for growth in growths:
        told = growth.fields_of(value)
        if told is not None and growth.knows_symbols(told):
            return growth.schema, told
    return newest, _whole(growths, value)


def with_defaults(schema: PublishedSchema, value: dict[str, Any]) -> dict[str, Any]:
    """A value that was read with the schema of a published version, as the newest has it.

    What a version may add makes resolution by Avro's rules the same as filling in defaults, which is far cheaper.
    """
    lacking = filling(schema)
    if lacking is not None:
        lacking.fill(value)
    return value


@cache
def filling(schema: PublishedSchema) -> Filling | None:
    """What a published version lacks; None for the newest."""
    growths, _ = _growths(schema.record)
    return next((growth.filling for growth in growths if growth.schema is schema), None)


def _is(said: Any, default: Any) -> bool:
    # Strictly: 0 and False are equal, null and 0 both say nothing, and neither is written for the other.
    if type(said) is not type(default):
        # An empty tuple says what an empty list says.
        return said == () and default == [] if type(said) is tuple else False
    return bool(said == default)


def _whole(growths: tuple[_Growth, ...], value: dict[str, Any]) -> dict[str, Any]:
    if not growths:
        return value
    # The defaults are the schema's own objects: what comes of this is written, and not kept.
    lacking = {name: default for name, default in growths[0].added if name not in value}
    return value | lacking if lacking else value


@cache
def _growths(record: str) -> tuple[tuple[_Growth, ...], PublishedSchema]:
    *older, newest = published(record)
    return tuple(_growth(schema, newest) for schema in older), newest


def _growth(old: PublishedSchema, new: PublishedSchema) -> _Growth:
    """Raises AssertionError where the newer version grows otherwise than by fields at the top and symbols."""
    place = f"{new.record} v{new.version}"
    old_fields = {field["name"]: field["type"] for field in old.unparsed["fields"]}
    new_names = [field["name"] for field in new.unparsed["fields"]]
    if new_names[: len(old_fields)] != list(old_fields):
        raise AssertionError(f"{place} does not begin with the fields of v{old.version}; add fields at the end")
    comparison = _Comparison(place)
    added: list[tuple[str, Any]] = []
    fits: list[tuple[str, _Check]] = []
    for field in new.unparsed["fields"]:
        name = field["name"]
        if name not in old_fields:
            if "default" not in field:
                raise AssertionError(f"{place} adds {name} without a default, which old values do not have")
            added.append((name, field["default"]))
            continue
        check = comparison.compare(old_fields[name], field["type"])
        if check is not None:
            fits.append((name, check))
    return _Growth(old, tuple(added), tuple(fits), _filling(added, place))


def _filling(added: list[tuple[str, Any]], place: str) -> Filling:
    plain = {name: default for name, default in added if not isinstance(default, list | dict)}
    made = tuple((name, type(default)) for name, default in added if name not in plain)
    if any(default for name, default in added if name not in plain):
        raise AssertionError(f"{place} adds a list or map that is not empty by default")
    return Filling(plain, made)


class _Comparison:
    """Of the fields that two versions share: what may stand in the newer one, and has no word in the older one."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._old: dict[str, Any] = {}
        self._new: dict[str, Any] = {}

    def compare(self, old: Any, new: Any) -> _Check | None:
        """The check of one type; None where there is no difference."""
        old = self._old.get(old, old) if isinstance(old, str) else old
        new = self._new.get(new, new) if isinstance(new, str) else new
        if isinstance(old, list) and isinstance(new, list):
            return self._union(old, new)
        if not (isinstance(old, dict) and isinstance(new, dict)):
            if old != new:
                raise AssertionError(f"{self._place} changes the type of a field, which old readers do not follow")
            return None
        match old["type"], new["type"]:
            case "enum", "enum":
                return self._symbols(old, new)
            case "record", "record":
                return self._record(old, new)
            case "array", "array":
                check = self.compare(old["items"], new["items"])
                return None if check is None else _all(check)
            case "map", "map":
                check = self.compare(old["values"], new["values"])
                return None if check is None else _all(check, dict.values)
        raise AssertionError(f"{self._place} changes the type of a field, which old readers do not follow")

    def _union(self, old: list[Any], new: list[Any]) -> _Check | None:
        # The contract's unions are optional values: null and one other.
        if [len(old), len(new), old[0], new[0]] != [2, 2, "null", "null"]:
            raise AssertionError(f"{self._place} has a union that is no optional value")
        check = self.compare(old[1], new[1])
        return None if check is None else (lambda value: value is None or check(value))

    def _symbols(self, old: dict[str, Any], new: dict[str, Any]) -> _Check | None:
        self._old[old["name"]], self._new[new["name"]] = old, new
        if not set(old["symbols"]) <= set(new["symbols"]):
            raise AssertionError(f"{self._place} has lost a symbol of {old['name']}")
        unknown = frozenset(new["symbols"]) - frozenset(old["symbols"])
        return (lambda value: value not in unknown) if unknown else None

    def _record(self, old: dict[str, Any], new: dict[str, Any]) -> _Check | None:
        self._old[old["name"]], self._new[new["name"]] = old, new
        types = {field["name"]: field["type"] for field in old["fields"]}
        if [field["name"] for field in new["fields"]] != list(types):
            raise AssertionError(
                f"{self._place} grows inside {new['name']}; add fields at the top, where old readers pass them"
            )
        compared = ((field["name"], self.compare(types[field["name"]], field["type"])) for field in new["fields"])
        checks = [(name, check) for name, check in compared if check is not None]
        return (lambda value: all(check(value[name]) for name, check in checks if name in value)) if checks else None


def _all(check: _Check, items: Callable[[Any], Any] = iter) -> _Check:
    return lambda values: all(map(check, items(values)))
