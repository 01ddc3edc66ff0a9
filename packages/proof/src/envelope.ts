// Typed envelopes around verifiable documents, and the recognition of such documents in bare JSON.

import { isObject } from './core/shape.ts'
import { CONFORMANCE_KIND } from './documents/conformance-result.ts'
import { TENANT_ERASURE_KIND } from './documents/tenant-erasure.ts'
import { TENANT_MOVE_KIND } from './documents/tenant-move.ts'
import { recordKindOf } from './records/rules.ts'

/** The input of `verifyEnvelope`. Its content is not validated. */
export type Envelope =
  | { readonly type: 'breadcrumbs'; readonly breadcrumbs: unknown }
  | { readonly type: 'epoch'; readonly epoch: unknown }
  | { readonly type: 'proof'; readonly proof: unknown }
  | {
      readonly type: 'consistency'
      readonly from: unknown
      readonly to: unknown
      readonly path: unknown
    }
  | { readonly type: 'certificate'; readonly certificate: unknown }
  | {
      readonly type: 'erasure_manifest'
      readonly manifest: unknown
      /** If absent, only the manifest is verified. */
      readonly certificates?: unknown
    }
  | { readonly type: 'decision'; readonly decision: unknown }
  | { readonly type: 'memory'; readonly memory: unknown }
  | { readonly type: 'receipt'; readonly receipt: unknown }
  | { readonly type: 'record'; readonly kind: unknown; readonly record: unknown }
  | { readonly type: 'corpus_proof'; readonly proof: unknown; readonly corpus?: unknown }
  | { readonly type: 'attestation'; readonly attestation: unknown; readonly rotations?: unknown }
  | { readonly type: 'list'; readonly items: readonly unknown[] }

export type EnvelopeType = Envelope['type']

const REQUIRED: Readonly<Record<EnvelopeType, readonly string[]>> = {
  breadcrumbs: ['breadcrumbs'],
  epoch: ['epoch'],
  proof: ['proof'],
  consistency: ['from', 'to', 'path'],
  certificate: ['certificate'],
  erasure_manifest: ['manifest'],
  decision: ['decision'],
  memory: ['memory'],
  receipt: ['receipt'],
  record: ['kind', 'record'],
  corpus_proof: ['proof'],
  attestation: ['attestation'],
  list: ['items'],
}

/** Whether `value` names a known type and has its fields; their contents are not checked. */
export function isEnvelope(value: unknown): value is Envelope {
  if (!isObject(value)) return false
  const type = value['type']
  if (typeof type !== 'string' || !Object.hasOwn(REQUIRED, type)) return false
  // The line above makes `type` one of REQUIRED's own keys.
  const fields = REQUIRED[type as EnvelopeType]
  return (
    fields.every((field) => Object.hasOwn(value, field)) && (type !== 'list' || hasItems(value))
  )
}

function hasItems(value: Readonly<Record<string, unknown>>): boolean {
  return Array.isArray(value['items'])
}

/**
 * Recognises an answer of the API as it was saved: a certificate, epoch, inclusion proof,
 * consistency proof, breadcrumb, decision, memory, receipt; an array or a page of these; an
 * envelope.
 * Returns null for anything else.
 */
export function detectEnvelope(json: unknown): Envelope | null {
  if (isEnvelope(json)) return json
  if (Array.isArray(json)) return detectList(json)
  return isObject(json) ? (detectRecord(json) ?? detectPage(json)) : null
}

type PlainObject = Readonly<Record<string, unknown>>

function has(value: PlainObject, ...fields: readonly string[]): boolean {
  return fields.every((field) => Object.hasOwn(value, field))
}

