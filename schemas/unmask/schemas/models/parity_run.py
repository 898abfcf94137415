"""What a CI run says about a capability's answers being the same on both routes: counts, and nothing of the tests."""

from unmask.schemas.instants import Instant
from unmask.schemas.models.fields import Count, Digest, Token
from unmask.schemas.models.record import Record

__all__ = ["ParityRun"]


class ParityRun(Record):
    """The newest run of a parity suite against a release line."""

    suite: Token
    release_line: Token
    composition: Token | None = None
    capabilities: tuple[Token, ...]
    run_at: Instant
    published_at: Instant
    tests: Count
    failures: Count
    errors: Count
    skipped: Count
    digest: Digest

    @property
    def passed(self) -> int:
        """Tests that were run and held; below 0 where the counts contradict each other, which proves nothing."""
        return self.tests - self.failures - self.errors - self.skipped
