"""The client, the LangGraph store and the verifier on the service at CUSTOS_URL."""

from __future__ import annotations

import asyncio
import os
import random
import unittest
import uuid
from datetime import datetime, timezone
from typing import Any

from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from custos_memory import ApiError, AsyncCustos, ConnectionFailed, Custos, CustosError
from custos_memory.langgraph import CustosStore
from custos_memory.verify import ProofError, verify

URL = os.environ["CUSTOS_URL"]
KEY = os.environ["CUSTOS_API_KEY"]
RUNS = int(os.environ["CUSTOS_RUNS"])


def new_client() -> Custos:
    return Custos(URL, api_key=KEY)


def new_store(client: Custos) -> str:
    return client.memory.create_store(store_id=f"s-{uuid.uuid4().hex[:12]}")["store_id"]


class ClientTest(unittest.TestCase):
    def setUp(self) -> None:
        self.client = new_client()
        self.store = new_store(self.client)

    def tearDown(self) -> None:
        self.client.close()

    def test_a_memory_is_written_found_and_erased_with_proof(self) -> None:
        ref = self.client.memory.write(self.store, content="Ana lives in Porto")["ref"]
        found = self.client.memory.retrieve(self.store, query="where does Ana live")
        self.assertEqual([one["ref"] for one in found["memories"]], [ref])
        listed = self.client.memory.memories(self.store, limit=5)
        self.assertEqual(listed["count"], 1)
        certificate = self.client.erasure.issue(fact_ref=ref)
        keys = self.client.gcrumbs.public_key()
        self.assertRegex(verify(certificate, keys), "^[0-9a-f]+$")
        for name, value in [("outcome", "erasex"), ("log_seq", certificate["log_seq"] + 1)]:
            with self.assertRaises(ProofError):
                verify({**certificate, name: value}, keys)

    def test_decisions_and_checkpoints_verify(self) -> None:
        decision = self.client.decisions.log(
            store_id=self.store, model_id="m", query="q", output="o", retrieved_refs=[]
        )
        keys = self.client.gcrumbs.public_key()
        stored = self.client.decisions.get(decision["decision_id"])
        verify(stored, keys)
        with self.assertRaises(ProofError):
            verify({**stored, "query": "another"}, keys)
        epoch = self.client.gcrumbs.roll()
        verify(epoch, keys)
        with self.assertRaises(ProofError):
            verify({"checkpoint": epoch["checkpoint"].replace("\n", "\n1", 1)}, keys)
        for name, value in {"tree_size": 1_000, "root_hash": "00", "origin": "other"}.items():
            with self.assertRaises(ProofError):
                verify({**epoch, name: value}, keys)
        for damaged in (None, 5, [], {"certificate_id": 1}, {"checkpoint": 7}, {"checkpoint": "a"}):
            with self.assertRaises(ProofError):
                verify(damaged, keys)  # type: ignore[arg-type]
        for damaged in (None, [], {}, {"keys": 5}, {"keys": [{}]}):
            with self.assertRaises(ProofError):
                verify(epoch, damaged)  # type: ignore[arg-type]

    def test_refusals_say_what_is_wrong(self) -> None:
        with self.assertRaises(ApiError) as caught:
            self.client.memory.write(self.store, contnet="x")
        self.assertEqual(caught.exception.status, 422)
        self.assertIn("did you mean `content`", str(caught.exception))
        with self.assertRaises(ApiError) as caught:
            self.client.memory.stats("missing")
        self.assertEqual(caught.exception.code, "store_not_found")
        with self.assertRaises(ApiError) as caught:
            with Custos(URL, api_key="wrong") as stranger:
                stranger.memory.stats(self.store)
        self.assertEqual(caught.exception.code, "unauthenticated")
        with self.assertRaises(AttributeError):
            self.client.memory.wriet(self.store)
        with self.assertRaises(TypeError):
            self.client.memory.write(content="x")
        with self.assertRaises(CustosError):
            self.client.memory.stats("..")
        with self.assertRaises(CustosError):
            Custos("http://example.com", api_key="x")
        with self.assertRaises(CustosError):
            Custos("ftp://example.com")
        with self.assertRaises(ConnectionFailed) as failed:
            Custos("http://127.0.0.1:1", api_key=KEY, retries=0).memory.stats("x")
        self.assertNotIn(KEY, repr(failed.exception) + repr(self.client))

    def test_a_namespace_remembers_recalls_corrects_and_forgets(self) -> None:
        ana = self.client.memory_of(self.store, namespace="ana")
        ben = self.client.memory_of(self.store, namespace="ben")
        since = datetime(2024, 5, 1, tzinfo=timezone.utc)
        ref = ana.remember("Ana lives in Porto", metadata={"by": "ana"}, valid_from=since)["ref"]
        found = ana.recall("where does Ana live", budget_tokens=64, top_k=3)
        self.assertEqual([one["ref"] for one in found["memories"]], [ref])
        before = ana.recall("where does Ana live", as_of="2023-01-01T00:00:00Z")
        self.assertEqual(before["memories"], [])
        self.assertEqual(ben.recall("where does Ana live")["memories"], [])
        for reach in (ben.forget, ben.history):
            with self.assertRaisesRegex(CustosError, "no memory .* in the namespace ben"):
                reach(ref)
        newer = ana.correct(ref, "Ana lives in Lisbon")["ref"]
        self.assertEqual([one["ref"] for one in ana.history(newer)["versions"]], [ref, newer])
        erased = ana.forget(newer, reason="GDPR Art. 17(1)(b)")
        certificate = self.client.erasure.get(erased["erasure_certificate_id"])
        verify(certificate, self.client.gcrumbs.public_key())
        said = [{"role": "user", "content": "I like tea"}, {"role": "user", "content": "And jam"}]
        self.assertEqual(len(ana.remember(said, session="s-1")["refs"]), 2)
        with self.assertRaisesRegex(CustosError, "needs a time zone"):
            ana.remember("x", valid_from=datetime(2024, 5, 1))
        with self.assertRaisesRegex(CustosError, "needs a store"):
            self.client.memory_of("")

    def test_a_namespace_does_the_same_with_coroutines(self) -> None:
        async def run() -> list[int]:
            async with AsyncCustos(URL, api_key=KEY) as client:
                ana = client.memory_of(self.store, namespace="ana")
                ref = (await ana.remember("Ana likes tea"))["ref"]
                newer = (await ana.correct(ref, "Ana likes coffee"))["ref"]
                versions = (await ana.history(newer))["versions"]
                with self.assertRaises(CustosError):
                    await client.memory_of(self.store, "ben").forget(newer)
                for one in (newer, ref):
                    await ana.forget(one)
                left = (await ana.recall("what does Ana like"))["memories"]
                return [len(versions), len(left)]

        self.assertEqual(asyncio.run(run()), [2, 0])

    def test_the_asynchronous_client_calls_the_same_operations(self) -> None:
        async def run() -> list[str]:
            async with AsyncCustos(URL, api_key=KEY) as client:
                await client.memory.write(self.store, content="Ben likes tea")
                found = await client.memory.retrieve(self.store, query="tea")
                return [one["content"] for one in found["memories"]]

        self.assertEqual(asyncio.run(run()), ["Ben likes tea"])


