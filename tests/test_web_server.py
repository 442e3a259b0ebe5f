"""The server of the table in the browser, over its WebSocket: whole games, hidden cards, bad traffic."""

import asyncio
import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

fastapi = pytest.importorskip(
    "fastapi", reason="THE TABLE IN THE BROWSER IS NOT TESTED: pip install 'kibitz[web]' httpx"
)
pytest.importorskip("httpx", reason="THE TABLE IN THE BROWSER IS NOT TESTED: pip install httpx")

from fastapi.testclient import TestClient  # noqa: E402
from starlette.websockets import WebSocketDisconnect  # noqa: E402

from kibitz import games  # noqa: E402
from kibitz.errors import BadOption, TooLong  # noqa: E402
from kibitz.position import deal  # noqa: E402
from kibitz.search.advice import Advice, Row  # noqa: E402
from kibitz.web import messages, thinking, worker  # noqa: E402
from kibitz.web.app import create_app  # noqa: E402
from kibitz.web.limits import Limits  # noqa: E402
from kibitz.web.server import listen  # noqa: E402
from kibitz.web.tables import Chair, Table  # noqa: E402
from kibitz.web.worker import Work  # noqa: E402
from tests.test_web_tables import GAMES, played_on, redealt  # noqa: E402

QUICK = Limits(window_seconds=0.02, pace_seconds=0.0, messages_a_second=1e6, burst=10**6, advice_seconds=0.2)


@contextlib.contextmanager
def serving(folder, limits=QUICK, store=None):
    """A client of a server over the tables of a folder; in the end all its connections are closed."""
    app = create_app(folder, limits, ("testserver",), store)
    with TestClient(app) as client, contextlib.ExitStack() as closing:
        client.closing = closing
        yield client


@pytest.fixture
def client(tmp_path):
    with serving(tmp_path) as opened:
        yield opened


class Seat:
    """A browser at a seat, which knows nothing but what it is told."""

    def __init__(self, client, token, after=0, sees=None):
        self.socket = client.closing.enter_context(client.websocket_connect("/socket"))
        self.events, self.position, self.raw, self.refused, self.advice = [], None, [], [], []
        self.send(type="join", token=token, after=after, sees=sees)
        self.welcome = self.hear()
        self.hear()

    def send(self, **message):
        self.socket.send_text(json.dumps(message))

    def hear(self):
        """The next message."""
        text = self.socket.receive_text()
        message = json.loads(text)
        self.raw.append(text)
        if message["type"] == "update":
            self.events += message["events"]
            self.position = message["position"]
        elif message["type"] == "refused":
            self.refused.append(message)
        elif message["type"] == "advice":
            self.advice.append(message)
        return message

    def catch_up(self):
        """Hear all that was said until now."""
        self.send(type="ping")
        while self.hear()["type"] != "pong":
            pass

    def play(self, chooser):
        move = chooser.choice(self.position["moves"])
        by_text = {"text": move["text"]} if chooser.random() < 0.5 else {"move": move["move"]}
        self.send(type="play", number=self.position["number"], **by_text)

    def close(self):
        self.socket.close()


def new_table(client, game, agents=None, seed="5"):
    """A table with people, or with agents where a string says so; its tokens."""
    seats = games.load(game).seats
    agents = agents or [""] * seats
    wanted = {"game": game, "seats": [{"name": f"P{i}", "agent": a} for i, a in enumerate(agents)]}
    answer = client.post("/api/tables", json={**wanted, "seed": seed})
    assert answer.status_code == 201, answer.text
    return answer.json()


def play_on(seats, chooser, moves=10**9):
    """Let random people play until the game is over, or for so many moves."""
    made = 0
    while made < moves:
        for seat in seats:
            seat.catch_up()
        if seats[0].position["over"]:
            return
        for seat in seats:
            if seat.position["turn"] == seat.welcome["seat"] and made < moves:
                seat.play(chooser)
                made += 1


