// Proposing a record: policies are asked, what they let pass is signed, and all of it is one unit.

import type { JsonObject } from '@custos/proof'
import type { Call } from '../../platform/call.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import { Refusal } from '../../platform/refusal.ts'
import { type Gated, gate, type Redactions, redactedOr, refusalOf } from '../governance/index.ts'
import { meter } from '../tenants/index.ts'
import { denyingPolicy, refusalOfDenied, refusalOfGate } from './answers.ts'
import { insertApprovalRequest, prepareApproval } from './approval-request.ts'
import { type ApprovalRow, findApproval } from './approvals.sql.ts'
import { principalLabel, principalOf } from './authority.ts'
import { expireRequest } from './expire-requests.ts'
import { contentKey, findByContent, findRecord, nameKey } from './find-records.ts'
import {
  type OpenRecord,
  type RecordContent,
  recordOwner,
  statusOf,
  toOpenRecord,
} from './open-record.ts'
import { appendRecordEvent } from './record-events.ts'
import { endLiveVersion, findLiveByName, insertRecord, type RecordRow } from './records.sql.ts'
import type { AdmittedProposal, DenyingPolicy, RecordEffect, Registry } from './registry.ts'
import { sealNew } from './sealed-record.ts'
import { type IdentifiedRequest, identifyRequest, signRecord } from './sign-record.ts'

/** Another live record took the content or the name since it was looked up. */
export class RecordTaken extends Error {}

export interface PreparedRecord {
  readonly registry: Registry
  readonly row: RecordRow
  readonly content: RecordContent
  readonly effect: RecordEffect | null
  readonly approval: ApprovalRow | null
  /** The live version that this one follows. */
  readonly follows: string | null
  /** A code, where it was denied. */
  readonly reason: string | null
}

export interface ProposalResult {
  /** It was there before: nothing was done. */
  readonly existing: boolean
  readonly record: OpenRecord
}

/** Versions of one type that come at once wait for each other so often. */
const ATTEMPTS_MAX = 25

/**
 * The record that stands or waits; throws the refusal of one that was denied, which is kept where
 * its registry waits for people.
 */
export async function proposeRecord<Q extends JsonObject>(
  call: Call,
  registry: Registry<Q>,
  request: Q,
): Promise<ProposalResult> {
  const before = await findEarlierAnswer(call, registry)
  if (before) return { existing: true, record: before }
  const memo: Memo = {}
  return untilFree(async () => {
    const prepared = await prepareRecord(call, registry, request, memo)
    return 'existing' in prepared
      ? { existing: true, record: await answerExisting(call, registry, prepared.existing) }
      : { existing: false, record: await storeRecord(call, prepared) }
  })
}

/** Nothing was answered under the key yet. */
class Unanswered extends Error {}

/**
 * What was answered under the same Idempotency-Key, as it is now; null: nothing yet. For before
 * anything is looked at: a retry is told of the first request, whatever has changed since.
 */
export async function findEarlierAnswer<Q extends JsonObject>(
  call: Call,
  registry: Registry<Q>,
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
    if (!found) throw new Refusal('unavailable')
    if (found.row.status === 'denied') throw refusalOfDenied(registry, found)
    return found
  } catch (error) {
    if (error instanceof Unanswered) return null
    throw error
  }
}

/** What the policies said, for a second try of the same request. */
interface Memo {
  gated?: Gated
}

/** What an Idempotency-Key was used for holds, also where the record is there already. */
async function answerExisting<Q extends JsonObject>(
  call: Call,
  { kind }: Registry<Q>,
  existing: OpenRecord,
): Promise<OpenRecord> {
  if (call.idempotency_key === null) return existing
  const { kernel, tenant_id, operation } = call
  const here = existing.row.record_id
  const record_id = await call.once<string>({
    async run(tx) {
      meter(tx, operation.id)
      return { reply: here, ids: { record_id: here } }
    },
    // Written by run above, or with the record.
    replay: async (_, ids) => String(ids['record_id']),
  })
  if (record_id === here) return existing
  const first = await findRecord(kernel, tenant_id, { kind, record_id })
  if (!first) throw new Refusal('unavailable')
  return first
}

/** A refusal that is kept and logged although no policy was asked. */
export async function recordRefusal<Q extends JsonObject>(
  call: Call,
  registry: Registry<Q>,
  request: Q,
  why: { readonly code: string; readonly reason: string },
): Promise<OpenRecord> {
  const { kernel, tenant_id } = call
  const before = await findEarlierAnswer(call, registry)
  if (before) return before
  // What policies take out of a request is taken out of its refusal as well.
  const options = { dry_run: true }
  const gated = await gate(call, registry.operation(request), registry.context(request), options)
  const kept = redactRequest(registry, request, gated.redactions[0] ?? {})
  const identified = identifyRequest(kernel, tenant_id, { kind: registry.kind, request: kept })
  const denial = { denied_by: null, reason: why.reason, code: why.code }
  const principal = principalOf(request)
  const draft = { call, registry, identified, gated: NO_EVALUATION, version: FIRST, principal }
  const prepared = await prepareDenied(draft, denial)
  return storeRecord(call, prepared, { shown: true })
}

