"""What the fuzzers begin with: texts that are right, and all that have failed once."""

import json

GAMES = (
    *(
        "briskola",
        "briskola:seats=4",
        "bridge",
        "bridge:strain=any,level=any,declarer=any",
        "mini-tichu",
        "tichu",
    ),
    *("tichu:target=1000", "diminishing-bridge", "diminishing-bridge:cards=2,order=rising", "tic-tac-toe"),
    *("othello", "backgammon"),
)
AGENTS = (
    *(
        "random",
        "rule-based",
        "ismcts:2000,c=0.9",
        "uct:500,playouts=2",
        "pimc:20",
        "ismcts:time=200ms,keep=0",
    ),
    *("expert", "flat:100", "ismcts:2_000,threads=1,belief=0"),
)
"""Those that may sit at a table of Briskola and Tichu."""
DEAL = "N:.63.AKQ987.A9732 A8654.KQ5.T.QJT6 J973.J98742.3.K4 KQT2.AT.J6542.85"
PBN = f"""% PBN 2.1
[Event "##Cup"]
[Site "##"]

[Event "#"]
[Board "1"]
[Dealer "N"]
[Vulnerable "NS"]
[Deal "{DEAL}"]
[Declarer "S"]
[Contract "3NTX"]
{{a comment}}
[Auction "N"]
1NT =1= Pass 3NT! X
Pass Pass Pass
[Note "1:15-17"]
[Play "W"]
SQ H3 S4 S3 *
[OptimumResultTable "Declarer;Denomination\\2R;Result\\2R"]
N NT 7

[Deal "#"]
[Board "#"]
[Contract "Pass"]
"""
LIN = (
    "qx|o7|pn|S,W,N,E|st||md|3SA4HT7DAKQ9876CA5,S83HAKQ852DT3CKQ7,SJ92H643D42CJT932,|rh||ah|Board 7|sv|b|"
    "mb|1N!|an|15-17|mb|p|mb|3N|mb|p|mb|p|mb|p|pg||pc|SK|pc|S4|pg||mc|9|\r\nqx|c7|md|1SA4HT7DAKQ9876CA5|sv|o|pg||"
)
TREE = """range 0 100
max
  left: min ~ 5
    3
    12
  roll: chance
    1/6 six: 20
    5/6: min ~ 4 noisy
      1
      9 same
"""
SEATS = "seat 0\n  seat 2 ~ 1, 2, 3\n    1, 2, 3\n  4, 5, 6 # a remark\n"
TREE_JSON = (
    '{"node": "max", "range": [0, 9], "children": [3, "a", {"node": "chance", "evaluation": 2, \n'
    '"noisy": true, "children": [{"odds": "1/3", "value": 3, "name": "x"}, {"odds": 0.66666666666667, '
    '"to": "a"}]}],\n'
    '"nodes": {"a": {"node": "min", "children": [1, {"value": 2, "same": true}]}}}'
)
MANIFEST = (
    '{"kind": "compiled code of Kibitz, 1", "kibitz": "0.2.0", "versions": {"Numba": "0.68.1", "NumPy": "2", '
    '"Python": "cpython 3.11", "Numba\'s settings": "0 3 0"}, "processor": {"system": "x86_64-linux-gnu", '
    '"processor": "znver3", "features": "+avx2,-avx512f"}, "folders": {"0123456789abcdef": {"kibitz": "ab"}}}'
)
TOML = """name = "budget"
question = "?"
game = "briskola"
games = 40
seed = 3
notes = ["{first} is the value"]

[match.budget]
agents = ["ismcts:{n}", "random"]
grid.n = [100, 200]

[match.one]
agents = ["rule-based", "random"]
games = 20
rotate = false

[tournament.all]
agents = ["random", "rule-based", "flat:20"]

[[row]]
match = "budget"
measure = "win_rate"
cell = "{n} iterations"
published = [0.5, 0.6]

[[row]]
match = "one"
name = "first"
interval = "wilson"
measure = "win_rate"
above = 0.5

[[figure]]
kind = "curve"
match = "budget"
x = "n"
"""

