"""Lines of play that lie open: review, study, worlds, double dummy; undo, claim, rematch; the laboratory."""

import json
import os
import random
import threading
import time
from dataclasses import replace

import pytest

pytest.importorskip(
    "fastapi", reason="THE TABLE IN THE BROWSER IS NOT TESTED: pip install 'kibitz[web]' httpx"
)

from kibitz import games
from kibitz.arena.executors import InProcess
from kibitz.arena.store import Store
from kibitz.errors import IllegalMove, InputError, KibitzError, ParseError, Unsupported
from kibitz.experiments import read as read_experiment
from kibitz.experiments import run as run_experiment
from kibitz.games.bridge.claims import Claim
from kibitz.games.bridge.files import board_of, write_lin, write_pbn
from kibitz.position import deal
from kibitz.web import lines, messages
from kibitz.web.limits import Limits
from kibitz.web.lines import Line
from kibitz.web.tables import WATCHER, Start, Table, Tables, Wish
from tests.test_web_server import QUICK, Seat, new_table, play_on, serving
from tests.test_web_tables import GAMES, everything, observers, people, step

LIMITS = Limits(**{**vars(QUICK), "review_seconds": 0.02})


@pytest.fixture
def client(tmp_path):
    with serving(tmp_path, LIMITS) as opened:
        yield opened


class Student:
    """A browser that looks at a line; it has joined no table."""

    def __init__(self, client, **line):
        self.socket = client.closing.enter_context(client.websocket_connect("/socket"))
        self.line = self.ask("line", type="study", **line)

    def send(self, **message):
        self.socket.send_text(json.dumps(message))

    def ask(self, kind, **message):
        """Send a message; the first answer of a kind."""
        self.send(**message)
        return self.hear(kind)

    def hear(self, kind):
        while True:
            found = json.loads(self.socket.receive_text())
            if found["type"] == kind:
                return found
            assert found["type"] != "refused", found


def finished(game, seed):
    """A table at which random people have played to the end."""
    table, chooser = Table("t", game, seed, people(game)), random.Random(seed)
    while not table.is_over:
        step(table, chooser)
    return table


# --- lines ---


@pytest.mark.parametrize("game", [*GAMES, "othello", "backgammon"])
def test_the_line_of_a_table_is_what_was_played(game):
    table = finished(game, 5)
    line = Line(game, table.start, [table.rules.move_text(move) for move in table.moves])
    assert line.moves == table.moves
    assert line.states[-1].key() == table.state.key()
    assert all(len(line.states[ply].legal_moves()) > 1 for ply in line.decisions)


def test_lines_that_cannot_be():
    for game, start, moves, error in (
        ("briskola", Start(7), ["12D", "nonsense"], InputError),
        ("briskola", Start(7), ["99"], InputError),
        ("briskola", Start(position="7"), ["12D", "12D"], InputError),
        ("../secret.py", Start(7), [], KibitzError),
        ("bridge", Start(position="evening.pbn"), [], ParseError),
        ("bridge", Start(position="/etc/passwd"), [], ParseError),
        ("bridge", Start(position="N:AKQ.. - - -"), [], ParseError),
        ("briskola", Start(7), ["1D"] * 1001, InputError),
    ):
        with pytest.raises(error):
            Line(game, start, moves)


def test_no_position_opens_a_file(tmp_path, monkeypatch):
    """Bridge reads files by their name on the command line; from the web it must not."""
    board = tmp_path / "N:AK"
    board.write_text(write_pbn([board_of(deal(games.load("bridge"), 7))]))
    monkeypatch.chdir(tmp_path)
    for text in (str(board), "N:AK", "N:AK#1", f"{board}#1"):
        with pytest.raises(ParseError):
            Line("bridge", Start(position=text), [])
        with pytest.raises(ParseError):
            lines.read(text)


def test_a_pasted_text_may_hold_five_hundred_boards():
    board = '[Deal "N:.63.AKQ987.A9732 A8654.KQ5.T.QJT6 J973.J98742.3.K4 KQT2.AT.J6542.85"]\n\n'
    with pytest.raises(ParseError, match="there are 501 boards in it; paste at most 500 at once"):
        lines.read(board + '[Deal "#"]\n\n' * 500)


