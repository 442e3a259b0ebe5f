"""What the server does for one client, for one table and in all: every number in one place.

A client is an address (of IPv6 the network, /64): one computer, or everybody behind one router. What a proxy
says about addresses is believed only if `kibitz serve --proxy` names the proxy.
"""

from __future__ import annotations

import ipaddress
import os
import time
from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Limits:
    """The numbers. `docs/generate.py` makes a page of them, with what stands below each."""

    # --- Connections ---
    connections: int = 2000
    """Open at a time, all clients together; fewer if the system allows fewer open files."""
    connections_a_client: int = 400
    """Open at a time, per client; behind a proxy, its WebSockets."""
    connections_a_second: float = 50.0
    """New connections per client, after a first burst of four times `burst`; a proxy's are not counted."""
    sockets_a_second: float = 5.0
    """New WebSockets per client, after an equally large burst: a class reloads its pages at the same time."""
    connections_a_seat: int = 4
    """WebSockets at one seat: a phone, a computer, and some whose end has not been noticed yet."""
    watchers_a_table: int = 200
    """WebSockets that watch one table."""
    watchers_a_client: int = 40
    """WebSockets of one client that watch, at all tables together: enough for a class."""
    requests_at_once: int = 50
    """Connections of one client that are not (yet) WebSockets."""
    waiting_to_connect: int = 2048
    """Connections that the system keeps until the server accepts them."""
    keep_alive_seconds: int = 5
    """Between a response and the next request on a connection."""
    header_seconds: float = 10.0
    """From the start of a connection, or the last response, to the end of a request's head."""
    body_seconds: float = 10.0
    """For the body of a request after its head."""
    first_message_seconds: float = 10.0
    """From the opening of a WebSocket to `join` or `study`."""
    idle_seconds: float = 3600.0
    """Without a message; a page that is still open connects again by itself."""
    send_seconds: float = 20.0
    """For a client to receive what it is sent."""
    ping_seconds: float = 20.0
    """Interval between pings of a WebSocket, which is closed if a reply takes as long."""
    pings_a_second: float = 5.0
    """Per WebSocket; each is answered."""
    frames_a_second: float = 40.0
    """Pings, pongs and pieces of messages, per WebSocket; twice the burst may come at once."""

    # --- Sizes ---
    read_bytes: int = 1024
    """Read from a connection at a time before the others are served: parsing more would hold them up."""
    header_bytes: int = 16_384
    """Of the head of a request."""
    body_bytes: int = 64_000
    """Of the body of a request."""
    message_characters: int = 4096
    """Of a message from a browser at a table."""
    study_characters: int = 60_000
    """Of a message from a browser at no table, and of a pasted text: a whole line of play fits."""
    unread_characters: int = 120_000
    """Of messages on one WebSocket that may wait while an earlier one is processed."""
    line_moves: int = 1000
    """Of a line of play that is studied or played on from."""
    game_characters: int = 200
    """Of the string of a game."""
    move_characters: int = 200
    """Of a move as it is typed."""
    position_characters: int = 4000
    """Of the position that a line begins with, such as a board of Bridge with its auction and comments."""
    boards: int = 500
    """In a pasted text."""
    worlds: int = 50
    """Sampled for one request in a review or study."""
    tokens: int = 100
    """Of tables, in a request for one's own list."""
    name_characters: int = 40
    """Of the name of a person at a table."""
    agent_characters: int = 300
    """Of an agent's string."""
    unsent: int = 500
    """Messages that may wait for a slow connection before it is dropped."""
    unsent_bytes: int = 1_000_000
    """Size of the messages that may wait for a slow connection before it is dropped."""
    log_entries_an_hour: float = 360.0
    """After a first burst; further ones are counted, not written."""
    log_entry_characters: int = 2000
    """Of an entry in the log; longer ones are shortened in the middle."""

    # --- Rates ---
    messages_a_second: float = 20.0
    """Per WebSocket."""
    messages_a_client: float = 40.0
    """Per second, all WebSockets of one client together, after a first burst of four times `burst`; more are
    delayed. Thirty players at their own tables, who think for half a second, send twelve per second.
    """
    requests_a_second: float = 5.0
    """To the lobby and the laboratory, per client."""
    files_a_second: float = 50.0
    """Pages and scripts, per client."""
    burst: int = 60
    """Messages or requests that may come at once; four times as many pages and scripts."""

    # --- Thinking ---
    window_seconds: float = 2.0
    """The pause after a play that may be bombed (`kibitz serve --pause`)."""
    pace_seconds: float = 0.3
    """The least time for an agent's move."""
    thinking_seconds: float = 15.0
    """For a move of an agent, while nobody else waits for a slot."""
    advice_seconds: float = 10.0
    """For advice, while nobody else waits for a slot."""
    review_seconds: float = 1.0
    """For every decision of a game that is reviewed."""
    fair_seconds: float = 0.4
    """After this time a search ends with what it has found when another client waits for a slot."""
    parse_seconds: float = 2.0
    """For reading a pasted text or a line of play, such as 100 boards; then the parser is stopped."""
    record_seconds: float = 5.0
    """For reading what was played at a table: 4,700 moves of Tichu take two seconds. The same for a list of
    one's own tables, all together.
    """
    laboratory_seconds: float = 120.0
    """For a page of the laboratory: a large experiment is evaluated again when games were added."""
    threads: int = 0
    """Slots of the worker process for moves, the same number for answers in a pause, and one more for advice,
    studies and parsing; the laboratory has one. 0: one per core, but at least 2 and at most 4.
    """
    waiting_a_client: int = 50
    """Requests for advice, study and parsing of one client that may wait for a slot."""
    moves_waiting_a_client: int = 400
    """Moves at tables of one client that may wait for a slot; further moves are made by rules of thumb."""
    half_life_seconds: float = 30.0
    """After this time, what a client has used counts half when the next client to serve is chosen."""
    grace_seconds: float = 1.0
    """How long a stopped search may take to answer before it is abandoned."""
    stuck_seconds: float = 20.0
    """How long work past its limit may take to end before the worker process is restarted."""

    # --- Tables and studies ---
    tables: int = 10_000
    """Tables in the folder."""
    tables_a_client: int = 100
    """Tables that one client may open in a day."""
    studies: int = 200
    """Lines of play that may be open at a time."""
    studies_a_client: int = 20
    """Lines of play that one client may have open at a time."""
    claim_worlds: int = 20
    """Deals solved to judge a claim; each seat may claim once per trick."""
    table_days: float = 90.0
    """A table at which nothing has happened for this long is removed."""
    unplayed_days: float = 1.0
    """The same for one at which nobody has ever moved; if there are too many, the oldest of these go."""
    new_table_seconds: float = 600.0
    """No table is removed sooner than this after it was opened: people may still be sitting down."""

    @property
    def places(self) -> int:
        """How many moves are thought about at the same time, and as many answers in a pause."""
        return self.threads or min(4, max(2, os.cpu_count() or 2))

    @property
    def places_beside(self) -> int:
        """How many pieces of advice, study and parsing are worked on at the same time: parsers cannot be
        stopped, so there is a place that they never take.
        """
        return self.places + 1

    @property
    def slots(self) -> int:
        """Threads of the worker process; the laboratory has one."""
        return 2 * self.places + self.places_beside + 1


