"""The memories of one namespace in few words: remember, recall, correct, forget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ._errors import CustosError


class _MemoryOf:
    """Each method returns the answer, of an asynchronous client a coroutine of it."""

    def __init__(self, client: Any, store: str, namespace: str | None = None) -> None:
        if not store:
            raise CustosError("memory_of needs a store, such as 'default'")
        self._client = client
        self._store = store
        self._namespace = namespace

    def remember(
        self,
        what: str | Sequence[Mapping[str, Any]],
        *,
        metadata: Mapping[str, Any] | None = None,
        valid_from: datetime | str | None = None,
        expires_at: datetime | str | None = None,
        session: str | None = None,
    ) -> Any:
        """A text, or the messages of a conversation, each of them a memory: all or none."""
        if isinstance(what, str):
            return self._call(
                "memory.write",
                content=what,
                metadata=metadata,
                valid_from=_time_text("valid_from", valid_from),
                expires_at=_time_text("expires_at", expires_at),
            )
        messages = [dict(message) for message in what]
        return self._call("memory.ingest", messages=messages, metadata=metadata, session_id=session)

    def recall(
        self,
        query: str,
        *,
        budget_tokens: int | None = None,
        top_k: int | None = None,
        as_of: datetime | str | None = None,
    ) -> Any:
        return self._call(
            "memory.retrieve",
            query=query,
            budget_tokens=budget_tokens,
            top_k=top_k,
            as_of=_time_text("as_of", as_of),
        )

    def correct(self, ref: int, content: str) -> Any:
        """Replaces a memory and keeps the old version in its history."""
        return self._call("memory.supersede", old_ref=ref, content=content)

    def _call(self, operation: str, **members: Any) -> Any:
        given = {**members, "namespace": self._namespace}
        sent = {name: value for name, value in given.items() if value is not None}
        return self._client.call(operation, self._store, **sent)

    def _erase(self, ref: int, reason: str | None) -> Any:
        basis = {} if reason is None else {"legal_basis": reason}
        return self._client.call("memory.delete", self._store, ref=ref, **basis)

    def _require(self, memory: Mapping[str, Any], ref: int) -> None:
        """Raises CustosError for a memory of another namespace."""
        if self._namespace is None:
            return
        place = memory["tenant_id"]
        if place != self._namespace and place.partition("/")[2] != self._namespace:
            raise CustosError(f"there is no memory {ref} in the namespace {self._namespace}")

    def _require_all(self, found: Mapping[str, Any], ref: int) -> None:
        for version in found["versions"]:
            if version["memory"] is not None:
                self._require(version["memory"], ref)


class MemoryOf(_MemoryOf):
    def forget(self, ref: int, *, reason: str | None = None) -> Any:
        """
        Erases a memory from every copy and certifies it; `reason` stays in the certificate, so it
        must name no person. With a namespace, a memory of another one is not touched; to see that,
        the credential needs `memory:read`.
        """
        if self._namespace is not None:
            self._require(self._client.call("memory.memory", self._store, ref), ref)
        return self._erase(ref, reason)

    def history(self, ref: int, **query: Any) -> Any:
        """The versions of a memory, oldest first, a page at a time; an erased one is a marker."""
        found = self._client.call("memory.history", self._store, ref, **query)
        self._require_all(found, ref)
        return found


class AsyncMemoryOf(_MemoryOf):
    async def forget(self, ref: int, *, reason: str | None = None) -> Any:
        """As `MemoryOf.forget`."""
        if self._namespace is not None:
            self._require(await self._client.call("memory.memory", self._store, ref), ref)
        return await self._erase(ref, reason)

    async def history(self, ref: int, **query: Any) -> Any:
        """As `MemoryOf.history`."""
        found = await self._client.call("memory.history", self._store, ref, **query)
        self._require_all(found, ref)
        return found


def _time_text(name: str, time: datetime | str | None) -> str | None:
    if not isinstance(time, datetime):
        return time
    if time.tzinfo is None:
        raise CustosError(f"{name} needs a time zone, such as datetime.now(timezone.utc)")
    return time.isoformat()
