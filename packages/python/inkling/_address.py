"""Finds the visitor's address behind any number of proxies, for every web framework."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import List, Optional, Sequence, Union

_NAMED = {
    "loopback": ("127.0.0.0/8", "::1/128"),
    "private": ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),
}
_MAPPED = IPv6Network("::ffff:0:0/96")
_PREFIX = re.compile(r"/(?:0|[1-9][0-9]{0,2})\Z")
_Address = Union[IPv4Address, IPv6Address]
# Addresses with a port, as some proxies write them: "203.0.113.9:1234" and "[2001:db8::1]:1234".
_WITH_PORT = re.compile(r"\[([^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5}")


def visitor_address(
    peer: Optional[str], forwarded_for: Optional[str] = None, *, trust_proxy: Union[int, Sequence[str]] = 0
) -> Optional[str]:
    """Returns the visitor's address in normal form, or None if it is unknown.

    `peer` is the connection's address: REMOTE_ADDR in WSGI, `scope["client"][0]` in ASGI. `forwarded_for` is the
    X-Forwarded-For header. `trust_proxy` describes the proxies in front of the application, either by their number or
    by their networks: `["loopback", "private", "203.0.113.0/24"]`. The header is read from the right, where trusted
    proxies append. Without trusted proxies it is not read, because visitors can send it themselves.

    Raises ValueError if `trust_proxy` is wrong.
    """
    hops = forwarded_for.split(",") if forwarded_for is not None else []
    if isinstance(trust_proxy, int):
        if isinstance(trust_proxy, bool) or not 0 <= trust_proxy <= 32:
            raise ValueError("inkling: trust_proxy must be a number of proxies from 0 to 32, or a list of networks")
        hop = peer if trust_proxy == 0 or not hops else hops[max(0, len(hops) - trust_proxy)]
        return _text(_parse(hop))
    networks = _networks(trust_proxy)
    visitor = _parse(peer)
    while hops and visitor is not None and any(visitor in network for network in networks):
        visitor = _parse(hops.pop())
    return _text(visitor)


def _networks(trusted: Sequence[str]) -> List[Union[IPv4Network, IPv6Network]]:
    if isinstance(trusted, str):
        raise ValueError('inkling: trust_proxy must be a list, such as ["loopback", "10.0.0.0/8"]')
    return [_network(text) for name in trusted for text in _NAMED.get(name, (name,))]


def _network(text: str) -> Union[IPv4Network, IPv6Network]:
    """Reads a network. Like addresses, IPv4 inside IPv6 (::ffff:10.0.0.0/104) becomes the IPv4 network."""
    if "/" in text and not _PREFIX.search(text):
        raise ValueError("inkling: trust_proxy contains %r, which is not a network" % text)
    network = ip_network(text)
    if isinstance(network, IPv4Network) or not network.subnet_of(_MAPPED):
        return network
    return ip_network((int(network.network_address) & 0xFFFFFFFF, network.prefixlen - 96))


def _parse(text: Optional[str]) -> Optional[_Address]:
    found = _WITH_PORT.fullmatch((text or "").strip())
    plain = (found.group(1) or found.group(2)) if found else (text or "").strip()
    try:
        address = ip_address(plain.split("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _text(address: Optional[_Address]) -> Optional[str]:
    return None if address is None else str(address)
