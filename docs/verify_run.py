#!/usr/bin/env python3
"""Checks the bundle of a run offline: python3 verify_run.py run.ndjson keys.json

A second verifier, written from the documentation and in another language, with the standard library
alone. `keys.json` is the answer of GET /v1/gcrumbs/public_key, obtained before the run. It says
`valid`, by which keys and what no bundle shows, and ends with 0, or says what does not hold and
ends with 1.
"""

import base64
import hashlib
import json
import re
import sys
from datetime import datetime

# Ed25519, RFC 8032 section 5.1: verification only, so nothing here is secret.
P = 2**255 - 19
Q = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT = pow(2, (P - 1) // 4, P)


def recover_x(y, sign):
    if y >= P:
        raise ValueError("a point is out of range")
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P != 0:
        x = x * ROOT % P
    if (x * x - square) % P != 0 or (x == 0 and sign):
        raise ValueError("not a point")
    return P - x if (x & 1) != sign else x


def add(a, b):
    s = (a[1] - a[0]) * (b[1] - b[0]) % P
    t = (a[1] + a[0]) * (b[1] + b[0]) % P
    u = 2 * a[3] * b[3] * D % P
    v = 2 * a[2] * b[2] % P
    e, f, g, h = t - s, v - u, v + u, t + s
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiply(factor, point):
    result = (0, 1, 1, 0)
    while factor > 0:
        if factor & 1:
            result = add(result, point)
        point, factor = add(point, point), factor >> 1
    return result


def decompress(data):
    number = int.from_bytes(data, "little")
    y, sign = number & (2**255 - 1), number >> 255
    x = recover_x(y, sign)
    return x, y, 1, x * y % P


BASE_Y = 4 * pow(5, P - 2, P) % P
BASE_X = recover_x(BASE_Y, 0)
BASE = (BASE_X, BASE_Y, 1, BASE_X * BASE_Y % P)


def is_signed(public_key, message, signature):
    if len(public_key) != 32 or len(signature) != 64:
        return False
    try:
        key, point = decompress(public_key), decompress(signature[:32])
    except ValueError:
        return False
    s = int.from_bytes(signature[32:], "little")
    if s >= Q:
        return False
    digest = hashlib.sha512(signature[:32] + public_key + message).digest()
    h = int.from_bytes(digest, "little") % Q
    a, b = multiply(s, BASE), add(point, multiply(h, key))
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


class Invalid(Exception):
    """What does not hold."""


def require(holds, what):
    if not holds:
        raise Invalid(what)


def canonical(value):
    """RFC 8785 for what records hold: texts, whole numbers, lists, objects."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        inside = ",".join(canonical(name) + ":" + canonical(value[name]) for name in names)
        return "{" + inside + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    require(not isinstance(value, float), "a number that is not whole")
    return json.dumps(value, ensure_ascii=False)


UNSIGNED = {"signature", "public_key", "key_id", "signed_bytes"}
NOTES = {
    "content_salt",
    "verified",
    "deleted",
    "memory_deleted",
    "decision_records_scrubbed",
}


def signed_bytes(kind, record, version=1, without=frozenset()):
    left_out = UNSIGNED | set(without)
    members = {name: value for name, value in record.items() if name not in left_out}
    return f"custos/{kind}/v{version}\n{canonical(members)}".encode()


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


HEX = re.compile(r"(?:[0-9a-f]{2})*")
RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)")


def unhex(text, size=None):
    """Of lower-case hex alone, so that one value has one spelling."""
    require(HEX.fullmatch(text), "not lower-case hex")
    data = bytes.fromhex(text)
    require(size is None or len(data) == size, "a value of another length")
    return data


def unbase64(text):
    data = base64.b64decode(text, validate=True)
    require(base64.b64encode(data).decode() == text, "not the base64 of a value")
    return data


def is_count(value):
    return type(value) is int and 0 <= value < 2**53


def moment(text):
    require(RFC3339.fullmatch(text), "not a time")
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def find_key(keys, purpose, public_key, at):
    for key in keys:
        if key["purpose"] != purpose or key["public_key"] != public_key.hex():
            continue
        if at is None:
            return key
        after_end = key["retired_at"] is not None and moment(at) > moment(key["retired_at"])
        if moment(key["valid_from"]) <= moment(at) and not after_end:
            return key
    raise Invalid(f"no {purpose} key of the list was valid then")


SIGNERS = set()


def check_signature(keys, record, message, purpose, at):
    public_key = unbase64(record["public_key"])
    key = find_key(keys, purpose, public_key, at)
    require(key["key_id"] == record["key_id"], "a record names another key")
    signature = unbase64(record["signature"])
    require(is_signed(public_key, message, signature), "a signature is not over the record")
    shown = record.get("signed_bytes")
    same = shown is None or shown == base64.b64encode(message).decode()
    require(same, "the signed bytes shown are not those of the record")
    SIGNERS.add(key["key_id"])


CHECKPOINTS = {}


def read_checkpoint(keys, text, at):
    """The size and root that a published key signed."""
    if (text, at) in CHECKPOINTS:
        return CHECKPOINTS[text, at]
    body, _, lines = text.partition("\n\n")
    origin, size, root = body.split("\n")
    for line in lines.splitlines():
        _, name, encoded = line.split(" ")
        blob = unbase64(encoded)
        if name != origin or len(blob) != 68:
            continue
        for key in keys:
            public_key = unhex(key["public_key"])
            named = sha256(origin.encode(), b"\n\x01", public_key)[:4] == blob[:4]
            if named and is_signed(public_key, (body + "\n").encode(), blob[4:]):
                SIGNERS.add(find_key(keys, "checkpoint", public_key, at)["key_id"])
                CHECKPOINTS[text, at] = int(size), base64.b64decode(root)
                return CHECKPOINTS[text, at]
    raise Invalid("a checkpoint that no published key signed")


CRUMB = {
    "breadcrumb_id",
    "tenant_id",
    "seq",
    "event_type",
    "subject",
    "payload",
    "prev_id",
    "created_at",
}


def check_entry(keys, proof):
    """RFC 9162, section 2.1.3.2."""
    crumb = proof["breadcrumb"]
    require(set(crumb) == CRUMB, "a log entry with other members")
    data = {name: value for name, value in crumb.items() if name != "breadcrumb_id"}
    node = sha256(b"\0", canonical(data).encode())
    require(node.hex() == crumb["breadcrumb_id"], "a log entry is not the one of its id")
    require(node.hex() == proof["leaf_hash"], "a proof is of another log entry")
    require(proof.get("included") is not False, "the log had no such entry then")
    require(is_count(proof["epoch_number"]), "an epoch without a number")
    size, root = read_checkpoint(keys, proof["checkpoint"], proof.get("created_at"))
    require((proof["tree_size"], proof["root_hash"]) == (size, root.hex()), "another tree")
    check_repeated(proof)
    index, last = crumb["seq"], size - 1
    require(index == proof["breadcrumb_seq"] and index < size, "another position")
    for sibling in (unhex(sibling, 32) for sibling in proof["audit_path"]):
        require(last > 0, "a path is too long")
        if index & 1 or index == last:
            node = sha256(b"\1", sibling, node)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            node = sha256(b"\1", node, sibling)
        index, last = index >> 1, last >> 1
    require(last == 0 and node == root, "a path does not lead to the root")
    return crumb


def check_repeated(proof):
    """What a proof says again under other names is the same: readers may take either."""
    origin = proof["checkpoint"].partition("\n")[0]
    generation = proof.get("generation", 0)
    same = {
        "leaf": proof["leaf_hash"],
        "merkle_root": proof["root_hash"],
        "n_leaves": proof["tree_size"],
        "origin": origin,
        "generation": generation if origin.endswith(f"/{generation}") else 0,
    }
    for name, value in same.items():
        found = proof.get(name, value)
        require(found == value and type(found) is type(value), f"a proof has another {name}")
    path = proof["audit_path"]
    require(proof.get("proof") in (None, path), "a proof has two paths")
    text = proof.get("tlog_proof")
    if text is None:
        return
    head, _, note = text.partition("\n\n")
    first, *lines = head.split("\n")
    if lines and lines[0].startswith("extra "):
        unbase64(lines.pop(0)[len("extra ") :])
    hashes = [base64.b64encode(unhex(sibling)).decode() for sibling in path]
    same = first == "c2sp.org/tlog-proof@v1"
    same = same and lines == [f"index {proof['breadcrumb_seq']}", *hashes]
    # Lines of witnesses may follow the one of the log.
    cosigned = note.removeprefix(proof["checkpoint"])
    same = same and note.startswith(proof["checkpoint"])
    same = same and re.fullmatch(r"(?:— [^\n]+\n)*", cosigned)
    require(same, "the text of a proof differs from the proof")


STEP_END = {"step.completed", "step.denied", "step.failed"}
RUN_END = {"run.completed", "run.denied", "run.failed", "run.terminated"}
CALL_END = {
    "tool.completed",
    "tool.failed",
    "tool.uncertain",
    "tool.resolved",
    "tool.compensated",
}
STEP_NEXT = {
    None: {"permitted", "denied", "failed"},
    "permitted": {"answered", "completed", "denied", "failed"},
    "answered": {"completed", "denied", "failed"},
}
CALL_NEXT = {
    None: {"intended", "denied", "failed"},
    "intended": {"done", "failed", "uncertain"},
    "uncertain": {"done", "failed"},
}


def check_order(head, entries):
    start = entries[0]
    begins = [one for one in entries if one["event_type"] == "run.started"]
    require(begins == [start], "the first entry, and no other, is the start of the run")
    require(start["subject"] == head["run_id"], "another run was started")
    may_call = "answered" if executor(entries) == "managed" else "permitted"
    steps, calls, over, position = {}, {}, None, -1
    for one in entries:
        event, subject, payload = one["event_type"], one["subject"], one["payload"]
        require(one["seq"] > position, "log positions do not rise")
        position = one["seq"]
        require(one["tenant_id"] == head["tenant_id"], "an entry of another tenant")
        require(payload.get("run_id", head["run_id"]) == head["run_id"], "an entry of another run")
        after = event.split(".")[0] in ("agent_action", "approval", "decision")
        require(over is None or after, "something happened after the end of the run")
        state = payload.get("state")
        if event in ("step.permitted", "step.answered"):
            state = event.split(".")[1]
        if event in STEP_END:
            require(event == f"step.{state}", "a step ends in two states")
        if event.startswith("step."):
            require(state in STEP_NEXT.get(steps.get(subject), ()), f"step to {state}")
            steps[subject] = state
        elif event == "tool.intended":
            require(calls.get(subject) is None, "a call is intended twice")
            may = "compensates" in payload or steps.get(payload["step_id"]) == may_call
            require(may, "a call of a step without permit")
            calls[subject] = "intended"
        elif event in CALL_END:
            before = calls.get(subject)
            require((event == "tool.resolved") == (before == "uncertain"), "settled by nobody")
            require(state in CALL_NEXT.get(before, ()), f"call to {state}")
            calls[subject] = state
        elif event in RUN_END:
            require(event == f"run.{state}", "the run ends in two states")
            over = payload
    require((over is not None) == head["ended"], "head and log differ about the end")
    if over is not None:
        left = {"permitted", "answered"} & set(steps.values()) | {"intended"} & set(calls.values())
        require(not left, "a step or call has no end")
    return over


def check_turns(entries):
    """Who takes a turn when, by the mode of the workflow. A run of one agent has no turns."""
    workflow = entries[0]["payload"].get("workflow")
    mode = workflow["mode"] if isinstance(workflow, dict) else None
    agents, states, turn_of, delegated = {}, {}, {}, 0
    for one in entries:
        event, subject, payload = one["event_type"], one["subject"], one["payload"]
        if event == "tool.intended":
            delegated += 1
        if event in STEP_END and subject in turn_of:
            states[turn_of[subject]] = payload["state"]
        if event != "step.permitted":
            continue
        turn = payload.get("turn_no")
        if mode is None:
            require("turn_no" not in payload, "a turn without a workflow")
            continue
        require(is_count(turn), "a step of a workflow without a turn")
        agent_id = payload["agent_id"]
        require(agents.get(turn, agent_id) == agent_id, "another agent in its turn")
        if mode == "parallel":
            early = turn >= workflow["agents"]
        elif mode == "supervisor":
            # A call that was refused leaves a number out: turns are counted, not their numbers.
            known = sum(1 for other in agents if other > 0)
            early = turn > 0 and turn not in agents and known >= delegated
        else:
            early = turn > 0 and states.get(turn - 1) != "completed"
            require(turn + 1 not in agents, "a turn is over")
        require(not early, "a turn has not come")
        agents[turn], states[turn], turn_of[subject] = agent_id, "permitted", turn


UNDO_END = ("compensation", "left", "compensation_stopped")
UNDO_STOPS = ("cancelled", "deadline_exceeded", "executor_failed")


def may_have_acted(effect, state, is_cut):
    """Of a call that was cut off nobody knows."""
    return state in ("done", "uncertain") or (state, effect, is_cut) == (
        "failed",
        "idempotent",
        True,
    )


def check_compensation(entries, over):
    """A run undoes only after it has stopped, each call once, and says how much it undid."""
    stopped, effects, states, undone, cut = None, {}, {}, {}, {}
    for one in entries:
        event, subject, payload = one["event_type"], one["subject"], one["payload"]
        call_id = payload.get("compensates")
        if event == "run.compensating":
            require(stopped is None, "a run stops twice")
            stopped = payload
        elif event in RUN_END:
            continue
        elif call_id is not None:
            require(stopped is not None, "a run that goes on undoes a call")
            require(states.get(call_id) == "done", "what was not done is undone")
            before = undone.get(call_id)
            require(before in (None, (subject, "intended")), "a call is undone twice")
            undone[call_id] = (subject, payload.get("state", "intended"))
        elif event.split(".")[0] in ("run", "step", "tool"):
            require(stopped is None, "something happened after the run had stopped")
            if event == "tool.intended":
                effects[subject] = payload["effect"]
            elif event in CALL_END:
                states[subject] = payload["state"]
                cut[subject] = payload.get("reason") == "not_reported"
    if over is None:
        return
    said, left, ended_by = (over.get(name) for name in UNDO_END)
    if left is None:
        # Services that do not write `left` count no call that was cut off, sent or not.
        cut = {}
    acted = [
        call_id
        for call_id, effect in effects.items()
        if effect != "read" and may_have_acted(effect, states.get(call_id), cut.get(call_id))
    ]
    done = {call_id for call_id, (_, state) in undone.items() if state == "done"}
    remaining = sorted(call_id for call_id in acted if call_id not in done)
    if left is not None:
        require(stopped is not None and sorted(left) == remaining, "something else is left")
    if ended_by is not None:
        known = stopped is not None and ended_by in UNDO_STOPS
        require(known and remaining and left is not None, "an undoing was ended that was not")
    if stopped is None:
        require(said is None or not acted, "the run says that it undid something")
        return
    true = "partial" if len(remaining) < len(acted) else "none"
    true = "complete" if not remaining else true
    require(said == true, "the run undid something else")
    same = (stopped["state"], stopped["reason"]) == (over["state"], over["reason"])
    require(same, "a run ends otherwise than it stopped")


def executor(entries):
    return entries[0]["payload"].get("executor", "client")


def receipt_digest(receipt):
    return sha256(signed_bytes("run_receipt", receipt)).hex()


def check_receipts(keys, head, entries, receipts, over):
    before = None
    for number, receipt in enumerate(receipts):
        message = signed_bytes("run_receipt", receipt)
        check_signature(keys, receipt, message, "record", receipt["ended_at"])
        require(receipt["receipt_no"] == number, "a receipt is missing")
        require(receipt["previous"] == before, "a receipt does not follow the one before it")
        before = receipt_digest(receipt)
        require(receipt["run_id"] == head["run_id"], "a receipt of another run")
        require(receipt["tenant_id"] == head["tenant_id"], "a receipt of another tenant")
        require(receipt["executor"] == executor(entries), "another executor than that of the run")
    ended = [one for one in entries if one["event_type"] in STEP_END]
    require(len(ended) == len(receipts), "the log has other receipts")
    for one, receipt in zip(ended, receipts):
        logged = one["payload"]
        require(one["subject"] == receipt["step_id"], "the log has other receipts")
        require(logged["receipt_digest"] == receipt_digest(receipt), "not the logged receipt")
        same = (logged["state"], logged["reason"]) == (receipt["state"], receipt["reason"])
        require(same, "a receipt has another end than the log")
    require(over is None or over["receipts"] == len(receipts), "the log counts other receipts")
    for receipt in receipts:
        reported = any(call.get("executor") == "client" for call in receipt["calls"])
        said = ("results" in receipt["claimed"]) == reported
        require(said or receipt["executor"] == "client", "a receipt hides what a caller said")
        check_receipt(entries, receipt)


def logged(entries, event, subject):
    for one in entries:
        if one["event_type"] == event and one["subject"] == subject:
            return one["payload"]
    return None


def check_receipt(entries, receipt):
    step_id, memory, budget = receipt["step_id"], receipt["memory"], receipt["budget"]
    permit = logged(entries, "step.permitted", step_id)
    require((receipt["permit"] is None) == (permit is None), "a permit and the log differ")
    if permit is not None:
        refs = set(memory["retrieved_refs"]) | set(memory["inherited_refs"])
        said = {
            **{
                name: receipt[name]
                for name in ("agent_id", "step_no", "permit", "input_commitment", "action_id")
            },
            **{name: receipt["policy"][name] for name in ("policy_set", "evaluation_id")},
            **{name: budget[name] for name in ("max_tokens", "max_cost_micro")},
            "memory_seq": memory["memory_seq"],
            "refs": len(refs),
        }
        require(all(permit[name] == value for name, value in said.items()), "another permit")
        require(permit.get("turn_no") == receipt.get("turn_no"), "a permit of another turn")
    completed = receipt["state"] == "completed"
    answered = logged(entries, "step.answered", step_id)
    if answered is not None:
        used = [answered["tokens_in"], answered["tokens_out"]]
        require(used == [budget["tokens_in"], budget["tokens_out"]], "another answer")
        same = answered["output_commitment"] == receipt["output_commitment"]
        require(same or not completed, "another answer")
    else:
        asked = executor(entries) == "managed" and receipt["calls"]
        require(not asked, "an answer that asked for calls is not on the log")
    require(completed == (receipt["decision_id"] is not None), "a decision without an answer")
    if completed:
        decision = logged(entries, "decision.logged", receipt["decision_id"]) or {}
        same = decision.get("record_digest") == receipt["record_digest"]
        require(same, "the decision is not on the log")
    intended = {
        one["subject"]
        for one in entries
        if one["event_type"] == "tool.intended"
        and one["payload"]["step_id"] == step_id
        and "compensates" not in one["payload"]
    }
    acted = {call["call_id"] for call in receipt["calls"] if call["state"] != "denied"}
    require(intended <= acted, "a call is not in the receipt")
    for call in receipt["calls"]:
        check_call(entries, call)


def check_call(entries, call):
    intent = logged(entries, "tool.intended", call["call_id"])
    ends = [
        one["payload"]
        for one in entries
        if one["subject"] == call["call_id"] and one["event_type"] in CALL_END
    ]
    if intent is not None:
        names = ("args_commitment", "effect", "action_id", "policy_set", "evaluation_id", "executor")
        same = all(intent.get(name) == call.get(name) for name in names)
        require(same, "another call was intended")
    said = (call["state"], call["reason"])
    if ends:
        require((ends[-1]["state"], ends[-1]["reason"]) == said, "a call ended otherwise")
    else:
        require(intent is None and said == ("denied", "policy"), "a call has no end")


def check_budget(entries, receipts, over):
    start = entries[0]["payload"]
    limits = {"tokens": start["budget_tokens"], "cost_micro": start["budget_cost_micro"]}
    used, excess, permits = dict.fromkeys(limits, 0), dict.fromkeys(limits, 0), {}
    by_step = {receipt["step_id"]: receipt["budget"] for receipt in receipts}
    for one in entries:
        payload, step_id = one["payload"], one["subject"]
        if one["event_type"] == "step.permitted":
            permits[step_id] = {name: payload[f"max_{name}"] for name in limits}
            for name, limit in limits.items():
                taken = sum(permit[name] for permit in permits.values())
                room = limit is None or used[name] - excess[name] + taken <= limit
                require(room, "a permit is above the budget")
        if one["event_type"] not in STEP_END:
            continue
        budget = by_step[step_id]
        permit = permits.pop(step_id, dict.fromkeys(limits, 0))
        reported = [budget["tokens_in"], budget["tokens_out"]]
        due = permit["tokens"] if None in reported else sum(reported)
        require(budget["charged_tokens"] == due, "charged otherwise than reported")
        for name, limit in limits.items():
            charged = budget[f"charged_{name}"]
            used[name] += charged
            excess[name] += max(0, charged - permit[name])
            require(budget[f"spent_{name}"] == used[name], "what was spent does not add up")
            require(budget[name] == limit, "another budget than that of the run")
    for name in limits:
        require(over is None or over[f"spent_{name}"] == used[name], "the run spent otherwise")


REQUEST = (
    "run_id",
    "step_id",
    "call_id",
    "agent_id",
    "operation",
    "effect",
    "text_id",
    "commitment",
)


def check_approvals(keys, entries, actions, approvals):
    """What waited for a person was approved, exactly as it was executed, before its permit."""
    for action in actions:
        message = signed_bytes("agent_action", action)
        check_signature(keys, action, message, "record", action["issued_at"])
        proposal = {
            "tenant_id": action["tenant_id"],
            "kind": "agent_action",
            "request": {name: action[name] for name in REQUEST},
            "created_at": action["created_at"],
            "nonce": action["nonce"],
        }
        data = canonical(proposal).encode()
        digest = hashlib.blake2b(data, digest_size=16).hexdigest()
        require(action["action_id"] == digest, "an action is not the one of its id")
        require(action["proposal_digest"] == sha256(data).hex(), "another proposal")
    for approval in approvals:
        message = signed_bytes("approval", approval)
        check_signature(keys, approval, message, "record", approval["decided_at"])
        in_time = approval["issued_at"] <= approval["decided_at"] <= approval["expires_at"]
        require(in_time, "an approval came too late")
    known = {action["action_id"]: action for action in actions}
    requests = {approval["request_id"]: approval for approval in approvals}
    for one in entries:
        if one["event_type"] not in ("step.permitted", "tool.intended"):
            continue
        action_id = one["payload"]["action_id"]
        if action_id is None:
            continue
        action = known.pop(action_id, None)
        require(action is not None, "an action is missing")
        commitment = one["payload"].get("input_commitment") or one["payload"]["args_commitment"]
        target = action["call_id"] or action["step_id"]
        require(target == one["subject"], "something else was approved")
        require(action["commitment"] == commitment, "another text was approved")
        approval = requests.get((action["approval"] or {}).get("request_id"), {})
        require(approval.get("decision") == "approve", "nobody approved")
        require(approval["record_id"] == action_id, "another record was approved")
        same = approval["proposal_digest"] == action["proposal_digest"]
        require(same, "another proposal was approved")
        # The permit and the two entries of its approval are appended together.
        approved = logged(entries, "agent_action.approved", action_id) or {}
        digest = sha256(signed_bytes("agent_action", action)).hex()
        require(approved.get("record_digest") == digest, "the log has no such approval")
    require(not known, "an action that nothing of the run names")


def check_texts(keys, head, entries, receipts, texts, certificates):
    committed, refs, gone = set(), set(), 0
    for one in entries:
        for name in ("input_commitment", "args_commitment", "result_commitment"):
            committed.add(one["payload"].get(name))
    for receipt in receipts:
        committed |= {receipt["input_commitment"], receipt["output_commitment"]}
        for name in ("retrieved_refs", "inherited_refs", "called_refs"):
            refs |= set(receipt["memory"].get(name, ()))
        for call in receipt["calls"]:
            committed |= {call["args_commitment"], call["result_commitment"]}
    committed.discard(None)
    for certificate in certificates:
        version = 2 if "subject_kind" in certificate else 1
        message = signed_bytes("erasure", certificate, version, NOTES)
        completed = certificate["erasure_completed_at"]
        check_signature(keys, certificate, message, "erasure", completed)
    certified = any(one["fact_ref"] in refs for one in certificates)
    redacted = {one.get("subject_id") for one in certificates}
    for text in texts:
        if text["text"] is None and text["salt"] is None:
            gone += 1
            explained = certified or text["text_id"] in redacted
            require(explained, "a text is gone, and no certificate says why")
            continue
        require(text["text"] is not None and text["salt"] is not None, "half a text")
        opened = sha256(unhex(text["salt"]), text["text"].encode()).hex()
        require(opened == text["commitment"], "a text does not open its commitment")
    shown = {text["commitment"] for text in texts}
    require(committed <= shown, "a text is missing")
    require(shown <= committed or not head["ended"], "a text that nothing commits to")
    return gone


KINDS = {
    "entry": "proof",
    "receipt": "receipt",
    "action": "record",
    "approval": "record",
    "text": None,
    "erasure": "certificate",
}


def verify(lines, keys):
    """Raises Invalid; returns how many texts are erased."""
    require(lines, "the file has no line")
    head, *rest = lines
    require(head.get("type") == "run_bundle" and head.get("version") == 1, "no head of version 1")
    kinds = {kind: [] for kind in KINDS}
    for line in rest:
        require(line.get("type") in KINDS, "a line of an unknown type")
        member = KINDS[line["type"]]
        kinds[line["type"]].append(line if member is None else line[member])
    proofs = kinds["entry"]
    require(len({proof["root_hash"] for proof in proofs}) == 1, "not under one checkpoint")
    entries = [check_entry(keys, proof) for proof in proofs]
    over = check_order(head, entries)
    check_turns(entries)
    check_compensation(entries, over)
    check_receipts(keys, head, entries, kinds["receipt"], over)
    check_budget(entries, kinds["receipt"], over)
    check_approvals(keys, entries, kinds["action"], kinds["approval"])
    texts, certificates = kinds["text"], kinds["erasure"]
    return check_texts(keys, head, entries, kinds["receipt"], texts, certificates)


def parse(line, what):
    try:
        return json.loads(line.decode("utf-8-sig"), object_pairs_hook=members)
    except RecursionError:
        raise Invalid(f"{what} is nested too deeply") from None
    except ValueError:
        raise Invalid(f"{what} is no JSON") from None


def members(pairs):
    # Of two equal keys the parser would keep the last, and another reader the first.
    if len(dict(pairs)) < len(pairs):
        raise Invalid("a key occurs twice in an object")
    return dict(pairs)


def read_lines(path):
    # Bytes, so that a line that is no text is refused by its number like one that is no JSON.
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                value = parse(line, f"line {number}")
                require(isinstance(value, dict), f"line {number} is no object")
                yield value


def read_keys(path):
    with open(path, "rb") as file:
        answer = parse(file.read(), "the file")
    keys = answer.get("keys") if isinstance(answer, dict) else None
    require(isinstance(keys, list), "it lists no keys")
    names = {"key_id", "purpose", "public_key", "valid_from", "retired_at"}
    shaped = all(isinstance(key, dict) and names <= set(key) for key in keys)
    require(shaped, "a key has not the members of a key")
    return keys


NOT_CHECKED = (
    "output, results, tokens, cost and model: as the provider or the caller said; entries "
    "beside steps, calls and approval; ids of texts; epochs and cosignatures"
)


def main(bundle_path, keys_path):
    try:
        keys = read_keys(keys_path)
    except OSError as problem:
        sys.exit(f"cannot read {keys_path}: {problem.strerror}")
    except Invalid as problem:
        sys.exit(f"{keys_path} is no list of keys: {problem}")
    try:
        gone = verify(list(read_lines(bundle_path)), keys)
    except OSError as problem:
        sys.exit(f"cannot read {bundle_path}: {problem.strerror}")
    except Invalid as problem:
        sys.exit(f"not valid: {problem}")
    except RecursionError:
        sys.exit("not valid: a line is nested too deeply")
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as problem:
        why = f"{type(problem).__name__}: {problem}"[:200]
        sys.exit(f"not valid: a line is not of the shape of its type ({why})")
    print(f"valid; {gone} texts are erased" if gone else "valid")
    print("signed by", ", ".join(sorted(SIGNERS)))
    print("not checked:", NOT_CHECKED)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
