"""The explorer's server: who is let in, what there is to ask for, how it begins and ends."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest

import lowfold
from conftest import cloud
from lowfold.errors import LowfoldError, ParameterError
from lowfold.explorer.connection import MOST_WAITING
from lowfold.explorer.opening import Serving, explore
from lowfold.explorer.pack import unpack
from lowfold.explorer.security import Guard
from lowfold.explorer.server import MOST_CONNECTIONS, needed
from serving import PATIENCE, Page, get, request

pytest.importorskip("uvicorn", reason="needs lowfold[explore]")
pytest.importorskip("websockets", reason="needs lowfold[explore]")
testclient = pytest.importorskip("starlette.testclient", reason="needs httpx")

X = cloud(60, 4)
SECRET = "root:"  # what a password file would begin with
QUIET = Serving(browser=False)


@pytest.fixture(scope="module")
def explorer():
    with explore(X, ["pca"], serving=QUIET) as running:
        yield running


@pytest.fixture(scope="module")
def handshakes():
    from websockets.exceptions import InvalidStatus

    return InvalidStatus


def test_the_page_comes_with_the_token_in_its_address(explorer):
    status, headers, body = get(
        explorer, explorer.address.removeprefix(f"http://127.0.0.1:{explorer.port}"), x_lowfold_token=""
    )
    assert status == 200
    assert b'data-server="1"' in body
    assert b"Content-Security-Policy" in body
    assert f"connect-src 'self' ws://127.0.0.1:{explorer.port}".encode() in body
    assert explorer.token.encode() not in body
    for header in ("cache-control: no-store", "referrer-policy: no-referrer", "x-content-type-options: nosniff"):
        assert header in headers
    assert "x-frame-options: deny" in headers
    assert "server:" not in headers
    assert "access-control" not in headers


def test_the_scene_and_the_methods_come_with_the_token_in_a_header(explorer):
    status, _, body = get(explorer, "/scene")
    header, arrays = unpack(body)
    assert status == 200
    assert header["n"] == 60
    assert arrays[header["panels"][0]["coordinates"]].shape[0] == 60
    status, _, body = get(explorer, "/methods")
    told = json.loads(body)
    assert status == 200
    assert told["runs"] is True
    assert [method["name"] for method in told["methods"]] == list(lowfold.METHODS)


@pytest.mark.parametrize("path", ["/", "/scene", "/methods", "/runs", "/nothing"])
@pytest.mark.parametrize("token", ["", "wrong", "a" * 100_0, "%00"])
def test_without_the_token_everything_is_refused(explorer, path, token):
    status, _, body = get(explorer, path, x_lowfold_token=token)
    assert status == 403
    assert b"token is missing or wrong" in body
    assert get(explorer, f"{path}?token={token}", x_lowfold_token="")[0] == 403


def test_a_token_counts_once_and_only_where_it_belongs(explorer):
    assert get(explorer, f"/?token={explorer.token}")[0] == 403, "in the address and in a header"
    assert get(explorer, f"/?token={explorer.token}&token=x", x_lowfold_token="")[0] == 403
    assert get(explorer, f"/scene?token={explorer.token}", x_lowfold_token="")[0] == 403, "addresses are written down"
    assert get(explorer, f"/?{'a' * 2000}&token={explorer.token}", x_lowfold_token="")[0] == 403


HOSTS = """evil.example evil.example:PORT 127.0.0.1 127.0.0.1:1 127.0.0.1:PORT.evil.example 0.0.0.0:PORT [::1]:PORT
localhost user@127.0.0.1:PORT"""


@pytest.mark.parametrize("host", HOSTS.split())
def test_a_request_to_another_name_is_refused(explorer, host):
    status, _, body = get(explorer, host=host.replace("PORT", str(explorer.port)))
    assert status == 403
    assert b"only pages from its own address" in body


def test_no_host_and_two_hosts_are_refused(explorer):
    token = f"x-lowfold-token: {explorer.token}"
    assert request(explorer.port, f"GET / HTTP/1.0\n{token}\n\n")[0] in (400, 403)
    own = f"host: 127.0.0.1:{explorer.port}"
    assert request(explorer.port, f"GET / HTTP/1.1\n{own}\nhost: evil.example\n{token}\nconnection: close\n\n")[0] in (
        400,
        403,
    )


@pytest.mark.parametrize("origin", ["http://evil.example", "https://127.0.0.1:PORT", "http://127.0.0.1", "null", "file://",
                                    "http://127.0.0.1:PORT.evil.example", "http://localhost:PORT"])  # fmt: skip
def test_a_page_from_elsewhere_is_refused_though_it_has_the_token(explorer, origin, handshakes):
    origin = origin.replace("PORT", str(explorer.port))
    for path in ("/", "/scene", "/methods"):
        assert get(explorer, path, origin=origin)[0] == 403
    with pytest.raises(handshakes) as refused:
        Page(explorer, origin=origin)
    assert refused.value.response.status_code == 403


def test_the_own_page_is_let_in_by_both_names(explorer):
    for name in ("127.0.0.1", "localhost"):
        here = f"{name}:{explorer.port}"
        assert get(explorer, host=here, origin=f"http://{here}")[0] == 200
    with Page(explorer, origin=f"http://127.0.0.1:{explorer.port}") as page:
        page.start(1, "pca")
        assert page.to_the_end(1)[1]["type"] == "done"


@pytest.mark.parametrize("token", ["", "wrong"])
def test_a_socket_without_the_token_is_refused(explorer, token, handshakes):
    with pytest.raises(handshakes) as refused:
        Page(explorer, token=token)
    assert refused.value.response.status_code == 403


PATHS = r"""
/../../../etc/passwd /%2e%2e/%2e%2e/etc/passwd /..%2f..%2fetc%2fpasswd //etc/passwd /scene/../../../etc/passwd
/page.css /static/server.js /etc/passwd /scene/ http://evil.example/ /\..\..\etc\passwd /%00 /docs /openapi.json"""


