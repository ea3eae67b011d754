"""The model for other programs: switched on and off in the settings."""

import http.client
import json
import socket
import threading

import pytest

from app.controllers.local_server import LocalServer
from tests.helpers.fake_engine import Script


class Client(threading.Thread):
    """Asks in a thread of its own, as another program does."""

    def __init__(self, port, key, **values):
        super().__init__(daemon=True)
        self.status, self.value = None, None
        self._port, self._key = port, key
        self._body = {"messages": [{"role": "user", "content": "Hello"}], **values}
        self.start()

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=20)
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        connection.request("POST", "/v1/chat/completions", json.dumps(self._body), headers)
        answer = connection.getresponse()
        self.value = json.loads(answer.read())
        self.status = answer.status
        connection.close()


def wait_until_asked(desk):
    def is_asked():
        desk.engine._take_commands()
        return bool(desk.engine.requests)

    desk.wait(is_asked)


@pytest.fixture
def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def serve(free_port):
    def serve(desk):
        settings = desk.application.controllers.settings
        settings.change("serve_port", free_port)
        desk.window._pages.settings.set_value("serve", True)
        desk.window._pages.settings.changed.emit("serve", True)
        return desk.window.findChild(LocalServer)

    return serve


def test_it_is_off_unless_it_is_switched_on(desk):
    assert desk.window.findChild(LocalServer).port is None


def test_switched_on_it_says_where_and_with_which_key(desk, serve, free_port):
    server = serve(desk)
    key = desk.application.services.settings.text("serve_key")
    assert server.port == free_port
    assert len(key) >= 20
    assert f"http://127.0.0.1:{free_port}/v1 with the key {key}" in desk.shown_notice
    assert key not in desk.paths.settings.read_text(encoding="utf-8")


def test_another_program_is_answered_by_the_loaded_model(desk, serve):
    server = serve(desk)
    key = desk.application.services.settings.text("serve_key")
    client = Client(server.port, key, max_tokens=5, temperature=0)
    wait_until_asked(desk)
    request = desk.engine.requests[0]
    assert (request.params.max_tokens, request.params.temperature) == (5, 0.0)
    assert request.priority == 0
    answers = desk.application.controllers.answers
    assert answers.are_awaited  # measurements stand back
    desk.play()
    desk.wait(lambda: client.status is not None)
    assert not answers.are_awaited
    assert client.value["choices"][0]["message"]["content"] == "Hello, world."
    assert not desk.listed


def test_a_failure_is_told_to_the_client(make_desk, serve):
    desk = make_desk(Script(), has_model=False).begin()
    server = serve(desk)
    key = desk.application.services.settings.text("serve_key")
    client = Client(server.port, key)
    wait_until_asked(desk)
    desk.play()
    desk.wait(lambda: client.status is not None)
    assert client.status == 503


def test_switching_off_ends_what_is_under_way(desk, serve):
    server = serve(desk)
    client = Client(server.port, desk.application.services.settings.text("serve_key"))
    wait_until_asked(desk)
    desk.application.controllers.settings.change("serve", False)
    server.refresh()
    assert server.port is None
    desk.wait(lambda: client.status is not None)
    assert client.status == 503


def test_a_port_that_is_taken_is_told(desk, serve, free_port):
    with socket.socket() as other:
        other.bind(("127.0.0.1", free_port))
        other.listen()
        server = serve(desk)
        assert server.port is None
        assert f"port {free_port}" in desk.shown_notice
