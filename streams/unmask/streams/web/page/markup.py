"""HTML from values: every text is escaped, unless it is HTML that was made here."""

from html import escape
from typing import Any

__all__ = ["Html", "el", "join"]

_VOID = frozenset(("br", "link", "meta", "use"))


class Html(str):
    """HTML, as opposed to text."""

    __slots__ = ()


def join(*children: Any) -> Html:
    """The children one after the other: HTML as it is, text escaped, lists flattened, None left out."""
    parts: list[str] = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, Html):
            parts.append(child)
        elif isinstance(child, list | tuple):
            parts.append(join(*child))
        else:
            parts.append(escape(str(child)))
    return Html("".join(parts))


def el(tag: str, *children: Any, **attributes: Any) -> Html:
    """An element. `class_` is class, other underscores are hyphens; True is an empty attribute, None and False none."""
    written = [tag]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        plain = name.rstrip("_").replace("_", "-")
        written.append(plain if value is True else f'{plain}="{escape(str(value))}"')
    opening = f"<{' '.join(written)}>"
    return Html(opening if tag in _VOID else f"{opening}{join(*children)}</{tag}>")