# --- whole games ---


@pytest.mark.parametrize("game", GAMES)
def test_people_play_whole_games(client, game):
    made = new_table(client, game)
    seats = [Seat(client, token) for token in made["seats"].values()]
    watcher = Seat(client, made["watch"])
    play_on(seats, random.Random(game))
    watcher.catch_up()
    for seat in (*seats, watcher):
        assert not [r for r in seat.refused if r["code"] not in ("IllegalMove",)]
        assert seat.position["over"]
        assert [event["number"] for event in seat.events] == list(range(1, len(seat.events) + 1))
        for text in seat.raw:
            messages._OUTGOING.validate_json(text)
    assert watcher.position["moves_made"] == seats[0].position["moves_made"]
    assert all(seat.position["scores"] == seats[0].position["scores"] for seat in seats)


def test_agents_play_at_their_seats(client):
    made = new_table(client, "briskola:seats=4", ["", "random", "rule-based", "random"])
    assert list(made["seats"]) == ["0"]
    seat = Seat(client, made["seats"]["0"])
    chooser = random.Random(1)
    while not seat.position["over"]:
        if seat.position["turn"] == 0:
            seat.play(chooser)
        seat.hear()
    assert not seat.refused
    assert sum(event["kind"] == "move" for event in seat.events) == 40


def test_an_agent_takes_over(client):
    made = new_table(client, "briskola", ["", "random"])
    seat = Seat(client, made["seats"]["0"])
    seat.send(type="hand_over", agent="cheating")
    assert seat.hear()["code"] == "Unsupported"
    seat.send(type="hand_over", agent="random")
    while not seat.position["over"]:
        seat.hear()
    seat.send(type="play", number=seat.position["number"], text="1D")
    seat.catch_up()
    assert "random plays for this seat" in seat.refused[-1]["message"]


# --- coming back ---


def test_a_reload_gives_the_same_state(client):
    made = new_table(client, "mini-tichu")
    seats = [Seat(client, token) for token in made["seats"].values()]
    play_on(seats, random.Random(2), moves=9)
    for seat in seats:
        seat.catch_up()
    second = Seat(client, made["seats"]["0"])  # beside the first
    known = len(seats[0].events) - 3
    third = Seat(client, made["seats"]["0"], after=known)
    assert second.events == seats[0].events
    assert third.events == seats[0].events[known:]
    assert second.position == third.position == seats[0].position
    for seat in (*seats, second, third):
        seat.close()
    alone = Seat(client, made["seats"]["0"])  # when everybody had left
    assert (alone.events, alone.position) == (seats[0].events, seats[0].position)


