"""The frame of every page: head, skip link, header, condition, the sections, footer. No asset is anybody else's."""

from collections.abc import Mapping
from datetime import datetime

from unmask.streams.web.page.html.parts import chip, instant
from unmask.streams.web.page.markup import Html, el, join
from unmask.streams.web.page.values import Condition

__all__ = ["document", "status"]

_SHAPES = {
    # Outlines that differ without their colours, on a field of 16 by 16.
    "good": '<circle cx="8" cy="8" r="7"/><path class="mark" d="M4.5 8.2l2.4 2.4 4.6-5"/>',
    "warn": '<path d="M8 1 15.5 14.5H.5z"/><path class="mark" d="M8 5.6v4.2M8 11.6v1.2"/>',
    "bad": '<path d="M5 .8h6L15.2 5v6L11 15.2H5L.8 11V5z"/><path class="mark" d="M5.2 5.2l5.6 5.6M10.8 5.2l-5.6 5.6"/>',
    "wait": '<circle class="ring" cx="8" cy="8" r="6.2"/><path d="M8 8V1.8A6.2 6.2 0 0 1 8 14.2z"/>',
    "none": '<rect class="ring dashed" x="1.8" y="1.8" width="12.4" height="12.4" rx="2"/>',
}
_SPRITE = Html(
    '<svg class="unseen" aria-hidden="true" focusable="false">'
    + "".join(f'<symbol id="i-{name}" viewBox="0 0 16 16">{path}</symbol>' for name, path in _SHAPES.items())
    + "</svg>"
)


def document(
    *, namespace: str, title: str, heading: str, sections: Mapping[str, Html], at: datetime, home: bool
) -> str:
    """The whole page; `sections` has the condition under `status`."""
    names = [name for name in sections if name != "status"]
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", f"{title} – {namespace} – Unmask"),
        el("link", rel="icon", type="image/svg+xml", href="/assets/icon.svg"),
        el("link", rel="stylesheet", href="/assets/page.css"),
        el("script", type="module", src="/assets/live.js"),
    )
    places = (
        [el("a", name.capitalize(), href=f"#{name}") for name in names] if home else [el("a", "Overview", href="/")]
    )
    body = el(
        "body",
        _SPRITE,
        el("a", "Skip to the content", href="#content", class_="skip"),
        el(
            "header",
            el("a", "Unmask", href="/", class_="brand"),
            el("span", namespace, class_="namespace", title="Namespace"),
            el("nav", *places, aria_label="Parts of this page" if home else "Pages"),
            el("p", "Loaded at ", instant(at), " UTC", id="live", data_live="no"),
        ),
        el(
            "main",
            el("h1", heading),
            el("p", id="lost", role="alert", hidden=True),
            el("noscript", el("p", "Without JavaScript this page does not update by itself; reload it.")),
            *(join(html) for html in sections.values()),
            id="content",
            tabindex="-1",
        ),
        el("footer", "All times are UTC. Nothing here authorises anything. As JSON: ", el("a", "/api/overview",
           href="/api/overview"), ", ", el("a", "/api/workers", href="/api/workers"), "."),
    )  # fmt: skip
    return f'<!doctype html><html lang="en">{head}{body}</html>'


def status(condition: Condition) -> Html:
    """The pipeline's condition, told to whoever listens as soon as it changes."""
    sentences = [el("li", text) for text in condition.sentences]
    state = condition.state.value
    return el("div", chip(state), el("ul", *sentences), id="status", role="status", class_=f"status {state.lower()}")
