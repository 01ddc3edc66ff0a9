// Requests of data subjects (interface 4.4): everything about a person found, erased or handed out.

import Type, { type Static } from 'typebox'
import {
  Base64,
  Cursor,
  Hex16,
  Hex32,
  JsonObject,
  Label,
  Limit,
  Nullable,
  Offset,
  page,
  Ref,
  Timestamp,
} from './common.ts'
import { erasureReasons } from './erasure.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'

export const SUBJECT_MATCHES = ['ignore_case', 'exact_case'] as const
export const SUBJECT_KINDS = ['erase', 'access'] as const
/** `done_with_holds`: what is under a legal hold was left; the manifest names it. */
export const SUBJECT_STATUSES = ['queued', 'running', 'done', 'done_with_holds'] as const
export type SubjectStatus = (typeof SUBJECT_STATUSES)[number]
export type SubjectKind = (typeof SUBJECT_KINDS)[number]

const Count = Type.Integer({ minimum: 0 })
const Seq = Type.Integer({ minimum: -1 })
const StoreId = Label

/**
 * All of it must fit: every metadata entry, compared as in a retrieval's filter (equal values of
 * equal type), and the text, which must be contained in the content or in a text of the metadata.
 */
const SubjectFind = Type.Object({
  metadata: Type.Optional(
    Type.Record(
      Type.String({ minLength: 1, maxLength: limits.label_chars }),
      Type.Union([
        Type.String({ maxLength: limits.subject_text_chars }),
        Type.Number(),
        Type.Boolean(),
      ]),
      { maxProperties: limits.subject_metadata_keys },
    ),
  ),
  text: Type.Optional(Type.String({ minLength: 2, maxLength: limits.subject_text_chars })),
  /** How `text` is compared, in Unicode NFC either way. */
  match: Type.Optional(Type.Enum(SUBJECT_MATCHES, { default: 'ignore_case' })),
})
export type SubjectFind = Static<typeof SubjectFind>

/** Where to look. */
const scope = {
  find: SubjectFind,
  /** Left out: all stores, or all that the key is limited to. */
  store_ids: Type.Optional(Type.Array(StoreId, { minItems: 1, maxItems: limits.subject_stores })),
  /** Memories of one sub-namespace; decisions have none, so only those that used one are found. */
  namespace: Type.Optional(
    Nullable(Type.String({ maxLength: limits.label_chars + 1 + limits.namespace_chars })),
  ),
  include_decisions: Type.Optional(Type.Boolean({ default: true })),
  /** When the person asked; now, where it is left out. */
  received_at: Type.Optional(Timestamp),
  /** Left out: one month after receipt (GDPR Article 12(3)). */
  due_at: Type.Optional(Timestamp),
}

const found = {
  /** Memories, with all earlier and later versions of each. */
  facts: Count,
  /** Those of them that a later version has taken the place of. */
  superseded_facts: Count,
  /** Decisions that used one of them: what they hold of it goes with it. */
  decisions_using: Count,
  /** Decisions whose own text holds the words: they are redacted, each with a certificate. */
  decisions_naming: Count,
  /** Memories and decisions that a legal hold keeps from being erased. */
  held: Count,
}
const Found = Type.Object(found)

export const SubjectPreview = Type.Object({
  preview: Type.Literal(true),
  found: Type.Object({
    ...found,
    stores: Type.Array(Type.Object({ store_id: Type.String(), facts: Count, held: Count })),
  }),
  sample_refs: Type.Array(Ref),
  /** SHA-256 over the sorted refs and decision ids; as `expect_digest` it must still fit. */
  digest: Hex32,
  /** The log when the search began; what was written later may not be in it. */
  log_seq: Seq,
  scanned: Type.Object({ facts: Count, decisions: Count }),
  /** As it was asked for; null: every one. */
  namespace: Nullable(Type.String()),
  include_decisions: Type.Boolean(),
  searched: Type.Array(Type.String()),
  not_searched: Type.Array(Type.String()),
})
export type SubjectPreview = Static<typeof SubjectPreview>

export const SubjectRequest = Type.Object({
  request_id: Hex16,
  tenant_id: Type.String(),
  kind: Type.Enum(SUBJECT_KINDS),
  status: Type.Enum(SUBJECT_STATUSES),
  job_id: Nullable(Type.String()),
  found: Found,
  digest: Hex32,
  log_seq: Seq,
  /** HMAC of what was searched for under a salt of the tenant: the same for a repeat. */
  find_label: Hex32,
  received_at: Timestamp,
  due_at: Timestamp,
  extended_at: Nullable(Timestamp),
  overdue: Type.Boolean(),
  created_at: Timestamp,
  started_at: Nullable(Timestamp),
  completed_at: Nullable(Timestamp),
  /** Entries with an outcome, and all there are. */
  progress: Type.Object({ done: Count, total: Count }),
  requested_with: Type.String({ description: 'Id of the credential that asked' }),
})
export type SubjectRequest = Static<typeof SubjectRequest>

/** What is sealed of a request; gone for good, and null, once it is done. */
export const SubjectRequestWords = Type.Object({
  ...SubjectRequest.properties,
  find: Nullable(SubjectFind),
  extension_reason: Nullable(Type.String()),
})

