"""A LangGraph store on keyed items of Custos."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from ._client import Custos

# Operations of one request.
_BATCH_MAX = 100


class CustosStore(BaseStore):
    """Pass it where a graph takes a `store`.

    A put on a name that has an item supersedes it; a deletion erases every version with a
    certificate. Refusals of the service are raised as they are (`ApiError`).
    """

    supports_ttl = False

    def __init__(
        self, client: Custos, *, store: str = "default", budget_tokens: int | None = None
    ) -> None:
        if not isinstance(client, Custos):
            raise TypeError("CustosStore needs a client: CustosStore(Custos(url, api_key=…))")
        self._client = client
        self._store = store
        self._budget_tokens = budget_tokens
        self._certificates: dict[tuple[tuple[str, ...], str], list[str]] = {}

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Reads see the items before the batch; of several puts of one name the last one holds."""
        sent = [self._operation(op) for op in ops]
        order = list(range(len(sent)))
        if len(sent) > _BATCH_MAX:
            is_change = [one["op"] in ("put", "delete") for one in sent]
            order = [i for i in order if not is_change[i]] + [i for i in order if is_change[i]]
        results: list[Result] = [None] * len(sent)
        for start in range(0, len(order), _BATCH_MAX):
            part = order[start : start + _BATCH_MAX]
            answer = self._client.items.batch(self._store, operations=[sent[i] for i in part])
            for i, reply in zip(part, answer["results"]):
                results[i] = self._result(sent[i], reply)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def certificates(self, namespace: tuple[str, ...], key: str) -> list[str]:
        """Ids of the erasure certificates of a name that this object has deleted."""
        return list(self._certificates.get((tuple(namespace), key), []))

    def _operation(self, op: Op) -> dict[str, Any]:
        if isinstance(op, GetOp):
            return {"op": "get", "namespace": list(op.namespace), "key": op.key}
        if isinstance(op, SearchOp):
            return {
                "op": "search",
                "namespace_prefix": list(op.namespace_prefix),
                "limit": op.limit,
                "offset": op.offset,
                **_given(query=op.query, filter=op.filter, budget_tokens=self._budget_tokens),
            }
        if isinstance(op, PutOp):
            name = {"namespace": list(op.namespace), "key": op.key}
            if op.value is None:
                return {"op": "delete", **name}
            return {"op": "put", **name, "value": dict(op.value), **_given(index=op.index)}
        if isinstance(op, ListNamespacesOp):
            paths: dict[str, list[str]] = {}
            for condition in op.match_conditions or ():
                if condition.match_type in paths:
                    raise ValueError(f"CustosStore takes one {condition.match_type} at a time")
                paths[condition.match_type] = list(condition.path)
            page = {"limit": op.limit, "offset": op.offset}
            return {"op": "namespaces", **page, **paths, **_given(max_depth=op.max_depth)}
        raise ValueError(f"unknown operation type: {type(op)}")

    def _result(self, sent: dict[str, Any], reply: dict[str, Any]) -> Result:
        if sent["op"] == "get":
            return None if reply["item"] is None else Item(**_item(reply["item"]))
        if sent["op"] == "search":
            return [SearchItem(**_item(one), score=one.get("score")) for one in reply["items"]]
        if sent["op"] == "namespaces":
            return [tuple(namespace) for namespace in reply["namespaces"]]
        if sent["op"] == "delete" and reply["deleted"]:
            self._certificates[(tuple(sent["namespace"]), sent["key"])] = reply["certificate_ids"]
        return None


def _given(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _item(one: dict[str, Any]) -> dict[str, Any]:
    return {
        "namespace": tuple(one["namespace"]),
        "key": one["key"],
        "value": one["value"],
        "created_at": _time(one["created_at"]),
        "updated_at": _time(one["updated_at"]),
    }


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