@pytest.mark.parametrize("path", PATHS.split())
def test_no_path_leads_to_the_disk(explorer, path):
    status, _, body = get(explorer, path)
    assert status in (400, 403, 404)
    assert SECRET.encode() not in body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "PATCH"])
def test_nothing_but_get_is_answered(explorer, method):
    assert get(explorer, method=method)[0] == 405


def test_a_body_is_refused_before_it_is_read(explorer):
    assert get(explorer, content_length="1000000000")[0] == 413
    assert get(explorer, transfer_encoding="chunked")[0] == 413


def test_headers_without_end_are_cut_off(explorer):
    text = f"GET / HTTP/1.1\nhost: 127.0.0.1:{explorer.port}\nx: {'a' * 2_000_000}\n\n"
    with contextlib.suppress(ConnectionError, IndexError):  # hung up on while it still talks
        assert request(explorer.port, text)[0] in (400, 403, 431)
    assert get(explorer)[0] == 200


def test_the_guard_is_alike_in_front_of_any_application():
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    app = Starlette(routes=[Route("/", lambda request: PlainTextResponse("inside"))])
    guard = Guard(app, 8000, "secret")
    client = testclient.TestClient(guard, base_url="http://127.0.0.1:8000")
    assert client.get("/").status_code == 403
    assert client.get("/?token=secret").text == "inside"
    assert client.get("/", headers={"X-Lowfold-Token": "secret"}).text == "inside"
    assert client.get("/?token=secret", headers={"Origin": "http://127.0.0.1:8000"}).status_code == 200
    assert client.get("/?token=secret", headers={"Origin": "http://127.0.0.1:8001"}).status_code == 403
    assert "secret" not in repr(guard)
    assert (
        testclient.TestClient(Guard(app, 80, "secret"), base_url="http://localhost").get("/?token=secret").text
        == "inside"
    )
    with pytest.raises(testclient.WebSocketDisconnect), client.websocket_connect("/runs?token=wrong"):
        pass


def test_only_this_machine_is_listened_to(explorer):
    with socket.socket() as other:
        other.settimeout(PATIENCE)
        name = socket.gethostbyname(socket.gethostname())
        if name.startswith("127."):
            assert explorer._socket.getsockname()[0] == "127.0.0.1"
        else:
            assert other.connect_ex((name, explorer.port)) != 0


def test_more_pages_than_a_person_has_open_are_refused(explorer, handshakes):
    pages = [Page(explorer) for _ in range(MOST_CONNECTIONS)]
    try:
        with pytest.raises(handshakes):
            Page(explorer)
    finally:
        for page in pages:
            page.socket.close()
    assert MOST_WAITING > MOST_CONNECTIONS


def test_each_server_has_a_token_of_its_own_and_ends_with_its_threads(explorer):
    before = set(threading.enumerate())
    with explore(None, {"given": X[:, :2]}, serving=QUIET) as other:
        assert other.token != explorer.token
        assert other.is_running
        assert get(other)[0] == 200
        assert get(other, x_lowfold_token=explorer.token)[0] == 403
        assert json.loads(get(other, "/methods")[2])["runs"] is False
    assert not other.is_running
    assert not [thread for thread in set(threading.enumerate()) - before if thread.is_alive() and not thread.daemon]
    with pytest.raises(ConnectionError):
        get(other)


@pytest.mark.parametrize("port", [-1, 65536, 1.5, "80", True])
def test_a_port_that_cannot_be_is_refused(port):
    with pytest.raises(ParameterError, match="port"):
        explore(X, ["pca"], serving=Serving(port=port, browser=False))


def test_a_port_in_use_is_refused(explorer):
    with pytest.raises(ParameterError, match=f"port={explorer.port} cannot be used"):
        explore(X, ["pca"], serving=Serving(port=explorer.port, browser=False))


def test_missing_packages_are_asked_for_by_name(monkeypatch):
    real = importlib.import_module

    def missing(name, *rest):
        if name.split(".")[0] == "uvicorn":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(LowfoldError, match=r'pip install "lowfold\[explore\]"'):
        explore(X, ["pca"], serving=QUIET)
    assert needed("json", "explore") is json


def test_the_command_prints_the_address_and_ends_cleanly_by_ctrl_c(tmp_path):
    np.save(tmp_path / "x.npy", X)
    arguments = ["explore", "x.npy", "--no-browser", "--methods", "pca"]
    code = f"import sys; from lowfold.cli import main; sys.exit(main({arguments!r}))"
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=os.environ | {"BROWSER": "false"}, start_new_session=True,
    )  # fmt: skip
    address = process.stdout.readline().strip()
    port, token = address.removeprefix("http://127.0.0.1:").split("/?token=")
    assert request(int(port), f"GET /?token={token} HTTP/1.1\nhost: 127.0.0.1:{port}\nconnection: close\n\n")[0] == 200
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert said == ""
