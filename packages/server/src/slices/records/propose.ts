// Proposes records: the policies evaluate a proposal, and one unit of work stores the result.

import type { JsonObject } from '@custos/proof'
import { Conflict, retryOnConflict } from '../../platform/concurrency.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import { actorOf, type Call } from '../../platform/kernel/call.ts'
import { Refusal } from '../../platform/refusal.ts'
import {
  type GateResult,
  gate,
  type Redactions,
  redactedOr,
  refusalOf,
} from '../governance/index.ts'
import { meter } from '../tenants/index.ts'
import { denyingPolicy, refusalOfDenied, refusalOfGate } from './answers.ts'
import { insertApprovalRequest, prepareApproval } from './approval-request.ts'
import { type ApprovalRow, findApproval } from './approvals.sql.ts'
import { principalLabel, principalOf } from './authority.ts'
import { expireRequest } from './ended-records.ts'
import { contentKey, findByContent, findRecord, nameKey } from './find-records.ts'
import {
  type OpenRecord,
  type RecordContent,
  recordColumn,
  statusOf,
  toOpenRecord,
} from './open-record.ts'
import { appendRecordEvent } from './record-events.ts'
import { endLiveVersion, findLiveByName, insertRecord, type RecordRow } from './records.sql.ts'
import type {
  AdmittedProposal,
  DenyingPolicy,
  RecordEffect,
  Registry,
  RegistryIdentity,
} from './registry.ts'
import { deriveIds, signRecord } from './sign-record.ts'

/** A record that is signed and sealed, but not yet stored. */
export interface PreparedRecord {
  readonly registry: RegistryIdentity
  readonly row: RecordRow
  readonly content: RecordContent
  readonly effect: RecordEffect | null
  readonly approval: ApprovalRow | null
  /** The live version that this one replaces. */
  readonly follows: string | null
  /** A code, if the record is denied. */
  readonly reason: string | null
}

/** Concurrent proposals for one type are retried, so that their versions follow one another. */
export const RECORD_RETRY = {
  on: 'record',
  attempts: 25,
  message: 'the record is being registered by other requests',
} as const

/**
 * Returns the new record, issued or waiting, or the live one with the same content. Throws the
 * refusal of a denied proposal, which is stored if the registry lets proposals wait.
 */
export async function proposeRecord<Q extends JsonObject>(
  call: Call,
  registry: Registry<Q>,
  request: Q,
): Promise<OpenRecord> {
  const before = await findEarlierAnswer(call, registry)
  if (before) return before
  const evaluated: { gated?: GateResult } = {}
  return retryOnConflict(async () => {
    const prepared = await prepareRecord(call, registry, request, evaluated)
    return 'existing' in prepared
      ? answerExisting(call, registry, prepared.existing)
      : storeRecord(call, prepared)
  }, RECORD_RETRY)
}

/** Aborts the replay when no reply is stored under the Idempotency-Key. */
class Unanswered extends Error {}

/**
 * Returns the current state of the record answered under the same Idempotency-Key, or `null`. Must
 * run before any other read: a retry gets the first answer, whatever has changed since.
 */
export async function findEarlierAnswer(
  call: Call,
  registry: RegistryIdentity,
): Promise<OpenRecord | null> {
  if (call.idempotency_key === null) return null
  const { kernel, tenant_id } = call
  try {
    const record_id = await call.once<string>({
      run: async () => {
        throw new Unanswered()
      },
      // Written with the record.
      replay: async (_, ids) => String(ids['record_id']),
    })
    const found = await findRecord(kernel, tenant_id, { kind: registry.kind, record_id })
    if (!found) return call.refuse('unavailable')
    if (found.row.status === 'denied') throw refusalOfDenied(registry, found)
    return found
  } catch (error) {
    if (error instanceof Unanswered) return null
    throw error
  }
}