export async function untilFree<T>(act: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await act()
    } catch (error) {
      if (!(error instanceof RecordTaken)) throw error
      if (attempt === ATTEMPTS_MAX)
        throw new Refusal('unavailable', 'it is being registered by others', { retry_after_s: 1 })
    }
  }
}

const NO_EVALUATION = { evaluation_id: null, policy_set: 0 }
type Asked = Pick<Gated, 'evaluation_id' | 'policy_set'>

interface SeriesVersion {
  readonly version: number
  readonly series_id: string | null
  readonly follows: string | null
}
const FIRST: SeriesVersion = { version: 1, series_id: null, follows: null }

interface ProposalDraft<Q extends JsonObject> {
  readonly call: Call
  readonly registry: Registry<Q>
  readonly identified: IdentifiedRequest<Q>
  readonly gated: Asked
  readonly version: SeriesVersion
  /** The human principal as given, before any policy took something out. */
  readonly principal: string | null
}

/**
 * All that is needed for one unit: sealed, signed, and not yet written. Throws what a policy
 * refuses where the registry does not wait.
 */
export async function prepareRecord<Q extends JsonObject>(
  call: Call,
  registry: Registry<Q>,
  given: Q,
  memo: Memo = {},
): Promise<PreparedRecord | { readonly existing: OpenRecord }> {
  const { kernel, tenant_id } = call
  const existing = await findExisting(call, registry, given)
  if (existing) return { existing }
  const gated = memo.gated ?? (await gate(call, registry.operation(given), registry.context(given)))
  memo.gated = gated
  const request = redactRequest(registry, given, gated.redactions[0] ?? {})
  const same = request === given ? null : await findExisting(call, registry, request)
  if (same && gated.verdict !== 'denied') return { existing: same }
  const identified = identifyRequest(kernel, tenant_id, { kind: registry.kind, request })
  const version = await nextVersion(call, registry, request)
  const draft = { call, registry, identified, gated, version, principal: principalOf(given) }
  if (gated.verdict === 'allowed') return prepareStanding(draft)
  if (gated.verdict === 'denied') {
    const denied_by = denyingPolicy(gated)
    if (!registry.waits) throw refusalOfGate(registry, gated, identified.record_id)
    return prepareDenied(draft, { denied_by, reason: denied_by.reason, code: 'policy' })
  }
  if (!registry.waits) throw refusalOf(gated)
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
  // Nobody decided in time: it is asked for anew.
  const over = approval !== undefined && (await expireRequest(kernel, tenant_id, approval))
  return over ? null : found
}

/** Nothing is stored that a policy has taken out. */
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

async function nextVersion<Q extends JsonObject>(
  { kernel, tenant_id }: Call,
  { kind, series, name }: Registry<Q>,
  request: Q,
): Promise<SeriesVersion> {
  if (!series || !name) return FIRST
  const key = await nameKey(kernel, tenant_id, { kind, name: name(request) })
  const newest = await kernel.db.read(tenant_id, (db) => findLiveByName(db, kind, key))
  if (!newest) return FIRST
  const { record_id, version, series_id } = newest
  return { version: version + 1, series_id, follows: record_id }
}

async function prepareStanding<Q extends JsonObject>(
  draft: ProposalDraft<Q>,
): Promise<PreparedRecord> {
  const { call, registry, identified, gated } = draft
  const proposed = proposalOf(draft)
  const document = await signRecord({
    ...{ registry, proposed, identified, approval: null },
    requested_by: call.principal.key_id,
    policy_set: gated.policy_set,
    evaluation_id: gated.evaluation_id,
    issued_us: identified.created_us,
  })
  const effect = (await registry.effect?.(proposed)) ?? null
  return sealDraft(draft, { status: registry.standing, document, effect })
}

async function prepareWaiting<Q extends JsonObject>(
  draft: ProposalDraft<Q>,
  gated: Gated,
): Promise<PreparedRecord> {
  const { call, registry, identified } = draft
  const { record_id, proposal_digest, request } = identified
  const asked = {
    ...{ kind: registry.kind, record_id, proposal_digest },
    operation: registry.operation(request),
    requested_by: call.principal.key_id,
    principal: principalOf(request),
  }
  // What would be refused later anyway is not put before a person.
  await registry.fields(proposalOf(draft))
  const approval = await prepareApproval(call.kernel, call.tenant_id, { asked, gated })
  return sealDraft(draft, { status: 'waiting_hitl', approval })
}