def test_what_is_pasted_is_read_and_named(tmp_path):
    table = finished("bridge:level=4,strain=hearts,declarer=west", 3)
    opening = Line(table.game, table.start, []).states[0]
    board = board_of(table.state, table.moves, number=9)
    for text, notation in ((write_pbn([board]), "PBN"), (write_lin([board]), "LIN")):
        found, (only,) = lines.read(text)
        assert (found, only.title) == (notation, "board 9")
        assert only.line.states[0].record.hands.tolist() == opening.record.hands.tolist()
        assert only.line.moves == table.moves
        assert only.line.states[-1].returns() == table.state.returns()
    with Tables(tmp_path) as tables:
        made = tables.create("briskola", people("briskola"), seed=11).table
        while not made.is_over:
            step(made, random.Random(2))
        notation, (only,) = lines.read(made.file.path.read_text())
    assert notation == "record of Kibitz"
    assert only.line.moves == made.moves
    shared = {"game": "briskola", "start": made.start.shown(), "moves": made.position(0)["moves_made"]}
    assert lines.read(json.dumps(shared))[1][0].line.moves == made.moves
    assert lines.read("briskola:seats=3 7: 4D")[1][0].line.seats == [0]
    for moves in ([10**40], [-1], [True], [None], [{}], [["12D"]], "12D"):
        with pytest.raises(KibitzError):
            lines.read(json.dumps({"game": "briskola", "seed": 1, "moves": moves}))
    for start in (
        {"seed": -1},
        {"seed": 2**64},
        {"seed": "x"},
        {"deal": -1, "seed": 1},
        {"position": 7.5},
        [],
        3,
    ):
        with pytest.raises(KibitzError):
            lines.read(json.dumps({"game": "briskola", "start": start, "moves": []}))
    for text in (
        "a" + " " * 60_000,
        "a 7:" + " " * 60_000 + '"x',
        '{"a":' * 10_000,
        "[" * 60_000,
        "pn|" * 20_000,
    ):
        began = time.process_time()
        with pytest.raises(KibitzError):
            lines.read(text)
        assert time.process_time() - began < 5
    for text in (
        "",
        "hello",
        "{",
        "[]",
        '{"game": 3}',
        '{"game": "briskola", "seed": 1, "moves": [{}]}',
        "pn|x",
    ):
        with pytest.raises(KibitzError):
            lines.read(text)


# --- review ---


def test_a_game_can_be_reviewed_when_it_is_over(client):
    made = new_table(client, "briskola")
    seats = [Seat(client, token) for token in made["seats"].values()]
    seats[0].send(type="review")
    seats[0].catch_up()
    assert "when it is over" in seats[0].refused[-1]["message"]
    seats[0].send(type="look", ply=0)
    seats[0].catch_up()
    assert seats[0].refused[-1]["code"] == "BadMessage"
    play_on(seats, random.Random(1))
    seat = seats[0]
    seat.send(type="review")
    line = seat.hear()
    assert [ply["text"] for ply in line["plies"]] == seat.position["moves_made"]
    seat.send(type="look", ply=3)
    place = seat.hear()
    assert "▒▒" not in place["picture"]
    seat.send(type="look", ply=3, seat=1)
    assert "▒▒" in seat.hear()["picture"]
    seat.send(type="judge", on=True, agent="ismcts:50")
    judged = [seat.hear()]
    while judged[-1]["done"] < judged[-1]["total"]:
        judged.append(seat.hear())
    assert [each["ply"] for each in judged] == [i for i, ply in enumerate(line["plies"]) if ply["chosen"]]
    for each in judged:
        rows = {move["text"]: row for row in each["advice"]["rows"] for move in row["moves"]}
        codes = {move["move"]: row for row in rows.values() for move in row["moves"]}
        best, mine = codes[each["advice"]["best"]], rows[line["plies"][each["ply"]]["text"]]
        assert each["loss"] == pytest.approx(max(0.0, best["value"] - mine["value"]))


def test_judging_sees_no_more_than_the_mover(client):
    """The advice of a review is the advice that the seat would have had."""
    line = Line("briskola", Start(position="7"), ["12D", "6S"])
    student = Student(client, game="briskola", start={"position": "7"}, moves=["12D", "6S"])
    advice = student.ask("advice", type="consider", ply=1, agent="ismcts:160")
    from kibitz.rng import derive
    from kibitz.web.thinking import Slice

    own = Slice("ismcts:160", 16).advise(line.states[1].view(), derive(1, 0))
    assert [row["value"] for row in advice["rows"]] == [row.value for row in own.rows]