def test_a_restart_gives_the_same_state(tmp_path):
    told = []
    chooser = random.Random(4)
    made = []
    for part in range(3):
        with serving(tmp_path) as client:
            made = made or [new_table(client, game) for game in ("briskola", "tichu")]
            for number, table in enumerate(made):
                seats = [Seat(client, token) for token in table["seats"].values()]
                state = [(seat.events, seat.position) for seat in seats]
                if part:
                    assert state == told[number]
                play_on(seats, chooser, moves=17)
                time.sleep(0.1)  # a window may be open
                for seat in seats:
                    seat.catch_up()
                told[number : number + 1] = [[(seat.events, seat.position) for seat in seats]]
                for seat in seats:
                    seat.close()
            tokens = [token for table in made for token in (table["seats"]["0"], table["watch"])]
            mine = client.post("/api/tables/mine", json={"tokens": [*tokens, "x" * 43]}).json()
            assert [(t["token"], t["seat"]) for t in mine] == [
                (t, [0, None][i % 2]) for i, t in enumerate(tokens)
            ]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_a_server_that_is_killed_goes_on_where_it_was(tmp_path):
    """A process of its own, killed in the middle of a game and started again."""
    websockets = pytest.importorskip("websockets.sync.client")
    httpx = pytest.importorskip("httpx")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address, token, seen = f"127.0.0.1:{port}", None, None
    for part in range(2):
        command = ["serve", "--port", str(port), "--folder", str(tmp_path)]
        server = subprocess.Popen([sys.executable, "-m", "kibitz", *command], env=os.environ)
        try:
            for _ in range(600):
                try:
                    httpx.get(f"http://{address}/")
                    break
                except httpx.ConnectError:
                    time.sleep(0.1)
            if token is None:
                wanted = {
                    "game": "briskola",
                    "seats": [{"name": "Ann"}, {"agent": "rule-based"}],
                    "seed": "7",
                }
                token = httpx.post(f"http://{address}/api/tables", json=wanted).json()["seats"]["0"]
            with websockets.connect(f"ws://{address}/socket", origin=f"http://{address}") as connection:
                connection.send(json.dumps({"type": "join", "token": token}))
                connection.recv()
                update = json.loads(connection.recv())
                if part:
                    assert update["events"][: len(seen)] == seen  # nothing that was told is lost
                events = update["events"]
                made = 0
                while not update["position"]["over"] and made < (5 if part == 0 else 99):
                    if update["position"]["turn"] == 0:
                        move = update["position"]["moves"][0]["text"]
                        number = update["position"]["number"]
                        connection.send(json.dumps({"type": "play", "number": number, "text": move}))
                        made += 1
                    update = json.loads(connection.recv(timeout=60))
                    events += update["events"]
                seen = events
                if part == 0:
                    server.send_signal(signal.SIGKILL)
                else:
                    assert update["position"]["over"]
        finally:
            server.kill()
            server.wait()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_port_in_use_is_named_before_anything_starts(host, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "kibitz",
                "serve",
                "--host",
                host,
                "--port",
                str(port),
                "--folder",
                tmp_path,
            ],
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 2
    assert done.stderr == f"kibitz: port {port} is taken; choose another one with --port\n"


def test_an_address_that_cannot_be_used_is_named():
    for host in ("192.0.2.1", "no.such.host.invalid"):
        with pytest.raises(BadOption, match=f"cannot listen at '{host}', port 8477: "):
            listen(host, 8477)


# --- what is hidden ---


@pytest.mark.parametrize("game", ["briskola", "tichu", "bridge"])
def test_the_bytes_sent_do_not_depend_on_hidden_cards(game, tmp_path, monkeypatch):
    """Two truths that a seat cannot tell apart, played on alike: the captured traffic is the same."""
    chairs = [Chair(f"P{seat}") for seat in range(games.load(game).seats)]
    seed, twin, moves = next(found for seed in range(50) if (found := two_truths(game, seed, chairs)))
    traffic = []
    for number in range(2):
        with serving(tmp_path / str(number)) as client:
            fresh = Table("", game, seed, chairs)
            if number == 1:
                fresh.state.array[:] = twin.array
            monkeypatch.setattr("kibitz.web.hosting.read_table", lambda folder, name, fresh=fresh: fresh)
            made = new_table(client, game)
            seats = [Seat(client, token) for token in made["seats"].values()]
            for move in moves[number]:
                mover = seats[int(fresh.state.mover)]
                mover.catch_up()
                mover.send(type="play", number=mover.position["number"], move=str(move))
                mover.catch_up()
            time.sleep(0.1)
            seats[1].catch_up()
            traffic.append([t for t in seats[1].raw if '"pong"' not in t])
            for seat in seats:
                seat.close()
    assert traffic[0] == traffic[1]
    assert len(traffic[0]) > 4


def two_truths(game, seed, chairs):
    """A deal, another one that seat 1 cannot tell from it, and for both a number of moves, alike for it."""
    chooser = random.Random(seed)
    pair = [Table("", game, seed, chairs) for _ in range(2)]
    twin = redealt(pair[0].state, 1, chooser)
    if twin is None:
        return None
    pair[1].state.array[:] = twin.array
    while len(pair[0].moves) < 8:
        is_alike = played_on(*pair, 1, chooser)
        if not is_alike or pair[0].state.view(1).key() != pair[1].state.view(1).key():
            return None
    return seed, twin, [table.moves for table in pair]