/** Binds the Idempotency-Key to an existing record. */
async function answerExisting(
  call: Call,
  { kind }: RegistryIdentity,
  existing: OpenRecord,
): Promise<OpenRecord> {
  if (call.idempotency_key === null) return existing
  const { kernel, tenant_id, operation } = call
  const existing_id = existing.row.record_id
  const record_id = await call.once<string>({
    async run(tx) {
      meter(tx, operation.id)
      return { reply: existing_id, ids: { record_id: existing_id } }
    },
    // Written by `run` above, or with the record.
    replay: async (_, ids) => String(ids['record_id']),
  })
  if (record_id === existing_id) return existing
  return (await findRecord(kernel, tenant_id, { kind, record_id })) ?? call.refuse('unavailable')
}

/** Stores and logs a refusal that no policy made. Returns the denied record. */
export async function recordRefusal<Q extends JsonObject>(
  call: Call,
  registry: Registry<Q>,
  request: Q,
  { code, reason }: { readonly code: string; readonly reason: string },
): Promise<OpenRecord> {
  const before = await findEarlierAnswer(call, registry)
  if (before) return before
  // The refusal redacts what the policies redact in the request.
  const options = { dry_run: true }
  const gated = await gate(
    call,
    registry.operation(request),
    await registry.context(request, call),
    options,
  )
  const stored = redactRequest(registry, request, gated.redactions[0] ?? {})
  const prepared = await prepareDenied(
    {
      call,
      registry,
      proposal: makeProposal(call, registry, stored, FIRST_VERSION),
      gated: NO_EVALUATION,
      follows: null,
      principal: principalOf(request),
    },
    { denied_by: null, reason, code },
  )
  return insertOnce(call, prepared)
}

const NO_EVALUATION = { evaluation_id: null, policy_set: 0 }

interface ProposalDraft<Q extends JsonObject> {
  readonly call: Call
  readonly registry: Registry<Q>
  readonly proposal: AdmittedProposal<Q>
  readonly gated: Pick<GateResult, 'evaluation_id' | 'policy_set'>
  /** The live version that this one replaces. */
  readonly follows: string | null
  /** The human principal as given, before any redaction by policies. */
  readonly principal: string | null
}

/**
 * Prepares everything that one unit of work stores, or finds the live record with the same content.
 * Throws a policy's refusal if the registry lets no proposal wait.
 * @param evaluated keeps the evaluation for another attempt at the same request
 */
export async function prepareRecord<Q extends JsonObject>(
  call: Call,
  registry: Registry<Q>,
  given: Q,
  evaluated: { gated?: GateResult } = {},
): Promise<PreparedRecord | { readonly existing: OpenRecord }> {
  const existing = await findExisting(call, registry, given)
  if (existing) return { existing }
  evaluated.gated ??= await gate(
    call,
    registry.operation(given),
    await registry.context(given, call),
  )
  const { gated } = evaluated
  const request = redactRequest(registry, given, gated.redactions[0] ?? {})
  const same = request === given ? null : await findExisting(call, registry, request)
  if (same && gated.verdict !== 'denied') return { existing: same }
  const version = await nextVersion(call, registry, request)
  const proposal = makeProposal(call, registry, request, version)
  const { follows } = version
  const draft = { call, registry, proposal, gated, follows, principal: principalOf(given) }
  if (gated.verdict === 'allowed') return prepareIssued(draft)
  if (gated.verdict === 'denied') {
    // A request that only exceeds a rate limit stores nothing.
    if (!registry.approvable || gated.exceeded)
      throw refusalOfGate(registry, gated, proposal.record_id)
    const denied_by = denyingPolicy(gated)
    return prepareDenied(draft, { denied_by, reason: denied_by.reason, code: 'policy' })
  }
  if (!registry.approvable) throw refusalOf(gated)
  return prepareWaiting(draft, gated)
}

async function findExisting<Q extends JsonObject>(
  { kernel, tenant_id }: Call,
  { kind, content }: Registry<Q>,
  request: Q,
): Promise<OpenRecord | null> {
  if (!content) return null
  const found = await findByContent(kernel, tenant_id, { kind, content: content(request) })
  const request_id = found?.row.status === 'waiting_hitl' ? found.row.request_id : null
  if (request_id === null) return found
  const approval = await kernel.db.read(tenant_id, (db) => findApproval(db, request_id))
  // The waiting record has expired undecided, so this proposal replaces it.
  const expired = approval !== undefined && (await expireRequest(kernel, tenant_id, approval))
  return expired ? null : found
}

