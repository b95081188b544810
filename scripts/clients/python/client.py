"""Client of Wadi's API, with the standard library only: a method for each operation, retries,
streams, runs that are followed over reconnects, and the verification of webhooks."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import math
import random
import re
import ssl
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from . import types
from .operations import Operations

__all__ = ["Wadi", "WadiError", "WebhookError", "types", "verify_webhook"]

#: Statuses of which the same request may get another at its next attempt.
RETRYABLE = (0, 408, 429, 500, 502, 503, 504, 529)
#: Codes with those statuses that stay until someone acts.
LASTING = (
    "model_unavailable",
    "not_enabled",
    "daily_runs_limit",
    "deliveries_limit",
    "endpoints_limit",
    "triggers_limit",
)
MAX_DELAY = 8.0
LAST = re.compile(r"message_stop|response\.(completed|incomplete|failed)|run\.(completed|failed)")


class WadiError(Exception):
    """A request that failed. The status is 0 if no reply came, or if it broke off."""

    def __init__(self, message: str, status: int, body: Any = None, headers: Any = None) -> None:
        super().__init__(message)
        self.status = status
        headers = {} if headers is None else headers
        body = body if isinstance(body, dict) else {}
        error = body.get("error") if isinstance(body.get("error"), dict) else {}
        #: None where the status says it all.
        self.code: str | None = error.get("code")
        self.param: str | None = error.get("param")
        self.request_id: str | None = headers.get("x-request-id") or body.get("request_id")
        seconds = headers.get("retry-after") or ""
        #: Seconds; None: the server names none.
        self.retry_after: float | None = float(seconds) if seconds.isdecimal() else None
        #: Whether the server says that a retry does not help.
        self.is_final = headers.get("x-should-retry") == "false"


class WebhookError(Exception):
    """The request was not signed with the secret, or too long ago."""


class Wadi(Operations):
    """Each call has a connection of its own, so that threads may share a client.

    Times are seconds. `retries`: how often a failed request is sent again. `reconnects`: how often
    in a row a stream of a run is opened again without a new frame. `delay`: before the first
    retry where no `Retry-After` is sent; doubled each time. With a `Retry-After` above `max_wait`
    the error is raised instead. `timeout`: without a byte of the reply. `idle`: without a byte of
    a stream; the server writes every 15.
    """

    def __init__(
        self,
        base_url: str,
        key: str,
        *,
        retries: int = 2,
        reconnects: int = 10,
        delay: float = 0.5,
        max_wait: float = 60.0,
        timeout: float = 600.0,
        idle: float = 60.0,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._base = urllib.parse.urlsplit(re.sub(r"(/v1)?/*$", "", base_url))
        if self._base.scheme not in ("http", "https") or not self._base.hostname:
            raise ValueError(f"{base_url} is no http or https address.")
        self._key = key
        self._retries, self._reconnects = retries, reconnects
        self._delay, self._max_wait = delay, max_wait
        self._timeout, self._idle = timeout, idle
        self._context = context

    def follow_run(self, id: str, **query: Any) -> Iterator[types.RunEvent]:
        """Yields each frame once until the run ends, also over breaks of the connection."""
        path = f"/v1/runs/{urllib.parse.quote(id, safe='')}/events"
        seen: dict[str, Any] = {"seq": 0}
        failures = 0
        while True:
            try:
                for frame in self._frames("GET", path, query=query, retries=0):
                    failures = 0
                    if _is_new(frame, seen):
                        yield frame
                return
            except WadiError as error:
                wait = self._wait_after(error, True, failures)
                failures += 1
                if wait is None or failures > self._reconnects:
                    raise
            time.sleep(wait)

    def wait_for_run(self, id: str) -> types.Run:
        """Returns the run as it ends."""
        last: Any = None
        for last in self.follow_run(id):
            pass
        return cast("types.Run", last["run"])

    def _call(self, method: str, path: str, **options: Any) -> Any:
        connection, text = self._send(method, path, read=lambda reply: reply.read(), **options)
        connection.close()
        return json.loads(text) if text else None

    def _stream(self, method: str, path: str, *, body: Any, **options: Any) -> Iterator[Any]:
        return self._frames(method, path, body={**body, "stream": True}, **options)

    def _frames(self, method: str, path: str, **options: Any) -> Iterator[Any]:
        connection, reply = self._send(
            method, path, read=lambda reply: reply, timeout_after=self._idle, **options
        )
        try:
            for line in reply:
                if not line.startswith(b"data:"):
                    continue
                data = line[5:].strip()
                if data == b"[DONE]":
                    return
                frame = json.loads(data)
                if isinstance(frame.get("error"), dict):
                    raise WadiError(frame["error"]["message"], 0, frame)
                yield frame
                if LAST.fullmatch(frame.get("type") or ""):
                    return
            raise WadiError("The stream broke off.", 0)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise WadiError(f"The stream broke off: {error!r}", 0) from error
        finally:
            connection.close()

    def _send(
        self,
        method: str,
        path: str,
        *,
        read: Callable[[http.client.HTTPResponse], Any],
        repeatable: bool = True,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str | None] | None = None,
        retries: int | None = None,
        timeout_after: float | None = None,
    ) -> tuple[http.client.HTTPConnection, Any]:
        given = dict(_flatten(query or {}))
        target = self._base.path + path + ("?" + urllib.parse.urlencode(given) if given else "")
        sent = {"authorization": f"Bearer {self._key}"}
        sent |= {name: value for name, value in (headers or {}).items() if value is not None}
        content = None
        if body is not None:
            content = json.dumps(body).encode()
            sent["content-type"] = "application/json"
        last = self._retries if retries is None else retries
        for nth in range(last + 1):
            connection = self._connect()
            try:
                connection.request(method, target, content, sent)
                socket = connection.sock
                reply = connection.getresponse()
                if 200 <= reply.status < 300:
                    socket.settimeout(timeout_after or self._timeout)
                    return connection, read(reply)
                failure = _read_failure(reply)
            except (OSError, http.client.HTTPException) as error:
                failure = WadiError(f"No whole reply came: {error!r}", 0)
                failure.__cause__ = error
            except BaseException:
                connection.close()
                raise
            connection.close()
            wait = self._wait_after(failure, repeatable, nth)
            if wait is None or nth == last:
                break
            time.sleep(wait)
        raise failure

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._base.hostname or "", self._base.port
        if self._base.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=self._timeout)
        return http.client.HTTPSConnection(
            host, port, timeout=self._timeout, context=self._context
        )

    def _wait_after(self, failure: WadiError, repeatable: bool, nth: int) -> float | None:
        """Seconds until the next attempt; None: there is none."""
        if failure.is_final or failure.code in LASTING:
            return None
        if failure.status not in (RETRYABLE if repeatable else (429,)):
            return None
        backoff = min(self._delay * 2**nth, MAX_DELAY) * random.uniform(0.5, 1)
        wait = backoff if failure.retry_after is None else failure.retry_after
        return None if wait > self._max_wait else wait


def _flatten(query: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yields `{"metadata": {"a": "b"}}` as `metadata[a]=b`."""
    for name, value in query.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}[{key}]", one) for key, one in value.items())
        elif value is not None:
            yield name, value


