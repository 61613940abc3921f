"""URLs are parsed by the WHATWG standard."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.library import url
from tidelog.library._runtime.option_result import NONE, Err, Ok, Some


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("https://example.net", "https://example.net/"),
        (
            ' HTTP://User:Pa%20ss@EXAMPLE.com:80/a/../b/./c?x y#z " ',
            "http://User:Pa%20ss@example.com/b/c?x%20y#z%20%22",
        ),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://1.2.3", "http://1.2.0.3/"),
        ("http://[0:0::1]:8080/", "http://[::1]:8080/"),
        ("http:///a", "http://a/"),
        ("https:\\\\x\\y", "https://x/y"),
        ("ht\ntp://a\t.b", "http://a.b/"),
        ("file:///C|/a/../..", "file:///C:/"),
        ("file://localhost/etc", "file:///etc"),
        ("mailto:a@b", "mailto:a@b"),
        ("foo://Bar/é", "foo://Bar/%C3%A9"),
        ("foo:/a/..//b", "foo:/.//b"),
        ("http://münchen.de/", "http://xn--mnchen-3ya.de/"),
        ("http://a.b/%2e%2E/c", "http://a.b/c"),
        ("ws://a/?'", "ws://a/?%27"),
        ("http://straße.de/", "http://xn--strae-oqa.de/"),
        ("http://a/^", "http://a/%5E"),
        ("mailto:a #b", "mailto:a #b"),
        ("mailto:a%20#b", "mailto:a%20#b"),
    ],
)
def test_the_normal_form(text: str, normal: str) -> None:
    assert url.url_parse(text) == Ok(normal)
    assert url.url_parse(normal) == Ok(normal)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("//x", "relative URL without a base"),
        ("", "relative URL without a base"),
        ("http://", "empty host"),
        ("http://@/", "empty host"),
        ("http://256.1.1.1", "invalid IPv4 address"),
        ("http://[::1", "invalid IPv6 address"),
        ("http://ex ample", "invalid domain character"),
        ("http://a:99999/", "invalid port number"),
        ("http://a:b/", "invalid port number"),
        ("http://:80/", "empty host"),
        ("http://a b:c/", "invalid domain character"),
        ("http://a\u200d/", "invalid international domain name"),
        ("file://a:80/", "invalid domain character"),
    ],
)
def test_invalid_urls(text: str, problem: str) -> None:
    assert url.url_parse(text) == Err(problem)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("g", "http://a/b/c/g"),
        ("./g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g/"),
        ("?y", "http://a/b/c/d;p?y"),
        ("#s", "http://a/b/c/d;p?q#s"),
        ("", "http://a/b/c/d;p?q"),
        ("..", "http://a/b/"),
        ("../../../g", "http://a/g"),
        ("http:g", "http://a/b/c/g"),
        ("mailto:x", "mailto:x"),
    ],
)
def test_a_url_as_seen_from_another(text: str, seen: str) -> None:
    assert url.join("http://a/b/c/d;p?q#f", text) == Ok(seen)


def test_some_urls_are_no_base() -> None:
    assert url.cannot_be_a_base("data:text/plain,Stuff")
    assert not url.cannot_be_a_base("unix:/run/foo.socket")
    assert url.join("mailto:a", "x") == Err("relative URL with a cannot-be-a-base base")
    assert url.join("mailto:a", "#x") == Ok("mailto:a#x")
    assert url.join("mailto:a ?b", "#x") == Ok("mailto:a ?b#x")


def test_the_parts_of_a_url() -> None:
    text = "https://me:secret@example.com:8443/a/b?x=1#top"
    assert (url.scheme(text), url.username(text), url.password(text)) == ("https", "me", Some("secret"))
    assert url.host_str(text) == url.domain(text) == Some("example.com")
    assert url.port(text) == Some(8443)
    assert (url.path(text), url.query(text), url.fragment(text)) == ("/a/b", Some("x=1"), Some("top"))


def test_parts_that_are_not_there() -> None:
    assert url.port("https://example.com/") == NONE
    assert url.port_or_known_default("https://example.com/") == Some(443)
    assert url.domain("https://127.0.0.1/") == NONE
    assert url.host_str("file:///tmp/foo") == NONE
    assert not url.has_authority("unix:/run/foo.socket")
    assert url.query("https://example.com/") == NONE


@given(st.text(alphabet="abhtpfile:/\\?#@[]%.2e0 é", max_size=25))
def test_the_normal_form_is_normal(text: str) -> None:
    parsed = url.url_parse(text)
    if isinstance(parsed, Ok):
        assert url.url_parse(parsed.res) == parsed  # type: ignore[attr-defined]
