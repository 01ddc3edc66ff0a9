// Erasure (interface 4.4): removes a memory from every copy and certifies it with a signature.

import Type, { type Static } from 'typebox'
import {
  about,
  Base64,
  boolean,
  Count,
  Cursor,
  count,
  Hex16,
  Hex32,
  Label,
  Limit,
  NamedCheck,
  Nullable,
  Offset,
  page,
  Ref,
  Timestamp,
  text,
  time,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'

/** The search for remains that the service made before it signed a certificate. */
export const ErasureVerification = Type.Object(
  {
    ran_at: time('When the check ran'),
    paths: Type.Array(
      Type.Object({
        path: text('Name of the read path'),
        result: text('What the check found there'),
      }),
      { description: 'The places that were checked' },
    ),
  },
  {
    title: 'ErasureVerification',
    description: 'Result of the check that runs before the certificate is signed',
  },
)

const CertifiedRedaction = Type.Object(
  {
    decision_id: Type.String(),
    field: text('Name of the field'),
    count: count('Number of places redacted'),
  },
  { title: 'CertifiedRedaction', description: 'Redactions in one field of a decision' },
)

/** Kinds of records, besides memories and decisions, whose texts a subject request redacts. */
export const TEXT_KINDS = [
  'artifact',
  'corpus',
  'world_type',
  'action',
  'composition',
  'landing',
  'approval',
  'approver',
  'governed_decision',
  'attestation',
  'policy',
  'hold',
  'retention',
  'report',
  'store',
  'key',
  'key_namespace',
  'webhook',
  'user',
  'sso_connection',
  'agent',
  'workflow',
  'provider',
  'tool',
  'agent_action',
  'run_text',
  'label',
] as const
export type TextKind = (typeof TEXT_KINDS)[number]

export const TextKindName = Type.Enum(TEXT_KINDS, {
  title: 'TextKind',
  description: 'Kind of a record that is neither a memory nor a decision',
})

/**
 * The members of a signed statement about one erasure. `signed_bytes`, `signature`, `public_key`
 * and `key_id` carry the signature; `verified` is the service's own check at the time of the reply.
 */
const certificateFields = {
  certificate_id: Hex16,
  tenant_id: Type.String(),
  fact_ref: Nullable(about(Ref, 'The erased memory; null for anything else')),
  decision_id: Type.Optional(about(Hex16, 'The redacted decision; absent for anything else')),
  subject_kind: Type.Optional(text('Kind of the redacted record; absent for a memory or decision')),
  subject_id: Type.Optional(text('Id of the redacted record; absent for a memory or decision')),
  store_id: Nullable(text('Store of the memory')),
  outcome: Type.Enum(['erased', 'already_absent', 'nothing_found'], {
    title: 'ErasureOutcome',
    description:
      '`erased`: it was stored and is erased. `already_absent`: only decisions contained it, ' +
      'and were redacted. `nothing_found`: nothing contained it.',
  }),
  fact_content_hash: Nullable(about(Hex32, 'Salted hash of the content; null if none was stored')),
  coverage: Type.Record(Type.String(), Type.String(), {
    description: 'What the check found, by kind of copy',
  }),
  scrubbed_decision_ids: Type.Array(Type.String(), { description: 'Decisions that were redacted' }),
  redactions: Type.Array(CertifiedRedaction, { description: 'Redactions by decision and field' }),
  verification: ErasureVerification,
  limits: Type.Array(Type.String(), { description: 'What the certificate does not cover' }),
  legal_basis: Type.String(),
  requested_by: Nullable(text('Who requested the erasure, as given')),
  erasure_requested_at: Timestamp,
  erasure_completed_at: Timestamp,
  log_seq: Nullable(Count),
  signed_bytes: Base64,
  signature: Base64,
  public_key: Base64,
  key_id: Type.String(),
  verified: boolean('Whether the certificate verifies now, with the published keys'),
}

export const Certificate = Type.Object(certificateFields, {
  title: 'Certificate',
  description: 'A signed certificate of an erasure',
})
export type Certificate = Static<typeof Certificate>

/** The reply to an erasure. The added fields are not part of the signed record. */
export const IssuedCertificate = Type.Object(
  {
    ...certificateFields,
    deleted: boolean('Whether this request removed a memory'),
    memory_deleted: boolean('Same as `deleted`'),
    decision_records_scrubbed: count('Decisions that were redacted'),
    content_salt: Type.Optional(
      about(
        Hex32,
        'Shown once: `fact_content_hash` is SHA-256 over the bytes of the salt and the content ' +
          'in UTF-8',
      ),
    ),
  },
  { title: 'IssuedCertificate', description: 'A certificate with the result of the request' },
)
export type IssuedCertificate = Static<typeof IssuedCertificate>

/** Reasons for an erasure. They stay in the signed certificate, so they should name no person. */
export const erasureReasons = {
  legal_basis: Type.Optional(
    Nullable(about(Label, 'Legal basis; permanently part of the certificate, so name no person')),
  ),
  requested_by: Type.Optional(
    Nullable(about(Label, 'Who asks; permanently part of the certificate, so name no person')),
  ),
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
    summary: 'Erases a memory from every copy and returns a signed certificate',
    description:
      'Use it to forget one memory with proof. A repeated request returns the first certificate ' +
      'with `deleted: false`. A number that only decisions name has their copies redacted ' +
      '(`already_absent`); one that nothing names is certified as `nothing_found`. With ' +
      '`store_id` the memory must be in that store.',
    access: 'tenant',
    scope: 'erasure:execute',
    body: Type.Object({
      fact_ref: about(Ref, 'The memory to erase'),
      store_id: Type.Optional(Nullable(about(Label, 'Store the memory must be in'))),
      ...erasureReasons,
    }),
    tolerated: ['body.fact_content', 'body.memory_deleted', 'body.signing_key'],
    example: { fact_ref: 1, requested_by: 'data_subject' },
    status: 200,
    reply: IssuedCertificate,
    refuses: ['no_signing_key', 'memory_not_found', 'legal_hold', 'idempotency_key_reused'],
    idempotent: true,
  }),
  stats: operation({
    ...read,
    id: 'erasure.stats',
    path: '/v1/erasure/stats',
    summary: 'Counts certificates by outcome',
    description: 'Use it for reports on erasures. Self-tests are counted apart.',
    reply: Type.Object({
      total: count('Certificates, without those of self-tests'),
      signed_count: count('Certificates with a signature'),
      erased: count('Certificates of erased memories'),
      already_absent: count('Certificates with the outcome `already_absent`'),
      nothing_found: count('Certificates with the outcome `nothing_found`'),
      redactions: count('Certificates of redacted decisions'),
      redacted_texts: count('Certificates of other redacted records'),
      self_tests: count('Certificates of memories that self-tests erased'),
      first_erasure: Nullable(time('When the first erasure completed')),
      last_erasure: Nullable(time('When the last erasure completed')),
    }),
    refuses: [],
  }),
  get: operation({
    ...read,
    id: 'erasure.get',
    path: '/v1/erasure/{certificate_id}',
    summary: 'Returns one certificate',
    description:
      'Use it to give a certificate to the person who requested the erasure. `pdf` is a ' +
      'human-readable rendering with id and digest; only `json` is signed.',
    params: CertificateParams,
    query: Type.Object({
      format: Type.Optional(
        Type.Enum(['json', 'pdf'], { default: 'json', description: 'Format of the reply' }),
      ),
    }),
    reply: Certificate,
    file_types: ['application/pdf'],
    refuses: ['certificate_not_found'],
  }),
  verify: operation({
    ...read,
    id: 'erasure.verify',
    path: '/v1/erasure/{certificate_id}/verify',
    summary: 'Verifies a stored certificate and its signature against the published keys',
    description:
      'Use it for a quick check. To verify without trusting the service, use `custos verify`.',
    params: CertificateParams,
    reply: Type.Object({
      valid: boolean('Whether every check passed'),
      certificate_id: Hex16,
      detail: text('The result in words'),
      key_id: Type.String(),
      checks: Type.Array(NamedCheck, { description: 'The checks' }),
    }),
    refuses: ['certificate_not_found'],
  }),
  by_fact: operation({
    ...read,
    id: 'erasure.by_fact',
    path: '/v1/erasure/fact/{fact_ref}',
    summary: 'Returns the certificate of an erased memory',
    description: 'Use it when the number of the memory is known and the certificate is not.',
    params: Type.Object({ fact_ref: Ref }),
    reply: Certificate,
    refuses: ['certificate_not_found'],
  }),
  list: operation({
    ...read,
    id: 'erasure.list',
    path: '/v1/erasure',
    summary: 'Lists certificates, newest first',
    description: 'Use it to review which erasures took place.',
    query: Type.Object({ limit: Limit(limits.erasure_page), offset: Offset, cursor: Cursor }),
    reply: page('certificates', Certificate),
    refuses: ['rejected'],
  }),
} as const