// Certificates before decisions: a redaction certificate has a decision_id too.
function detectRecord(json: PlainObject): Envelope | null {
  if (looksLikeBreadcrumb(json)) return { type: 'breadcrumbs', breadcrumbs: [json] }
  if (isManifest(json)) return { type: 'erasure_manifest', manifest: json }
  if (has(json, 'certificate_id', 'outcome')) return { type: 'certificate', certificate: json }
  if (has(json, 'issuer_key_id', 'cgr_score')) return { type: 'attestation', attestation: json }
  // Either pair of members is enough: a proof that lost one must not pass for an epoch.
  if (has(json, 'included', 'breadcrumb_seq') || has(json, 'audit_path', 'breadcrumb'))
    return { type: 'proof', proof: json }
  if (isObject(json['from']) && isObject(json['to']) && has(json, 'path')) {
    return { type: 'consistency', from: json['from'], to: json['to'], path: json['path'] }
  }
  if (has(json, 'from_checkpoint', 'to_checkpoint', 'path')) return flatConsistency(json)
  if (has(json, 'epoch_number', 'checkpoint')) return { type: 'epoch', epoch: json }
  if (has(json, 'decision_id', 'query', 'timestamp')) return { type: 'decision', decision: json }
  if (has(json, 'content', 'source')) return { type: 'memory', memory: json }
  if (has(json, 'receipt_id', 'step_id')) return { type: 'receipt', receipt: json }
  if (isObject(json['execution_receipt'])) return detectRecord(json['execution_receipt'])
  if (isObject(json['decision'])) return detectRecord(json['decision'])
  // The API returns the certificate of a destroyed tenant within the destruction.
  if (isObject(json['certificate'])) return detectRecord(json['certificate'])
  return detectRegistryRecord(json)
}

// A document, a registry row with a document, or an approval request.
function detectRegistryRecord(json: PlainObject): Envelope | null {
  // Tested first: its `record_kind` is that of the record that the approval is about.
  if (has(json, 'request_id', 'proposal_digest', 'decision', 'attestation'))
    return { type: 'record', kind: 'approval', record: json }
  if (has(json, 'report_id', 'content', 'content_hash'))
    return { type: 'record', kind: 'report', record: json }
  const named = [CONFORMANCE_KIND, TENANT_ERASURE_KIND, TENANT_MOVE_KIND].find(
    (one) => one === json['record_kind'],
  )
  if (named !== undefined) return { type: 'record', kind: named, record: json }
  const kind = recordKindOf(json)
  if (kind !== undefined) return { type: 'record', kind, record: json }
  if (has(json, 'included', 'source', 'merkle_root')) return { type: 'corpus_proof', proof: json }
  if (isObject(json['record'])) return detectRegistryRecord(json['record'])
  return isObject(json['document']) ? detectRegistryRecord(json['document']) : null
}

// The API returns the members of both epochs side by side.
function flatConsistency(json: PlainObject): Envelope {
  const epoch = (side: 'from' | 'to') => ({
    epoch_number: json[`${side}_epoch`],
    tree_size: json[`${side}_size`],
    root_hash: json[`${side}_root`],
    checkpoint: json[`${side}_checkpoint`],
    cosignatures: json[`${side}_cosignatures`],
    timestamp: json[`${side}_timestamp`],
  })
  return { type: 'consistency', from: epoch('from'), to: epoch('to'), path: json['path'] }
}

// Pages of the API have their items under the plural of the record's name.
function detectPage(json: PlainObject): Envelope | null {
  const pages = [
    ...['breadcrumbs', 'epochs', 'certificates', 'decisions', 'memories', 'items'],
    ...['artifacts', 'types', 'invocations', 'corpora', 'compositions', 'attestations'],
    ...['receipts', 'results'],
  ]
  const name = pages.find((page) => Array.isArray(json[page]))
  const items = name === undefined ? null : json[name]
  return Array.isArray(items) ? detectList(items) : null
}

function detectList(items: readonly unknown[]): Envelope | null {
  if (items.length === 0) return null
  if (items.every(looksLikeBreadcrumb)) return { type: 'breadcrumbs', breadcrumbs: items }
  const [manifest, ...certificates] = items
  if (isManifest(manifest)) return { type: 'erasure_manifest', manifest, certificates }
  const envelopes = items.map((item) => (isObject(item) ? detectRecord(item) : null))
  return envelopes.includes(null) ? null : { type: 'list', items: envelopes }
}

// By its members only, so that a damaged log entry is reported as invalid, not as unrecognised.
function looksLikeBreadcrumb(value: unknown): boolean {
  return isObject(value) && has(value, 'breadcrumb_id', 'prev_id')
}

// A manifest alone, or the first item of a bundle, which its certificates follow.
function isManifest(value: unknown): boolean {
  return isObject(value) && value['record_kind'] === 'erasure_manifest'
}
