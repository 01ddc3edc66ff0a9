"""Calls of every operation of the service, by the table in `_operations`."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
import uuid
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from ._errors import ApiError, ConnectionFailed, CustosError
from ._memory_of import AsyncMemoryOf, MemoryOf
from ._operations import OPERATIONS

_LOOPBACK = {"127.0.0.1", "::1", "localhost"}
_PASSING = {"unavailable", "index_building", "payment_unavailable"}
_RETRY_AFTER_MAX_S = 60.0


class _Call:
    """One call: its request, and what an answer or its absence means."""

    def __init__(self, base: "_Base", operation: str, path: tuple[Any, ...], members: dict[str, Any]):
        self.base = base
        self.operation = operation
        self.method, template, self.repeatable, idempotent, query = OPERATIONS[operation]
        names = re.findall(r"\{(\w+)\}", template)
        if len(path) != len(names):
            raise TypeError(f"{operation} takes {', '.join(names) or 'no path parameters'}")
        for name, value in zip(names, path):
            # `.` and `..` would leave the path of the operation.
            if re.fullmatch(r"\.{0,2}", str(value)):
                raise CustosError(f"{operation}: {name} is missing or not an id")
            template = template.replace("{" + name + "}", quote(str(value), safe=""))
        self.url = base.url + template
        self.params = {
            name: _query_text(members.pop(name))
            for name in query
            if members.get(name) is not None
        }
        body = members if self.method in ("POST", "PUT") else None
        if body is None and members:
            raise TypeError(f"{operation} takes no {', '.join(members)}")
        self.content = None if not body else json.dumps(body).encode()
        self.headers = dict(base.headers)
        if self.content is not None:
            self.headers["content-type"] = "application/json"
        if idempotent:
            self.headers["idempotency-key"] = str(uuid.uuid4())

    def read(self, response: httpx.Response) -> Any:
        """Raises ApiError for a refusal."""
        if 300 <= response.status_code < 400:
            raise CustosError(f"{self.base.url} redirects elsewhere: pass the final address")
        if "ndjson" in response.headers.get("content-type", ""):
            body: Any = [json.loads(line) for line in response.text.splitlines() if line]
        else:
            try:
                body = response.json()
            except ValueError:
                body = response.text
        if response.is_success:
            return body
        after = response.headers.get("retry-after", "")
        raise ApiError(
            self.operation,
            response.status_code,
            body,
            request_id=response.headers.get("x-request-id"),
            retry_after_s=float(after) if after.isdigit() else None,
        )

    def wait_before(self, attempt: int, error: CustosError) -> float | None:
        """Seconds before another attempt; None where another one would not help."""
        if not self.repeatable or attempt > self.base.retries:
            return None
        backoff = min(8.0, 0.5 * 2 ** (attempt - 1)) * (0.75 + random.random() / 4)
        if not isinstance(error, ApiError):
            return backoff
        after = error.retry_after_s
        if error.status == 429:
            return None if after is None else min(after, _RETRY_AFTER_MAX_S)
        passes = error.status in (502, 504) or (error.status == 503 and error.code in _PASSING)
        return min(after or backoff, _RETRY_AFTER_MAX_S) if passes else None

    def failed(self, error: httpx.HTTPError) -> ConnectionFailed:
        return ConnectionFailed(
            f"{self.operation}: no answer from {self.base.url} ({type(error).__name__}): check that "
            "the service runs there, or pass its address as `url`"
        )


def _query_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Base:
    def __init__(
        self,
        url: str = "http://127.0.0.1:8420",
        api_key: str | None = None,
        *,
        timeout_s: float = 30.0,
        retries: int = 2,
        allow_insecure: bool = False,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CustosError("url must be an http or https address, such as http://127.0.0.1:8420")
        insecure = parts.scheme == "http" and parts.hostname not in _LOOPBACK
        if api_key is not None and insecure and not allow_insecure:
            raise CustosError(
                f"a credential is not sent to {parts.hostname} over http: use https, or set "
                "allow_insecure"
            )
        self.url = url.rstrip("/")
        self.retries = retries
        self.timeout_s = timeout_s
        self.headers = {} if api_key is None else {"authorization": f"Bearer {api_key}"}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def __getattr__(self, name: str) -> "_Group":
        if any(operation.startswith(f"{name}.") for operation in OPERATIONS):
            return _Group(self, name)
        raise AttributeError(f"{type(self).__name__} has no group {name!r}")

    def __dir__(self) -> list[str]:
        groups = {operation.split(".")[0] for operation in OPERATIONS}
        return [*super().__dir__(), *sorted(groups)]


class _Group:
    def __init__(self, base: _Base, name: str) -> None:
        self._base = base
        self._name = name

    def __getattr__(self, name: str) -> Any:
        operation = f"{self._name}.{name}"
        if operation not in OPERATIONS:
            raise AttributeError(f"there is no operation {operation!r}")
        base = self._base

        def call(*path: Any, **members: Any) -> Any:
            return base.call(operation, *path, **members)  # type: ignore[attr-defined]

        return call

    def __dir__(self) -> list[str]:
        start = f"{self._name}."
        return [name.removeprefix(start) for name in OPERATIONS if name.startswith(start)]


class Custos(_Base):
    """The service at `url`: `client.memory.write("default", content="…")`."""

    def call(self, operation: str, /, *path: Any, **members: Any) -> Any:
        """Calls an operation by its id; returns the JSON of the answer, of NDJSON a list."""
        request = _Call(self, operation, path, members)
        attempt = 0
        while True:
            attempt += 1
            try:
                return request.read(self._send(request))
            except httpx.HTTPError as error:
                failure: CustosError = request.failed(error)
            except ApiError as error:
                failure = error
            wait = request.wait_before(attempt, failure)
            if wait is None:
                raise failure
            time.sleep(wait)

    def _send(self, request: _Call) -> httpx.Response:
        return self._http.request(
            request.method,
            request.url,
            params=request.params,
            content=request.content,
            headers=request.headers,
        )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._http = httpx.Client(timeout=self.timeout_s)

    def memory_of(self, store: str, namespace: str | None = None) -> MemoryOf:
        """The memories of one namespace of a store, in few words."""
        return MemoryOf(self, store, namespace)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> "Custos":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncCustos(_Base):
    """The same with coroutines: `await client.memory.write("default", content="…")`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._http = httpx.AsyncClient(timeout=self.timeout_s)

    async def call(self, operation: str, /, *path: Any, **members: Any) -> Any:
        """Calls an operation by its id; returns the JSON of the answer, of NDJSON a list."""
        request = _Call(self, operation, path, members)
        attempt = 0
        while True:
            attempt += 1
            try:
                response = await self._http.request(
                    request.method,
                    request.url,
                    params=request.params,
                    content=request.content,
                    headers=request.headers,
                )
                return request.read(response)
            except httpx.HTTPError as error:
                failure: CustosError = request.failed(error)
            except ApiError as error:
                failure = error
            wait = request.wait_before(attempt, failure)
            if wait is None:
                raise failure
            await asyncio.sleep(wait)

    def memory_of(self, store: str, namespace: str | None = None) -> AsyncMemoryOf:
        """The memories of one namespace of a store, in few words."""
        return AsyncMemoryOf(self, store, namespace)

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> "AsyncCustos":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