def test_a_deal_is_not_told_before_the_end(client):
    made = new_table(client, "briskola", seed="123456789")
    seat = Seat(client, made["seats"]["0"])
    assert "123456789" not in "".join(seat.raw)


# --- advice ---


def test_advice_streams_and_ends_with_the_move(client):
    made = new_table(client, "briskola", ["", "random"])
    seat = Seat(client, made["seats"]["0"])
    seat.send(type="advise", on=True, agent="ismcts:200")
    while not seat.advice or not seat.advice[-1]["done"]:
        assert seat.hear()["type"] == "advice"
    assert len(seat.advice) > 1
    visits = [sum(row["visits"] for row in advice["rows"]) for advice in seat.advice]
    assert visits == sorted(visits)
    advised = [move for row in seat.advice[-1]["rows"] for move in row["moves"]]
    assert {move["text"] for move in advised} == {m["text"] for m in seat.position["moves"]}
    assert seat.advice[-1]["best"] in {move["move"] for move in advised}
    seat.send(type="advise", on=False)
    seat.send(type="advise", on=True, agent="cheating")
    while seat.hear()["type"] != "refused":
        pass
    assert seat.refused[-1]["code"] == "Unsupported"


def test_advice_can_be_stopped_and_taken_up_again(client):
    made = new_table(client, "briskola", ["", "random"])
    seat = Seat(client, made["seats"]["0"])
    seat.send(type="think", on=True)
    assert seat.hear()["type"] == "refused"  # nothing was asked for
    seat.send(type="advise", on=True, agent="ismcts:200")
    while not seat.advice or not seat.advice[-1]["done"]:
        seat.hear()
    first = seat.advice[-1]
    seat.send(type="think", on=True)
    while seat.advice[-1] is first or not seat.advice[-1]["done"]:
        seat.hear()
    deeper = seat.advice[-1]
    assert deeper["limit"] > first["limit"]
    assert deeper["seconds"] > first["seconds"]
    assert deeper["iterations"] > first["iterations"]
    assert deeper["iterations"] == sum(row["visits"] for row in deeper["rows"])
    seat.send(type="think", on=True)
    seat.send(type="think", on=False)
    seat.send(type="ping")
    while seat.hear()["type"] != "pong":
        pass
    assert not seat.advice[-1]["done"] or seat.advice[-1] is deeper


def test_who_watches_agents_may_see_the_cards_of_a_seat(client):
    made = new_table(client, "briskola", ["random", "random"])
    watcher = Seat(client, made["watch"], sees=1)
    assert (watcher.welcome["seat"], watcher.welcome["sees"]) == (None, 1)
    hands = watcher.position["fields"]["hands"]
    assert hands[0] == [40] * 3
    assert 40 not in hands[1]
    while not watcher.position["over"]:
        assert not watcher.position["moves"]
        watcher.hear()
    watcher.send(type="rematch")
    assert watcher.hear()["type"] == "refused"
    played = new_table(client, "briskola", ["", "random"])
    for token in (played["watch"], played["seats"]["0"]):
        with client.websocket_connect("/socket") as socket:
            socket.send_json({"type": "join", "token": token, "sees": 1})
            assert "agents alone" in socket.receive_json()["message"]


