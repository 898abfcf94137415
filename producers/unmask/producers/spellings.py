"""How errors are spelled in texts: one ordered table from patterns to signatures. The text itself goes nowhere.

The order decides: a status beats a word ("503 ... timeout" is a 503), a provider's own error beats a duration beside
it ("finish reason error after 3 s" is no timeout), and a timeout beats the connection that it happened on.
"""

import re

from unmask.producers.remembered import LONGEST, Remembered
from unmask.producers.sieve import Sieve

__all__ = ["LONGEST", "milliseconds_in", "signature_in", "timeout_signature"]

_LONGEST_MS = 9_999_999
_ADDRESS = re.compile(r"[a-z][a-z0-9+.\-]{1,15}://\S+|(?<![\w])/[\w\-./%]{2,}", re.IGNORECASE)
_NOT_A_DURATION = r"(?!\s*(?:m?s|msecs?|sec\w*|milli\w*|min\w*)\b)(?![\d.]*\d)"
_STATUS = re.compile(
    r"(?:\bhttp(?:/\d(?:\.\d)?)?|\bstatus(?:[\s_-]?code)?|\berror(?:[\s_-]?code)?|\bcode|\breturned|\bresponded|"
    r"\bresponse|\banswered|\bgot|\breceived)[\s:=_#'\"(\[-]{0,4}(?:with\s|an?\s|http\s|status\s|code\s){0,3}"
    rf"[:=]?\s?([1-5]\d\d)\b{_NOT_A_DURATION}",
    re.IGNORECASE,
)
_LEADING_STATUS = re.compile(rf"\W{{0,3}}([45]\d\d)\b{_NOT_A_DURATION}")
_PHRASES = {
    "bad gateway": 502,
    "service unavailable": 503,
    "service temporarily unavailable": 503,
    "gateway timeout": 504,
    "gateway time-out": 504,
    "too many requests": 429,
    "internal server error": 500,
}
_PHRASE = re.compile("|".join(_PHRASES), re.IGNORECASE)
_PHRASE_ROOTS = "gateway unavailable many internal"

