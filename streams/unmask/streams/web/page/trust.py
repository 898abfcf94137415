"""Whose signatures the page believes."""

import logging
from pathlib import Path

from unmask.schemas.errors import ContractError
from unmask.schemas.signing import Trust
from unmask.schemas.signing_keys import TrustedKeys
from unmask.schemas.signing_setup import signing_from_environment

__all__ = ["page_trust"]

_logger = logging.getLogger(__name__)


def page_trust(signing_key: Path | None, trusted_keys: Path | None) -> Trust | None:
    """Whom the page believes; None where no signature is asked for.

    Keys that cannot be used end whoever judges with them. The page judges nothing: without them it believes nobody, and
    the log says why.
    """
    try:
        return signing_from_environment(signing_key, trusted_keys)[1]
    except ContractError as error:
        _logger.warning("the page believes no verdict: %s", error)
        return TrustedKeys({})
