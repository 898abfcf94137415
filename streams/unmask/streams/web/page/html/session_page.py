"""A session's own page: how it is judged, why, what must be done, and whether somebody did it."""

from collections.abc import Mapping
from typing import Any

from unmask.schemas.codes import Contradiction, Finding
from unmask.streams.web.page.html.delegations import delegations_section
from unmask.streams.web.page.html.parts import Column, chip, count, instant, note, section, session_link, table
from unmask.streams.web.page.html.sessions import directive_cell, ratio, verdict_chip
from unmask.streams.web.page.html.timelines import timelines_section
from unmask.streams.web.page.markup import Html, el, join
from unmask.streams.web.page.values import SessionAnswer, SessionDetail
from unmask.streams.web.page.words import ANSWERS, CONTRADICTIONS, DIRECTIVES, FINDINGS, STEPS, VERDICTS

__all__ = ["session_sections"]

_MASKED = (Column("Operation"), Column("When, UTC"), Column("Upstream"), Column("What was hidden"),
           Column("Substitute"), Column("Equivalence"))  # fmt: skip
_STEPS = (Column("When, UTC"), Column("Step"), Column("The gate's answer"), Column("Successor"), Column("By"))


def session_sections(answer: SessionAnswer) -> dict[str, Html]:
    """The parts of the page, by name."""
    return {
        "verdict": section("verdict", "Verdict", _verdict(answer), _facts(answer)),
        "masked": section("masked", "Masked operations", _masked(answer.detail)),
        "timelines": timelines_section(answer),
        "delegations": delegations_section(answer),
        "gate": section("gate", "At the gate", _gate(answer.detail)),
        "basis": section("basis", "What it rests on", _basis(answer.detail)),
    }


def _verdict(answer: SessionAnswer) -> Html:
    line = answer.session
    if line.flaw is not None:
        told = f"The record under this session is not to be believed: {line.flaw}. The gate refuses its successors."
    elif line.withdrawn:
        told = "An operator withdrew the verdict. The gate refuses its successors until the session is judged again."
    elif line.verdict is None:
        told = (
            "It runs; it is judged when it has ended." if line.ended_at is None
            else "It has ended; its verdict waits for the accounts of its emitters."
        )  # fmt: skip
    else:
        told = VERDICTS[line.verdict]
    todo = None
    if line.directive is not None:
        todo = el("p", directive_cell(line), el("br"), DIRECTIVES[line.directive], class_="todo")
    return join(el("p", verdict_chip(line), " ", told, class_="verdict"), todo)


def _facts(answer: SessionAnswer) -> Html:
    line, detail = answer.session, answer.detail
    limit = (
        ""
        if detail.threshold is None
        else f", {'above' if line.above_threshold else 'not above'} {detail.threshold:.1%}"
    )
    pairs: list[tuple[str, Any]] = [
        ("Evidence", "–" if line.evidence is None else chip(line.evidence.value)),
        ("Degraded operations", join(ratio(line), limit)),
        ("Masked errors, fallbacks", f"{count(detail.masked_errors)}, {count(detail.fallbacks)}"),
        ("The host says", detail.outcome_claimed or "nothing yet"),
        ("Opened, ended (UTC)", join(instant(line.opened_at, day=True), ", ", instant(line.ended_at, day=True))),
        (
            "Release line, composition",
            join(line.release_line or "–", ", ", el("span", line.composition or "–", class_="id")),
        ),
    ]
    if detail.equivalent is not None and line.degraded_operations:
        proven = "proven bit for bit, of every one" if detail.equivalent else "not proven of every one"
        pairs.append(("Substitutes equal the primary", proven))
    if detail.predecessor_session_id is not None:
        pairs.append(("Continues", session_link(detail.predecessor_session_id)))
    if detail.inherited_from:
        more = f" and {detail.inherited_cut} more" if detail.inherited_cut else ""
        links = [part for name in detail.inherited_from for part in (session_link(name), " ")]
        pairs.append(("Inherits the directive of", join(*links, more)))
    known = [Finding(finding) for finding in line.findings]
    return join(
        _pairs(pairs),
        _list("Findings", {finding.value: FINDINGS[finding] for finding in known}),
        _list("Contradictions", {code: CONTRADICTIONS[Contradiction(code)] for code in detail.contradictions}),
    )


def _masked(detail: SessionDetail) -> Html:
    if not detail.masked:
        return el("p", "No masked error of this session is known.", class_="empty")
    rows = [
        (f"{place}-{entry.operation_id}", [
            el("span", entry.operation_id, class_="id"), instant(entry.occurred_at), entry.upstream,
            el("span", entry.masked_upstream_signature, class_="id"),
            el("span", entry.fallback_execution_receipt, class_="id"), entry.equivalence.replace("_", " "),
        ])
        for place, entry in enumerate(detail.masked)
    ]  # fmt: skip
    cut = note(f"{detail.masked_cut:,} more are left out.") if detail.masked_cut else None
    return join(table("Operations whose error a substitute hid", _MASKED, rows), cut)


def _gate(detail: SessionDetail) -> Html:
    if not detail.admissions:
        return el("p", "No gate was asked about this session within the last day.", class_="empty")
    rows = [
        (f"{place}", [
            instant(entry.occurred_at, day=True), STEPS[entry.step],
            f"{entry.answer.value.replace('_', ' ')}: {ANSWERS[entry.answer]}",
            "–" if entry.successor_session_id is None else session_link(entry.successor_session_id), entry.by or "–",
        ])
        for place, entry in enumerate(detail.admissions)
    ]  # fmt: skip
    return table("What gates recorded, newest first", _STEPS, rows)


def _basis(detail: SessionDetail) -> Html:
    sources = ", ".join(
        f"partition {partition} below {offset:,}" for partition, offset in sorted(detail.sources.items())
    )
    signed = "nobody" if detail.signed_by is None else detail.signed_by
    pairs: list[tuple[str, Any]] = [
        ("Emitters", el("span", ", ".join(detail.emitters) or "–", class_="id")),
        ("Events", sources or "–"),
    ]
    if detail.digest is not None:
        pairs += [
            ("Published by", f"{detail.writer or '–'}, number {detail.sequence}"),
            ("Digest", el("span", detail.digest, class_="id")),
            ("Signed by", signed),
        ]
    return _pairs(pairs)


def _pairs(pairs: list[tuple[str, Any]]) -> Html:
    return el("dl", *(el("div", el("dt", name), el("dd", value), data_key=name) for name, value in pairs))


def _list(heading: str, meanings: Mapping[str, str]) -> Html | None:
    if not meanings:
        return None
    items = [el("li", el("strong", code.replace("_", " ")), f": {meaning}") for code, meaning in meanings.items()]
    return join(el("h3", heading), el("ul", *items))