def test_searches_are_put_together():
    def advice(best, rows, iterations):
        rows = tuple(Row(i, str(i), v, e, n, n) for i, (v, e, n) in enumerate(rows))
        return Advice(best, rows, 1.0, 0, "x", "points", iterations, iterations, 0.1, 0)

    xs = np.array([1.0, 2.0, 4.0, 7.0, 7.0])
    halves = [
        advice(0, [(x.mean(), x.std() / np.sqrt(len(x) - 1), len(x)), (0.0, 0.0, 9)], 14)
        for x in (xs[:2], xs[2:])
    ]
    whole = thinking.merged(*halves, thinking.Counter({0: 28}))
    assert whole.rows[0].value == pytest.approx(xs.mean())
    assert whole.rows[0].stderr == pytest.approx(xs.std() / 2)
    assert (whole.rows[0].visits, whole.iterations, whole.best) == (5, 28, 1)


def test_an_agent_that_takes_too_long_or_fails_does_not_hold_up_the_game():
    import asyncio

    class Broken(thinking.Player):
        def choose(self, view, seed, labels):
            time.sleep(0.5)
            raise RuntimeError("no idea")

    async def both():
        view = deal(games.load("briskola"), 7).view()
        quick, slow = (thinking.Thinker(Limits(thinking_seconds=seconds)) for seconds in (0.1, 5.0))
        found = [await t.choose("", Broken("x", view.game, 0), view, 1, []) for t in (quick, slow)]
        for t in (quick, slow):
            t.close()
        return view, found

    view, found = asyncio.run(both())
    assert all(move in view.legal_moves() for move in found)


def test_a_search_that_nobody_wants_any_more_is_stopped(caplog):
    """Its thread is free at once, and at the limit of time the search itself answers."""
    import asyncio

    from kibitz import kernel

    view = deal(games.load("briskola"), 7).view()

    async def cancelled():
        thinker = thinking.Thinker(Limits(thinking_seconds=600.0, advice_seconds=600.0, threads=1))
        player = thinking.Player("ismcts:time=9m", view.game, view.seat)
        task = asyncio.create_task(thinker.choose("", player, view, 1, []))
        while player._agent is None:
            await asyncio.sleep(0.01)
        task.cancel()
        await thinker._for_moves.run("", Work(str), 30.0)  # there is but one place
        advising = asyncio.create_task(
            anext(thinking.Thought(thinker, "", "ismcts:time=9m", view, 1).go_on())
        )
        await asyncio.sleep(0.1)
        advising.cancel()
        await thinker._for_advice.run("", Work(str), 30.0)
        thinker.close()

    async def limited():
        thinker = thinking.Thinker(Limits(thinking_seconds=0.3, advice_seconds=0.3, threads=1))
        player = thinking.Player("ismcts:time=9m", view.game, view.seat)
        move = await thinker.choose("", player, view, 1, [])
        found = [advice async for advice in thinking.Thought(thinker, "", "ismcts:time=9m", view, 1).go_on()]
        thinker.close()
        return move, found

    began = time.perf_counter() - kernel.seconds_compiling()
    asyncio.run(cancelled())
    move, found = asyncio.run(limited())
    assert time.perf_counter() - kernel.seconds_compiling() - began < 60
    assert move in view.legal_moves()
    assert found[-1][1]
    assert found[-1][0].iterations > 0
    assert "rules of thumb" not in caplog.text


def test_advice_that_found_nothing_in_time_says_so():
    """It was called a failure of the server, with a traceback in its log."""
    view = deal(games.load("briskola"), 7).view()

    class TooBusy:
        limits, worker = Limits(), SimpleNamespace(compiling=lambda: 0.0)

        async def search(self, *given):
            raise TimeoutError

    async def ask():
        return [each async for each in thinking.Thought(TooBusy(), "", "ismcts:100", view, 1).go_on()]

    with pytest.raises(TooLong, match="ismcts:100 has found nothing within 10 s; choose a quicker adviser"):
        asyncio.run(ask())


def test_compiling_does_not_count_as_thinking():
    heard = []
    compiling = worker._Compiling()
    compiling._report = lambda *told: heard.append(told)
    before = compiling.seconds()
    compiling._hear("a game", 1, 3.0, False)
    assert compiling.seconds() >= before + 3.0
    compiling._hear("a game", 2, 4.0, True)
    assert compiling.seconds() < before + 3.0  # the kernel counts it from now on
    assert len(heard) == 2