TOML_IN_FULL = """title = "All that there is"
game = "mini-tichu"
games = 4
confidence = 0.9

[match.plain]
agents = ["random", "rule-based"]
until = "decided"

[match.low]
agents = ["random", "rule-based"]
seed = 1

[match.high]
agents = ["rule-based", "random"]
seed = 1

[match.top]
agents = ["random", "random"]
seed = 1

[match.grid]
agents = ["flat:{n},playout={p}", "random"]
games = [4, 4, 8, 8]
grid.n = [5, 6]
grid.p = [0.5, 1.0]

[match.line]
agents = ["flat:{n}", "random"]
grid.n = [5, 6]

[[learned]]
agent = "castelein-mc"
cell = "MC"
published_at_random = 0.5

[[row]]
match = "low"
measure = "gap"
base = "high"
ceiling = "top"
of = "points"
goal = 0.5

[[row]]
match = "low"
less = "high"
measure = "win_rate"
test = "mcnemar"
interval = "bootstrap"
digits = 2

[[row]]
match = "low"
less = "top"
test = "paired"
holm = true

[[row]]
match = "grid"
pooled = true
name = "all"
cause = "why"

[[figure]]
kind = "heat"
match = "grid"
x = "n"
y = "p"

[[figure]]
kind = "bars"
match = "line"
measures = ["win_rate", "decided"]
x = "n"

[[figure]]
kind = "distribution"
matches = ["low", "top"]
mark = 5.0

[[figure]]
kind = "intervals"
rows = ["all"]
"""
OPENSPIEL = (
    *("chess", "oh_hell,players=4", "oh_hell(players=4)", "kuhn_poker(players=3)", "connect_four"),
    *(
        "repeated_game(stage_game=matrix_rps(),num_repetitions=2)",
        "turn_based_simultaneous_game(game=matrix_rps())",
    ),
)
COUNTERS = {
    "game": "mini-tichu",
    "agent": "random",
    "seed": 1,
    "situations": 2,
    "step": 10,
    "seen": False,
    "rounds": 10,
}
DURATIONS = ("200ms", "1.5s", "2m", ".5 min", "3")


MESSAGES = (
    *({"type": "ping"}, {"type": "join", "token": "x" * 43, "sees": 1, "after": 3}, {"type": "undo"}),
    *({"type": "play", "number": 1, "move": "12"}, {"type": "play", "number": 1, "text": "12D"}),
    *(
        {"type": "advise", "on": True, "agent": "ismcts:100"},
        {"type": "claim", "tricks": 3},
        {"type": "review"},
    ),
    *(
        {"type": "answer", "agree": True},
        {"type": "rematch", "same_deal": True},
        {"type": "look", "ply": 2, "seat": 1},
    ),
    *({"type": "draw", "ply": 0}, {"type": "hand_over", "agent": "random"}, {"type": "think", "on": False}),
    {"type": "study", "game": "briskola", "start": {"seed": "7", "deal": 1, "position": ""}, "moves": []},
    {"type": "study", "game": "briskola", "start": {"position": "7"}, "moves": ["12D", "6S"]},
    {"type": "study", "game": "bridge", "start": {"position": DEAL}, "moves": ["AS"]},
    {"type": "study", "game": "bridge", "start": {"position": f'[Deal "{DEAL}"]\n[Dealer "N"]'}, "moves": []},
)
BODIES = {
    "/api/tables": (
        {"game": "briskola", "seats": [{"name": "a"}, {"name": "b"}], "seed": "7", "undo": True},
        {
            "game": "briskola",
            "seats": [{"name": "a"}, {"agent": "random"}],
            "start": {"position": "7"},
            "moves": ["12D"],
        },
        {"game": "bridge", "seats": [{}, {}, {}, {}], "start": {"position": DEAL}, "moves": []},
    ),
    "/api/lines": (
        {"text": PBN},
        {"text": LIN},
        {"text": '{"game": "briskola", "seed": 7, "moves": ["12D"]}'},
    ),
    "/api/tables/mine": ({"tokens": ["x" * 43, "A-_" * 9]},),
}


def nested(depth, inside="1"):
    return "[" * depth + inside + "]" * depth


def record_of(**fields):
    return json.dumps({"game": "briskola", "moves": [], "seed": 1, "deal": 0} | fields).replace(
        '"@"', "1e999"
    )


