"""`python -m unmask.streams.web.page.describe`: the JSON answers, field by field, as the page's document has them."""

import sys
import types
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from unmask.schemas.describe.markdown import table
from unmask.streams.web.page import values

__all__ = ["answers_page"]


def answers_page() -> str:
    """Every answer and the parts that it is made of, as Markdown."""
    named = [getattr(values, name) for name in values.__all__]
    models = [model for model in named if issubclass(model, BaseModel)]
    answers = [model for model in models if issubclass(model, values.Answer)]
    answers.sort(key=lambda model: model is not values.Answer)
    parts = [model for model in models if model not in answers]
    return "\n\n".join(_section(model) for model in (*answers, *parts))


def _section(model: type[BaseModel]) -> str:
    inherited = values.Answer.model_fields if model is not values.Answer and issubclass(model, values.Answer) else {}
    rows = [
        (f"`{name}`", _type(field.annotation), field.description or "")
        for name, field in model.model_fields.items()
        if name not in inherited
    ]
    first = (model.__doc__ or "").strip()
    return f"**{model.__name__}**: {first}\n\n{table(('field', 'type', 'meaning'), rows)}"


def _type(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return f"{_type(next(one for one in arguments if one is not type(None)))}, or null"
    if origin is tuple:
        return f"list of {_type(arguments[0])}"
    if origin is dict:
        return f"map of {_type(arguments[1])}"
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in arguments)
    if annotation is datetime:
        return "instant"
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return f"{annotation.__name__} (code)"
    name = str(annotation.__name__)
    return {"str": "text", "int": "number", "float": "number", "bool": "yes or no"}.get(name, name)


if __name__ == "__main__":
    sys.stdout.write(f"{answers_page()}\n")
