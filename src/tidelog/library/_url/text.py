"""URL text ↔ its parts, by the WHATWG standard.

The text is cut from the outside in: fragment, query, scheme, authority, path. All parts are kept percent-encoded, so
parts that were read once are written again as they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import unquote_to_bytes

PORTS = {"ftp": 21, "file": None, "http": 80, "https": 443, "ws": 80, "wss": 443}

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_AROUND = "".join(map(chr, range(0x21)))
_DRIVE = re.compile(r"[A-Za-z][:|]")
_FORBIDDEN_IN_HOSTS = frozenset("\0\t\n\r #/:<>?@[\\]^|")
_FORBIDDEN_IN_DOMAINS = _FORBIDDEN_IN_HOSTS | frozenset("%\x7f") | frozenset(map(chr, range(0x20)))

_FRAGMENT = frozenset(' "<>`')
_QUERY = frozenset(' "#<>')
_SPECIAL_QUERY = _QUERY | frozenset("'")
_PATH = _QUERY | frozenset("?`{}")
_USER = _PATH | frozenset("/:;=@[\\]^|")


class BadUrlError(ValueError):
    """Why a text is no URL."""


@dataclass(frozen=True, slots=True)
class Url:
    """The parts of a URL; `opaque` is the path of one that cannot be a base, and then there are no `segments`."""

    scheme: str
    username: str = ""
    password: str = ""
    host: str | None = None
    is_domain: bool = False
    port: int | None = None
    segments: tuple[str, ...] = ()
    opaque: str | None = None
    query: str | None = None
    fragment: str | None = field(default=None)

    @property
    def is_special(self) -> bool:
        return self.scheme in PORTS

    @property
    def path(self) -> str:
        return self.opaque if self.opaque is not None else "".join(f"/{segment}" for segment in self.segments)

    def __str__(self) -> str:
        text = f"{self.scheme}:"
        if self.host is not None:
            text += "//"
            if self.username or self.password:
                text += self.username + (f":{self.password}" if self.password else "") + "@"
            text += self.host + ("" if self.port is None else f":{self.port}")
        elif len(self.segments) > 1 and not self.segments[0]:
            # Without this the path would be read as an authority.
            text += "/."
        text += self.path
        text += "" if self.query is None else f"?{self.query}"
        return text + ("" if self.fragment is None else f"#{self.fragment}")


@lru_cache(maxsize=4096)
def parse_url(text: str, base: Url | None = None) -> Url:
    """The URL that a text is, as seen from the base if there is one; raises BadUrlError."""
    text = re.sub(r"[\t\n\r]", "", text.strip(_AROUND))
    text, has_fragment, fragment = text.partition("#")
    url = _without_fragment(text, base, bool(has_fragment))
    return replace(url, fragment=_encoded(fragment, _FRAGMENT) if has_fragment else None)


def _without_fragment(text: str, base: Url | None, has_fragment: bool) -> Url:
    found = _SCHEME.match(text)
    if found is None:
        if base is None:
            raise BadUrlError("relative URL without a base")
        if base.opaque is not None:
            if text or not has_fragment:
                raise BadUrlError("relative URL with a cannot-be-a-base base")
            return base
        return _relative(text, base)
    scheme, rest = found[1].lower(), text[found.end() :]
    slashes = r"[/\\]" if scheme in PORTS else "/"
    if scheme == "file":
        same = base if base is not None and base.scheme == "file" else Url("file", host="", segments=("",))
        return _relative(rest, same)
    if scheme in PORTS:
        if base is not None and base.scheme == scheme and not re.match(r"[/\\]{2}", rest):
            return _relative(rest, base)
        return _with_authority(scheme, re.sub(rf"^{slashes}*", "", rest))
    if rest.startswith("//"):
        return _with_authority(scheme, rest[2:])
    rest, query = _cut_query(rest, scheme)
    if rest.startswith("/"):
        return Url(scheme, segments=_segments(rest[1:], (), scheme), query=query)
    return Url(scheme, opaque=_encoded(rest, frozenset()), query=query)


def _relative(text: str, base: Url) -> Url:
    """A text without a scheme."""
    special = base.is_special
    if re.match(r"[/\\]{2}" if special else "//", text):
        return _file_host(text[2:], base) if base.scheme == "file" else _with_authority(base.scheme, text[2:])
    rest, query = _cut_query(text, base.scheme)
    if not rest:
        return replace(base, query=query if "?" in text else base.query, fragment=None)
    if rest[0] == "/" or (special and rest[0] == "\\"):
        above, rest = _drive(base), rest[1:]
    elif base.scheme == "file" and _DRIVE.match(rest):
        above = ()
    else:
        above = base.segments[:-1]
    return replace(base, segments=_segments(rest, above, base.scheme), query=query, fragment=None)


def _drive(base: Url) -> tuple[str, ...]:
    """The drive letter that a path from the root of a file URL keeps."""
    first = base.segments[:1]
    return first if base.scheme == "file" and first and _DRIVE.fullmatch(first[0]) else ()


def _file_host(text: str, base: Url) -> Url:
    authority, rest, query = _cut_authority(text, "file")
    if _DRIVE.fullmatch(authority):
        authority, rest = "", f"/{authority}{rest}"
    host = _host(authority, "file")[0] if authority else ""
    host = "" if host == "localhost" else host
    return Url("file", host=host, segments=_segments(rest[1:], (), "file"), query=query)


def _with_authority(scheme: str, text: str) -> Url:
    """A text behind the slashes: user, host, port, path and query."""
    authority, rest, query = _cut_authority(text, scheme)
    user, at, where = authority.rpartition("@")
    name, _, password = user.partition(":")
    number = re.search(r":([0-9]*)$", where)
    if number is None and re.search(r":[^\]]*$", where) and not where.endswith("]"):
        raise BadUrlError("invalid port number")
    port = int(number[1]) if number and number[1] else None
    if port is not None and port > 0xFFFF:
        raise BadUrlError("invalid port number")
    name_of_host = where[: number.start()] if number else where
    if not name_of_host and (scheme in PORTS or at or number):
        raise BadUrlError("empty host")
    host, is_domain = _host(name_of_host, scheme) if name_of_host else ("", False)
    segments = _segments(rest[1:], (), scheme) if rest or scheme in PORTS else ()
    return Url(
        scheme,
        username=_encoded(name, _USER),
        password=_encoded(password, _USER),
        host=host,
        is_domain=is_domain,
        port=None if port == PORTS.get(scheme, -1) else port,
        segments=segments,
        query=query,
    )


def _cut_authority(text: str, scheme: str) -> tuple[str, str, str | None]:
    """The authority, the path with its slash, and the query."""
    text, query = _cut_query(text, scheme)
    end = re.search(r"[/\\]" if scheme in PORTS else "/", text)
    return (text[: end.start()], text[end.start() :], query) if end else (text, "", query)


def _cut_query(text: str, scheme: str) -> tuple[str, str | None]:
    before, has_query, query = text.partition("?")
    return before, _encoded(query, _SPECIAL_QUERY if scheme in PORTS else _QUERY) if has_query else None


def _segments(text: str, above: tuple[str, ...], scheme: str) -> tuple[str, ...]:
    """The segments of a path below others; `.` and `..` are resolved."""
    found = list(above)
    parts = re.split(r"[/\\]" if scheme in PORTS else "/", text)
    for index, part in enumerate(parts):
        is_last = index == len(parts) - 1
        dots = re.sub("%2e", ".", part, flags=re.IGNORECASE)
        if dots == "..":
            if found and not (scheme == "file" and len(found) == 1 and _DRIVE.fullmatch(found[0])):
                found.pop()
            if is_last:
                found.append("")
        elif dots == ".":
            if is_last:
                found.append("")
        elif scheme == "file" and not found and _DRIVE.fullmatch(part):
            found.append(f"{part[0]}:")
        else:
            found.append(_encoded(part, _PATH))
    return tuple(found)


def _host(text: str, scheme: str) -> tuple[str, bool]:
    """The host as it is written, and whether it is a name."""
    if text.startswith("["):
        if not text.endswith("]") or "%" in text:
            raise BadUrlError("invalid IPv6 address")
        try:
            return f"[{IPv6Address(text[1:-1]).compressed}]", False
        except AddressValueError:
            raise BadUrlError("invalid IPv6 address") from None
    if scheme not in PORTS:
        if _FORBIDDEN_IN_HOSTS & set(text):
            raise BadUrlError("invalid domain character")
        return _encoded(text, frozenset()), True
    name = unquote_to_bytes(text).decode(errors="replace").lower()
    if not name.isascii():
        try:
            name = name.encode("idna").decode()
        except UnicodeError:
            raise BadUrlError("invalid international domain name") from None
    if not name:
        raise BadUrlError("empty host")
    if _FORBIDDEN_IN_DOMAINS & set(name):
        raise BadUrlError("invalid domain character")
    number = _ipv4(name)
    return (name, True) if number is None else (str(IPv4Address(number)), False)


def _ipv4(name: str) -> int | None:
    """The number that a host is which ends in one; None for a name."""
    parts = name.removesuffix(".").split(".")
    if not re.fullmatch(r"[0-9]+|0x[0-9a-f]*", parts[-1]):
        return None
    numbers = []
    for part in parts:
        if not re.fullmatch(r"0x[0-9a-f]*|0[0-7]*|[1-9][0-9]*", part) or len(part) > 20:
            raise BadUrlError("invalid IPv4 address")
        digits, radix = (part[2:], 16) if part.startswith("0x") else (part, 8 if part.startswith("0") else 10)
        numbers.append(int(digits or "0", radix))
    *front, last = numbers
    if len(numbers) > 4 or any(number > 255 for number in front) or last >= 256 ** (5 - len(numbers)):
        raise BadUrlError("invalid IPv4 address")
    return last + sum(number << 8 * (3 - index) for index, number in enumerate(front))


def _encoded(text: str, reserved: frozenset[str]) -> str:
    """The text with reserved, control and non-ASCII characters percent-encoded."""
    if text.isascii() and text.isprintable() and not reserved & set(text):
        return text
    return "".join(
        char if " " <= char <= "~" and char not in reserved else "".join(f"%{byte:02X}" for byte in char.encode())
        for char in text
    )