HEAD = f'[Deal "{DEAL}"]\n'
BIG = "9" * 5000
MANY = list(range(1, 150))
ONCE_WRONG = {
    "manifests of compiled code": (
        MANIFEST.replace("0.68.1", "\\ud800"),
        MANIFEST.replace("0.68.1", "\ud800"),
    ),
    "PBN": (
        HEAD + "".join(f'[{i:x}a"##"]\n' for i in range(2600)) + "\n" + '[Deal"#"]\n\n' * 2500,
        f'{HEAD}[Contract "3NT"]\n[Declarer "S"]\n[Play "W"]\nSQ' + " -" * 149_000,
        f'{HEAD}[Contract "3NT"]\n[Declarer "S"]\n[Play "W"]\nﬆ',
    ),
    "positions of briskola": (
        *("²", BIG, "7: 2D " + "x" * 10_000, "7: \u202e", "7: a" + "\u0300\u0316" * 30_000),
    ),
    "positions of backgammon": ("²", f"X: 6({BIG}); O: 6(15); X rolls 6-5"),
    "positions of othello": ("7: " + "," * 60_000,),
    "moves of backgammon": (f"{BIG}/1", "6/5 " * 15_000),
    "moves of diminishing-bridge": (BIG, f"bid {BIG}"),
    "moves of tichu": ("give " + BIG, "\ud800", "7D+\0"),
    "experiments with --trust": (TOML.replace("grid.n = [100, 200]", ""), TOML.replace("{n}", "{m}")),
    "games of OpenSpiel": (
        "chess\x1b[31m",
        "chess(\ud800)",
        "oh_hell(players=\u202e)",
        "efg_game(filename=\n)",
        "oh_hell,p" + "\u200b" * 3000,
    ),
    "names of counters": ("\x1b[31m", "castelein-mc\n", "x\u202e.npz", "m" * 400),
    "counters": (
        json.dumps(COUNTERS | {"agent": "\x1b[31m", "rounds": 5}),
        json.dumps(COUNTERS | {"agent": ["x"], "game": {}}),
        json.dumps(COUNTERS | {"\u202e": 1}),
    ),
    "durations": ("\x1b[31m", "1" * 5000),
    "agents": ("ismcts:" + "9" * 400, "ismcts:" + BIG, "x" * 5000),
    "games": ("briskola:\x1b[31m",),
    "records": (record_of(seed="@"), record_of(chance=["f" * 20]), nested(2000)),
    "OpenSpiel's actions": (
        "bridge(): " + " ".join(map(str, [*range(52), 52, 52, 55, 52, 52, 52, 99])),
        f"bridge(): {BIG}",
        "bridge(): " + " ".join(map(str, range(52))) + f" # board {BIG}",
        "a" + " " * 59_000 + "b",
    ),
    "lines as JSON": (
        *('{"game":"briskola","seed":1e999}', record_of(deal="@"), record_of(moves=["@"])),
        *(record_of() + '\n{"undo": 1e999}', record_of(deal=2_000_000), record_of(game="\ud800")),
        record_of(start={"position": "x" * 5000}),
    ),
    "lines": (
        '[Event "a\ud800"]\n' + HEAD + '[Contract "3NT"]\n[Declarer "S"]\n',
        f'{HEAD}[Dealer "N"]\n[Auction "N"]\n1C ' + "X XX " * 10_000,
        HEAD + "\n" + '[Deal"#"]\n\n' * 5_400,
    ),
    "trees as JSON": (
        f'{{"node": "max", "children": [{BIG}]}}',
        '{"node": "max", "children": [' * 450 + "1" + ",1" * 20_000 + "]}" * 450,
        '{"node": "max", "children": ["a0"], "nodes": {'
        + "".join(f'"a{i}": {{"node": "max", "children": ["a{i + 1}"]}}, ' for i in range(4000))
        + '"a4000": 1}}',
    ),
    "trees as lines": ("chance\n" + "".join(f"  1/{10**90 + 2 * i + 1} 3\n" for i in range(4000)) + "  1 4",),
    "experiments": (
        TOML.replace("{n}", "{n},c={m},trees={k}").replace(
            "= [100, 200]", f"= {MANY}\ngrid.m = {MANY}\ngrid.k = {MANY}"
        ),
        TOML.replace("above = 0.5", "above = 1" + "0" * 400),
        TOML.replace('name = "first"', f'name = "{"x" * 5000}"'),
        TOML.replace("published = [0.5, 0.6]", "published = 1" + "0" * 400),
        *(before + ("x." * 25_000) + after for before in (TOML, "") for after in ("y = 1", "y]")),
        "[" + '"é " . ' * 9_000 + "y]",
        "x = {" + "'a'." * 14_000 + "y = 1}",
        *(sign * 60_000 for sign in ("a", '"', "'", "a ", "a.", "a\t")),
        TOML.replace('"random", "rule-based", "flat:20"', ", ".join(f'"flat:{i}"' for i in range(1, 3000))),
    ),
    "notes on hands": (f"N: hcp {BIG}", "N: hcp 15-\u202e", "N: hcp 15-\n7"),
    "messages": ('{"type": "ping", "\\u007f": 1}',),
    "bodies of /api/lines": (
        json.dumps({"text": '{"game":"briskola","seed":1e999}'}),
        json.dumps({"text": record_of(deal=2_000_000)}),
        json.dumps({"text": f'{HEAD}[Dealer "N"]\n[Auction "N"]\n1C ' + "X XX " * 5_000}),
        json.dumps({"text": record_of(game="\ud800")}),
    ),
}
"""What has failed once, by kind: a foreign exception, a message that cannot be sent, or seconds."""
