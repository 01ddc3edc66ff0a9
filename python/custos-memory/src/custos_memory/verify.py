"""Checks signed records without the service, with keys that were obtained elsewhere.

What is signed is described in docs/verifying.md of the project.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from ._errors import CustosError

_UNSIGNED = {
    "signed_bytes",
    "signature",
    "public_key",
    "key_id",
    "verified",
    "content_salt",
    "deleted",
    "memory_deleted",
    "decision_records_scrubbed",
}


class ProofError(CustosError):
    """The record is not what a published key has signed."""


def verify(record: dict[str, Any], keys: dict[str, Any]) -> str:
    """Returns the id of the key that signed a certificate, a decision or a checkpoint.

    `keys` is the answer of `GET /v1/gcrumbs/public_key`. Raises ProofError, also for what is none
    of these. Not checked: what an answer says beside the signed members, such as `verified`,
    `signed_bytes` and `key_id` of a certificate, `output` of a decision, and of an epoch all but
    its checkpoint with origin, size and root.
    """
    try:
        return _verify(record, keys)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as problem:
        what = f"{type(problem).__name__}: {problem}"
        raise ProofError(f"not of the shape of a record or of a list of keys: {what}") from problem


def _verify(record: dict[str, Any], keys: dict[str, Any]) -> str:
    if "certificate_id" in record:
        kind = record.get("record_kind", "erasure")
        version = 2 if "subject_kind" in record else 1
        members = {name: value for name, value in record.items() if name not in _UNSIGNED}
        message = f"custos/{kind}/v{version}\n".encode() + _canonical(members)
        signature = base64.b64decode(record["signature"])
        return _signer(keys, "erasure", message, signature, record["erasure_completed_at"])
    if "decision_id" in record:
        names = ("tenant_id", "store_id", "model_id", "query", "timestamp")
        text = "".join(record[name] for name in names).encode()
        if hashlib.blake2b(text, digest_size=16).hexdigest() != record["decision_id"]:
            raise ProofError("decision_id does not follow from the record")
        message = bytes.fromhex(record["decision_id"])
        signature = base64.b64decode(record["signature"])
        return _signer(keys, "decision", message, signature, record["timestamp"])
    if "checkpoint" in record:
        text, _, signatures = record["checkpoint"].partition("\n\n")
        origin, size, root = text.split("\n")[:3]
        head = {"origin": origin, "tree_size": int(size), "root_hash": base64.b64decode(root).hex()}
        head |= {"n_leaves": head["tree_size"], "merkle_root": head["root_hash"]}
        for name, value in head.items():
            if record.get(name, value) != value:
                raise ProofError(f"{name} is not that of the checkpoint")
        # The first 4 bytes of a signature line name the key.
        signature = base64.b64decode(signatures.split()[-1])[4:]
        return _signer(keys, "checkpoint", f"{text}\n".encode(), signature, None)
    raise ProofError("not a certificate, a decision or a checkpoint")


def _signer(
    keys: dict[str, Any], purpose: str, message: bytes, signature: bytes, at: str | None
) -> str:
    for key in keys["keys"]:
        if key["purpose"] != purpose:
            continue
        if at is not None and not key["valid_from"] <= at <= (key["retired_at"] or at):
            continue
        try:
            Ed25519PublicKey.from_public_bytes(bytes.fromhex(key["public_key"])).verify(
                signature, message
            )
            return key["key_id"]
        except InvalidSignature:
            continue
    raise ProofError(f"not signed by a {purpose} key of the list")


def _canonical(members: dict[str, Any]) -> bytes:
    """RFC 8785 for what a certificate holds: ASCII names, texts, whole numbers."""
    return json.dumps(
        members, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode()
