"""A network to play with: sites on a ring of backbone cables, made from a seed, so that every run sees the same one."""

from __future__ import annotations

import random
from dataclasses import dataclass

Link = tuple[str, str]

ZONES = ("office", "lab", "plant")
ALLOWED = [
    *((zone, zone) for zone in (*ZONES, "core", "dmz")),
    *((zone, "core") for zone in ZONES),
    *(("core", zone) for zone in ZONES),
    ("core", "dmz"),
    ("dmz", "core"),
    ("internet", "dmz"),
    ("internet", "core"),
]


@dataclass(frozen=True)
class Network:
    """The rows of the four input relations."""

    links: list[Link]
    zones: list[tuple[str, str]]
    allowed: list[tuple[str, str]]
    services: list[tuple[str, int]]


def both_ways(left: str, right: str) -> list[Link]:
    """A cable: traffic flows in both directions."""
    return [(left, right), (right, left)]


def build(sites: int, hosts_per_site: int, seed: int = 7) -> Network:
    """A gateway per site, the gateways in a ring, hosts behind their gateway, and the internet before a small DMZ.

    Some hosts only send (sensors), and some only listen.
    """
    dice = random.Random(seed)
    gateways = [f"gw-{site:02}" for site in range(sites)]
    links = [link for site in range(sites) for link in both_ways(gateways[site], gateways[(site + 1) % sites])]
    zones = [(gateway, "core") for gateway in gateways] + [("internet", "internet")]
    services: list[tuple[str, int]] = []
    for site, gateway in enumerate(gateways):
        zone = ZONES[site % len(ZONES)]
        for number in range(hosts_per_site):
            host = f"{zone}-{site:02}-{number:02}"
            zones.append((host, zone))
            kind = dice.random()
            links += [(host, gateway)] if kind < 0.2 else [(gateway, host)] if kind < 0.3 else both_ways(gateway, host)
            if dice.random() < 0.1:
                services.append((host, dice.choice((22, 443, 5432, 8080))))
    for number in range(4):
        host = f"dmz-{number}"
        zones.append((host, "dmz"))
        links += [("internet", host), *both_ways(host, gateways[number % 2])]
        services.append((host, 443))
    return Network(links, zones, list(ALLOWED), services)
