"""Review, study and laboratory in a real browser."""

import base64
import json
import re
import subprocess
import sys
import threading
import urllib.request
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kibitz import games
from kibitz.arena.executors import InProcess
from kibitz.arena.store import Store
from kibitz.experiments import read, run
from kibitz.games.bridge.files import board_of, write_pbn
from kibitz.position import deal
from kibitz.web import lines
from tests.test_web_browser import (  # noqa: F401 (fixtures)
    BEGINNER,
    COMPILED,
    CONTRAST,
    LAPTOP,
    ME,
    PHONE,
    SMALL_TARGETS,
    Server,
    chromium,
    expect,
    picture,
    visit,
)
from tests.test_web_study import BOARD, EXPERIMENT

pytestmark = pytest.mark.browser
expect.set_options(timeout=30_000)  # a first answer may have to load the solver, or compiled code
SERVE = """
import sys
from pathlib import Path
from kibitz.web.server import serve
from kibitz.web.limits import Limits
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
    expect(page.locator(".advice")).to_contain_text("only what the mover can see")
    page.get_by_role("button", name="Worlds that the mover").click()
    expect(page.locator(".worlds details details")).to_have_count(12)  # by what is best in them
    link = copied(page, "link")
    assert "#study=" in link
    other = visit(link)  # in another browser: the link holds everything
    expect(other.locator(".status")).to_contain_text("0 of 40")
    other.locator(".moves button:not(.made)").first.click()  # what if
    expect(other.locator(".status")).to_contain_text("1 of 1.")
    expect(other.locator(".branches button")).to_have_count(2)
    other.locator(".moves button").first.click()  # the branch goes on: it is still one
    expect(other.locator(".status")).to_contain_text("2 of 2.")
    expect(other.locator(".branches button")).to_have_count(2)
    other.get_by_role("button", name="The game").click()
    expect(other.locator(".status")).to_contain_text("of 40")
    expect(other.locator(".branches button")).to_have_count(2)
    other.locator(".branches button:not([aria-current])").click()
    other.get_by_role("button", name="Open a table that begins here").click()
    expect(other.locator(".log li")).not_to_have_count(0)
    assert other.evaluate("document.activeElement !== document.body")
    silent = visit()
    silent.route_web_socket(re.compile(".*"), lambda socket: None)  # a server that does not answer
    silent.goto(link)
    silent.reload()
    expect(silent.get_by_role("button", name="Open a table that begins here")).to_be_disabled()


def copied(page, what):
    """What the menu offers to be copied."""
    if not page.locator(".sharing[open]").count():
        page.get_by_text("Copy and share").click()
    page.get_by_role("button", name=f"Copy {what}", exact=True).click()
    return page.text_content(".sharing code")


def test_keys_of_the_review(server, visit):  # noqa: F811
    _, watch = server.table("briskola", [BEGINNER, BEGINNER])
    page = visit(watch)
    page.get_by_role("link", name="Review the game").click()
    expect(page.locator(".status")).to_contain_text("0 of 40")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".status")).to_contain_text("1 of 40")
    for key, ply in (("ArrowRight", 2), ("ArrowRight", 4), ("ArrowLeft", 2)):
        page.keyboard.press(f"Shift+{key}")  # by trick
        expect(page.locator(".status")).to_contain_text(f"{ply} of 40")
    page.keyboard.press(" ")  # think first
    expect(page.get_by_role("button", name="Think deeper")).to_be_visible()
    wanted = page.locator(".moves button:has(.best)").first.text_content().split()[0]
    page.keyboard.press(" ")
    expect(page.locator(".status")).to_contain_text(f": {wanted}.")
    expect(page.locator(".status")).to_contain_text("3 of")


def test_what_is_copied_can_be_pasted_on_any_page(server, visit):  # noqa: F811
    page = visit(server.url + "#study")
    page.fill("#pasted", BOARD)
    page.get_by_role("button", name="Study").click()
    page.get_by_role("link", name="board 4").click()
    expect(page.locator(".auction")).to_contain_text("West deals; all are vulnerable")
    expect(page.locator(".auction tbody tr").nth(1)).to_have_text("––2♣*–")
    expect(page.locator(".auction")).to_contain_text("2♣* South: strong")
    assert copied(page, "deal").startswith("N:AK32.")
    texts = [copied(page, what) for what in ("PBN", "LIN", "record")]
    page.get_by_role("button", name="Diagram as SVG and PNG").click()
    expect(page.get_by_role("link", name="Save PNG")).to_be_visible()
    is_drawn(page, ".sharing img")
    page.goto(server.url)  # the lobby
    paste = """text => {
      const brought = new DataTransfer();
      brought.setData("text", text);
      document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData: brought, bubbles: true }));
    }"""
    for text, notation in zip(texts, ("PBN:", "LIN:", "record of Kibitz:"), strict=True):
        page.evaluate(paste, text)
        expect(page.get_by_label("What was found")).to_contain_text(notation)
        expect(page.locator("main li a")).to_have_count(1)
        page.goto(server.url)
    page.evaluate(paste, "x" * 60_001)
    expect(page.locator("#alarm")).to_contain_text("too long")


def test_a_line_in_the_page_of_somebody_else(server, visit, tmp_path):  # noqa: F811
    page = visit(server.url + "#study")
    page.fill("#pasted", "briskola 7: 12D 6S")
    page.get_by_role("button", name="Study").click()
    page.get_by_role("link", name="briskola").click()
    expect(page.locator(".status")).to_contain_text("0 of 2")
    (tmp_path / "index.html").write_text(f"<!doctype html><body>{copied(page, 'frame for a page')}")
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        page.goto(f"http://127.0.0.1:{other.server_port}/index.html")
        frame = page.frame_locator("iframe")
        frame.get_by_role("button", name="Forward").click()
        expect(frame.locator(".status")).to_contain_text("1 of 2. Seat 0: 12D")
        assert frame.get_by_role("button", name="Play on").count() == 0
        assert frame.locator("header").is_hidden()
        other.shutdown()


def test_a_board_is_studied_with_the_solver(server, visit):  # noqa: F811
    page = visit(server.url + "#study")
    page.fill("#pasted", write_pbn([board_of(deal(games.load("bridge"), 7), number=4)]))
    page.get_by_role("button", name="Study").click()
    page.get_by_role("link", name="board 4").click()
    expect(page.locator(".status")).to_contain_text("0 of 0")
    page.get_by_role("checkbox", name="Double dummy").check()
    expect(page.locator(".solved")).to_contain_text("Par", timeout=COMPILED)
    best = page.locator(".moves .opinion.best")
    expect(best.first).to_have_text(re.compile("★ (=|[+−][0-9]+)"))
    assert len(set(best.all_text_contents())) == 1  # all that are best
    page.goto(server.url + "#study=nonsense")
    expect(page.locator("#alarm")).to_contain_text("no line of play")


def test_what_can_be_pressed_and_read_on_all_pages(server, visit):  # noqa: F811
    (found,) = lines.read(BOARD)[1]
    line = {"game": found.line.game, "start": found.line.start.shown(), "moves": ["JH"], "others": [["TS"]]}
    link = base64.urlsafe_b64encode(json.dumps(line).encode()).decode().rstrip("=")
    seen_when = {
        "": ".seat-row",
        "study": "#pasted",
        f"study={link}": ".branches li",
        "laboratory": "main li a",
        "laboratory=who": ".plot img",
        "trees": "main li a",
        "trees=two-plies/alphabeta": "img.tree",
    }
    for size, scheme in ((LAPTOP, "light"), (PHONE, "dark")):
        page = visit(server.url, size, scheme)
        for address, selector in seen_when.items():
            page.goto(f"{server.url}#{address}")
            page.wait_for_selector(selector, state="attached")
            for folded in page.locator("summary:visible").all():
                folded.click()
            if "=" in address and "study" in address:
                page.get_by_role("checkbox", name="Double dummy").check()
                expect(page.locator(".solved")).to_contain_text("Par", timeout=COMPILED)
            assert page.evaluate(SMALL_TARGETS) == [], address
            assert page.evaluate(CONTRAST) == [], address
            assert page.evaluate("document.documentElement.scrollWidth") <= size[0], address


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