# Of each signature: the roots of its pattern (see Sieve), and the pattern.
_SPELLINGS: tuple[tuple[str, str, str], ...] = (
    (
        "QUOTA_EXHAUSTED",
        "insufficient quota credit budget billing payment",
        r"insufficient[\s_-]?(?:quota|funds|credits?|balance)|quota[\s\w]{0,24}(?:exceed|exhaust|reached|used up)|"
        r"(?:exceed|exhaust)\w*[\s\w]{0,24}quota|quota[\s_-]?exceeded|out of (?:credits?|quota|budget)|"
        r"billing[\s_-]?(?:hard[\s_-]?)?limit|credit balance|budget[\s\w]{0,12}(?:exceed|exhaust)|"
        r"payment required|(?:no|not enough) credits?\b",
    ),
    (
        "RATE_LIMITED",
        "limit throttl request exhausted slow tokens",
        r"rate[\s_-]?limit|ratelimit|throttl|too[\s_-]?many[\s_-]?requests|resource[\s_-]?exhausted|slow[\s_-]?down|"
        r"requests? per (?:second|minute|day)|tokens per minute",
    ),
    (
        "NOT_ATTEMPTED",
        "circuit breaker attempted permitted",
        r"circuit(?:[\s_-]?breaker)?[\s\w'\"]{0,40}\bopen|circuit[\s_-]?open|breaker[\s_-]?open|open[\s_-]?circuit|"
        r"breaker is open|not[\s_-]?attempted|call[\s_-]?not[\s_-]?permitted",
    ),
    (
        "PROVIDER_ERROR",
        "reason",
        r"finish[\s_-]?reason\W{0,6}(?:of\s|is\s|was\s)?\W{0,2}error|stop[\s_-]?reason\W{0,6}error",
    ),
    (
        "TIMEOUT",
        "time deadline terminated respon answer reply took",
        r"time[ds]?[\s_-]?out(?!\s+(?:must|should|parameter|argument|value))|"
        r"deadline[\s_-]?(?:has[\s_-]?|was[\s_-]?|is[\s_-]?)?(?:been[\s_-]?)?(?:exceed|elapsed|expired|passed|"
        r"reached|missed|over)|(?:exceeded|missed|past|after)[\s\w]{0,12}deadline|"
        r"\A\W{0,3}(?:\w{1,30}:\s*)?terminated\W{0,3}\Z|"
        r"(?:did not|didn't|does not|failed to|no) (?:respon[ds]e?|answer|reply)\w*[\s\w]{0,20}"
        r"(?:in time|within|after \d)|took too long|time[\s_-]?limit[\s_-]?(?:exceed|reached)|"
        r"(?:exceed\w*|over)[\s\w]{0,12}time[\s_-]?limit|(?:max\w*\s)?execution time\s?(?:exceed|limit)|"
        r"\bw?s?a?etimedout|esockettimedout|und_err_\w*timeout",
    ),
    (
        "DNS_FAILURE",
        "getaddrinfo enotfound again known resol nodename such dns nxdomain",
        r"getaddrinfo|enotfound|eai_again|name or service not known|(?:name|host\w*)[\s\w]{0,16}resol|"
        r"could not resolve|nodename nor servname|no such host|dns (?:error|failure|lookup)|unknown host|nxdomain",
    ),
    (
        "TLS_FAILURE",
        "ssl tls cert signed verify handshake",
        r"\b(?:ssl|tls)\b|certificate (?:verify|has expired|is not|error|unknown)|cert_has_expired|self[\s-]signed|"
        r"sslerror|sslv3|tlsv1|unable_to_verify_leaf|handshake fail",
    ),
    ("CONNECTION_REFUSED", "refused", r"connection refused|econnrefused|actively refused|refused the connection"),
    (
        "STREAM_BROKEN",
        "incomplete stream premature unexpected without payload closed",
        r"incomplete(?:\s|_)?(?:chunked|read|message|response)|stream[\s\w]{0,24}(?:broke|broken|cut|interrupt|"
        r"ended early|closed|reset|error|abort)|premature\w*[\s\w]{0,12}(?:close|end|eof)|"
        r"unexpected (?:eof|end of)|without sending complete|payload is not completed|connection closed mid",
    ),
    (
        "CONNECTION_RESET",
        "connection reset aborted pipe hang disconnected remote",
        r"connection[\s\w]{0,16}(?:reset|aborted|closed|lost|dropped|terminated)|econnreset|econnaborted|epipe|"
        r"broken pipe|socket hang up|server disconnected|remote end closed|remotedisconnected|reset by peer",
    ),
    (
        "CONNECTION_FAILED",
        "connect unreach route fetch network",
        r"connection (?:error|fail)|connect(?:ion)? (?:attempts? )?failed|failed to connect|cannot connect|"
        r"could not connect|unable to connect|"
        r"ehostunreach|enetunreach|network is unreachable|no route to host|host is unreachable|fetch failed|"
        r"network error|unreachable",
    ),
    (
        "AUTH_REFUSED",
        "auth invalid incorrect permission forbidden access expired credential",
        r"unauthori[sz]ed|unauthenticated|authentication|invalid[\s_-]?(?:api[\s_-]?key|token|credential)|"
        r"incorrect api key|permission[\s_-]?denied|forbidden|access[\s_-]?denied|expired (?:token|credential|key)|"
        r"token[\s\w]{0,8} expired|invalid_grant|not authori[sz]ed|credentials? (?:missing|expired|invalid)",
    ),
    (
        "INVALID_RESPONSE",
        "invalid malformed json parse decod expecting unexpected empty validation",
        r"invalid[\s_-]?(?:response|json|payload)|malformed (?:response|json|payload|answer)|"
        r"(?:json|parse|decod)\w*[\s_-]?(?:decode)?[\s_-]?(?:error|fail)|expecting value|unexpected token|"
        r"(?:could not|cannot|failed to|unable to) (?:parse|decode)|empty (?:response|answer|body)|"
        r"schema validation|validation errors? for",
    ),
    (
        "PROVIDER_ERROR",
        "error overloaded gateway unavailable",
        r"provider[\s_-]?error|server[\s_-]?error|upstream[\s_-]?error|overloaded|model[\s_-]?error|"
        r"bad[\s_-]?gateway|service[\s_-]?unavailable|temporarily unavailable|\bapi[\s_-]?error|"
        r"internal[\s_-]?error",
    ),
)
_SIEVE = Sieve([*(roots for _, roots, _ in _SPELLINGS), _PHRASE_ROOTS])
_PHRASE_BIT = 1 << len(_SPELLINGS)
_WORDS = tuple(
    (1 << number, signature, re.compile(pattern, re.IGNORECASE))
    for number, (signature, _, pattern) in enumerate(_SPELLINGS)
)
_HUNDREDS = re.compile(r"[1-5]\d\d")
_NO_TIMEOUT = re.compile(r"invalid\s(?:value\sfor\s)?timeout", re.IGNORECASE)

