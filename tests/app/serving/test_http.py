"""The server on loopback: who gets in, whole and streamed answers, clients that go away."""

import http.client
import json
import queue
import socket

import pytest

from app.serving.http import LocalHttpServer
from app.serving.replies import Done, Piece, Refused
from engine.api import FinishReason, Timeline

TIMELINE = Timeline(1, 2, 3, 4, 50, 60, 900, 0, 12, 4, 7)
KEY = "a-key"
CHAT = "/v1/chat/completions"
HELLO = {"messages": [{"role": "user", "content": "Hello"}]}


class ScriptedBackend:
    """Answers with what it is given, as soon as it is asked."""

    def __init__(self):
        self.news = [
            Piece("Hel", "hm"),
            Piece("lo 潮"),
            Done(FinishReason.MAX_TOKENS, TIMELINE),
        ]
        self.asked = queue.Queue()
        self.given_up = queue.Queue()

    def model_name(self):
        return "Tide 1B"

    def begin(self, reply):
        self.asked.put(reply)
        for item in self.news:
            reply.news.put(item)

    def give_up(self, reply):
        self.given_up.put(reply)


@pytest.fixture
def backend():
    return ScriptedBackend()


@pytest.fixture
def server(backend):
    server = LocalHttpServer(0, KEY, backend)
    yield server
    server.end()


@pytest.fixture
def ask(server):
    connections = []

    def ask(method="POST", path=CHAT, body=HELLO, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connections.append(connection)
        given = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json", **headers}
        given = {name.replace("_", "-"): value for name, value in given.items() if value}
        sent = None if body is None else json.dumps(body)
        connection.request(method, path, sent, given)
        answer = connection.getresponse()
        return answer, answer.read()

    yield ask
    for connection in connections:
        connection.close()


def test_a_whole_answer(ask):
    answer, body = ask()
    value = json.loads(body)
    assert answer.status == 200
    assert value["choices"][0] == {
        "index": 0,
        "finish_reason": "length",
        "message": {"role": "assistant", "content": "Hello 潮", "reasoning_content": "hm"},
    }
    assert value["model"] == "Tide 1B"
    assert value["usage"]["prompt_tokens_details"] == {"cached_tokens": 4}
    assert value["usage"]["total_tokens"] == 19
    assert answer.getheader("Access-Control-Allow-Origin") is None


def test_a_streamed_answer(ask):
    answer, body = ask(body={**HELLO, "stream": True, "stream_options": {"include_usage": True}})
    assert answer.getheader("Content-Type").startswith("text/event-stream")
    lines = [line.removeprefix("data: ") for line in body.decode().split("\n\n") if line]
    assert lines[-1] == "[DONE]"
    parts = [json.loads(line) for line in lines[:-1]]
    assert [part["choices"][0]["delta"] for part in parts[:-1]] == [
        {"role": "assistant", "content": ""},
        {"content": "Hel", "reasoning_content": "hm"},
        {"content": "lo 潮"},
        {},
    ]
    assert parts[-2]["choices"][0]["finish_reason"] == "length"
    assert parts[-1]["usage"]["completion_tokens"] == 7


def test_plain_text_whole_and_streamed(ask):
    _answer, body = ask(path="/v1/completions", body={"prompt": "Say"})
    assert json.loads(body)["choices"][0]["text"] == "Hello 潮"
    _answer, body = ask(path="/v1/completions", body={"prompt": "Say", "stream": True})
    assert '"text": "lo 潮"' in body.decode()


def test_the_model_is_listed(ask):
    _answer, body = ask("GET", "/v1/models", None)
    assert json.loads(body)["data"][0]["id"] == "Tide 1B"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": None}, 401),
        ({"Authorization": "Bearer other"}, 401),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example:80"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content_Type": "text/plain"}, 200),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Length": "x"}, 411),
        ({"Content-Length": str(2**30)}, 413),
    ],
)
def test_who_gets_in(ask, backend, headers, status):
    if "Content_Type" in headers:
        headers = {"Host": "localhost:99"}
    answer, body = ask(**headers)
    assert answer.status == status
    if status != 200:
        assert json.loads(body)["error"]["message"]
        assert backend.asked.empty()


@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("POST", "/v1/embeddings")])
def test_nothing_elsewhere(ask, method, path):
    answer, _body = ask(method, path)
    assert answer.status == 404


def test_a_request_that_is_refused(ask):
    answer, body = ask(body={"messages": 3})
    assert answer.status == 400
    assert json.loads(body)["error"]["param"] == "messages"


@pytest.mark.parametrize(
    ("code", "status"),
    [("model_not_loaded", 503), ("prompt_too_long", 400), ("engine_fault", 500)],
)
@pytest.mark.parametrize("is_streamed", [False, True])
def test_an_answer_that_fails_at_once(ask, backend, code, status, is_streamed):
    backend.news = [Refused("It broke.", code)]
    answer, body = ask(body={**HELLO, "stream": is_streamed})
    assert answer.status == status
    assert json.loads(body)["error"]["message"] == "It broke."


def test_an_answer_that_fails_midway_says_so_in_the_stream(ask, backend):
    backend.news = [Piece("Hel"), Refused("It broke.", "engine_fault")]
    _answer, body = ask(body={**HELLO, "stream": True})
    assert '"server_error"' in body.decode()
    assert body.endswith(b"data: [DONE]\n\n")


def test_a_client_that_goes_away_ends_its_answer(server, backend):
    backend.news = []  # still reading the prompt
    body = json.dumps(HELLO)
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
        client.sendall(
            f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        asked = backend.asked.get(timeout=20)
    assert backend.given_up.get(timeout=20) is asked
