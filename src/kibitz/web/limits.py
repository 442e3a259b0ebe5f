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
    """Open at a time, of all clients; fewer if the system allows fewer open files."""
    connections_a_client: int = 400
    """Open at a time, of one client; behind a proxy, its WebSockets."""
    connections_a_second: float = 50.0
    """Made by one client, after a first burst of four times `burst`; what a proxy makes is not counted."""
    sockets_a_second: float = 5.0
    """WebSockets opened by one client, after as large a burst: a class reloads its pages at the same time."""
    connections_a_seat: int = 4
    """WebSockets at one seat: a telephone, a computer, and some whose end has not been noticed yet."""
    watchers_a_table: int = 200
    """WebSockets that watch one table."""
    watchers_a_client: int = 40
    """WebSockets of one client that watch, at all tables together: a class fits."""
    requests_at_once: int = 50
    """Connections of one client that are not (yet) WebSockets."""
    waiting_to_connect: int = 2048
    """Connections that the system keeps until the server accepts them."""
    keep_alive_seconds: int = 5
    """Between an answer and the next request of a connection."""
    header_seconds: float = 10.0
    """From the beginning of a connection, or the last answer, to the end of a request's head."""
    body_seconds: float = 10.0
    """For the body of a request after its head."""
    first_message_seconds: float = 10.0
    """From the opening of a WebSocket to `join` or `study`, whatever else it sends."""
    idle_seconds: float = 3600.0
    """Without a message; a page that is still open connects again by itself."""
    send_seconds: float = 20.0
    """For a client to take what it is sent."""
    ping_seconds: float = 20.0
    """The server pings a WebSocket so often, and ends it if the answer takes as long."""
    pings_a_second: float = 5.0
    """Of one WebSocket; each of them is answered."""
    frames_a_second: float = 40.0
    """Pings, pongs and pieces of messages, of one WebSocket; twice the burst may come at once."""

    # --- Sizes ---
    read_bytes: int = 1024
    """Read from a connection at a time, then the others are served: parsing more would hold them up."""
    header_bytes: int = 16_384
    """Of the head of a request."""
    body_bytes: int = 64_000
    """Of the body of a request."""
    message_characters: int = 4096
    """Of a message from a browser at a table."""
    study_characters: int = 60_000
    """Of a message from one that has not joined a table, and of a pasted text: a whole line of play fits."""
    unread_characters: int = 120_000
    """Of messages of one WebSocket that may wait while one before them is worked on."""
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
    """Of tables, in a request for the list of one's own."""
    name_characters: int = 40
    """Of the name of a person at a table."""
    agent_characters: int = 300
    """Of the string of an agent."""
    unsent: int = 500
    """Messages that may wait for a slow connection before it is dropped."""
    unsent_bytes: int = 1_000_000
    """Size of the messages that may wait for a slow connection before it is dropped."""
    log_entries_an_hour: float = 360.0
    """After a first burst; further ones are counted, not written."""
    log_entry_characters: int = 2000
    """Of an entry in the log; of a longer one the beginning and the end are written."""

    # --- Rates ---
    messages_a_second: float = 20.0
    """Of one WebSocket."""
    messages_a_client: float = 40.0
    """A second, of all WebSockets of one client, after a first burst of four times `burst`; more are delayed.
    Thirty players at tables of their own, who think for half a second, send twelve a second.
    """
    requests_a_second: float = 5.0
    """To the lobby and the laboratory, of one client."""
    files_a_second: float = 50.0
    """Pages and scripts, of one client."""
    burst: int = 60
    """Messages or requests that may come at once; of pages and scripts four times as many."""

    # --- Thinking ---
    window_seconds: float = 2.0
    """The pause after a play that may be bombed (`kibitz serve --pause`)."""
    pace_seconds: float = 0.3
    """An agent's move takes at least so long."""
    thinking_seconds: float = 15.0
    """For a move of an agent, while nobody else waits for a slot."""
    advice_seconds: float = 10.0
    """For advice, while nobody else waits for a slot."""
    review_seconds: float = 1.0
    """For every decision of a game that is reviewed."""
    fair_seconds: float = 0.4
    """A search that has had so long ends, with what it has found, when another client waits for a slot."""
    parse_seconds: float = 2.0
    """For reading a pasted text or a line of play, such as 100 boards; then the parser is stopped."""
    record_seconds: float = 5.0
    """For reading what was played at a table here: 4,700 moves of Tichu take two seconds. For a list of one's
    own tables as long, all together.
    """
    laboratory_seconds: float = 120.0
    """For a page of the laboratory: a large experiment is evaluated anew when games were added."""
    threads: int = 0
    """Slots of the worker process for moves, as many for answers in a pause, and one more for advice, studies
    and parsing; the laboratory has one. 0: as many as the machine has cores, but from 2 to 4.
    """
    waiting_a_client: int = 50
    """Pieces of advice, study and parsing of one client that may wait for a slot."""
    moves_waiting_a_client: int = 400
    """Moves at tables of one client that may wait for a slot; further ones are made by rules of thumb."""
    half_life_seconds: float = 30.0
    """After which the time that a client has used counts half, when it is decided who is served next."""
    grace_seconds: float = 1.0
    """For a search that was stopped to answer; then it is not waited for any longer."""
    stuck_seconds: float = 20.0
    """For work that reached its limit to end; then the worker process is restarted."""

    # --- Tables and studies ---
    tables: int = 10_000
    """In the folder."""
    tables_a_client: int = 100
    """That one client may open in a day."""
    studies: int = 200
    """Lines of play that may be open at a time."""
    studies_a_client: int = 20
    """Lines of play that one client may have open at a time."""
    claim_worlds: int = 20
    """Deals that are solved to judge a claim; each seat may claim once in a trick."""
    table_days: float = 90.0
    """A table at which nothing has happened for so long is removed."""
    unplayed_days: float = 1.0
    """So is one at which nobody has ever moved; if there are too many tables, the oldest of these go."""
    new_table_seconds: float = 600.0
    """But none that was opened so recently: people may still be sitting down."""

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
