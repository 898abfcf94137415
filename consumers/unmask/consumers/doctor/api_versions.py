"""Asks a broker's plain listener which requests it knows: Kafka's ApiVersions request, version 0, by hand.

The client library keeps the answer to itself, and names no broker version either.
"""

import socket
import struct

__all__ = ["ApiVersionsUnknown", "ask_api_versions", "parse_answer"]

_API_VERSIONS = 18
_CORRELATION = 1
_CLIENT = b"unmask-doctor"
_LARGEST = 1 << 20


class ApiVersionsUnknown(Exception):
    """The broker did not tell its API versions; the text says how far it came."""


def ask_api_versions(host: str, port: int, timeout: float) -> dict[int, int]:
    """The highest version of each API that the broker knows, by API key. Raises ApiVersionsUnknown."""
    body = struct.pack(f">hhih{len(_CLIENT)}s", _API_VERSIONS, 0, _CORRELATION, len(_CLIENT), _CLIENT)
    try:
        with socket.create_connection((host, port), timeout=timeout) as connection:
            connection.sendall(struct.pack(">i", len(body)) + body)
            (size,) = struct.unpack(">i", _read(connection, 4))
            if not 0 < size <= _LARGEST:
                raise ApiVersionsUnknown("the listener's answer is not Kafka's")
            return parse_answer(_read(connection, size))
    except OSError as error:
        raise ApiVersionsUnknown(f"the listener did not answer ({type(error).__name__})") from error


def parse_answer(answer: bytes) -> dict[int, int]:
    """The versions in an answer without its length. Raises ApiVersionsUnknown."""
    try:
        correlation, failure, count = struct.unpack_from(">ihi", answer)
        if correlation != _CORRELATION or failure != 0:
            raise ApiVersionsUnknown(f"the broker refused to tell its versions (error code {failure})")
        entries = (struct.unpack_from(">hhh", answer, 10 + 6 * index) for index in range(count))
        return {key: newest for key, _, newest in entries}
    except struct.error as error:
        raise ApiVersionsUnknown("the listener's answer is not Kafka's") from error


def _read(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            raise ApiVersionsUnknown("the listener hung up")
        parts += part
    return bytes(parts)
