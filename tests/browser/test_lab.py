"""The start notebook in a real JupyterLab and headless Chromium: run all, move a slider by keyboard, look and read."""

import os
import re
import secrets
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "notebooks" / "00_start_here.ipynb"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
PRESSES = 8
READY = """() => {
    const kernel = window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel;
    return kernel && kernel.connectionStatus === 'connected' && kernel.status === 'idle';
}"""
CELL_ERRORS = """() => jupyterapp.shell.currentWidget.content.widgets
    .filter(cell => cell.model.type === 'code')
    .flatMap(cell => cell.model.outputs.toJSON())
    .filter(output => output.output_type === 'error')
    .map(output => `${output.ename}: ${output.evalue}`)"""
RECORD = """picture => {
    window.pressed = []; window.changed = [];
    document.addEventListener('keydown', () => window.pressed.push(performance.now()), true);
    new MutationObserver(() => window.changed.push(performance.now()))
        .observe(picture, {attributes: true, attributeFilter: ['src']});
}"""


def _stop(server):
    """End the server, which ends its kernels; killed, it leaves them to notice that their parent is gone."""
    if server.poll() is None:
        server.terminate()
    try:
        server.wait(15)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait(15)


@pytest.fixture
def lab(tmp_path):
    """Address of the notebook's copy in a JupyterLab of its own; nothing of the user's settings is read or written."""
    pytest.importorskip("jupyterlab", reason="jupyterlab is not installed")
    if not NOTEBOOK.exists():
        pytest.skip(f"{NOTEBOOK.name} is not here")
    (tmp_path / "root").mkdir()
    shutil.copy(NOTEBOOK, tmp_path / "root")
    news = tmp_path / "settings" / "@jupyterlab" / "apputils-extension"
    news.mkdir(parents=True)
    (news / "notification.jupyterlab-settings").write_text('{"fetchNews": "false", "checkForUpdates": false}')
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = secrets.token_hex(16)
    own = {
        "JUPYTER_TOKEN": token,
        "JUPYTERLAB_SETTINGS_DIR": str(tmp_path / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(tmp_path / "workspaces"),
        "JUPYTER_CONFIG_DIR": str(tmp_path / "config"),
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"),
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT / "lib"), os.environ.get("PYTHONPATH")])),
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--expose-app-in-browser"]
    command += [
        "--ip=127.0.0.1",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={tmp_path / 'root'}",
    ]
    log = tmp_path / "server.log"
    with log.open("wb") as stream:
        server = subprocess.Popen(
            command,
            env=os.environ | own,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C goes to the test, which ends the server; without meaning on Windows
        )
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api?token={token}", timeout=2).close()
                break
            except (urllib.error.URLError, OSError):
                if server.poll() is not None or time.monotonic() > deadline:
                    pytest.fail(f"JupyterLab did not start:\n{log.read_text(errors='replace')[-2000:]}")
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/doc/tree/{NOTEBOOK.name}?token={token}&reset"
    finally:
        _stop(server)


@pytest.fixture
def page():
    """A page of headless Chromium, and the list of errors that its console has shown."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no chromium on the path")
    with playwright.sync_playwright() as driver:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=flags)
        page = browser.new_page(viewport={"width": 1300, "height": 1000})
        page.set_default_timeout(60_000)
        page.problems = []
        page.on("pageerror", lambda error: page.problems.append(f"{error}"))
        page.on("console", lambda message: message.type == "error" and page.problems.append(_words(message)))
        yield page
        browser.close()


def _words(message):
    return f"{message.text} ({message.location.get('url', '')})"


def test_slider_by_keyboard_changes_picture_and_text(page, lab):
    page.goto(lab)
    page.wait_for_function(READY)
    page.evaluate("() => jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(READY, timeout=180_000)
    assert page.evaluate(CELL_ERRORS) == []

    picture = page.locator("img.gencap-picture").first
    handle = page.locator(".gencap-temperature .noUi-handle").first
    readout = page.locator(".gencap-temperature .widget-readout").first
    text = page.locator(".gencap-text").first
    picture.scroll_into_view_if_needed()
    page.wait_for_function("picture => picture.complete && picture.naturalWidth > 100", arg=picture.element_handle())
    assert re.search(r"\d+ distinct clusters?", text.inner_text())
    assert "bits" in text.inner_text()

    handle.focus()
    page.keyboard.press("Home")  # the hottest temperature
    page.wait_for_timeout(500)
    page.wait_for_function(READY)
    picture.evaluate(RECORD)
    sources, words, values = [picture.get_attribute("src")], [text.inner_text()], [readout.inner_text()]
    for press in range(1, PRESSES + 1):
        page.keyboard.press("ArrowRight")
        page.wait_for_function("n => window.changed.length >= n", arg=press)
        page.wait_for_function("([text, old]) => text.innerText !== old", arg=[text.element_handle(), words[-1]])
        sources.append(picture.get_attribute("src"))
        words.append(text.inner_text())
        values.append(readout.inner_text())
    times = page.evaluate("() => window.pressed.map((start, i) => window.changed[i] - start)")
    print(
        f"\nkey to picture: median {statistics.median(times):.0f} ms, longest {max(times):.0f} ms, {len(times)} presses"
    )

    assert len(set(values)) == PRESSES + 1  # every press moved the slider by one
    assert len(set(sources)) == PRESSES + 1
    assert len(set(words)) == PRESSES + 1

    button = page.locator(".gencap-play button").first  # play runs from where the slider stands
    button.click()
    page.wait_for_function("n => window.changed.length >= n", arg=PRESSES + 3)
    button.click()
    assert readout.inner_text() not in values
    assert page.problems == []  # the pinned JupyterLab logs no error of its own