# --- bad traffic ---

BAD_TEXTS = ["", "{", "null", "[]", "7", '"x"', "{}", '{"type": 3}', "NaN", '{"type":"play"}', "[" * 3000]


def fuzzed(chooser, position, tokens):
    """A message as nobody means well sends it."""
    junk = [None, True, -1, 0, 3.5, 10**30, [], {}, [[1]], {"a": 1}]
    junk += ["", "x" * 5000, "\x00", "-7", "1D", "pass"]
    kind = chooser.choice(["join", "play", "advise", "hand_over", "ping", "die", chooser.choice(junk)])
    message = {"type": kind}
    for name in ("token", "after", "number", "move", "text", "on", "agent", "seat", "__proto__"):
        if chooser.random() < 0.4:
            message[name] = chooser.choice(junk)
    if chooser.random() < 0.2:
        message["token"] = chooser.choice(tokens)
    if chooser.random() < 0.3:
        message = {"type": "play", "number": position["number"] + chooser.choice((-1, 0, 1, 0))}
        message[chooser.choice(("move", "text"))] = str(chooser.choice(junk))[:100]
    if chooser.random() < 0.1:
        return chooser.choice(BAD_TEXTS)
    return json.dumps(message)


def is_good(text, position):
    """Whether a message happens to ask for something that can be done."""
    with contextlib.suppress(ValueError, RecursionError):
        message = json.loads(text)
        if isinstance(message, dict) and message.get("type") == "play":
            legal = {m["move"] for m in position["moves"]} | {m["text"] for m in position["moves"]}
            return bool({str(message.get("move")), str(message.get("text"))} & legal)
        return isinstance(message, dict) and message.get("type") == "advise" and message.get("on") is True
    return False


def bombard(client, n, seed):
    """Send bad messages to a table while its players play on; the table stays what its moves made it."""
    chooser = random.Random(seed)
    made, other = (new_table(client, "briskola", seed=str(seed)) for _ in range(2))
    seats = [Seat(client, token) for token in made["seats"].values()]
    bystanders = [Seat(client, token) for token in other["seats"].values()]
    watcher = Seat(client, made["watch"])
    stranger = client.closing.enter_context(client.websocket_connect("/socket"))
    host = client.app.state.host
    tokens = [*made["seats"].values(), *other["seats"].values(), "A" * 43]
    sent = 0
    while sent < n:
        for seat in (*seats, watcher):
            seat.catch_up()
        table = host._sessions[made["table"]].table
        moves, events = list(table.moves), table.events(0)
        for _ in range(50):
            bad = chooser.choice([*seats, watcher])
            text = fuzzed(chooser, bad.position, tokens)
            if len(text) <= Limits.message_characters and not is_good(text, bad.position):
                bad.socket.send_text(text)
                sent += 1
        for seat in (*seats, watcher):
            seat.catch_up()
        stranger.send_text(fuzzed(chooser, {"number": 0}, ["B" * 43])[: Limits.message_characters])
        assert json.loads(stranger.receive_text())["type"] in ("refused", "pong")
        assert (table.moves, table.events(0)) == (moves, events)
        for seat in bystanders:
            seat.catch_up()
            assert not seat.refused
        if not seats[0].position["over"]:
            play_on(seats, chooser, moves=1)
            play_on(bystanders, chooser, moves=1)
    assert sum(len(seat.refused) for seat in seats) > n / 4
    play_on(seats, chooser)
    assert seats[0].position["over"]
    assert seats[0].position["moves_made"] == [table.rules.move_text(m) for m in table.moves]


def test_bad_messages_change_nothing(client):
    bombard(client, 2_000, 1)


@pytest.mark.soak
def test_very_many_bad_messages_change_nothing(client):
    for seed in range(10):
        bombard(client, 10_000, seed)