def _read_failure(reply: http.client.HTTPResponse) -> WadiError:
    try:
        body = json.loads(reply.read())
        message = body["error"]["message"]
    except (ValueError, KeyError, TypeError):
        body, message = None, f"The server answered {reply.status}."
    return WadiError(message, reply.status, body, reply.headers)


def _is_new(event: Any, seen: dict[str, Any]) -> bool:
    """Whether a frame is new: each connection begins with all steps."""
    kind = event["type"]
    if kind == "step.completed":
        is_new = event["step"]["seq"] > seen["seq"]
        seen["seq"] = max(seen["seq"], event["step"]["seq"])
        return bool(is_new)
    if kind == "run.status":
        name, value = kind, event["status"]
    elif "approval" in event:
        name, value = f"{kind} {event['approval']['id']}", True
    else:
        return True
    is_new = seen.get(name) != value
    seen[name] = value
    return is_new


def verify_webhook(
    secret: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    tolerance: float = 300.0,
    now: float | None = None,
) -> types.SignedEvent:
    """Returns the event of a request that the server has signed; raises if another has."""
    given = {name.lower(): value for name, value in headers.items()}
    id, sent, signatures = (
        given.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature")
    )
    age = abs((time.time() if now is None else now) - int(sent)) if sent.isdecimal() else math.inf
    if age > tolerance:
        raise WebhookError("Its time is not now.")
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{id}.{sent}.".encode() + body
    wanted = base64.b64encode(hmac.digest(key, signed, hashlib.sha256))
    for one in signatures.split(" "):
        if one.startswith("v1,") and hmac.compare_digest(one[3:].encode(), wanted):
            return cast("types.SignedEvent", json.loads(body))
    raise WebhookError("Its signature is wrong.")
