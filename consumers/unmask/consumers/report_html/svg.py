"""From a drawing to SVG that stands in a page: with title and description, names of its own, and the page's colours."""

import io
import re
from html import escape
from typing import Any

from unmask.consumers.report_html.figures import style
from unmask.consumers.report_html.palette import VARIABLES

__all__ = ["inline_svg"]

_SIZE = re.compile(r'<svg ([^>]*?)width="[^"]*"([^>]*?)height="[^"]*"')
_NAMES = re.compile(r'(\bid="|href="#|url\(#)([^")]+)')
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_COLOURS = re.compile("|".join(re.escape(colour) for colour in VARIABLES))


def inline_svg(figure: Any, name: str, title: str, description: str) -> str:
    """The figure as an `<svg>` element. `name` sets its ids apart from those of the page's other figures."""
    out = io.StringIO()
    with style():
        # Without a date the same report is the same file.
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = _METADATA.sub("", text)
    numbers: dict[str, int] = {}
    # The library's names hold addresses in memory, so that no two runs would give the same file.
    text = _NAMES.sub(lambda found: f"{found.group(1)}{name}-{numbers.setdefault(found.group(2), len(numbers))}", text)
    text = _COLOURS.sub(lambda found: VARIABLES[found.group(0)], text)
    text = _SIZE.sub(r"<svg \1\2", text, count=1)
    label = f'role="img" aria-labelledby="{name}-title" aria-describedby="{name}-desc"'
    head, _, body = text.partition(">")
    told = f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(description)}</desc>'
    return f"{head} {label}>{told}{body}".strip()