AGENTS = {
    "iterations": 50_000,
    "each": 200,
    "playouts": 20,
    "trees": 200,
    "threads": 1,
    "belief": 5_000,
    "endings": 5_000,  # they are solved without a look at the clock
    "keep": 0,  # kept trees would fill the memory
    "time": 10.0,
}
"""The most that the string of an agent may ask for at a table or for advice, by option; `time` in seconds."""

SOLVER = {"iterations": 1_000}
"""Likewise for `pimc` in Bridge: each iteration is a deal for the double-dummy solver, which all share."""


class Bucket:
    """How often something may be done: so many times a second, and some at once."""

    def __init__(self, a_second: float, burst: int) -> None:
        self._a_second, self._burst = a_second, burst
        self._left, self._seen = float(burst), time.monotonic()

    def take(self) -> bool:
        """Whether once more is allowed."""
        self._fill()
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True

    def wait(self) -> float:
        """Seconds to wait before once more; those who ask later wait for longer."""
        self._fill()
        self._left -= 1.0
        return max(0.0, -self._left / self._a_second)

    def _fill(self) -> None:
        now = time.monotonic()
        self._left = min(self._burst, self._left + (now - self._seen) * self._a_second)
        self._seen = now


class Buckets:
    """A bucket for every client; those that were not used for longest are forgotten first."""

    _MOST = 10_000

    def __init__(self, a_second: float, burst: int) -> None:
        self._new = (a_second, burst)
        self._kept: OrderedDict[str, Bucket] = OrderedDict()

    def take(self, client: str) -> bool:
        """Whether a client may do it once more."""
        return self._of(client).take()

    def wait(self, client: str) -> float:
        """Seconds for a client to wait before once more."""
        return self._of(client).wait()

    def _of(self, client: str) -> Bucket:
        bucket = self._kept.setdefault(client, Bucket(*self._new))
        self._kept.move_to_end(client)
        if len(self._kept) > self._MOST:
            self._kept.popitem(last=False)
        return bucket


def count_down(count: Counter[Any], what: Any) -> None:
    """One less; nothing is kept of what is not there any more."""
    count[what] -= 1
    if not count[what]:
        del count[what]


def client_of(address: str) -> str:
    """Whom an address belongs to: of IPv6 a household has a whole network.

    >>> client_of("192.0.2.7"), client_of("2001:db8:1:2:3:4:5:6")
    ('192.0.2.7', '2001:db8:1:2::/64')
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False))
