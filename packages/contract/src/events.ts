// The closed payload schema of every event on the chain: minted ids, integers, enums, times and
// digests. A caller's words appear only as labels, HMAC-SHA256 under a per-tenant salt.

import Type, { type Static, type TSchema } from 'typebox'
import { Hex16, Hex32, Ref } from './common.ts'
import { EMBEDDERS } from './memory-records.ts'
import { KNOWN_OPERATIONS } from './policy-configs.ts'

const closed = <const P extends Record<string, TSchema>>(properties: P) =>
  Type.Object(properties, { additionalProperties: false })

const Seq = Type.Integer({ minimum: 0 })
const Count = Type.Integer({ minimum: 0 })
const KeyId = Type.String({ pattern: '^[0-9a-f]{16,64}$' })
const MintedId = Type.String({ pattern: '^[a-z0-9_-]{1,64}$' })
/** HMAC-SHA256 of a caller's word, hex. */
const LabelMac = Hex32

const PolicyChange = closed({
  policy_type: MintedId,
  action: MintedId,
  enabled: Type.Boolean(),
  priority: Type.Integer(),
  version: Count,
  policy_set: Count,
  /** Of name, description and configuration together. */
  label: LabelMac,
  changed_by: MintedId,
})

/** Subject: the evaluation's id. An operation we do not know is a caller's word. */
const Evaluated = closed({
  operation: Type.Union([Type.Enum(KNOWN_OPERATIONS), LabelMac]),
  policy_set: Count,
  policies: Type.Array(
    closed({ policy_id: MintedId, version: Count, result: MintedId, reason: MintedId }),
  ),
})

export const eventPayloads = {
  'tenant.created': closed({
    plan: Type.Enum(['starter', 'pro', 'enterprise', 'local']),
    signing_keys: Type.Array(closed({ purpose: MintedId, key_id: KeyId })),
  }),
  'tenant.key_created': closed({ key_id: MintedId, class: MintedId }),
  'tenant.key_rotated': closed({ key_id: MintedId, revoked: Count }),
  'tenant.key_revoked': closed({ key_id: MintedId }),
  'signing_key.rotated': closed({
    purpose: MintedId,
    key_id: KeyId,
    previous_key_id: Type.Union([KeyId, Type.Null()]),
  }),
  'signing_key.retired': closed({ purpose: MintedId, key_id: KeyId }),
  'store.created': closed({ tokenizer: Type.Enum(['o200k_base', 'chars']) }),
  'store.embedder_changed': closed({
    embedder: Type.Enum(EMBEDDERS),
    previous: Type.Enum(EMBEDDERS),
  }),
  'store.reembedded': closed({
    embedder: Type.Enum(EMBEDDERS),
    count: Count,
    first_ref: Ref,
    last_ref: Ref,
  }),
  'store.deleted': closed({ facts: Count }),
  'memory.written': closed({
    count: Count,
    first_ref: Ref,
    last_ref: Ref,
    commitments_root: Hex32,
  }),
  'memory.superseded': closed({ ref: Ref, old_ref: Ref, commitments_root: Hex32 }),
  'memory.erased': closed({ ref: Ref, predecessor: Type.Union([Ref, Type.Null()]) }),
  'erasure.certified': closed({
    subject_kind: Type.Enum(['fact', 'decision']),
    ref: Type.Union([Ref, Type.Null()]),
    outcome: Type.Enum(['erased', 'already_absent', 'nothing_found']),
    scrubbed: Count,
    digest: Hex32,
  }),
  'decision.logged': closed({
    record_digest: Hex32,
    store_label: LabelMac,
    refs: Count,
    memory_seq: Seq,
  }),
  'decision.scrubbed': closed({ ref: Type.Union([Ref, Type.Null()]), redactions: Count }),
  'decision.redacted': closed({ certificate_id: Hex16 }),
  'policy.created': PolicyChange,
  'policy.updated': PolicyChange,
  'policy.deleted': PolicyChange,
  'evaluation.denied': Evaluated,
  'evaluation.escalated': Evaluated,
  'log.restored': closed({
    generation: Type.Integer({ minimum: 1 }),
    epoch_number: Count,
    tree_size: Count,
    root_hash: Type.Union([Hex32, Type.Null()]),
  }),
} as const satisfies Record<string, TSchema>

export type EventType = keyof typeof eventPayloads

export type EventPayload<E extends EventType> = Static<(typeof eventPayloads)[E]>
