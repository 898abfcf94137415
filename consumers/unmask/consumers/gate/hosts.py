"""Host names, so that a name and its other spellings are one: case, a closing dot, brackets, international names."""

from collections.abc import Collection

import httpx

__all__ = ["hosts_of", "is_among"]


def hosts_of(hosts: Collection[str] | None) -> frozenset[str] | None:
    """The names as they are compared; None for every host.

    Raises ValueError for what can be no host's name, an address with a port or a scheme among it: no request would
    ever match it, and all would pass.
    """
    if hosts is None:
        return None
    if isinstance(hosts, str):
        raise ValueError(f"hosts is a collection of names, for example hosts=[{hosts!r}]; a text alone is none")
    return frozenset(_checked(host) for host in hosts)


def is_among(request: httpx.Request, hosts: frozenset[str] | None) -> bool:
    """Whether a request goes to one of the hosts."""
    return hosts is None or _plain(request.url.raw_host.decode("ascii", "replace")) in hosts


def _checked(host: str) -> str:
    try:
        url = httpx.URL(f"http://[{host.strip('[]')}]/" if ":" in host.strip("[]") else f"http://{host}/")
    except httpx.InvalidURL:
        url = None
    bare = url is not None and url.port is None and not url.userinfo and url.raw_path == b"/"
    if url is None or not bare or not url.raw_host or "*" in host:
        raise ValueError(f"{host!r} is not the name of a host; give it without scheme, port and path")
    return _plain(url.raw_host.decode("ascii"))


def _plain(host: str) -> str:
    return host.lower().removesuffix(".")
