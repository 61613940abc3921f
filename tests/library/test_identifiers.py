"""UUIDs, base64, IP addresses."""

from __future__ import annotations

import pytest

from tests.library.declare import externs_of
from tidelog.library import base64
from tidelog.library._runtime.option_result import NONE, Err, Ok, Some
from tidelog.library.net import ipv4, ipv6
from tidelog.values.vec import Vec

uuid = externs_of("uuid")
NUMBER = 0x0436430C2B02624C2032570501212B57
TEXT = "0436430c-2b02-624c-2032-570501212b57"


def test_the_forms_of_a_uuid() -> None:
    assert uuid.to_hyphenated_lower(NUMBER) == TEXT
    assert uuid.to_hyphenated_upper(NUMBER) == TEXT.upper()
    assert uuid.to_simple_lower(NUMBER) == TEXT.replace("-", "")
    assert uuid.to_urn_upper(NUMBER) == f"urn:uuid:{TEXT.upper()}"


@pytest.mark.parametrize("text", [TEXT, TEXT.upper(), TEXT.replace("-", ""), f"urn:uuid:{TEXT}"])
def test_every_form_of_a_uuid_can_be_read(text: str) -> None:
    assert uuid.parse_str(text) == Ok(NUMBER)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "invalid length: expected one of [36, 32], found 0"),
        ("F9168C5E-CEB2-4faa-B6BF-329BF39FA1E45", "invalid length: expected one of [36, 32], found 37"),
        (
            "F9168C5E-CEB2-4faa-BGBF-329BF39FA1E4",
            "invalid character: expected an optional prefix of `urn:uuid:` followed by 0123456789abcdefABCDEF-, "
            "found G at 20",
        ),
        ("F9168C5E-CEB2F4faaFB6BFF329BF39FA1E4", "invalid number of groups: expected one of [1, 5], found 2"),
        ("F9168C5E-CEB-24fa-eB6BFF32-BF39FA1E4", "invalid group length: expected 4, found 3 in group 1"),
        ("01020304-1112-2122-3132-41424344", "invalid group length: expected 12, found 8 in group 4"),
    ],
)
def test_invalid_uuids(text: str, problem: str) -> None:
    assert uuid.parse_str(text) == Err(problem)


def test_little_endian_turns_all_bytes_around() -> None:
    assert uuid.to_hyphenated_lower(uuid.from_u128_le(NUMBER)) == "572b2101-0557-3220-4c62-022b0c433604"
    assert uuid.to_u128_le(uuid.from_u128_le(NUMBER)) == NUMBER


def test_a_name_in_a_namespace() -> None:
    namespace = uuid.parse_str("5a5e7dd9-e3fb-49bb-b263-9bab25c95841").res
    name = Vec(b"namespace=nsA And podSelector=")
    assert uuid.to_hyphenated_lower(uuid.new_v5(namespace, name)) == "add8dd4c-920c-5c39-9386-a0c2ca6903fa"


def test_a_uuid_has_sixteen_bytes() -> None:
    assert uuid.from_bytes(Vec(range(16))) == Ok(0x000102030405060708090A0B0C0D0E0F)
    assert uuid.from_bytes(Vec([1])) == Err("invalid bytes length: expected 16, found 1")


@pytest.mark.parametrize(
    ("text", "data"),
    [("AAECAw==", [0, 1, 2, 3]), ("AAECAw", [0, 1, 2, 3]), ("TEST", [76, 68, 147]), ("", []), ("AA=", [0])],
)
def test_base64_with_or_without_padding(text: str, data: list[int]) -> None:
    assert base64.decode(text) == Ok(Vec(data))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("!@#!@#", "Invalid byte 33 at position 0"),
        ("Hello !@#!@#", "Invalid byte 32 at position 5"),
        ("A", "Invalid length"),
        ("AAAA\n", "Invalid byte 10 at position 4"),
        ("A===", "Invalid byte 61 at position 1"),
        ("AA=A", "Invalid byte 61 at position 2"),
        ("AA==AAAA", "Invalid byte 61 at position 2"),
        ("AB==", "Invalid last byte 66 at position 1"),
        ("AAB=", "Invalid last byte 66 at position 2"),
        ("é", "Invalid byte 195 at position 0"),
    ],
)
def test_invalid_base64(text: str, problem: str) -> None:
    assert base64.decode(text) == Err(problem)


def test_base64_round_trip() -> None:
    for size in range(10):
        data = Vec(range(250 - size, 250))
        assert base64.decode(base64.encode(data)) == Ok(data)


@pytest.mark.parametrize("text", ["0.0.0.0", "192.168.0.1", "255.255.255.255"])
def test_ipv4_text_round_trip(text: str) -> None:
    assert ipv4.ipv4Addr2string(ipv4.ipv4_from_str(text).res) == text  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["10.10.10.10.1", "1.2.3", "256.0.0.1", "1.2.3.4 ", "01.2.3.4", "1.2.3.4/8", ""])
def test_invalid_ipv4_addresses(text: str) -> None:
    assert ipv4.ipv4_from_str(text) == Err("invalid IP address syntax")


@pytest.mark.parametrize(
    "text",
    ["::", "::1", "::ffff:192.10.2.255", "::175.16.1.2", "102:304:506:708:90a:b0c:d0e:f00", "2001:db8::1", "::0.0.0.2"],
)
def test_ipv6_text_round_trip(text: str) -> None:
    assert ipv6.ipv6Addr2string(ipv6.ipv6_from_str(text).res) == text  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["ffff:192.10.2.255", "1::2::3", "fe80::1%eth0", "::1/64", ""])
def test_invalid_ipv6_addresses(text: str) -> None:
    assert ipv6.ipv6_from_str(text) == Err("invalid IP address syntax")


def test_addresses_from_their_parts() -> None:
    assert ipv4.ipv4_from_octet_vec(Vec([192, 0, 2, 1])) == Some(0xC0000201)
    assert ipv4.ipv4_from_octet_vec(Vec([1])) == NONE
    segments = Vec([0, 0, 0, 0, 0, 0xFFFF, 0xC00A, 0x2FF])
    assert ipv6.ipv6_segment_vec(0xFFFFC00A02FF) == segments
    assert ipv6.ipv6_from_segment_vec(segments) == Some(0xFFFFC00A02FF)
    assert ipv6.ipv6_from_octet_vec(ipv6.ipv6_octet_vec(0xFFFFC00A02FF)) == Some(0xFFFFC00A02FF)
    assert ipv6.ipv6_from_segment_vec(Vec([1])) == NONE