LABELS = ["users", "u1", "Ö"]
KEYS = ["profile", "k2"]


class Sequences:
    """Random operations from a seed, as tuples of the store interface."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def namespace(self, least: int = 1) -> tuple[str, ...]:
        return tuple(self.random.choices(LABELS, k=self.random.randint(least, 2)))

    def operation(self) -> Any:
        kind = self.random.choice(["put", "put", "put", "delete", "get", "search", "list"])
        key = self.random.choice(KEYS)
        if kind == "put":
            value = {"city": self.random.choice(["Porto", "Lisboa"]), "age": self.random.randint(0, 3)}
            return PutOp(self.namespace(), key, value)
        if kind == "delete":
            return PutOp(self.namespace(), key, None)
        if kind == "get":
            return GetOp(self.namespace(), key)
        if kind == "search":
            condition = self.random.choice(
                [None, {"city": "Porto"}, {"age": {"$gte": 2}}, {"age": {"$ne": 1}}]
            )
            return SearchOp(self.namespace(0), condition, self.random.randint(1, 4), 0)
        conditions = self.random.choice(
            [
                None,
                (MatchCondition("prefix", (self.random.choice([*LABELS, "*"]),)),),
                (MatchCondition("suffix", (self.random.choice(LABELS),)),),
            ]
        )
        return ListNamespacesOp(conditions, self.random.choice([None, 1, 2]), 10, 0)


def plain(result: Any) -> Any:
    """Without times and scores. Orders of namespaces are those of each store: sorted here."""
    if isinstance(result, list):
        shown = [plain(one) for one in result]
        return sorted(shown) if all(isinstance(one, tuple) for one in result) else shown
    if result is None or isinstance(result, tuple):
        return result
    return {"namespace": result.namespace, "key": result.key, "value": result.value}


class StoreTest(unittest.TestCase):
    def setUp(self) -> None:
        self.client = new_client()

    def tearDown(self) -> None:
        self.client.close()

    def test_it_answers_as_the_in_memory_store_does(self) -> None:
        for seed in range(RUNS):
            sequences = Sequences(seed)
            ours = CustosStore(self.client, store=new_store(self.client))
            oracle = InMemoryStore()
            for _ in range(6):
                operations = [sequences.operation() for _ in range(sequences.random.randint(1, 5))]
                # In memory a read makes an empty namespace, which a later listing would show.
                operations.sort(key=lambda one: not isinstance(one, ListNamespacesOp))
                wanted = plain(oracle.batch(operations))
                # It lists namespaces whose items are all deleted; the service does not.
                for name in [name for name, items in oracle._data.items() if not items]:
                    del oracle._data[name]
                with self.subTest(seed=seed, operations=operations):
                    self.assertEqual(plain(ours.batch(operations)), wanted)

    def test_it_finds_and_forgets_with_certificates(self) -> None:
        store = CustosStore(self.client, store=new_store(self.client), budget_tokens=200)
        store.put(("users", "ana"), "food", {"note": "Ana is allergic to nuts"})
        store.put(("users", "ana"), "home", {"note": "Ana lives in Porto"})
        first = store.search(("users",), query="what is Ana allergic to")[0]
        self.assertEqual(first.key, "food")
        self.assertIsNotNone(first.score)
        store.delete(("users", "ana"), "food")
        self.assertIsNone(store.get(("users", "ana"), "food"))
        keys = self.client.gcrumbs.public_key()
        (certificate_id,) = store.certificates(("users", "ana"), "food")
        verify(self.client.erasure.get(certificate_id), keys)

    def test_a_time_to_live_and_a_wrong_client_are_refused(self) -> None:
        store = CustosStore(self.client)
        with self.assertRaises(NotImplementedError):
            store.put(("users",), "k", {}, ttl=5)
        with self.assertRaises(TypeError):
            CustosStore("http://127.0.0.1:8420")  # type: ignore[arg-type]

    def test_coroutines_do_the_same(self) -> None:
        store = CustosStore(self.client, store=new_store(self.client))

        async def run() -> Any:
            await store.aput(("users",), "ana", {"city": "Porto"})
            return await store.aget(("users",), "ana")

        self.assertEqual(asyncio.run(run()).value, {"city": "Porto"})


if __name__ == "__main__":
    unittest.main()