def test_judging_ends_when_it_is_not_wanted_any_more(client):
    student = Student(client, game="tichu", start={"seed": "4"}, moves=[])
    moves = [Table("", "tichu", 4, people("tichu")).position(0)["moves"][0]["text"]]
    student.line = student.ask("line", type="study", game="tichu", start={"seed": "4"}, moves=moves)
    student.send(type="judge", on=True, agent="ismcts:50000")
    student.send(type="judge", on=False)
    student.ask("pong", type="ping")
    thinker = client.app.state.host.thinker
    deadline = time.monotonic() + 30
    pool = thinker._for_advice
    while pool._waiting and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not pool._waiting


def test_worlds_agree_with_what_the_mover_saw(client):
    student = Student(client, game="briskola", start={"position": "7"}, moves=["12D"])
    student.send(type="worlds", ply=1, count=12)
    found = [student.hear("world") for _ in range(12)]
    hand = {move["text"] for move in student.ask("place", type="look", ply=1, seat=1)["moves"]}
    for world in found:
        assert {row["text"] for row in world["rows"]} == hand
        assert all(text in world["picture"] for text in hand)
        assert all(row["value"] is not None for row in world["rows"])
    assert len({world["picture"] for world in found}) > 6  # two cards of 34 are not seen


def test_the_solver_is_asked_separately_and_only_about_bridge(client):
    student = Student(client, game="bridge", start={"seed": "3"}, moves=[])
    assert student.line["solver"]
    exact = student.ask("exact", type="double_dummy", ply=0)
    rules = games.load("bridge")
    state = Line("bridge", Start(3), []).states[0]
    (values,) = rules.exact_values([state.record])
    assert [row["value"] for row in exact["rows"]] == values
    leader = max(values)
    assert exact["table"]["tricks"][2][4] == 13 - leader  # south declares in notrump
    assert (exact["table"]["dealer"], exact["table"]["vulnerable"]) == (0, "none")
    other = Student(client, game="briskola", start={"seed": "3"}, moves=[])
    assert not other.line["solver"]
    other.send(type="double_dummy", ply=0)
    assert "no solver" in json.loads(other.socket.receive_text())["message"]


BOARD = """[Event "An evening"]
[Board "4"]
[Dealer "W"]
[Vulnerable "All"]
[Deal "N:AK32.432.432.543 765.765.765.9876 QJ4.AKQ.AKQ.AKQJ T98.JT98.JT98.T2"]
[Declarer "S"]
[Contract "6NT"]
[Auction "W"]
Pass Pass Pass 2C =1=
Pass 2D Pass 6NT
Pass Pass Pass
[Note "1:strong"]
[Play "W"]
HJ H2 H5 HA
*
"""


def test_par_is_that_of_the_boards_own_dealer_and_vulnerability(client):
    (found,) = lines.read(BOARD)[1]
    assert found.line.game.endswith("vulnerable=true")
    table = lines.double_dummy_table(found.line)
    assert (table["dealer"], table["vulnerable"], table["par"]) == (3, "both", 2220)
    (other,) = lines.read(BOARD.replace("All", "None"))[1]
    assert lines.double_dummy_table(other.line)["par"] == 1520
    start = {"position": found.line.start.position}
    student = Student(client, game=found.line.game, start=start, moves=["JH"])
    calls = ["Pass", "Pass", "Pass", "2C", "Pass", "2D", "Pass", "6NT", "Pass", "Pass", "Pass"]
    notes = ["", "", "", "strong", *[""] * 7]
    assert student.line["auction"] == {"dealer": 3, "vulnerable": "both", "calls": calls, "notes": notes}


def test_a_board_with_much_talk_about_its_auction_can_be_studied(client):
    """Its position was longer than a message may be, which the server answered with 500."""
    notes = "".join(f'[Note "{number}:{"x" * 240}"]\n' for number in range(2, 32))
    long = "".join(f"Pass ={number}= 1C ={number}= X XX\n" for number in range(2, 32))
    board = BOARD.replace('[Note "1:strong"]\n', '[Note "1:strong"]\n' + notes)
    for text in (board, BOARD.replace("Pass Pass Pass 2C", long + "Pass Pass Pass 2C"), board + BOARD):
        answer = client.post("/api/lines", json={"text": text})
        assert answer.status_code in (200, 422), answer.text
        for found in answer.json().get("lines", ()):
            assert len(found["start"]["position"]) <= Limits.position_characters
    assert client.post("/api/lines", json={"text": board}).status_code == 200