def test_what_is_too_long_or_too_often_ends_the_connection(tmp_path):
    few = Limits(messages_a_second=1.0, burst=5)
    with serving(tmp_path, few) as client:
        seat = Seat(client, new_table(client, "briskola")["seats"]["0"])
        seat.socket.send_text("x" * (Limits.message_characters + 1))
        with pytest.raises(WebSocketDisconnect) as ended:
            seat.hear()
        assert ended.value.code == 1009
        with client.websocket_connect("/socket") as connection:  # who sits nowhere may study a whole line
            connection.send_text("x" * (Limits.study_characters + 1))
            with pytest.raises(WebSocketDisconnect) as ended:
                connection.receive_text()
            assert ended.value.code == 1009
        with client.websocket_connect("/socket") as connection:
            for _ in range(10):
                connection.send_text('{"type": "ping"}')
            assert [connection.receive_text() for _ in range(5)] == ['{"type":"pong"}'] * 5
            with pytest.raises(WebSocketDisconnect) as ended:
                connection.receive_text()
            assert ended.value.code == 1008


def test_other_sites_may_not_connect(client):
    with pytest.raises(WebSocketDisconnect):
        client.websocket_connect("/socket", headers={"origin": "http://evil.example"}).__enter__()
    with client.websocket_connect("/socket", headers={"origin": "http://testserver"}) as connection:
        connection.send_text('{"type": "ping"}')
        assert connection.receive_text() == '{"type":"pong"}'
    wanted = {"game": "briskola", "seats": [{}, {}]}
    for status, given in (
        (403, {"headers": {"origin": "http://evil.example"}, "json": wanted}),
        (421, {"headers": {"host": "evil.example"}, "json": wanted}),
        (415, {"headers": {"content-type": "text/plain"}, "content": json.dumps(wanted)}),
        (413, {"json": {**wanted, "game": "x" * 70_000}}),
        (422, {"json": {**wanted, "more": 1}}),
        (422, {"json": {**wanted, "game": "../../etc/passwd"}}),
        (422, {"json": {**wanted, "seats": [{}, {}, {}]}}),
        (201, {"json": wanted}),
    ):
        assert client.post("/api/tables", **given).status_code == status


def test_a_line_can_be_shown_in_the_page_of_somebody_else(client):
    assert "frame-ancestors 'none'" in client.get("/").headers["content-security-policy"]
    assert "frame-ancestors *" in client.get("/view").headers["content-security-policy"]
    assert client.get("/view").text == client.get("/").text


def test_pages_may_load_and_run_nothing_from_elsewhere(client):
    for path in ("/", "/api/games", "/api/protocol", "/static/index.html", "/nothing"):
        policy = client.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
    page = client.get("/").text
    assert "<script>" not in page
    assert "http:" not in page
    assert "https:" not in page


