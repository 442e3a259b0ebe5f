"""Review, study and laboratory in a real browser."""

import subprocess
import sys

import pytest

from kibitz import games
from kibitz.arena.executors import InProcess
from kibitz.arena.store import Store
from kibitz.experiments import read, run
from kibitz.games.bridge.files import board_of, write_pbn
from kibitz.position import deal
from tests.test_web_browser import BEGINNER, COMPILED, ME, Server, chromium, expect, picture, visit  # noqa: F401 (fixtures)
from tests.test_web_study import EXPERIMENT

expect.set_options(timeout=30_000)  # a first answer may have to load the solver, or compiled code
SERVE = """
import sys
from pathlib import Path
from kibitz.web.app import serve
from kibitz.web.hosting import Limits
limits = Limits(
    window_seconds=0.06, pace_seconds=0.0, advice_seconds=0.3, review_seconds=0.02, requests_a_second=1000.0
)
serve(Path(sys.argv[2]), "127.0.0.1", int(sys.argv[1]), (), limits, Path(sys.argv[3]))
"""


class ServerWithStore(Server):
    """A server that shows a store, too."""

    def __init__(self, folder, store):
        self.store = store
        super().__init__(folder)

    def launch(self):
        command = [sys.executable, "-c", SERVE, str(self.port), str(self.folder), str(self.store)]
        return subprocess.Popen(command, stderr=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    with Store(folder / "lab.db") as store:
        run(read(EXPERIMENT, "who.toml"), store, InProcess())
    started = ServerWithStore(folder / "tables", folder / "lab.db")
    yield started
    started.kill()


def test_a_game_is_reviewed_and_played_on(server, visit):  # noqa: F811
    _, watch = server.table("briskola", [BEGINNER, BEGINNER])
    page = visit(watch)
    page.get_by_role("link", name="Review the game").click()
    expect(page.locator(".status")).to_contain_text("0 of 40")
    page.get_by_role("button", name="Judge all moves").click()
    expect(page.locator(".mistakes li").first).to_contain_text("loses")
    expect(page.locator(".losses rect")).not_to_have_count(0)
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    picture(page, "review")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".status")).to_contain_text("1 of 40")
    page.keyboard.press("End")
    expect(page.locator(".status")).to_contain_text("The game is over")
    page.keyboard.press("Home")
    expect(page.locator(".status")).to_contain_text("The start")
    expect(page.locator(".replay .backs")).to_have_count(0)
    page.select_option("#seen", "0")
    expect(page.locator(".replay .backs")).not_to_have_count(0)
    page.get_by_role("button", name="Think about this position").click()
    expect(page.locator(".advice")).to_contain_text("only what the mover could see")
    page.get_by_role("button", name="Worlds that the mover").click()
    expect(page.locator(".worlds details")).to_have_count(12)
    page.get_by_role("button", name="Copy a link").click()
    link = page.inner_text(".link code")
    assert "#study=" in link
    other = visit(link)  # in another browser: the link holds everything
    expect(other.locator(".status")).to_contain_text("0 of 40")
    other.locator(".moves button:not(.made)").first.click()  # what if
    expect(other.locator(".status")).to_contain_text("1 of 1.")
    other.get_by_role("button", name="Open a table that begins here").click()
    expect(other.locator(".log li")).not_to_have_count(0)
    assert other.evaluate("document.activeElement !== document.body")


def test_a_board_is_studied_with_the_solver(server, visit):  # noqa: F811
    page = visit(server.url + "#study")
    page.fill("#pasted", write_pbn([board_of(deal(games.load("bridge"), 7), number=4)]))
    page.get_by_role("button", name="Study").click()
    page.get_by_role("link", name="board 4").click()
    expect(page.locator(".status")).to_contain_text("0 of 0")
    page.get_by_role("checkbox", name="Double dummy").check()
    expect(page.locator(".solved")).to_contain_text("Par", timeout=COMPILED)
    page.goto(server.url + "#study=nonsense")
    expect(page.locator("#alarm")).to_contain_text("no line of play")


def is_drawn(page, selector):
    """Wait until a picture has come; by the policy of the page nothing can be evaluated in it to wait."""
    for _ in range(300):
        if page.locator(selector).first.evaluate("(image) => image.naturalWidth") > 50:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"{selector} is not drawn")


def test_the_laboratory_and_its_trees(server, visit):  # noqa: F811
    page = visit(server.url)
    page.get_by_role("link", name="Laboratory").click()
    page.get_by_role("link", name="Who is better").click()
    expect(page.locator("h2")).to_have_text("Who is better")
    expect(page.locator(".plot img").first).to_be_visible()
    is_drawn(page, ".plot img")
    page.goto(server.url + "#trees")
    page.get_by_role("link", name="alphabeta", exact=True).first.click()
    expect(page.locator(".status")).to_contain_text("0 of")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".status")).to_contain_text("1 of")
    is_drawn(page, "img.tree")


def test_a_move_is_taken_back_by_a_key(server, visit):  # noqa: F811
    import json
    import urllib.request

    wanted = {"game": "briskola", "seats": [ME, BEGINNER], "seed": "7", "undo": True}
    request = urllib.request.Request(
        server.url + "api/tables", json.dumps(wanted).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        page = visit(f"{server.url}#{json.load(answer)['seats']['0']}")
    expect(page.locator(".stage.mine")).to_be_visible()
    page.locator(".hand button[aria-disabled=false], .hand button:not([aria-disabled])").first.click()
    expect(page.locator(".log li")).to_have_count(3)
    page.keyboard.press("z")
    expect(page.locator(".log")).to_contain_text("take a move back")
