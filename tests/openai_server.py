"""A real HTTP server on the loopback that speaks the OpenAI chat-completions protocol, for tests.

What it answers is a script: a function from the request's JSON body to an `Answer`, called for each request in turn.

>>> with OpenAIServer(lambda body: completion("hello")) as server:
...     server.base_url.startswith("http://127.0.0.1:")
True
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

__all__ = ["Answer", "OpenAIServer", "Request", "completion", "failure"]


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


def completion(
    content: Any,
    *,
    finish: str | None = "stop",
    usage: Mapping[str, Any] | None = None,
    model: str = "served",
    **message: Any,
) -> Answer:
    """Return a chat completion with that content; further keywords go into the message."""
    return Answer(
        body={
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": model,
            "system_fingerprint": "fp_test",
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
            ],
            "usage": usage or {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
        }
    )


def failure(status: int, message: str, *, code: str | None = None, headers: Mapping[str, str] | None = None) -> Answer:
    """Return an error in the protocol's form."""
    body = {"error": {"message": message, "type": "error", "param": None, "code": code}}
    return Answer(status=status, body=body, headers=headers or {})


class OpenAIServer:
    """Serves on a free port of the loopback from ``__enter__`` to ``__exit__``; keeps what it was asked."""

    def __init__(self, script: Callable[[dict[str, Any]], Answer]) -> None:
        self.script = script
        self.requests: list[Request] = []
        outer = self
        lock = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
                with lock:
                    outer.requests.append(Request(self.path, dict(self.headers.items()), body))
                answer = outer.script(body)
                if not answer.status:
                    self.close_connection = True
                    return
                content = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
                self.send_response(answer.status)
                for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Say nothing on the terminal."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def base_url(self) -> str:
        """The address to give as ``base_url``."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> OpenAIServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