def test_a_client_may_open_so_many_tables(tmp_path):
    with serving(tmp_path, Limits(tables_a_client=2)) as client:
        wanted = {"game": "briskola", "seats": [{}, {}]}
        answers = [client.post("/api/tables", json=wanted) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [201, 201, 422]
        assert "enough" in answers[-1].json()["message"]


def test_the_lobby_lists_games_with_agents_that_can_sit(client):
    listed = client.get("/api/games").json()
    assert {"briskola", "tichu", "bridge"} <= {game["name"] for game in listed}
    for game in listed:
        assert game["levels"][0]["name"] == "beginner"
        assert game["levels"][-1]["name"] == "strongest"
        seats = games.load(game["name"]).seats
        for level in game["levels"]:
            new_table(client, game["name"], [level["agent"]] * seats)


def test_the_stored_protocol_is_the_one_that_is_spoken():
    from pathlib import Path

    stored = Path(messages.__file__).with_name("protocol.json").read_text()
    assert stored == messages.schema_text(), "python -m kibitz.web.messages > src/kibitz/web/protocol.json"


def test_without_the_extra_the_verb_says_what_to_install():
    code = (
        "import sys; sys.modules['fastapi'] = None; sys.argv = ['kibitz', 'serve']; "
        "from kibitz.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 4
    assert "needs the extra 'web'" in done.stderr
    assert "install" in done.stderr
    assert "[web]" in done.stderr
    assert "Traceback" not in done.stderr


def test_tables_are_no_web_code():
    """They can be tried, and used, without the extra."""
    code = (
        "import sys; import kibitz.web.tables; "
        "assert not {'fastapi', 'pydantic', 'starlette', 'uvicorn'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --- who is there ---


def chairs_of(seat):
    """Who sits where, by the last update."""
    seat.catch_up()
    return [m for m in map(json.loads, seat.raw) if m["type"] == "update"][-1]["chairs"]


def test_everybody_is_told_in_how_many_windows_a_seat_is_open(client):
    """A seat's link opened any number of connections, and nobody was told."""
    made = new_table(client, "briskola", ["", ""])
    watcher = Seat(client, made["watch"])
    assert [chair["connections"] for chair in chairs_of(watcher)] == [0, 0]
    first = Seat(client, made["seats"]["0"])
    others = [Seat(client, made["seats"]["1"]) for _ in range(4)]
    for seat in (first, watcher, *others):
        assert [chair["connections"] for chair in chairs_of(seat)] == [1, 4]
    refused = client.closing.enter_context(client.websocket_connect("/socket"))
    refused.send_text(json.dumps({"type": "join", "token": made["seats"]["1"]}))
    answer = json.loads(refused.receive_text())
    assert answer["type"] == "refused"
    assert "open in 4 windows" in answer["message"]
    others.pop().close()
    for _ in range(100):
        if chairs_of(first)[1]["connections"] == 3:
            break
        time.sleep(0.01)
    assert [chair["connections"] for chair in chairs_of(watcher)] == [1, 3]
    refused.send_text(json.dumps({"type": "join", "token": made["seats"]["1"]}))  # now there is room
    assert json.loads(refused.receive_text())["type"] == "welcome"
    mine = client.post("/api/tables/mine", json={"tokens": [made["watch"]]}).json()
    assert [chair["connections"] for chair in mine[0]["chairs"]] == [1, 4]


def test_who_comes_and_goes_does_not_interrupt_advice(client):
    made = new_table(client, "briskola", ["", ""])
    first = Seat(client, made["seats"]["0"])
    first.send(type="advise", on=True, agent="random")
    while first.hear()["type"] != "advice":
        pass
    for _ in range(3):
        Seat(client, made["seats"]["1"]).close()
    time.sleep(0.1)
    first.catch_up()
    assert len(first.advice) == 1


def test_everybody_is_told_whether_the_deal_was_chosen(tmp_path):
    """Whoever opens a table may choose the number of the deal, and so know all hands."""
    seats = [{"name": "a"}, {"name": "b"}]
    ways = [{}, {"seed": "7"}, {"start": {"seed": "7"}}, {"start": {"position": "7"}}]
    for number, wanted in enumerate(ways):
        chosen = bool(wanted)
        folder = tmp_path / str(number)
        with serving(folder) as client:
            made = client.post("/api/tables", json={"game": "briskola", "seats": seats, **wanted}).json()
            for token in (made["seats"]["1"], made["watch"]):
                assert Seat(client, token).welcome["deal_chosen"] is chosen
        with serving(folder) as client:  # after a restart
            assert Seat(client, made["watch"]).welcome["deal_chosen"] is chosen
        (path,) = folder.glob("*.jsonl")  # as older records are
        path.write_text(path.read_text().replace(f'"deal_chosen": {json.dumps(chosen)}, ', ""))
        with serving(folder) as client:
            assert Seat(client, made["watch"]).welcome["deal_chosen"] is ("start" in wanted)
