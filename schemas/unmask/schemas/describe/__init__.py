"""Writes the contract down for people: `python -m unmask.schemas.describe > docs/contract.md`.

Everything that can come from the .avsc files, the topic definitions and the closed sets does, so that the page cannot
say anything else than the code does.
"""

from unmask.schemas.describe.codes_page import code_sets
from unmask.schemas.describe.records_page import records
from unmask.schemas.describe.rules_page import compatibility, opening, signatures, tokens
from unmask.schemas.describe.topics_page import topics

__all__ = ["contract_page"]


def contract_page() -> str:
    """The whole page, as Markdown."""
    parts = (opening(), topics(), records(), compatibility(), tokens(), signatures(), code_sets())
    return "\n\n".join(parts) + "\n"
