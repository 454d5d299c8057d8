"""A real HTTP server on the loopback that speaks the OpenAI chat-completions protocol, and breaks it, for tests.

What it answers is a script: a function from the request's JSON body to an `Answer`, called for each request in turn.

>>> with OpenAIServer(lambda body: completion("hello")) as server:
...     server.base_url.startswith("http://127.0.0.1:")
True

How the answer arrives is part of it: whole, or ended in one of the ways in which connections end.
"""

from __future__ import annotations

import json
import select
import socket
import struct
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal

__all__ = ["Answer", "Ending", "OpenAIServer", "Request", "completion", "failure"]

Ending = Literal["whole", "close", "reset", "half", "stall", "trickle"]
"""``close``: closed before the first byte. ``reset``: likewise, by a TCP reset. ``half``: closed in the middle of the
body that ``Content-Length`` promises. ``stall``: half a body, then silence until the client leaves. ``trickle``: a byte
of white space now and then, for ever, so that no single read takes long.
"""

_TRICKLE_SECONDS = 0.02


@dataclass(frozen=True)
class Request:
    """What arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """What is sent back. A ``body`` of bytes goes out as it is; ``status`` 0 drops the connection without a word."""

    status: int = 200
    body: Mapping[str, Any] | bytes = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    ending: Ending = "whole"

    def content(self) -> bytes:
        """Return the body as it goes over the wire."""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def completion(
    content: Any,
    *,
    finish: str | None = "stop",
    usage: Mapping[str, Any] | None = None,
    counted: bool = True,
    model: str = "served",
    **message: Any,
) -> Answer:
    """Return a chat completion with that content; further keywords go into the message.

    ``usage`` has a default; without ``counted`` there is none.
    """
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "system_fingerprint": "fp_test",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
        ],
    }
    if counted:
        body["usage"] = usage or {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return Answer(body=body)


def failure(status: int, message: str, *, code: str | None = None, headers: Mapping[str, str] | None = None) -> Answer:
    """Return an error in the protocol's form."""
    body = {"error": {"message": message, "type": "error", "param": None, "code": code}}
    return Answer(status=status, body=body, headers=headers or {})


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # a burst of connections is not to wait for a lost handshake to be repeated

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that left: that is what is tested."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class OpenAIServer:
    """Serves on a free port of the loopback from ``__enter__`` to ``__exit__``; keeps what it was asked."""

    def __init__(self, script: Callable[[dict[str, Any]], Answer]) -> None:
        self.script = script
        self.requests: list[Request] = []
        self._released, self._release = socket.socketpair()  # readable once the slow answers are to end
        outer = self
        lock = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = -1

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                sent = self.rfile.read(length)
                if len(sent) < length:  # the client was killed
                    self.close_connection = True
                    return
                body = json.loads(sent)
                with lock:
                    outer.requests.append(Request(self.path, dict(self.headers.items()), body))
                answer = outer.script(body)
                if answer.ending != "whole" or not answer.status:
                    self.close_connection = True
                    self.end_badly(answer)
                    return
                content = answer.content()
                self.send_head(answer, len(content))
                self.wfile.write(content)

            def send_head(self, answer: Answer, length: int) -> None:
                self.send_response(answer.status)
                for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(length))
                self.end_headers()

            def end_badly(self, answer: Answer) -> None:
                if not answer.status or answer.ending == "close":
                    return
                if answer.ending == "reset":
                    # No lingering: what follows the close is a reset, not an end.
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.connection.close()
                    return
                content = answer.content()
                self.send_head(answer, 1_000_000 if answer.ending == "trickle" else len(content))
                if answer.ending == "trickle":
                    while not self.left(_TRICKLE_SECONDS):
                        self.wfile.write(b" ")
                        self.wfile.flush()
                    return
                self.wfile.write(content[: len(content) // 2])
                self.wfile.flush()
                if answer.ending == "stall":
                    self.left(None)

            def left(self, seconds: float | None) -> bool:
                """Wait until the client has left or the server ends, for so long at most; whether either is so."""
                ready, _, _ = select.select([self.connection, outer._released], [], [], seconds)
                return bool(ready)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Say nothing on the terminal."""

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def base_url(self) -> str:
        """The address to give as ``base_url``."""
        return f"http://{self.place}/v1"

    @property
    def place(self) -> str:
        """The host and the port."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> OpenAIServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release.close()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._released.close()
