"""The page's parts on encoding, compatibility, tokens and signatures."""

from textwrap import dedent

from unmask.schemas.compatibility import LEVELS, Level
from unmask.schemas.describe.markdown import table
from unmask.schemas.signatures import SIGNATURE_WORDS, is_unreachable
from unmask.schemas.tokens import INVALID_LABEL, TOKEN_PATTERN

__all__ = ["compatibility", "opening", "signatures", "tokens"]


def opening() -> str:
    """How records become bytes."""
    text = """\
    # The wire contract

    <!-- Made by `python -m unmask.schemas.describe > docs/contract.md`; a test compares the two. -->

    Records are Avro. Without a schema registry a value is single-object encoded: `C3 01`, the CRC-64-AVRO fingerprint
    of its schema (8 bytes, little-endian), the body. With `SCHEMA_REGISTRY_URL` set it has the registry's frame
    instead: `00`, the schema's id (4 bytes, big-endian), the body; the subject is the record's full name. Instants are
    microseconds since the Unix epoch, UTC. A null value on a compacted topic removes its key; an empty value is an
    error.
    """
    return dedent(text).strip()


def compatibility() -> str:
    """How records may change."""
    full = ", ".join(f"`{record}`" for record, level in LEVELS.items() if level is Level.FULL_TRANSITIVE)
    text = f"""\
    ## Compatibility

    - {full}: `FULL_TRANSITIVE`, every version reads every other one. All other records: `BACKWARD_TRANSITIVE`, every
      version reads all older ones, so that readers are upgraded before writers.
    - A published version is never edited. Its fingerprint and a digest of its meaning are pinned in
      `avsc/fingerprints.json`; a change is a new file, `v2.avsc`, and `python -m unmask.schemas.pins` pins it.
    - Every enum that may grow has a type-level default (a default on the field would not help): an older reader sees
      the default instead of the new symbol, and totals stay what they were.
    - A version adds fields with defaults at the top of a record, and symbols to enums, and nothing else. A value is
      written in the oldest version that carries it: byte for byte as before, until it says something that came later.
    - New fields have a default. In a verdict it is null or an empty list, which the digest leaves out: the digests of
      older verdicts stay valid, and a reader that does not know a field that says something refuses the verdict.
    - A reader knows the versions it was installed with. `UNMASK_EXTRA_SCHEMAS` may name a folder with later ones
      (`<record>/v2.avsc`) for it to read; `unmask schemas export` writes one. With a registry it fetches them.
    """
    return dedent(text).strip()


def tokens() -> str:
    """Which texts may stand in a record."""
    text = f"""\
    ## Tokens

    Every text in a record is a bounded token, `{TOKEN_PATTERN}`: 1 to 64 characters of letters, digits, `_`, `-` and
    `.`, not beginning with `-` or `.`, and not shaped like a known credential. On the host

    - an identifier that is none becomes `sha256-` and the first 32 hex digits of its SHA-256, so that host and
      successor, handed the same raw identifier, agree on it;
    - a label (capability, entry point, upstream, release line) that is none becomes `{INVALID_LABEL}`.

    Exceptions, none of them free text: signatures (below), topic names, hex digits, an empty `run_id` in a group of
    attempts, and `-` in a cell of `unmask.tallies` that has no such label.
    """
    return dedent(text).strip()


def signatures() -> str:
    """The grammar of masked upstream signatures."""
    text = """\
    ## Masked upstream signatures

    ```abnf
    signature = "HTTP_" status / "TIMEOUT_" 1*7DIGIT "ms" / word
    status    = %x31-35 2DIGIT          ; 100 to 599
    word      = one of the table below
    ```

    408, 504, 522 and 524 are timeouts; 429 is a rate limit; other 5xx are server errors, other 4xx client errors; below
    400 the answer came and could not be used. An unreachable or exhausted upstream must be probed before a successor
    acts: every timeout, rate limit, quota and connection error, and 502 and 503.
    """
    rows = [
        (f"`{word}`", f"`{meaning}`", "yes" if is_unreachable(word) else "no")
        for word, meaning in SIGNATURE_WORDS.items()
    ]
    return f"{dedent(text).strip()}\n\n{table(('word', 'class', 'probe first'), rows)}"
