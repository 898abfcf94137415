"""JUnit files: counted one by one, never believed to be better than they say, and no text of them is kept."""

import hashlib
from pathlib import Path

import pytest

from unmask.consumers.parity import JUnitUnusable, junit, read_junit
from unmask.consumers.parity.junit import MAX_BYTES

MICROS = 1_000_000
NOON = 1_767_268_800 * MICROS  # 2026-01-01T12:00:00Z

USUAL = """<?xml version="1.0" encoding="utf-8"?>
<testsuites name="all">
  <testsuite name="one" tests="4" failures="1" errors="0" skipped="1" timestamp="2026-01-01T13:00:00+01:00">
    <testcase classname="m" name="a" time="0.1"/>
    <testcase classname="m" name="b"><failure message="secret">trace</failure></testcase>
    <testcase classname="m" name="c"><skipped/><system-out>noise</system-out></testcase>
    <testcase classname="m" name="d"/>
  </testsuite>
  <testsuite name="two" timestamp="2026-01-01T12:30:00Z">
    <testcase name="e"><error/></testcase>
  </testsuite>
</testsuites>
"""


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "run.xml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def counts(folder: Path, text: str | bytes) -> tuple[int, int, int, int]:
    found = read_junit(write(folder, text))
    return found.tests, found.failures, found.errors, found.skipped


def test_a_usual_file_is_counted_and_its_digest_is_that_of_its_bytes(tmp_path: Path) -> None:
    found = read_junit(write(tmp_path, USUAL))
    assert (found.tests, found.failures, found.errors, found.skipped) == (5, 1, 1, 1)
    assert found.digest == hashlib.sha256(USUAL.encode()).hexdigest()
    # The oldest of its suites' times: no part of the run is taken to be fresher than it is.
    assert found.began_at == NOON
    assert "secret" not in repr(found)


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        ("", (0, 0, 0, 0)),
        ("<testcase/>", (1, 0, 0, 0)),
        ("<testcase><skipped/></testcase>", (1, 0, 0, 1)),
        ("<testcase><failure/><failure/></testcase>", (1, 1, 0, 0)),
        ("<testcase><skipped/><failure/><error/></testcase>", (1, 0, 1, 0)),
        ("<testcase><error/><failure/><skipped/></testcase>", (1, 0, 1, 0)),
        # A test that held at last is one that held; JUnit's own summaries say the same.
        ("<testcase><flakyFailure/></testcase>", (1, 0, 0, 0)),
        ("<testcase><failure/><rerunFailure/></testcase>", (1, 1, 0, 0)),
        # What went wrong outside of any test is an error.
        ("<error/><testcase/>", (1, 0, 1, 0)),
        ("<testsuite><testcase/><testsuite><testcase><failure/></testcase></testsuite></testsuite>", (2, 1, 0, 0)),
        # Some runners write a test that was not run, or that failed, without any element in it.
        ('<testcase status="notrun" result="suppressed"/>', (1, 0, 0, 1)),
        ('<testcase status="run" result="SKIPPED"/>', (1, 0, 0, 1)),
        ('<testcase status="failed"/>', (1, 1, 0, 0)),
        ('<testcase status="error"><skipped/></testcase>', (1, 0, 1, 0)),
        ('<testcase status="run" result="completed"/>', (1, 0, 0, 0)),
        # Text that merely looks like an outcome is none.
        ("<testcase><system-out>&lt;failure/></system-out></testcase>", (1, 0, 0, 0)),
        ("<properties><property name='failures'/></properties><testcase/>", (1, 0, 0, 0)),
    ],
)
def test_each_test_counts_once_by_its_worst_outcome(
    tmp_path: Path, inner: str, expected: tuple[int, int, int, int]
) -> None:
    assert counts(tmp_path, f"<testsuite>{inner}</testsuite>") == expected
    assert counts(tmp_path, f"<testsuites><testsuite>{inner}</testsuite></testsuites>") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<testsuite failures="2"><testcase/></testsuite>', (1, 2, 0, 0)),
        ('<testsuites errors="3"><testsuite errors="1"><testcase/></testsuite></testsuites>', (1, 0, 3, 0)),
        ('<testsuite skipped="1"><testcase/></testsuite>', (1, 0, 0, 1)),
        ('<testsuite disabled="1"><testcase/></testsuite>', (1, 0, 0, 1)),
        # A suite that says less than what is in it is not believed.
        ('<testsuite failures="0"><testcase><failure/></testcase></testsuite>', (1, 1, 0, 0)),
        ('<testsuite failures=""><testcase/></testsuite>', (1, 0, 0, 0)),
        ('<j:testsuite xmlns:j="urn:j"><j:testcase><j:failure/></j:testcase></j:testsuite>', (1, 1, 0, 0)),
    ],
)
def test_of_what_a_suite_says_and_what_is_in_it_the_worse_stands(
    tmp_path: Path, text: str, expected: tuple[int, int, int, int]
) -> None:
    assert counts(tmp_path, text) == expected


