"""The pages in a real browser: Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quorate.apps.cli.main import main
from quorate.apps.web.server import Server

ROOT = Path(__file__).parents[3]
CHROMIUM = os.environ.get("QUORATE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need the Python package playwright")
if CHROMIUM is None:
    pytest.skip("the browser tests need Chromium (apt-get install chromium)", allow_module_level=True)
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    opened.set_default_timeout(60_000)
    yield opened
    opened.close()
    assert problems == []


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Server]:
    shutil.copy(ROOT / "protocols/relational/broken/ring_leader_election_forwards_all.pyv", tmp_path / "ring.pyv")
    shutil.copy(ROOT / "protocols/relational/vertical_paxos.ivy", tmp_path / "vertical.ivy")
    made = Server(tmp_path)
    threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def report(tmp_path: Path, *paths: str) -> str:
    target = tmp_path / "report.html"
    files = [str(ROOT / "protocols" / path) for path in paths]
    main(["verify", *files, "--method", "bounded", "--time", "30", "--report", str(target), "--quiet"])
    return target.as_uri()


def test_a_report_opens_from_a_file(page: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page.goto(report(tmp_path, "relational/broken/toy_consensus_epr_no_intersection.ivy"))
    steps = page.locator(".steps button")
    assert steps.count() == 5
    assert page.locator(".steps [aria-current]").get_attribute("data-step") == "4"
    assert "violates agreement" in page.locator(".steps [aria-current]").inner_text()
    page.locator(".steps [aria-current]").press("ArrowUp")
    assert page.locator(".steps [aria-current]").get_attribute("data-step") == "3"
    page.keyboard.press("Home")
    assert page.locator(".steps [aria-current]").get_attribute("data-step") == "0"
    page.keyboard.press("e")
    page.keyboard.type("exists V. decided(V)")
    assert page.locator(".steps .value").all_inner_texts() == ["false", "false", "true", "true", "true"]
    page.keyboard.press("Escape")
    expression = page.get_by_label("evaluate an expression in every state")
    expression.fill("forall V1:value, V2:value. decided(V1) & decided(V2) -> V1 = V2")
    assert page.locator(".steps .value").all_inner_texts() == ["true", "true", "true", "true", "false"]
    expression.fill("nonsense(")
    assert page.locator(".notice").first.inner_text()
    page.get_by_label("filter steps and facts").fill("vote(node1")
    assert page.locator(".steps li:not(.dim)").count() == 1
    page.get_by_role("tab", name="Sequence").click()
    page.get_by_label("lanes").select_option("node")
    assert page.locator("svg .dot").count() == 2
    page.get_by_role("tab", name="Tables").press("ArrowRight")
    assert page.get_by_role("tab", name="Graph").get_attribute("aria-selected") == "true"
    page.locator(".steps button").nth(4).click()
    page.get_by_role("tab", name="Step").click()
    page.get_by_role("button", name="line 34 of the protocol").click()
    assert "decide" in page.locator("pre.source .line.now").inner_text()


def test_a_report_on_several_files_in_the_dark_on_a_phone(browser: Any, tmp_path: Path) -> None:
    address = report(
        tmp_path,
        "relational/broken/toy_consensus_epr_no_intersection.ivy",
        "relational/broken/lock_server_sync_lock_stolen.pyv",
    )
    page = browser.new_page(viewport={"width": 375, "height": 700}, color_scheme="dark")
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 29)"
    page.locator("table.files tr").nth(1).press("Enter")
    assert "mutual_exclusion" in page.locator("#file").inner_text()
    page.get_by_label("filter files").fill("toy")
    assert page.locator("table.files tr:not(.hidden)").count() == 1
    page.close()


def test_scripts_in_a_protocol_are_shown_inert(page: Any, tmp_path: Path) -> None:
    nasty = tmp_path / "nasty.pyv"
    nasty.write_text(
        "# </script><script>window.pwned = 1</script><img src=x onerror='window.pwned=1'>\n"
        "sort node\nmutable relation held(node)\ninit !held(N)\n"
        "transition take(n: node)\n  modifies held\n  & (forall N. new(held(N)) <-> held(N) | N = n)\n"
        "safety [mutex] held(N) & held(M) -> N = M\n"
    )
    target = tmp_path / "report.html"
    main(["verify", str(nasty), "--method", "bounded", "--report", str(target), "--quiet"])
    page.goto(target.as_uri())
    assert "</script><script>window.pwned" in page.locator("pre.source").inner_text()
    assert page.evaluate("window.pwned") is None


def test_a_verification_and_its_trace(page: Any, live: Server) -> None:
    page.goto(live.url)
    page.locator("button[data-name='ring.pyv']").click()
    page.get_by_role("button", name="Verify").click()
    page.locator("section[data-trace='unique_leader']").wait_for()
    assert page.locator(".property .badge").inner_text() == "✗ violated"
    page.locator(".steps button").nth(2).click()
    page.get_by_role("button", name="go on from here by hand").click()
    page.locator(".option").first.wait_for()
    assert page.locator(".steps button").count() == 3


def test_stepping_by_hand(page: Any, live: Server) -> None:
    page.goto(live.url)
    page.locator("button[data-name='ring.pyv']").click()
    page.get_by_role("button", name="Step by hand").click()
    page.locator(".option", has_text="start(n = node0").click()
    page.locator(".steps button").nth(1).wait_for()
    assert "pending" in page.locator(".steps button").nth(1).inner_text()
    page.locator("summary", has_text="What cannot").click()
    assert "does not hold for" in page.locator(".result").inner_text()
    page.get_by_role("button", name="undo").click()
    page.locator(".steps button").nth(1).wait_for(state="detached")
    page.get_by_role("button", name="random run").click()
    page.locator(".steps button").nth(3).wait_for()


def test_of_files_opened_in_quick_succession_the_last_one_counts(page: Any, live: Server) -> None:
    page.goto(live.url)
    step = page.get_by_role("button", name="Step by hand")
    page.locator("button:enabled", has_text="Step by hand").wait_for()
    held: list[Any] = []
    late = "vertical.ivy"
    page.route("**/api/read", lambda it: held.append(it) if late in (it.request.post_data or "") else it.continue_())
    with page.expect_request("**/api/read"):
        page.locator(f"button[data-name='{late}']").click()
    assert step.is_disabled()
    page.locator("button[data-name='ring.pyv']").click()
    step.click()
    page.locator(".option").first.wait_for()
    with page.expect_response("**/api/read"):
        held[0].continue_()
    page.evaluate("new Promise(requestAnimationFrame)")
    assert "sort identifier" in page.locator("textarea").input_value()
    assert page.locator(".option").count() > 0


def test_an_error_is_shown_at_its_place_and_a_fix_saved(page: Any, live: Server, tmp_path: Path) -> None:
    page.goto(live.url)
    page.locator("button[data-name='ring.pyv']").click()
    area = page.locator("textarea")
    page.locator("button:enabled", has_text="Verify").wait_for()
    text = area.input_value()
    assert "sort identifier" in text
    area.fill(text.replace("sort identifier", "sort identifer"))
    assert page.locator(".problems button").first.inner_text().startswith("line 15: unknown sort")
    assert page.locator(".squiggle").first.inner_text() == "identifier"
    assert page.locator(".numbers .bad").first.inner_text().strip() == "15"
    assert page.get_by_role("button", name="Verify").is_disabled()
    area.fill(text + "# a remark\n")
    page.locator(".problems button").first.wait_for(state="detached")
    area.press("Control+s")
    page.get_by_text("saved ring.pyv").wait_for()
    assert (tmp_path / "ring.pyv").read_text() == text + "# a remark\n"


def test_a_long_run_is_cancelled(page: Any, live: Server) -> None:
    page.goto(live.url)
    page.locator("button[data-name='vertical.ivy']").click()
    page.get_by_label("method").select_option("infer")
    page.get_by_role("button", name="Verify").click()
    page.locator(".result td", has_text="infer").wait_for()
    page.get_by_role("button", name="cancel").click()
    page.locator(".property .badge.unknown").wait_for()
    assert "cancelled" in page.locator("header").inner_text()