def test_a_line_is_written_in_every_notation_and_read_again(client):
    (found,) = lines.read(BOARD)[1]
    texts = lines.texts(found.line)
    assert '[Event "An evening"]' in texts["PBN"]
    assert "=1=" in texts["PBN"]
    assert texts["link for a hand viewer"].endswith("%7Cpc%7CH5%7Cpc%7CHA%7Cpg%7C%7C")
    for notation in ("record", "PBN", "LIN"):
        (again,) = lines.read(texts[notation])[1]
        assert again.line.moves == found.line.moves
        assert again.line.states[0].record.hands.tolist() == found.line.states[0].record.hands.tolist()
        assert lines.double_dummy_table(again.line)["par"] == 2220
    line = Line("briskola", Start(position="7"), ["12D", "6S"])
    assert lines.texts(line)["position"] == "briskola 7: 12D 6S"
    (again,) = lines.read(lines.texts(line)["position"])[1]
    assert again.line.moves == line.moves
    table = finished("tichu", 2)
    record = lines.texts(Line(table.game, table.start, table.moves), ["ann", "", "bob", "random"])["record"]
    assert lines.read(record)[1][0].line.moves == table.moves
    assert json.loads(record)["scores"] == table.state.returns()
    assert json.loads(record)["agents"] == ["ann", "", "bob", "random"]


def test_diagrams_tell_themselves_in_words_and_hide_what_is_hidden(client):
    import xml.etree.ElementTree as ET

    for game in ("briskola", "bridge", "tichu"):
        student = Student(client, game=game, start={"seed": "3"}, moves=[])
        pictures = [student.ask("diagram", type="draw", ply=0, seat=seat)["svg"] for seat in (None, 0)]
        for picture in pictures:
            root = ET.fromstring(picture)
            assert root.findtext("{*}title")
            assert root.findtext("{*}desc")
        assert pictures[0] != pictures[1]


def test_touching_cards_share_a_row():
    from kibitz.agents import make_agent

    state = Line(
        "bridge", Start(position="N:AKQ2.A2.A2.AKQJT JT98.J98.J98.987 7654.KQT.KQT.654 3.76543.76543.32"), []
    )
    view = state.states[0].view()
    agent = make_agent("pimc:10", view.game)
    agent.start(view.game, view.seat)
    advice = agent.advise(view, 1)
    rows = {" ".join(map(view.game.move_text, moves)): row for moves, row in lines.grouped(advice, view)}
    assert list(rows) == ["3C 2C", "7D 6D 5D 4D 3D", "7H 6H 5H 4H 3H", "3S"]
    assert rows["3C 2C"].visits == 10  # the same ten deals: no more evidence for two cards than for one
    search = make_agent("ismcts:400", view.game)
    search.start(view.game, view.seat)
    found = search.advise(view, 1)
    both = next(row for moves, row in lines.grouped(found, view) if len(moves) == 2)
    assert both.visits == sum(row.visits for row in found.rows if row.text in ("2C", "3C"))


def test_tricks_begin_where_nothing_lies_on_the_table():
    table = finished("bridge", 3)
    line = Line(table.game, table.start, table.moves)
    assert [ply for ply in range(52) if lines.begins_trick(line.states[ply])] == list(range(0, 52, 4))


def test_a_text_is_read_over_the_web(client):
    text = write_lin([board_of(deal(games.load("bridge"), 7), number=2)])
    found = client.post("/api/lines", json={"text": text}).json()
    assert found["notation"] == "LIN"
    line = found["lines"][0]
    student = Student(client, game=line["game"], start=line["start"], moves=line["moves"])
    assert student.line["seats"] == 4
    refused = client.post("/api/lines", json={"text": "hello"})
    assert (refused.status_code, refused.json()["code"]) == (422, "ParseError")