_DIGIT = re.compile(r"\d")
_DURATION = re.compile(
    r"(?<![\w.])(\d{1,9}(?:\.\d{1,9})?)\s?_?(ms|msecs?|millis(?:econds?)?|s|secs?|seconds?|m|mins?|minutes?)(?![a-z])",
    re.IGNORECASE,
)
_JOINED_MS = re.compile(r"time[\s_-]?d?[\s_-]?out[\s_-]?(\d{1,9})\s?(ms|s)(?![a-z])", re.IGNORECASE)
_SECONDS_FIELD = re.compile(r"timeout\s?=\s?(\d{1,6}(?:\.\d{1,6})?)(?![\w.])", re.IGNORECASE)


def timeout_signature(milliseconds: float | None) -> str:
    """`TIMEOUT_5000ms` where the time is known and fits the grammar, else `TIMEOUT`."""
    if milliseconds is None or not 0 < milliseconds <= _LONGEST_MS:
        return "TIMEOUT"
    return f"TIMEOUT_{max(1, round(milliseconds))}ms"


def milliseconds_in(text: str) -> float | None:
    """The duration that a text about a timeout states, in milliseconds; None where it states none."""
    if _DIGIT.search(text) is None:
        return None
    found = _JOINED_MS.search(text) or _DURATION.search(text)
    if found is not None:
        return float(found.group(1)) * _unit(found.group(2).lower())
    field = _SECONDS_FIELD.search(text)
    return None if field is None else float(field.group(1)) * 1000


def _unit(unit: str) -> int:
    if unit.startswith(("ms", "milli")):
        return 1
    return 60_000 if unit.startswith("m") else 1000


def _signature_in(text: str) -> str | None:
    if "/" in text:
        # What stands in an address is a name, not a complaint: /api/timeout-settings did not time out.
        text = _ADDRESS.sub(" ", text)
    may = _SIEVE.of(text)
    quota_bit, quota_exhausted, quota = _WORDS[0]
    if may & quota_bit and quota.search(text):
        return quota_exhausted
    if _HUNDREDS.search(text):
        status = _LEADING_STATUS.match(text) or _STATUS.search(text)
        if status is not None and int(status.group(1)) >= 400:
            return f"HTTP_{status.group(1)}"
    phrase = _PHRASE.search(text) if may & _PHRASE_BIT else None
    if phrase is not None:
        return f"HTTP_{_PHRASES[phrase.group(0).lower()]}"
    for bit, signature, pattern in _WORDS:
        if not may & bit or pattern.search(text) is None:
            continue
        if signature != "TIMEOUT":
            return signature
        if _NO_TIMEOUT.search(text) is None:
            return timeout_signature(milliseconds_in(text))
    return None


signature_in = Remembered(_signature_in)
"""The signature that a text spells, None where it spells none. Looks at the first 2,000 characters."""