export const ManifestEntry = Type.Object({
  fact_ref: Type.Optional(Ref),
  decision_id: Type.Optional(Hex16),
  outcome: Type.Enum(['erased', 'held', 'absent']),
  certificate_id: Nullable(Hex16),
  certificate_digest: Nullable(Hex32),
})

/** See `ErasureManifest` of @custos/proof. */
export const Manifest = Type.Object({
  record_kind: Type.Literal('erasure_manifest'),
  request_id: Hex16,
  tenant_id: Type.String(),
  kind: Type.Literal('erase'),
  status: Type.Enum(['done', 'done_with_holds']),
  find_label: Hex32,
  found_digest: Hex32,
  found: Found,
  found_later: Count,
  searched_again: Type.Boolean(),
  not_searched: Type.Array(Type.String()),
  received_at: Timestamp,
  due_at: Timestamp,
  started_at: Timestamp,
  completed_at: Timestamp,
  origin: Type.String(),
  log_seq: Seq,
  searched_to_seq: Seq,
  certificates: Count,
  certificates_root: Hex32,
  entries: Type.Array(ManifestEntry),
  signature: Base64,
  public_key: Base64,
  key_id: Type.String(),
})
export type Manifest = Static<typeof Manifest>

const params = Type.Object({ request_id: Hex16 })
const tenant = { access: 'tenant', scope: 'erasure:execute' } as const
const path = '/v1/erasure/subject'
const one = `${path}/{request_id}` as const

export const subjects = {
  erase: operation({
    ...tenant,
    id: 'subjects.erase',
    method: 'POST',
    path,
    summary: 'Erases everything about a person, as a job with one manifest over its certificates',
    description:
      'With `preview` it answers what would be erased and changes nothing, keeping nothing of ' +
      'the words. Otherwise 202: what was found is fixed as a list, each memory of it is erased ' +
      'with a certificate, decisions whose own text holds the words are redacted, then it is ' +
      'searched once more for what was written meanwhile. The words are sealed and destroyed ' +
      'when it is done. Nothing found is a request like any other: its manifest says so.',
    body: Type.Object({
      ...scope,
      preview: Type.Optional(Type.Boolean({ default: false })),
      /** The `digest` of a preview: refused with subject_changed where it no longer fits. */
      expect_digest: Type.Optional(Hex32),
      ...erasureReasons,
    }),
    status: 202,
    reply: SubjectRequest,
    preview: SubjectPreview,
    refuses: [
      'rejected',
      'no_signing_key',
      'store_not_found',
      'subject_changed',
      'policy_denied',
      'approval_required',
      'idempotency_key_reused',
    ],
    idempotent: true,
  }),
  access: operation({
    ...tenant,
    scopes_too: ['memory:read', 'decisions:read'],
    id: 'subjects.access',
    method: 'POST',
    path: `${path}/access`,
    summary: 'Everything held about a person: a header line, then one line for each record',
    description:
      'Article 15 and 20 of the GDPR. The header says what was searched and what was not. Then ' +
      'memories with all versions, the decisions that used or name them, and certificates of ' +
      'what was erased of those; the last line counts them. It shows contents: the key needs ' +
      'memory:read and decisions:read beside erasure:execute.',
    body: Type.Object(scope),
    status: 200,
    reply: JsonObject,
    reply_type: 'application/x-ndjson',
    refuses: ['rejected', 'store_not_found'],
  }),
  list: operation({
    ...tenant,
    id: 'subjects.list',
    method: 'GET',
    path,
    summary: 'Requests of data subjects, newest first',
    query: Type.Object({
      kind: Type.Optional(Type.Enum(SUBJECT_KINDS)),
      status: Type.Optional(Type.Enum(SUBJECT_STATUSES)),
      overdue: Type.Optional(Type.Boolean()),
      limit: Limit(limits.records_page),
      offset: Offset,
      cursor: Cursor,
    }),
    status: 200,
    reply: page('requests', SubjectRequest),
    refuses: ['rejected'],
  }),
  get: operation({
    ...tenant,
    id: 'subjects.get',
    method: 'GET',
    path: one,
    summary: 'One request; what was searched for only until it is done',
    params,
    status: 200,
    reply: SubjectRequestWords,
    refuses: ['subject_request_not_found'],
  }),
  extend: operation({
    ...tenant,
    id: 'subjects.extend',
    method: 'POST',
    path: `${one}/extend`,
    summary: 'Two further months, once and before it is due (GDPR Article 12(3))',
    params,
    body: Type.Object({
      /** As it is told to the person; sealed, and gone when the request is done. */
      reason: Type.String({ minLength: 1, maxLength: limits.reason_chars }),
    }),
    status: 200,
    reply: SubjectRequest,
    refuses: ['subject_request_not_found', 'wrong_state'],
  }),
  manifest: operation({
    ...tenant,
    id: 'subjects.manifest',
    method: 'GET',
    path: `${one}/manifest`,
    summary: 'The signed manifest of a finished erasure',
    description:
      '`bundle`: the manifest on the first line, then every certificate it lists, one a line: ' +
      'what `custos verify` checks as a whole.',
    params,
    query: Type.Object({
      format: Type.Optional(Type.Enum(['json', 'bundle'], { default: 'json' })),
    }),
    status: 200,
    reply: Manifest,
    may_stream: true,
    refuses: ['subject_request_not_found', 'wrong_state'],
  }),
} as const
