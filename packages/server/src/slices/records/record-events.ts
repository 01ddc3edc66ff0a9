// Log entries of records, one for each change of status.

import type { EventPayload, RecordStatus } from '@custos/contract'
import type { JsonObject, RecordKind } from '@custos/proof'
import type { Tx } from '../../platform/db/tenant-db.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { type RecordRow, updateStatus } from './records.sql.ts'
import { documentDigest } from './sign-record.ts'

const EVENTS = {
  landing: {
    waiting_hitl: 'landing.waiting_hitl',
    issued: 'landing.issued',
    denied: 'landing.denied',
    expired: 'landing.expired',
  },
  artifact: {
    waiting_hitl: 'artifact.waiting_hitl',
    registered: 'artifact.registered',
    denied: 'artifact.denied',
    expired: 'artifact.expired',
  },
  world_type: { registered: 'world_type.registered' },
  action: {
    waiting_hitl: 'action.waiting_hitl',
    invoked: 'action.invoked',
    denied: 'action.denied',
    expired: 'action.expired',
  },
  corpus: { sealed: 'corpus.sealed' },
  composition: {
    waiting_hitl: 'composition.waiting_hitl',
    governed: 'composition.governed',
    denied: 'composition.denied',
    expired: 'composition.expired',
  },
  agent_action: {
    waiting_hitl: 'agent_action.waiting_hitl',
    approved: 'agent_action.approved',
    denied: 'agent_action.denied',
    expired: 'agent_action.expired',
  },
} as const satisfies Readonly<Record<RecordKind, Partial<Record<RecordStatus, string>>>>

type EventName = {
  [K in RecordKind]: (typeof EVENTS)[K][keyof (typeof EVENTS)[K]]
}[RecordKind]

const byKind: Readonly<Record<RecordKind, Readonly<Partial<Record<string, EventName>>>>> = EVENTS

interface RecordEvent {
  readonly kind: RecordKind
  readonly status: RecordStatus
  readonly row: Pick<RecordRow, 'record_id' | 'proposal_digest' | 'policy_set' | 'request_id'>
  readonly document: JsonObject | null
  readonly evaluation_id: string | null
  /** A code, or `null`. */
  readonly reason: string | null
}

export async function appendRecordEvent(tx: Tx, event: RecordEvent): Promise<void> {
  const { kind, status, row, document, evaluation_id, reason } = event
  const event_type = byKind[kind][status]
  if (event_type === undefined) throw new Error(`a ${kind} is never ${status}`)
  const payload: EventPayload<'landing.issued'> = {
    proposal_digest: row.proposal_digest,
    record_digest: document === null ? null : documentDigest(kind, document),
    policy_set: row.policy_set,
    evaluation_id,
    request_id: row.request_id,
    reason,
  }
  await appendCrumb(tx, { event_type, subject: row.record_id, payload })
}

/** Certifies a registered artifact. Returns false if it is not registered, or already certified. */
export async function certifyArtifact(
  tx: Tx,
  artifact_id: string,
  certificate_id: string,
): Promise<boolean> {
  const change = { record_id: artifact_id, from: 'registered', to: 'certified', live: 1 } as const
  if (!(await updateStatus(tx, change, { linked_id: certificate_id }))) return false
  await appendCrumb(tx, {
    event_type: 'artifact.certified',
    subject: artifact_id,
    payload: { certificate_id },
  })
  return true
}