/** Redacts the request before any part of it is stored. */
function redactRequest<Q extends JsonObject>(
  { names = {} }: Registry<Q>,
  request: Q,
  redactions: Redactions,
): Q {
  if (Object.keys(redactions).length === 0) return request
  const changed: Record<string, JsonObject[string]> = {}
  for (const key of Object.keys(redactions)) {
    const member = names[key] ?? key
    const given = request[member]
    if (given === undefined)
      throw new Refusal('policy_denied', 'a policy redacts what cannot be stored without it')
    changed[member] = redactedOr(redactions, key, given)
  }
  return { ...request, ...changed }
}

interface SeriesVersion {
  readonly version: number
  readonly series_id: string | null
  readonly follows: string | null
}

const FIRST_VERSION: SeriesVersion = { version: 1, series_id: null, follows: null }

async function nextVersion<Q extends JsonObject>(
  { kernel, tenant_id }: Call,
  { kind, series, name }: Registry<Q>,
  request: Q,
): Promise<SeriesVersion> {
  if (!series || !name) return FIRST_VERSION
  const key = await nameKey(kernel, tenant_id, { kind, name: name(request) })
  const newest = await kernel.db.read(tenant_id, (db) => findLiveByName(db, kind, key))
  if (!newest) return FIRST_VERSION
  const { record_id, version, series_id } = newest
  return { version: version + 1, series_id, follows: record_id }
}

const NONCE_BYTES = 16

function makeProposal<Q extends JsonObject>(
  { kernel, tenant_id, principal }: Call,
  { kind }: RegistryIdentity,
  request: Q,
  { version, series_id }: SeriesVersion,
): AdmittedProposal<Q> {
  const created_us = kernel.clock.now()
  const nonce = kernel.ids.hex(NONCE_BYTES)
  const ids = deriveIds({ tenant_id, kind, request, created_us, nonce })
  return {
    ...ids,
    kernel,
    tenant_id,
    request,
    created_us,
    nonce,
    ceiling: principal.max_trust_tier ?? null,
    version,
    series_id: series_id ?? ids.record_id,
  }
}

async function prepareIssued<Q extends JsonObject>(
  draft: ProposalDraft<Q>,
): Promise<PreparedRecord> {
  const { call, registry, proposal, gated } = draft
  const signed = await signRecord({
    registry,
    proposal,
    approval: null,
    requested_by: actorOf(call.principal),
    policy_set: gated.policy_set,
    evaluation_id: gated.evaluation_id,
    issued_us: proposal.created_us,
  })
  return sealDraft(draft, { status: registry.issued_status, ...signed })
}

async function prepareWaiting<Q extends JsonObject>(
  draft: ProposalDraft<Q>,
  gated: GateResult,
): Promise<PreparedRecord> {
  // Refuses before a person is asked what would be refused after the approval.
  await draft.registry.fields(draft.proposal)
  return sealWaiting(draft, gated)
}

async function sealWaiting<Q extends JsonObject>(
  draft: ProposalDraft<Q>,
  gated: GateResult,
  context_origins?: readonly string[],
): Promise<PreparedRecord> {
  const { call, registry, proposal } = draft
  const { record_id, proposal_digest, request } = proposal
  const approval = await prepareApproval(call.kernel, call.tenant_id, {
    subject: {
      kind: registry.kind,
      record_id,
      proposal_digest,
      operation: registry.operation(request),
      requested_by: actorOf(call.principal),
      principal: principalOf(request),
    },
    gated,
    ...(context_origins && { context_origins }),
  })
  return sealDraft(draft, { status: 'waiting_hitl', approval })
}

/** Prepares a record that waits for a person, of a proposal that the registry's owner has gated. */
export const prepareWaitingRecord = <Q extends JsonObject>(
  call: Call,
  registry: Registry<Q>,
  {
    request,
    gated,
    context_origins,
  }: {
    readonly request: Q
    readonly gated: GateResult
    /** The origins that policies were given. They are given again on approval. */
    readonly context_origins?: readonly string[]
  },
): Promise<PreparedRecord> => {
  const proposal = makeProposal(call, registry, request, FIRST_VERSION)
  const draft = { call, registry, proposal, gated, follows: null, principal: null }
  return sealWaiting(draft, gated, context_origins)
}

