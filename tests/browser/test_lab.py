"""Lessons in JupyterLab and headless Chromium: run all, move a slider by keyboard, look and read; a saved page."""

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

import gencap as gc

ROOT = Path(__file__).resolve().parents[2]
LESSONS = {"00_start_here": "temperature", "11_dominant_sets": "step", "06_rank_selection": "rank"}
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


SHOW_EXPLORER = """() => {
    const notebook = jupyterapp.shell.currentWidget.content;
    const index = notebook.widgets.findIndex(cell => cell.model.type === 'code' && cell.model.outputs.toJSON()
        .some(output => (output.data?.['text/plain'] ?? '').toString().includes('Explorer(')));
    notebook.activeCellIndex = index;
    return notebook.scrollToItem(index);
}"""


def _spread(times):
    return f"median {statistics.median(times):.0f} ms, longest {max(times):.0f} ms, {len(times)} presses"


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
    """Address of the notebooks' copies in a JupyterLab of its own; nothing of the user's is read or written."""
    pytest.importorskip("jupyterlab", reason="jupyterlab is not installed")
    (tmp_path / "root").mkdir()
    for lesson in LESSONS:
        shutil.copy(ROOT / "notebooks" / f"{lesson}.ipynb", tmp_path / "root")
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
        yield lambda lesson: f"http://127.0.0.1:{port}/doc/tree/{lesson}.ipynb?token={token}&reset"
    finally:
        _stop(server)


@pytest.fixture
def page(chromium):
    """A page of headless Chromium, and the list of errors that its console has shown."""
    chromium.set_default_timeout(60_000)
    chromium.problems = problems = []
    chromium.on("pageerror", lambda error: problems.append(f"{error}"))
    chromium.on("console", lambda message: message.type == "error" and problems.append(_words(message)))
    return chromium


def _words(message):
    return f"{message.text} ({message.location.get('url', '')})"


@pytest.mark.parametrize("lesson", LESSONS)
def test_slider_by_keyboard_changes_picture_and_text(page, lab, lesson):
    page.goto(lab(lesson))
    page.wait_for_function(READY)
    page.evaluate("() => jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(READY, timeout=300_000)
    assert page.evaluate(CELL_ERRORS) == []

    # A notebook shows its cells as one scrolls; the explorer's is asked for.
    page.evaluate(SHOW_EXPLORER)
    picture = page.locator("img.gencap-picture").first
    slider = page.locator(f".gencap-{LESSONS[lesson]}").first
    handle, readout = slider.locator(".noUi-handle").first, slider.locator(".widget-readout").first
    text = page.locator(".gencap-text").first
    picture.scroll_into_view_if_needed()
    page.wait_for_function("picture => picture.complete && picture.naturalWidth > 100", arg=picture.element_handle())
    assert re.search(r"\d", text.inner_text())

    handle.focus()
    page.keyboard.press("Home")
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
        name = page.get_by_role("img", name=words[-1], exact=True)  # what a screen reader calls the picture
        assert name.evaluate_all("(found, picture) => found.includes(picture)", picture.element_handle())
        page.wait_for_timeout(250)  # one who looks at what he sees
    times = page.evaluate("() => window.pressed.map((start, i) => window.changed[i] - start)")
    print(f"\n{lesson}: key to picture {_spread(times)}")

    assert len(set(values)) == PRESSES + 1  # every press moved the slider by one
    assert len(set(sources)) == PRESSES + 1
    assert len(set(words)) == PRESSES + 1

    page.keyboard.press("Home")
    page.wait_for_function("n => window.changed.length >= n", arg=PRESSES + 1)
    button = page.locator(".gencap-play button").first  # play runs from where it stands
    before = readout.inner_text()
    button.click()
    page.wait_for_function("n => window.changed.length >= n", arg=PRESSES + 3)
    button.click()
    assert readout.inner_text() != before
    assert page.problems == []  # the pinned JupyterLab logs no error of its own


def test_saved_page_works_without_kernel_and_network(page, tmp_path):
    graphs = gc.datasets.planted_correlation_graphs(200, n_clusters=4, noise=0.6, random_state=0)
    first, second = (gc.CorrelationClustering(6, random_state=0).anneal(X) for X in graphs)
    explorer = gc.widgets.TemperatureExplorer((first, gc.generalization_capacity(first, second)), graphs[0])
    said = explorer.save_html(tmp_path / "explorer.html")
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto((tmp_path / "explorer.html").as_uri())
    picture, words, slider = page.locator("#picture"), page.locator("#words"), page.locator("input").first
    slider.focus()
    page.keyboard.press("Home")
    picture.evaluate(RECORD)
    seen = [(picture.get_attribute("src"), words.inner_text(), page.locator("output").first.inner_text())]
    for press in range(1, PRESSES + 1):
        page.keyboard.press("ArrowRight")
        page.wait_for_function("n => window.changed.length >= n", arg=press)
        seen.append((picture.get_attribute("src"), words.inner_text(), page.locator("output").first.inner_text()))
        assert picture.get_attribute("alt") == words.inner_text()
        assert slider.get_attribute("aria-valuetext") == seen[-1][2]
    times = page.evaluate("() => window.pressed.map((start, i) => window.changed[i] - start)")
    print(f"\nsaved page ({said}): key to picture {_spread(times)}")
    assert all(len(set(part)) == PRESSES + 1 for part in zip(*seen, strict=True))

    page.get_by_role("button", name="play").click()
    page.wait_for_function("n => window.changed.length >= n", arg=PRESSES + 2)
    page.get_by_role("button", name="stop").click()
    assert page.locator("output").first.inner_text() not in [value for _, _, value in seen]
    assert page.problems == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
