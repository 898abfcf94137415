"""Who may be asked for by name: a server that listens on this machine only answers to this machine's own names.

A page from elsewhere can have a name of its own point to 127.0.0.1, and would then read what is meant for this machine
alone; but its requests carry that name. (DNS rebinding.)
"""

from ipaddress import ip_address

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

__all__ = ["answer_to_own_names", "is_loopback"]


def is_loopback(host: str) -> bool:
    """Whether a name or address, with or without brackets and port, is this machine's own."""
    name = (
        host[1 : host.find("]")] if host.startswith("[") else host.rsplit(":", 1)[0] if host.count(":") == 1 else host
    )
    if name.rstrip(".").lower() == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def answer_to_own_names(listens_on: str) -> Middleware:
    """Refuses requests by a foreign name with 421, where the server listens on a loopback address; else none."""
    guarded = is_loopback(listens_on)

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if guarded and not is_loopback(request.headers.get("Host", "")):
            raise web.HTTPMisdirectedRequest(
                text="This worker listens on this machine only, and answers to localhost and 127.0.0.1.\n"
            )
        return await handler(request)

    return check
