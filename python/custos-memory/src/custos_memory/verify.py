"""Checks signed records without the service, with keys that were obtained elsewhere.

What is signed is described in docs/verifying.md of the project.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from datetime import datetime
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from ._errors import CustosError

_UNSIGNED = {"signed_bytes", "signature", "public_key", "key_id"}
_NOTES = {
    "verified",
    "content_salt",
    "deleted",
    "memory_deleted",
    "decision_records_scrubbed",
}
_HEX = re.compile(r"(?:[0-9a-f]{2})*")
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)"
)


class ProofError(CustosError):
    """The record is not what a published key has signed."""


def verify(record: dict[str, Any], keys: dict[str, Any]) -> str:
    """Returns the id of the key that signed a certificate, a decision or a checkpoint.

    `keys` is the answer of `GET /v1/gcrumbs/public_key`. Raises ProofError, also for what is none
    of these. Not checked: what an answer says beside the signed members, such as `verified` of a
    certificate, `output` of a decision, and of an epoch its number, its time, its cosignatures and
    how it follows from the one before.
    """
    try:
        return _verify(record, keys)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as problem:
        what = f"{type(problem).__name__}: {problem}"
        raise ProofError(f"not of the shape of a record or of a list of keys: {what}") from problem


def _verify(record: dict[str, Any], keys: dict[str, Any]) -> str:
    if "certificate_id" in record:
        return _verify_certificate(record, keys)
    if "decision_id" in record:
        names = ("tenant_id", "store_id", "model_id", "query", "timestamp")
        text = "".join(record[name] for name in names).encode()
        if hashlib.blake2b(text, digest_size=16).hexdigest() != record["decision_id"]:
            raise ProofError("decision_id does not follow from the record")
        message = bytes.fromhex(record["decision_id"])
        return _check_signature(record, keys, "decision", message, record["timestamp"])
    if "checkpoint" in record:
        return _verify_epoch(record, keys)
    raise ProofError("not a certificate, a decision or a checkpoint")


def _verify_certificate(record: dict[str, Any], keys: dict[str, Any]) -> str:
    kind = record.get("record_kind", "erasure")
    if kind not in ("erasure", "tenant_erasure"):
        raise ProofError("a record of another kind")
    left_out = _UNSIGNED | (_NOTES if kind == "erasure" else set())
    version = 2 if "subject_kind" in record else 1
    members = {name: value for name, value in record.items() if name not in left_out}
    message = f"custos/{kind}/v{version}\n".encode() + _canonical(members)
    shown = record.get("signed_bytes")
    if shown is not None and shown != base64.b64encode(message).decode():
        raise ProofError("signed_bytes do not follow from the record")
    if kind == "tenant_erasure":
        last = record["last_checkpoint"]
        _verify_epoch(last, keys)
        if last["tree_size"] != record["log_seq"] + 1:
            raise ProofError("the checkpoint does not end with the entry of the record")
    return _check_signature(record, keys, "erasure", message, record["erasure_completed_at"])


def _verify_epoch(record: dict[str, Any], keys: dict[str, Any]) -> str:
    """The members around a checkpoint repeat it."""
    body, divide, lines = record["checkpoint"].rpartition("\n\n")
    if not divide or not lines.endswith("\n"):
        raise ProofError("not a signed checkpoint")
    origin, size, root = body.split("\n")
    head: dict[str, Any] = {
        "origin": origin,
        "tree_size": int(size),
        "root_hash": _unbase64(root).hex(),
    }
    head |= {"n_leaves": head["tree_size"], "merkle_root": head["root_hash"]}
    generation = record.get("generation", 0)
    # A generation of 0 leaves no trace in the origin.
    head["generation"] = generation if origin.endswith(f"/{generation}") else 0
    for name, value in head.items():
        # Older exports lack some of these.
        found = record[name] if name == "root_hash" else record.get(name, value)
        if found != value or type(found) is not type(value):
            raise ProofError(f"{name} is not that of the checkpoint")
    if not all(type(record[name]) is int for name in ("epoch_number", "tree_size")):
        raise ProofError("an epoch without its numbers")
    note = (f"{body}\n".encode(), origin, lines)
    return _find_signer(note, _published(keys), record.get("created_at"))


def _find_signer(
    note: tuple[bytes, str, str], keys: list[dict[str, Any]], at: str | None
) -> str:
    message, origin, lines = note
    # In the name of the log; witnesses sign in theirs. Four bytes name the key.
    signed = [_read_line(line) for line in lines[:-1].split("\n")]
    for key in keys:
        public_key = _unhex(key["public_key"])
        named = hashlib.sha256(origin.encode() + b"\n\x01" + public_key).digest()[:4]
        own = [blob[4:] for name, blob in signed if name == origin and blob[:4] == named]
        if not own or key["purpose"] != "checkpoint" or not _is_valid_at(key, at):
            continue
        if all(_is_signed(public_key, message, signature) for signature in own):
            return key["key_id"]
    raise ProofError("not signed by a checkpoint key of the list")


def _read_line(line: str) -> tuple[str, bytes]:
    dash, name, encoded = line.split(" ")
    blob = _unbase64(encoded)
    if dash != "—" or len(blob) < 5:
        raise ProofError("not a signed checkpoint")
    return name, blob


def _check_signature(
    record: dict[str, Any], keys: dict[str, Any], purpose: str, message: bytes, at: str
) -> str:
    """By the key that the record names, which must be on the list for that purpose and time."""
    public_key, signature = _unbase64(record["public_key"]), _unbase64(record["signature"])
    key_id = record.get("key_id")
    for key in _published(keys):
        same = key["public_key"] == public_key.hex() and key_id in (None, key["key_id"])
        if not same or key["purpose"] != purpose or not _is_valid_at(key, at):
            continue
        if _is_signed(public_key, message, signature):
            return key["key_id"]
    raise ProofError(f"not signed by a {purpose} key of the list")


def _published(keys: dict[str, Any]) -> list[dict[str, Any]]:
    return keys["keys"]


def _is_signed(public_key: bytes, message: bytes, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def _is_valid_at(key: dict[str, Any], at: str | None) -> bool:
    if at is None:
        return True
    retired = key["retired_at"]
    return _moment(key["valid_from"]) <= _moment(at) and (
        retired is None or _moment(at) <= _moment(retired)
    )


def _moment(text: str) -> tuple[datetime, str]:
    match = _TIME.fullmatch(text)
    if match is None:
        raise ProofError(f"not a time: {text[:40]}")
    second, fraction, zone = match.groups()
    zone = "+00:00" if zone == "Z" else zone
    at = datetime.fromisoformat(f"{second}{zone}")
    return at, (fraction or "").ljust(6, "0")[:6]


def _unhex(text: str) -> bytes:
    # Of lower-case hex alone, so that one value has one spelling.
    if not _HEX.fullmatch(text):
        raise ProofError("not lower-case hex")
    return bytes.fromhex(text)


def _unbase64(text: str) -> bytes:
    data = base64.b64decode(text, validate=True)
    if base64.b64encode(data).decode() != text:
        raise ProofError("not the base64 of a value")
    return data


def _canonical(members: dict[str, Any]) -> bytes:
    """RFC 8785 for what a certificate holds: ASCII names, texts, whole numbers."""
    return json.dumps(
        members, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode()
