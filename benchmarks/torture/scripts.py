"""Strings that would run as scripts, through every field of every page that is written or served, in Chromium."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

import regard
from benchmarks.torture.harness import Missing, Wrong

NAME = "scripts"
WHAT = (
    "50 strings of XSS through every field of exported HTML, notebook and served page, in Chromium, with their CSP "
    "removed too"
)
ISOLATED = False
CANARY = "window.__ran=1"
CHROMIUM = "/usr/bin/chromium"
STRINGS = tuple(
    text.replace("RUN", CANARY)
    for text in (
        *(
            "<script>RUN</script>",
            "<ScRiPt>RUN</sCrIpT>",
            "</script><script>RUN</script>",
            "<script\x20type='text/javascript'>RUN</script>",
        ),
        *(
            "<script>RUN",
            "<<script>RUN//<</script>",
            "<img src=x onerror=RUN>",
            "<img src=x onerror='RUN'>",
            '"><img src=x onerror=RUN>',
        ),
        *(
            "'><img src=x onerror=RUN>",
            "<img/src=x/onerror=RUN>",
            "<img src=x onerror=RUN//",
            "<svg onload=RUN>",
            "<svg/onload=RUN>",
        ),
        *(
            "<svg><script>RUN</script></svg>",
            "<svg><animate onbegin=RUN attributeName=x dur=1s>",
            "<svg><use href='data:image/svg+xml,RUN'>",
        ),
        *(
            "<body onload=RUN>",
            "<iframe src=javascript:RUN>",
            "<iframe srcdoc='<script>parent.RUN</script>'>",
            "<object data=javascript:RUN>",
        ),
        *(
            "<embed src=javascript:RUN>",
            "<a href=javascript:RUN>x</a>",
            "javascript:RUN",
            "<details open ontoggle=RUN>",
            "<input autofocus onfocus=RUN>",
        ),
        *(
            "<select autofocus onfocus=RUN>",
            "<video><source onerror=RUN>",
            "<audio src=x onerror=RUN>",
            "<marquee onstart=RUN>",
            "<math><mi//xlink:href='javascript:RUN'>",
        ),
        *(
            "<style>@import 'javascript:RUN'</style>",
            "<div style=\"background:url('javascript:RUN')\">",
            "<link rel=stylesheet href=javascript:RUN>",
        ),
        *(
            "<meta http-equiv=refresh content='0;javascript:RUN'>",
            "<base href=javascript:RUN//>",
            "<form action=javascript:RUN><button autofocus>",
            "<isindex action=j onfocus=RUN>",
        ),
        *(
            "--><script>RUN</script>",
            "]]><script>RUN</script>",
            "</style><script>RUN</script>",
            "</title><script>RUN</script>",
            "</textarea><script>RUN</script>",
        ),
        *(
            "${RUN}",
            "{{constructor.constructor('RUN')()}}",
            "\u2028RUN\u2029",
            "\\u003cscript\\u003eRUN\\u003c/script\\u003e",
            "<template><script>RUN</script></template>",
        ),
        *(
            "<noscript><p title='</noscript><img src=x onerror=RUN>'>",
            "<x contenteditable onbeforeinput=RUN autofocus tabindex=1 onfocus=RUN>",
        ),
    )
)
FULL, SHORT = len(STRINGS), 5


class Context(NamedTuple):
    workspace: Path
    held: contextlib.ExitStack
    page: Any
    served: tuple[str, str]


def prepare(workspace: Path) -> Context:
    from playwright.sync_api import sync_playwright

    if not Path(CHROMIUM).exists():
        raise Missing(f"it needs a Chromium at {CHROMIUM}")
    held = contextlib.ExitStack()
    browser = held.enter_context(sync_playwright()).chromium.launch(
        executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
    )
    held.callback(browser.close)
    address, token = held.enter_context(_served())
    return Context(
        workspace, held, browser.new_context(bypass_csp=True, accept_downloads=False).new_page(), (address, token)
    )


def close(context: Context) -> None:
    context.held.close()


def strike(context: Context, number: int) -> dict[str, int]:
    text = STRINGS[number]
    pages = _exported(context.workspace, text)
    for what, html in pages.items():
        for csp in (True, False):
            path = context.workspace / "page.html"
            path.write_text(
                html if csp else re.sub(r"<meta[^>]*Content-Security-Policy[^>]*>", "", html), encoding="utf-8"
            )
            _open(context.page, path.resolve().as_uri(), f"{what}, {text!r}")
    for view in ("/translate", "/steps", "/kinds"):
        _served_view(context, view, text)
    return {"pages in which no script ran": 2 * len(pages) + 3}


def _exported(workspace: Path, text: str) -> dict[str, str]:
    """Every kind of result with the string in every field, as HTML files and as notebooks show them."""
    from regard.captioning.results import Caption
    from regard.translation.results import Alignment, Translation

    words, weights = [text, "b", text], np.full((3, 3), 1 / 3)
    photo = Image.new("RGB", (16, 16), "red")
    results: dict[str, Any] = {
        "translation": Translation(text, text, words, words, weights, -1.0, -1.0, True),
        "alignment": Alignment(words, words, weights, -1.0),
        "caption": Caption(text, text, words, np.full((3, 2, 2), 0.25), -1.0, -1.0, True, False, photo),
        "attended": regard.attend([1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]]),
    }
    pages = {}
    for name, result in results.items():
        path = workspace / f"{name}.html"
        result.html(path)
        pages[name] = path.read_text(encoding="utf-8")
        if shown := getattr(result, "_repr_html_", lambda: "")():
            pages[f"{name} in a notebook"] = f"<!doctype html><meta charset=utf-8><body>{shown}"
    return pages


def _open(page: Any, address: str, what: str) -> None:
    page.goto(address)
    page.mouse.move(200, 200)
    page.wait_for_timeout(50)
    if page.evaluate("window.__ran"):
        raise Wrong(f"a script ran: {what}")


def _served_view(context: Context, view: str, text: str) -> None:
    """The string typed into every field of a view, and in its address."""
    from urllib.parse import quote

    address, token = context.served
    page = context.page
    page.goto(
        f"{address}{view}?token={token}&model={quote(text)}&text={quote(text)}&query={quote(text)}&keys={quote(text)}"
    )
    for field in page.locator("textarea, input[type=text], input:not([type])").all()[:8]:
        with contextlib.suppress(Exception):
            field.fill(text, timeout=300)
            field.press("Enter", timeout=300)
    page.wait_for_timeout(100)
    if page.evaluate("window.__ran"):
        raise Wrong(f"a script ran in the served page {view}: {text!r}")


@contextlib.contextmanager
def _served() -> Any:
    """The explorer as a person starts it; gives its address and token."""

    import subprocess
    import sys

    server = subprocess.Popen(
        [sys.executable, "-m", "regard", "serve", "en-fr", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        line = server.stdout.readline().strip()
        address, _, token = line.partition("/?token=")
        yield address, token
    finally:
        server.terminate()
        server.wait(20)


assert len(STRINGS) >= 50, len(STRINGS)
