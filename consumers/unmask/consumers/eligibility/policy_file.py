"""The policy from where people set it: a TOML file, options, or both, the options going before."""

import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from unmask.consumers.eligibility.policy import DAY, Policy, PolicyError
from unmask.schemas.models.fields import Token

__all__ = ["PolicyFile", "policy_from", "read_policy_file"]

_KEYS = "days, attempts, parity_max_age_days, suites, capabilities, set_by"


class PolicyFile(BaseModel):
    """What a policy file may hold; whatever it leaves out is the default's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    days: Annotated[int, Field(strict=True)] | None = None
    attempts: Annotated[int, Field(strict=True)] | None = None
    parity_max_age_days: Annotated[int, Field(strict=True)] | None = None
    suites: tuple[Token, ...] | None = None
    capabilities: tuple[Token, ...] = ()
    """Capabilities that must have a row: one of which nothing is known is refused, not left out."""
    set_by: str | None = None


def read_policy_file(path: Path) -> PolicyFile:
    """The file's policy. Raises PolicyError."""
    try:
        document: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise PolicyError(f"{path} cannot be read: {error.strerror or type(error).__name__}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PolicyError(f"{path} is no TOML: {error}") from error
    try:
        return PolicyFile.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise PolicyError(f"{path}: {where}: {first['msg']}; a policy has {_KEYS}") from error


def policy_from(
    file: PolicyFile | None,
    *,
    name: str = "",
    days: int | None = None,
    attempts: int | None = None,
    parity_max_age: int | None = None,
    suites: tuple[str, ...] = (),
    set_by: str | None = None,
) -> Policy:
    """The policy that holds; `name` is what the file is called. Raises PolicyError.

    Whoever set a file does not answer for the options that overrule it.
    """
    values: dict[str, Any] = {}
    sources: list[str] = []
    if file is not None:
        in_file = {
            "days": file.days,
            "attempts": file.attempts,
            "parity_max_age": None if file.parity_max_age_days is None else file.parity_max_age_days * DAY,
            "suites": file.suites or None,
            "set_by": file.set_by,
        }
        values |= {key: value for key, value in in_file.items() if value is not None}
        sources.append(f"the file {''.join(sign if sign.isprintable() else '?' for sign in name)}")
    given = {"days": days, "attempts": attempts, "parity_max_age": parity_max_age, "suites": suites or None}
    overruled = {key: value for key, value in given.items() if value is not None}
    if overruled:
        values |= overruled
        values.pop("set_by", None)
        sources.append("options")
    if set_by is not None:
        values["set_by"] = set_by
    return Policy(**values, source=" and ".join(sources) or "the defaults")