@pytest.mark.parametrize(
    "stamp",
    ["2026-01-01T12:00:00", "yesterday", "", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"],
)
def test_a_time_without_a_zone_is_no_time(tmp_path: Path, stamp: str) -> None:
    text = f'<testsuites><testsuite timestamp="{stamp}"/><testsuite timestamp="2026-01-01T12:00:00Z"/></testsuites>'
    assert read_junit(write(tmp_path, text)).began_at is None
    assert read_junit(write(tmp_path, "<testsuite/>")).began_at is None


BOMB = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))


@pytest.mark.parametrize(
    "text",
    [
        "<!DOCTYPE testsuite><testsuite/>",
        f'<!DOCTYPE t [<!ENTITY l0 "ha">{BOMB}]><testsuite name="&l11;"/>',
        f'<!DOCTYPE t [<!ENTITY l0 "ha">{BOMB}]><testsuite>&l11;</testsuite>',
        '<!DOCTYPE t [<!ENTITY x SYSTEM "file:///etc/passwd">]><testsuite>&x;</testsuite>',
        '<!DOCTYPE t SYSTEM "http://127.0.0.1:9/x.dtd"><testsuite/>',
        '<!DOCTYPE t [<!ENTITY % p SYSTEM "http://127.0.0.1:9/x.dtd"> %p;]><testsuite/>',
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_document_type_is_refused_in_every_encoding(tmp_path: Path, text: str, encoding: str) -> None:
    with pytest.raises(JUnitUnusable, match="document type"):
        read_junit(write(tmp_path, text.encode(encoding)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no whole XML"),
        ("<testsuite>", "no whole XML"),
        (USUAL[: len(USUAL) // 2], "no whole XML"),
        ("<testsuite>&undefined;</testsuite>", "no whole XML"),
        ("<html/>", "does not begin with"),
        ("<testsuites/><testsuites/>", "no whole XML"),
        ('<testsuite failures="-1"/>', "no count"),
        ('<testsuite errors="many"/>', "no count"),
        ('<testsuite errors="99999999999999999999"/>', "no count"),
        ("<testsuite>" * 200 + "</testsuite>" * 200, "deep"),
        (b"\xff\xfe\x00", "no whole XML"),
        ('<?xml version="1.0" encoding="nonsense"?><testsuite/>', "encoding that is not read"),
        ('<?xml version="1.0" encoding="hex"?><testsuite/>', "encoding that is not read"),
        ('<?xml version="1.0" encoding="shift_jis"?><testsuite/>', "encoding that is not read"),
        ('<?xml version="1.0" encoding="idna"?><testsuite/>', "encoding that is not read"),
        # A parser that looks at one piece again and again takes minutes for what a file may hold.
        (f"<testsuite><a{' ' * 6_000_000}/></testsuite>", "more than 4 MiB"),
        (f"<testsuite><!--{'x' * 6_000_000}--></testsuite>", "more than 4 MiB"),
    ],
)
def test_what_is_no_whole_report_is_refused_with_the_reason(tmp_path: Path, text: str | bytes, said: str) -> None:
    with pytest.raises(JUnitUnusable, match=said):
        read_junit(write(tmp_path, text))


def test_a_file_larger_than_any_report_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_BYTES == 64 << 20
    monkeypatch.setattr(junit, "MAX_BYTES", 1 << 20)
    with pytest.raises(JUnitUnusable, match="1 MiB"):
        read_junit(write(tmp_path, b"<testsuite>" + b" " * (1 << 20) + b"</testsuite>"))


def test_a_file_that_is_not_there_is_told_by_its_path(tmp_path: Path) -> None:
    with pytest.raises(JUnitUnusable, match=r"none\.xml cannot be read"):
        read_junit(tmp_path / "none.xml")
