"""The profiles that a session may use: candidates in their order, and those that are for emergencies only."""

from collections.abc import Collection, Iterable

from unmask.producers.published import identifier
from unmask.producers.selection.errors import InvalidProfiles

__all__ = ["Profiles"]


class Profiles:
    """Knows them by their own names, and by the tokens as which they are published. Fixed once it is made."""

    __slots__ = ("_by_token", "candidates", "emergency")

    def __init__(self, candidates: Iterable[str], emergency: Iterable[str]) -> None:
        """Raises InvalidProfiles where there is no candidate, or an emergency profile is one."""
        if isinstance(candidates, str) or isinstance(emergency, str):
            raise InvalidProfiles("profiles are given as a tuple or list of names, not as one text")
        self.candidates = tuple(dict.fromkeys(candidates))
        self.emergency = tuple(dict.fromkeys(emergency))
        if not self.candidates:
            raise InvalidProfiles("a session needs a candidate at least: the profile that is used while nothing fails")
        both = set(self.candidates) & set(self.emergency)
        if both:
            raise InvalidProfiles(
                f"{len(both)} of the emergency profiles are ordinary candidates too: a profile is one or the other, "
                "since an emergency profile is never used unless the primary failed in that very turn"
            )
        self._by_token = {identifier(profile): profile for profile in (*self.emergency, *self.candidates)}

    def named(self, profile: str) -> str | None:
        """The profile of this name or published token; None where it is none of the session's."""
        return self._by_token.get(identifier(profile))

    def is_emergency(self, profile: str) -> bool:
        """Whether it is for emergencies only."""
        return profile in self.emergency

    def next_after(self, primary: str, failed: Collection[str]) -> str | None:
        """What stands in for what failed in a turn: the primary, the candidates, and then what is for emergencies.

        Nothing for emergencies unless the primary itself failed; None where nothing is left.
        """
        ordinary = (primary, *self.candidates)
        last = self.emergency if primary in failed else ()
        return next((profile for profile in (*ordinary, *last) if profile not in failed), None)