@pytest.mark.parametrize(
    "game",
    [
        *("briskola", "diminishing-bridge:seats=3,cards=3", "bridge"),
        pytest.param("tichu", marks=pytest.mark.soak),
    ],
)
def test_play_goes_on_from_any_point(client, game):
    table = finished(game, 8)
    texts = [table.rules.move_text(move) for move in table.moves]
    for ply in (0, 1, len(texts) // 2, len(texts) - 1):
        wanted = {
            "game": game,
            "seats": [{}] * table.rules.seats,
            "start": {"seed": "8"},
            "moves": texts[:ply],
        }
        made = client.post("/api/tables", json=wanted).json()
        seats = [Seat(client, token) for token in made["seats"].values()]
        again = client.app.state.host._sessions[made["table"]].table
        assert again.moves[:ply] == table.moves[:ply]
        play_on(seats, random.Random(ply))
        assert seats[0].position["moves_made"][:ply] == texts[:ply]
        for seat in seats:
            seat.close()
    wanted["moves"] = texts
    assert "over" in client.post("/api/tables", json=wanted).json()["message"]
    wanted["moves"] = ["nonsense"]
    assert client.post("/api/tables", json=wanted).status_code == 422


def test_a_table_can_begin_with_a_position(client):
    position = lines.deal_text(Line("bridge", Start(3), []).states[0].record.hands)
    wanted = {"game": "bridge", "seats": [{}] * 4, "start": {"position": position}}
    made = client.post("/api/tables", json=wanted).json()
    seat = Seat(client, made["seats"]["3"])
    assert position not in "".join(seat.raw)
    tables = client.app.state.host.tables
    assert everything(tables.table(made["table"], to_look=True)) == everything(
        client.app.state.host._sessions[made["table"]].table
    )


# --- what all must agree to ---


@pytest.mark.parametrize("game", GAMES)
def test_moves_are_taken_back(game, tmp_path, monkeypatch):
    chooser = random.Random(game)
    monkeypatch.setattr("kibitz.web.tables._LANDMARK", chooser.randint(1, 9))
    with Tables(tmp_path) as tables:
        table = tables.create(game, people(game), seed=5, undo=True).table
        seen, undone = {}, 0
        while not table.is_over:
            if table.window is None:
                mover = table.state.mover
                if seen and chooser.random() < 0.15 and undone < 6:
                    seat = chooser.choice(sorted(seen) or [mover])
                    numbers = {o: len(table.events(o)) for o in observers(table)}
                    table.ask(Wish("undo", seat))
                    for other in range(table.rules.seats):
                        if other != seat:
                            assert table.wish is not None
                            table.answer(other, True)
                    assert table.wish is None
                    assert table.state.mover == seat
                    ply, fields = seen[seat]
                    assert (len(table.moves), table.position(seat)["turn"]) == (ply, seat)
                    assert json.dumps([table.position(s)["fields"] for s in observers(table)]) == fields
                    for observer in observers(table):
                        assert len(table.events(observer)) == numbers[observer] + 1
                        assert table.events(observer)[-1].kind == "undo"
                    assert everything(tables.table(table.name, to_look=True)) == everything(table)
                    seen, undone = {}, undone + 1
                    mover = seat
                seen[mover] = (
                    len(table.moves),
                    json.dumps([table.position(s)["fields"] for s in observers(table)]),
                )
            step(table, chooser)
        assert undone
        assert everything(tables.table(table.name, to_look=True)) == everything(table)


def test_taking_a_move_back_does_not_play_the_whole_game_again(monkeypatch):
    """4,700 moves of Tichu took a fifth of a second, in which nobody else was answered."""
    chooser = random.Random(1)
    table = Table("", "tichu:target=1000", 7, people("tichu"), undo=True)
    while len(table.moves) < 330 or table.window is not None:
        step(table, chooser)
    played, play = [], type(table.rules).play
    monkeypatch.setattr(type(table.rules), "play", lambda *given: [played.append(1), play(*given)])
    made = len(table.moves)
    table.ask(Wish("undo", 0))
    for other in (1, 2, 3):
        table.answer(other, True)
    assert made - 30 < len(table.moves) < made
    assert len(played) < 50


def test_a_line_is_made_ready_beside_the_event_loop(tmp_path, monkeypatch):
    """What is told of a line reads its position once more, and took as long as somebody wanted it to."""
    where = []
    shown = messages.line_shown
    monkeypatch.setattr(
        messages, "line_shown", lambda *given: [where.append(threading.current_thread()), shown(*given)][1]
    )
    with serving(tmp_path, LIMITS) as client:
        Student(client, game="briskola", start={"position": "7"}, moves=["12D"])
    assert [thread.name.startswith("kibitz-worker") for thread in where] == [True]


def test_nothing_is_taken_back_against_somebodys_will(tmp_path):
    with Tables(tmp_path) as tables:
        strict = tables.create("briskola", people("briskola"), seed=5).table
        step(strict, random.Random(0))
        with pytest.raises(Unsupported):
            strict.ask(Wish("undo", 0))
        table = tables.create("briskola", people("briskola"), seed=5, undo=True).table
        with pytest.raises(IllegalMove, match="not moved yet"):
            table.ask(Wish("undo", 0))
        step(table, random.Random(0))
        table.ask(Wish("undo", 0))
        table.answer(1, False)
        assert (table.wish, len(table.moves)) == (None, 1)
        with pytest.raises(IllegalMove):
            table.answer(1, True)
        table.ask(Wish("undo", 0))
        step(table, random.Random(0))  # who plays on does not agree
        assert (table.wish, len(table.moves)) == (None, 2)


def test_against_agents_a_move_is_taken_back_at_once(client):
    wanted = {"game": "briskola", "seats": [{"name": "Ann"}, {"agent": "random"}], "seed": "5", "undo": True}
    made = client.post("/api/tables", json=wanted).json()
    seat = Seat(client, made["seats"]["0"])
    assert seat.welcome["undo"]
    while seat.position["turn"] != 0:
        seat.hear()
    first = seat.position["fields"]
    seat.play(random.Random(1))
    seat.hear()
    seat.send(type="undo")
    while seat.events[-1]["kind"] != "undo":
        seat.hear()
    assert seat.position["fields"] == first
    while not seat.position["over"]:
        if seat.position["turn"] == 0 and seat.position["moves"]:
            seat.play(random.Random(2))
        seat.hear()
    assert seat.position["over"]


def test_tricks_are_claimed_and_judged_by_what_the_claimer_sees():
    """South holds all aces, kings and queens: nobody can doubt it, and 14 tricks there are not."""
    position = "N:432.432.432.5432 765.765.765.9876 AKQ.AKQ.AKQ.AKQJ JT98.JT98.JT98.T"
    table = Table("t", "bridge", 1, people("bridge"), Start(position=position))
    table.play(
        3, "10♠" if "10♠" in str(table.position(3)["moves"]) else table.position(3)["moves"][0]["text"]
    )
    assert Claim(table.seen_by(2), 13, seed=1, worlds=20).holds()
    assert not Claim(table.seen_by(1), 13, seed=1, worlds=20).holds()
    with pytest.raises(IllegalMove):
        table.ask(Wish("claim", 2, 14))
    with pytest.raises(Unsupported):
        table.ask(Wish("claim", 0, 13))  # dummy
    table.ask(Wish("claim", 2, 13))
    for seat in (0, 1, 3):
        assert not table.is_over
        table.answer(seat, True)
    assert table.is_over
    assert table.position(0)["scores"] == [13.0, 0.0, 13.0, 0.0]
    assert [event.kind for event in table.events(WATCHER)][-2:] == ["claim", "over"]


def test_an_agent_that_doubts_a_claim_refuses(client):
    made = new_table(client, "bridge", ["random", "random", "", "random"], seed="3")
    seat = Seat(client, made["seats"]["2"])
    while seat.position["turn"] != 2:
        seat.hear()
    seat.send(type="claim", tricks=13)
    wishes = []
    while len(wishes) < 2 or wishes[-1] is not None:
        message = seat.hear()
        if message["type"] == "update":
            wishes.append(message["wish"])
    assert wishes[0]["tricks"] == 13
    assert len(wishes[0]["cards"]) == 13 - len([e for e in seat.events if e["kind"] == "move"]) // 4
    assert not seat.position["over"]


def test_a_rematch_moves_the_seats_on(client):
    made = new_table(client, "briskola:seats=3", ["", "", "random"])
    seats = [Seat(client, token) for token in made["seats"].values()]
    watcher = Seat(client, made["watch"])
    seats[0].send(type="rematch")
    seats[0].catch_up()
    assert "over" in seats[0].refused[-1]["message"]
    play_on(seats, random.Random(3))
    seats[1].send(type="rematch")
    places = []
    for seat in (*seats, watcher):
        while (message := seat.hear())["type"] != "again":
            pass
        places.append(message)
    assert [place["seat"] for place in places] == [1, 2, None]
    again = [Seat(client, place["token"]) for place in places]
    assert [seat.welcome["seat"] for seat in again] == [1, 2, None]
    assert len({place["token"] for place in places}) == 3
    seats[0].send(type="rematch", same_deal=True)  # there is one already
    while (message := seats[0].hear())["type"] != "again":
        pass
    assert message == places[0]


def test_old_tables_are_removed(tmp_path):
    with Tables(tmp_path) as tables:
        old, new, used = (tables.create("briskola", people("briskola"), seed=5) for _ in range(3))
        for made in (old, used):
            path = made.table.file.path
            os.utime(path, (time.time() - 100 * 86_400,) * 2)
        assert tables.remove_old(90, 90, [used.table.name]) == 1
        assert len(tables) == 2
        assert tables.place(old.seats[0]) is None
        assert tables.place(new.seats[0]) is not None
        assert not old.table.file.path.exists()


def test_who_watches_bridge_sees_dummy_after_the_lead():
    table = Table("t", "bridge", 3, people("bridge"))
    assert table.position(WATCHER)["fields"]["hands"] == [None] * 4
    table.play(3, table.position(3)["moves"][0]["text"])
    hands = table.position(WATCHER)["fields"]["hands"]
    assert [hand is None for hand in hands] == [False, True, True, True]
    assert int(hands[0]) == int(table.state.record.hands[0])


# --- the laboratory ---

EXPERIMENT = """
name = "who"
title = "Who is better"
question = "Which of two?"
game = "briskola"
games = 8
seed = 1

[match.one]
agents = ["random", "rule-based"]

[[row]]
name = "one"
cell = "random wins"
match = "one"
measure = "win_rate"

[[figure]]
kind = "intervals"
rows = ["one"]
caption = "Games won"
"""


def test_the_laboratory_shows_experiments_and_their_figures(tmp_path):
    path = tmp_path / "lab.db"
    with Store(path) as store:
        run_experiment(read_experiment(EXPERIMENT, "who.toml"), store, InProcess())
    with serving(tmp_path / "tables", LIMITS, path) as client:
        (listed,) = client.get("/api/experiments").json()
        assert (listed["title"], listed["games"], listed["wanted"]) == ("Who is better", 8, 8)
        found = client.get("/api/experiments/who").json()
        assert found["question"] == "Which of two?"
        assert found["tables"][0]["rows"]
        assert found["state"] == "done"
        assert found["figures"] == ["Games won"]
        assert str(tmp_path) not in json.dumps(found)
        for number in range(len(found["figures"])):
            answer = client.get(f"/api/experiments/who/{number}.svg")
            assert answer.headers["content-type"] == "image/svg+xml"
        assert client.get("/api/experiments/nobody").status_code == 422
    with serving(tmp_path / "tables", replace(LIMITS, laboratory_seconds=1e-9), path) as client:
        for page in ("", "/who", "/who/0.svg"):
            answer = client.get(f"/api/experiments{page}")
            assert answer.status_code == 422
            assert "this page takes longer than 1e-09 s to make" in answer.json()["message"]


def test_without_a_store_the_laboratory_is_empty(client):
    assert client.get("/api/experiments").json() == []
    assert client.get("/api/experiments/who").status_code == 422


def test_trees_are_shown_step_by_step(client):
    listed = client.get("/api/trees").json()
    assert {"three-plies", "coin"} <= {tree["name"] for tree in listed}
    for tree in listed:
        for algorithm in tree["algorithms"]:
            found = client.get(f"/api/trees/{tree['name']}/{algorithm}").json()
            last = len(found["captions"]) - 1
            assert last > 2
            assert client.get(f"/api/trees/{tree['name']}/{algorithm}/{last}.svg").text.startswith("<svg")
            assert client.get(f"/api/trees/{tree['name']}/{algorithm}/{last + 1}.svg").status_code == 422
    assert client.get("/api/trees/%2Fetc%2Fpasswd/minimax").status_code in (404, 422)
    assert client.get("/api/trees/secret.tree/minimax").status_code == 422
