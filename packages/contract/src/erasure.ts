// Erasure (interface 4.4): removes a memory from every copy and says so in a signed certificate.

import Type, { type Static } from 'typebox'
import {
  Base64,
  Cursor,
  Hex16,
  Hex32,
  Label,
  Limit,
  Nullable,
  Offset,
  page,
  Ref,
  Timestamp,
} from './common.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'

const Count = Type.Integer({ minimum: 0 })

/**
 * A signed statement about one erasure. `signed_bytes`, `signature`, `public_key` and `key_id`
 * carry the signature; `verified` is this service's own finding at the time of the answer.
 */
const certificateFields = {
  certificate_id: Hex16,
  tenant_id: Type.String(),
  fact_ref: Nullable(Ref),
  decision_id: Type.Optional(Hex16),
  store_id: Nullable(Type.String()),
  outcome: Type.Enum(['erased', 'already_absent', 'nothing_found']),
  fact_content_hash: Nullable(Hex32),
  coverage: Type.Record(Type.String(), Type.String()),
  scrubbed_decision_ids: Type.Array(Type.String()),
  redactions: Type.Array(
    Type.Object({ decision_id: Type.String(), field: Type.String(), count: Count }),
  ),
  verification: Type.Object({
    ran_at: Timestamp,
    paths: Type.Array(Type.Object({ path: Type.String(), result: Type.String() })),
  }),
  limits: Type.Array(Type.String()),
  legal_basis: Type.String(),
  requested_by: Nullable(Type.String()),
  erasure_requested_at: Timestamp,
  erasure_completed_at: Timestamp,
  log_seq: Nullable(Count),
  signed_bytes: Base64,
  signature: Base64,
  public_key: Base64,
  key_id: Type.String(),
  verified: Type.Boolean(),
}

export const Certificate = Type.Object(certificateFields)
export type Certificate = Static<typeof Certificate>

/** The answer of the request that erases; what it adds is not part of the signed record. */
export const IssuedCertificate = Type.Object({
  ...certificateFields,
  deleted: Type.Boolean({ description: 'This request removed a memory' }),
  memory_deleted: Type.Boolean({ description: 'Same as deleted' }),
  decision_records_scrubbed: Count,
  content_salt: Type.Optional(
    Type.String({
      pattern: '^[0-9a-f]{64}$',
      description: 'Shown once: fact_content_hash is SHA-256(salt bytes, UTF-8 content)',
    }),
  ),
})
export type IssuedCertificate = Static<typeof IssuedCertificate>

/** Said by whom and why; part of the signed certificate for good, so name no person here. */
export const erasureReasons = {
  legal_basis: Type.Optional(Nullable(Label)),
  requested_by: Type.Optional(Nullable(Label)),
}

const read = { access: 'tenant', scope: 'erasure:execute', method: 'GET', status: 200 } as const
const CertificateParams = Type.Object({
  certificate_id: Type.String({ minLength: 1, maxLength: 64, format: 'label' }),
})

export const erasure = {
  issue: operation({
    id: 'erasure.issue',
    method: 'POST',
    path: '/v1/erasure/issue',
    summary: 'Erases a memory from every copy and answers a signed certificate',
    description:
      'Repeating it answers the first certificate with deleted:false. A ref that only decision ' +
      'records name has their contents scrubbed (already_absent); one that nothing names is ' +
      'certified as nothing_found. With store_id, the memory must be in that store. fact_content ' +
      'and memory_deleted are accepted for older clients and ignored: what was stored ' +
      'and whether it is gone is observed here.',
    access: 'tenant',
    scope: 'erasure:execute',
    body: Type.Object({
      fact_ref: Ref,
      store_id: Type.Optional(Nullable(Label)),
      ...erasureReasons,
      fact_content: Type.Optional(Type.Unknown()),
      memory_deleted: Type.Optional(Type.Unknown()),
    }),
    status: 200,
    reply: IssuedCertificate,
    refuses: ['no_signing_key', 'memory_not_found', 'legal_hold', 'idempotency_key_reused'],
    idempotent: true,
  }),
  stats: operation({
    ...read,
    id: 'erasure.stats',
    path: '/v1/erasure/stats',
    summary: 'Counts of certificates by outcome, and when the first and the last completed',
    reply: Type.Object({
      total: Count,
      signed_count: Count,
      erased: Count,
      already_absent: Count,
      nothing_found: Count,
      redactions: Count,
      first_erasure: Nullable(Timestamp),
      last_erasure: Nullable(Timestamp),
    }),
    refuses: [],
  }),
  get: operation({
    ...read,
    id: 'erasure.get',
    path: '/v1/erasure/{certificate_id}',
    summary: 'One certificate',
    params: CertificateParams,
    reply: Certificate,
    refuses: ['certificate_not_found'],
  }),
  verify: operation({
    ...read,
    id: 'erasure.verify',
    path: '/v1/erasure/{certificate_id}/verify',
    summary: 'Checks the stored certificate and its signature against the published keys',
    params: CertificateParams,
    reply: Type.Object({
      valid: Type.Boolean(),
      certificate_id: Hex16,
      detail: Type.String(),
      key_id: Type.String(),
      checks: Type.Array(
        Type.Object({
          name: Type.String(),
          ok: Type.Boolean(),
          detail: Type.Optional(Type.String()),
        }),
      ),
    }),
    refuses: ['certificate_not_found'],
  }),
  by_fact: operation({
    ...read,
    id: 'erasure.by_fact',
    path: '/v1/erasure/fact/{fact_ref}',
    summary: 'The certificate of a memory',
    params: Type.Object({ fact_ref: Ref }),
    reply: Certificate,
    refuses: ['certificate_not_found'],
  }),
  list: operation({
    ...read,
    id: 'erasure.list',
    path: '/v1/erasure',
    summary: 'Certificates, newest first',
    query: Type.Object({ limit: Limit(limits.erasure_page), offset: Offset, cursor: Cursor }),
    reply: page('certificates', Certificate),
    refuses: ['rejected'],
  }),
} as const
