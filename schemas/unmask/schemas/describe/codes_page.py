"""The page's part on the closed sets."""

import ast
import inspect
from collections.abc import Iterator
from enum import EnumType
from itertools import pairwise

from unmask.schemas import codes
from unmask.schemas.describe.markdown import table

__all__ = ["code_sets"]


def code_sets() -> str:
    """Every code with its meaning."""
    sections = ["## Codes"]
    for name in codes.__all__:
        enum: EnumType = getattr(codes, name)
        sections += [
            f"**{name}**: {inspect.getdoc(enum)}",
            table(("code", "meaning"), [(f"`{code}`", meaning) for code, meaning in _members(enum)]),
        ]
    return "\n\n".join(sections)


def _members(enum: EnumType) -> Iterator[tuple[str, str]]:
    """Values, and the texts that stand below them in the source, which Python itself forgets."""
    statements = ast.parse(inspect.getsource(enum)).body[0]
    assert isinstance(statements, ast.ClassDef)
    for statement, following in pairwise(statements.body):
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            text = following.value if isinstance(following, ast.Expr) else None
            yield str(statement.value.value), str(text.value) if isinstance(text, ast.Constant) else ""