interface DenialReason {
  readonly denied_by: DenyingPolicy | null
  readonly reason: string
  readonly code: string
}

const prepareDenied = <Q extends JsonObject>(
  draft: ProposalDraft<Q>,
  denial: DenialReason,
): Promise<PreparedRecord> => sealDraft(draft, { status: 'denied', denial })

function proposalOf<Q extends JsonObject>(draft: ProposalDraft<Q>): AdmittedProposal<Q> {
  const { call, identified, version } = draft
  const { kernel, tenant_id, principal } = call
  const { record_id, created_us, request } = identified
  const { series_id } = version
  const ceiling = principal.max_trust_tier ?? null
  return {
    ...{ kernel, tenant_id, principal, ceiling, record_id, created_us, request },
    version: version.version,
    series_id: series_id ?? record_id,
  }
}

interface DraftResult {
  readonly status: PreparedRecord['row']['status'] &
    ('waiting_hitl' | 'denied' | Registry['standing'])
  readonly document?: JsonObject
  readonly effect?: RecordEffect | null
  readonly approval?: ApprovalRow
  readonly denial?: DenialReason
}

async function sealDraft<Q extends JsonObject>(
  draft: ProposalDraft<Q>,
  ending: DraftResult,
): Promise<PreparedRecord> {
  const { call, registry, identified, gated, version } = draft
  const { kernel, tenant_id, principal } = call
  const { kind } = registry
  const { record_id, proposal_digest, created_us, nonce, request } = identified
  const content: RecordContent = {
    ...{ request, nonce, approval: null },
    evaluation_id: gated.evaluation_id,
    ceiling: principal.max_trust_tier ?? null,
    principal_label: await principalLabel(kernel, tenant_id, draft.principal),
    document: ending.document ?? null,
    denied_by: ending.denial?.denied_by ?? null,
    reason: ending.denial?.reason ?? null,
  }
  const text = registry.content?.(request)
  const name = registry.name?.(request)
  const row: RecordRow = {
    ...{ record_id, kind, proposal_digest, created_us, linked_id: null },
    status: ending.status,
    live: ending.status === 'denied' ? 0 : 1,
    content_key:
      text === undefined ? null : await contentKey(kernel, tenant_id, { kind, content: text }),
    name_key: name === undefined ? null : await nameKey(kernel, tenant_id, { kind, name }),
    series_id: version.series_id ?? record_id,
    version: version.version,
    policy_set: gated.policy_set,
    request_id: ending.approval?.request_id ?? null,
    requested_by: principal.key_id,
    ...(await sealNew(kernel, recordOwner(tenant_id, kind, record_id), content)),
  }
  return {
    ...{ registry: registryOf(registry), row, content },
    effect: ending.effect ?? null,
    approval: ending.approval ?? null,
    follows: version.follows,
    reason: ending.denial?.code ?? null,
  }
}

// What is left to ask of it takes requests of its own kind back: it is put together in this file.
const registryOf = <Q extends JsonObject>(registry: Registry<Q>): Registry =>
  registry as unknown as Registry

/** In the caller's unit: rows, log entries, and what goes with them. Throws RecordTaken. */
export async function insertPrepared(tx: Tx, prepared: PreparedRecord): Promise<void> {
  const { registry, row, content, effect, approval, follows, reason } = prepared
  const { kind } = registry
  if (follows !== null && !(await endLiveVersion(tx, follows))) throw new RecordTaken()
  if ((await insertRecord(tx, row)) === 'taken') throw new RecordTaken()
  if (approval) await insertApprovalRequest(tx, approval)
  if (effect) await effect(tx, row.record_id)
  const { document, evaluation_id } = content
  const status = statusOf(row)
  await appendRecordEvent(tx, { kind, status, row, document, evaluation_id, reason })
}

async function storeRecord(
  call: Call,
  prepared: PreparedRecord,
  { shown = false }: { shown?: boolean } = {},
): Promise<OpenRecord> {
  const { kernel, tenant_id, operation } = call
  const { registry, row, content } = prepared
  const { kind } = registry
  const { record_id, replayed } = await call.once<{ record_id: string; replayed: boolean }>({
    async run(tx) {
      await insertPrepared(tx, prepared)
      meter(tx, operation.id, row.sealed.length)
      const ids = { record_id: row.record_id }
      return { reply: { ...ids, replayed: false }, ids }
    },
    // Written by run above.
    replay: async (_, ids) => ({ record_id: String(ids['record_id']), replayed: true }),
  })
  const record = replayed
    ? await findRecord(kernel, tenant_id, { kind, record_id })
    : toOpenRecord(row, content)
  if (!record) throw new Refusal('unavailable')
  if (record.row.status === 'denied' && !shown) throw refusalOfDenied(registry, record)
  return record
}