const prepareDenied = <Q extends JsonObject>(
  draft: ProposalDraft<Q>,
  denial: NonNullable<DraftResult['denial']>,
): Promise<PreparedRecord> => sealDraft(draft, { status: 'denied', denial })

interface DraftResult {
  readonly status: Registry['issued_status']
  readonly document?: JsonObject
  readonly effect?: RecordEffect | null
  readonly approval?: ApprovalRow
  readonly denial?: {
    readonly denied_by: DenyingPolicy | null
    readonly reason: string
    readonly code: string
  }
}

async function sealDraft<Q extends JsonObject>(
  draft: ProposalDraft<Q>,
  { status, document, effect, approval, denial }: DraftResult,
): Promise<PreparedRecord> {
  const { call, registry, proposal, gated } = draft
  const { kernel, tenant_id, principal } = call
  const { kind } = registry
  const { record_id, request } = proposal
  const record: RecordContent = {
    request,
    nonce: proposal.nonce,
    approval: null,
    evaluation_id: gated.evaluation_id,
    ceiling: proposal.ceiling,
    principal_label: await principalLabel(kernel, tenant_id, draft.principal),
    document: document ?? null,
    denied_by: denial?.denied_by ?? null,
    reason: denial?.reason ?? null,
  }
  const content = registry.content?.(request)
  const name = registry.name?.(request)
  const row: RecordRow = {
    record_id,
    kind,
    proposal_digest: proposal.proposal_digest,
    created_us: proposal.created_us,
    linked_id: null,
    status,
    live: status === 'denied' ? 0 : 1,
    content_key:
      content === undefined ? null : await contentKey(kernel, tenant_id, { kind, content }),
    name_key: name === undefined ? null : await nameKey(kernel, tenant_id, { kind, name }),
    series_id: proposal.series_id,
    version: proposal.version,
    policy_set: gated.policy_set,
    request_id: approval?.request_id ?? null,
    requested_by: actorOf(principal),
    ...(await recordColumn.sealNew(kernel, tenant_id, { kind, record_id }, record)),
  }
  return {
    registry,
    row,
    content: record,
    effect: effect ?? null,
    approval: approval ?? null,
    follows: draft.follows,
    reason: denial?.code ?? null,
  }
}

/** Stores rows, log entries and the effect. Throws Conflict `record` if another record is live. */
export async function insertPrepared(tx: Tx, prepared: PreparedRecord): Promise<void> {
  const { registry, row, content, effect, approval, follows, reason } = prepared
  if (follows !== null && !(await endLiveVersion(tx, follows))) throw new Conflict('record')
  if ((await insertRecord(tx, row)) === 'taken') throw new Conflict('record')
  if (approval) await insertApprovalRequest(tx, approval)
  if (effect) await effect(tx, row.record_id)
  const { document, evaluation_id } = content
  const { kind } = registry
  await appendRecordEvent(tx, { kind, status: statusOf(row), row, document, evaluation_id, reason })
}

/** Stores the record. Throws the refusal of a denied record after storing it. */
async function storeRecord(call: Call, prepared: PreparedRecord): Promise<OpenRecord> {
  const record = await insertOnce(call, prepared)
  if (record.row.status === 'denied') throw refusalOfDenied(prepared.registry, record)
  return record
}

async function insertOnce(call: Call, prepared: PreparedRecord): Promise<OpenRecord> {
  const { kernel, tenant_id, operation } = call
  const { registry, row, content } = prepared
  const stored = await call.once<{ record_id: string; replayed: boolean }>({
    async run(tx) {
      await insertPrepared(tx, prepared)
      meter(tx, operation.id, row.sealed.length)
      const ids = { record_id: row.record_id }
      return { reply: { ...ids, replayed: false }, ids }
    },
    // Written by `run` above.
    replay: async (_, ids) => ({ record_id: String(ids['record_id']), replayed: true }),
  })
  if (!stored.replayed) return toOpenRecord(row, content)
  const { record_id } = stored
  const replayed = await findRecord(kernel, tenant_id, { kind: registry.kind, record_id })
  return replayed ?? call.refuse('unavailable')
}
