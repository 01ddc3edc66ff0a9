// POST /v1/governed/decisions and verify-batch: seals decisions, logs them, counts them for their
// agents, and issues a receipt for each.

import {
  CGR_CONTEXT_BYTES_MAX,
  type DecisionRecord,
  DIMENSION_DEFAULT,
  type GovernedDecisionRequest,
  JUDGMENTS_PER_REFERENT_MAX,
  type reputation,
} from '@custos/contract'
import { canonicalize, isObject } from '@custos/proof'
import { formatTime, parseTime } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler, IdempotentUnit } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import type { Signer, TenantKeys } from '../../platform/keys/keyring.ts'
import { Refusal } from '../../platform/refusal.ts'
import { mapInChunks } from '../../platform/yield-between-chunks.ts'
import { appendCrumb, nextSeq } from '../gcrumbs/index.ts'
import { limitGovernedDecisions, meter, meterGoverned } from '../tenants/index.ts'
import { Changes } from './changes.ts'
import { effectOf, isScored, type Judgment, resolves } from './evidence.ts'
import {
  draftReceipt,
  effectivePolicy,
  placeReceipt,
  receiptSigner,
  ruleInvoices,
  showReceipt,
  workflowOf,
} from './receipts/execution-receipt.ts'
import { findAgent, findSettings, insertAgent, insertName, setNewest } from './rows/agents.sql.ts'
import type { AgentRow } from './rows/aggregates.sql.ts'
import {
  findCurrent,
  findDecision,
  insertDecision,
  listJudgments,
  listOutcomes,
  listReviews,
  replaceDecision,
} from './rows/events.sql.ts'
import {
  contentLabel,
  dimensionLabel,
  hexOf,
  hexOrNull,
  identityLabel,
  type KnownBy,
  keyLabel,
  nameLabel,
  proves,
  pseudonymOf,
  readKey,
  referentLabel,
  workflowLabel,
} from './rows/labels.ts'
import { anchorOf, findLinks } from './rows/rotations.sql.ts'
import { openPayload, sealPayload } from './rows/sealed-payload.ts'

/** The log position of a decision, which another request may have recorded. */
interface DecisionPosition {
  readonly [key: string]: unknown
  readonly seq: number
  readonly superseded_prior: boolean
  readonly idempotent: boolean
}

/** The existing state of a decision's referent. */
type ReferentState = Awaited<ReturnType<typeof loadReferentState>>

export const decide: Handler<typeof reputation.decide> = async (call, { body }) => {
  const { kernel, tenant_id } = call
  const keys = await kernel.keyring.tenant(tenant_id)
  const parts = partsOf(call, keys, await prepareDecision(kernel, keys, body))
  const once: IdempotentUnit<DecisionPosition> = {
    async run(tx) {
      const placed = await placeDecision(tx, parts)
      await meterDecision(call, tx, { parts, placed })
      return { reply: placed, ids: placed }
    },
    // Returns only the position, because opening sealed texts needs the keyring, and a unit of work
    // must not wait for it.
    replay: async (_tx, ids) => ({
      seq: Number(ids['seq']),
      superseded_prior: ids['superseded_prior'] === true,
      idempotent: ids['idempotent'] === true,
    }),
  }
  const { seq, superseded_prior, idempotent } = await call.once(once)
  return { ...(await showDecision(call, seq)), superseded_prior, idempotent }
}

/** POST /v1/governed/verify-batch: decides on each invoice by fixed rules, all or none. */
export const verifyBatch: Handler<typeof reputation.verify_batch> = async (call, { body }) => {
  const { kernel, tenant_id } = call
  const keys = await kernel.keyring.tenant(tenant_id)
  const { invoices, policy: given = {}, ...agent } = body
  const policy = effectivePolicy(given)
  const ruled = ruleInvoices(invoices, policy)
  const prepared = await mapInChunks(ruled, async ({ answer, invoice_id, context }) => {
    const { decision, reason, reason_code } = answer
    const made = { decision, reason, invoice_id, context, verifiability_tag: 'rule' } as const
    // A duplicate must not replace the decision on the invoice that it duplicates.
    const rule = { reason_code, joined: reason_code !== 'duplicate' }
    const decided = await prepareDecision(kernel, keys, { ...agent, ...made }, rule)
    return partsOf(call, keys, decided)
  })

  const once: IdempotentUnit<readonly number[]> = {
    async run(tx) {
      const seqs: number[] = []
      for (const parts of prepared) {
        const placed = await placeDecision(tx, parts)
        await meterDecision(call, tx, { parts, placed })
        seqs.push(placed.seq)
      }
      return { reply: seqs, ids: { seqs } }
    },
    // Written by `run` above.
    replay: async (_tx, { seqs }) => (Array.isArray(seqs) ? seqs.map(Number) : []),
  }
  const seqs = await call.once(once)
  const results = await mapInChunks(ruled, async ({ answer }, at) => ({
    ...answer,
    ...(await showDecision(call, seqs[at] ?? -1)),
  }))
  const certified = results.filter(({ decision }) => decision === 'certify').length
  const total = results.length
  return { summary: { total, certified, rejected: total - certified }, policy, results }
}

interface Parts {
  readonly keys: TenantKeys
  readonly given: NewDecision
  readonly signer: Signer
  /** The id of the credential that sent the decision. */
  readonly recorded_by: string
}

const partsOf = ({ kernel, principal }: Call, keys: TenantKeys, given: NewDecision): Parts => ({
  keys,
  given,
  signer: receiptSigner(kernel),
  recorded_by: principal.key_id,
})

/** Refuses `free_ceiling_reached`. A repeated decision logs nothing, so it is not metered. */
async function meterDecision(
  { kernel, operation }: Pick<Call, 'kernel' | 'operation'>,
  tx: Tx,
  { parts, placed }: { readonly parts: Parts; readonly placed: DecisionPosition },
): Promise<void> {
  const { sealed, words } = parts.given
  meter(tx, operation.id, sealed.length)
  if (placed.idempotent) return
  meterGoverned(tx, words.decision)
  await limitGovernedDecisions(kernel, tx)
}

async function placeDecision(tx: Tx, parts: Parts): Promise<DecisionPosition> {
  const { keys, given, signer, recorded_by } = parts
  const scene = await loadReferentState(tx, parts)
  const { previous, judgments } = scene
  const { words, receipt: draft } = given
  const { decision, verifiability_tag: tag } = words
  if (previous?.decision === decision && previous.tag === tag)
    return { seq: previous.seq, superseded_prior: false, idempotent: true }
  if (previous) await refuseLate(tx, previous, { given, scene })
  else if (judgments.length >= JUDGMENTS_PER_REFERENT_MAX)
    throw new Refusal('rejected', `the referent has ${JUDGMENTS_PER_REFERENT_MAX} agents already`)
  const seq = await nextSeq(tx)
  const recorded_us = tx.now()
  const agent_no = scene.agent?.agent_no ?? seq
  await writeAgent(tx, parts, { scene, agent_no, seq })
  if (previous) tx.needs(replaceDecision(tx, previous.seq))
  const judgment = { seq, agent_no, decision, tag, handle: given.handle, anchor: scene.anchor }
  tx.needs(
    insertDecision(tx, {
      ...judgment,
      decision_id: Buffer.from(words.decision_id, 'hex'),
      referent: given.referent,
      current: 1,
      signed_us: given.signed_us,
      recorded_by,
      recorded_us,
      secret_no: given.secret_no,
      sealed_name: given.sealed_name,
      sealed: given.sealed,
    }),
  )
  const workflow = workflowLabel(keys, workflowOf(words))
  await placeReceipt(tx, { signer, draft, decided: words, workflow, seq, recorded_us })
  const changes = new Changes()
  if (previous) count(changes, previous, scene, -1)
  count(changes, { ...judgment, recorded_by }, scene, 1)
  await changes.write(tx)
  await append(tx, parts, scene)
  return { seq, superseded_prior: previous !== undefined, idempotent: false }
}

async function loadReferentState(tx: Tx, { keys, given }: Parts) {
  const { known_by, handle, key, referent } = given
  const { dimension } = given.words
  const anchor = key === null ? null : await standing(tx, key, known_by === 'proven')
  const identity = identityLabel(keys, { dimension, known_by, by: anchor ?? handle })
  const labels = referent === null ? [] : [referent]
  const [agent, [outcome], judgments, reviews] = await Promise.all([
    findAgent(tx, identity),
    listOutcomes(tx, labels),
    listJudgments(tx, labels),
    listReviews(tx, labels),
  ])
  const previous = agent && referent ? await findCurrent(tx, agent.agent_no, referent) : undefined
  const effect = effectOf(outcome?.outcome)
  return { anchor, identity, agent, previous, effect, judgments, reviews }
}

/** Returns the first key of the chain. Refuses a proven key that is not in force. */
async function standing(tx: Tx, key: Uint8Array, proven: boolean): Promise<Uint8Array> {
  const links = await findLinks(tx, key)
  const now_us = tx.now()
  if (proven && links.out && (links.out.not_before_us ?? 0) <= now_us)
    throw new Refusal('rotation_refused', 'the key was followed by another one')
  if (proven && links.into && (links.into.not_before_us ?? 0) > now_us)
    throw new Refusal('rotation_refused', 'the key is not in force yet')
  return anchorOf(key, links)
}

async function refuseLate(
  tx: Tx,
  previous: NonNullable<ReferentState['previous']>,
  { given, scene }: { given: NewDecision; scene: ReferentState },
): Promise<void> {
  const { words, signed_us } = given
  const matters =
    isScored(previous) || isScored({ decision: words.decision, tag: words.verifiability_tag })
  // If the tenant requires it, an agent cannot remove a known failure by revising its decision.
  if (matters && resolves(scene.effect) && (await findSettings(tx)).judgments_final)
    throw new Refusal('outcome_known')
  if (signed_us !== null && previous.signed_us !== null && signed_us <= previous.signed_us)
    throw new Refusal('older_statement')
}

function count(changes: Changes, judgment: Judgment, scene: ReferentState, sign: 1 | -1): void {
  const { effect, reviews } = scene
  changes.judgment(judgment, effect, sign)
  for (const review of reviews) changes.pair(review, judgment, { effect, sign })
}

async function writeAgent(
  tx: Tx,
  { keys, given }: Parts,
  { scene, agent_no, seq }: { scene: ReferentState; agent_no: number; seq: number },
): Promise<void> {
  const { dimension } = given.words
  if (scene.agent) tx.needs(setNewest(tx, agent_no, seq))
  else {
    const row: AgentRow = {
      agent_no,
      dimension: dimensionLabel(keys, dimension),
      identity: scene.identity,
      kind: given.known_by,
      anchor: scene.anchor,
      newest_seq: seq,
      n_success: 0,
      n_failure: 0,
      n_pending: 0,
      n_unscored: 0,
    }
    tx.needs(insertAgent(tx, row))
  }
  tx.needs(insertName(tx, given.handle, agent_no))
  if (given.agent_key !== null)
    tx.needs(insertName(tx, nameLabel(keys, dimension, given.agent_key), agent_no))
}

async function append(tx: Tx, { keys, given }: Parts, scene: ReferentState): Promise<void> {
  const { words } = given
  await appendCrumb(tx, {
    event_type: 'cgr.decision_recorded',
    subject: words.decision_id,
    payload: {
      dimension: hexOf(dimensionLabel(keys, words.dimension)),
      agent: hexOf(scene.identity),
      known_by: given.known_by,
      handle: hexOf(given.handle),
      anchor: hexOrNull(scene.anchor),
      referent: hexOrNull(given.referent),
      decision: words.decision,
      tag: words.verifiability_tag,
      record: hexOf(contentLabel(keys, [canonicalize({ ...words })])),
    },
  })
}

async function showDecision(
  { kernel, tenant_id }: Pick<Call, 'kernel' | 'tenant_id'>,
  seq: number,
) {
  const row = await kernel.db.read(tenant_id, (db) => findDecision(db, seq))
  if (!row) throw new Refusal('unavailable')
  const place = { column: 'decision', id: hexOf(row.decision_id) } as const
  const { secret_no, sealed, recorded_us } = row
  const [opened] = await openPayload<{ record: RecordedTexts; receipt?: NewDecision['receipt'] }>(
    kernel,
    tenant_id,
    [{ place, secret_no, sealed }],
  )
  if (!opened) throw new Refusal('unavailable')
  const { record, receipt: draft } = opened
  const decision_record = { ...record, created_at: formatTime(recorded_us), log_seq: seq }
  const { step_number, previous, receipt_id, signature, key_id } = row
  const signed = receipt_id !== null && signature !== null && key_id !== null
  if (!draft || !signed || step_number === null) return { decision_record, execution_receipt: null }
  const receipt = { step_number, previous, receipt_id, signature, key_id }
  const made = { decided: record, draft, recorded_us }
  return { decision_record, execution_receipt: await showReceipt(kernel, receipt, made) }
}

/** The texts of a decision, without the members that its unit of work adds. */
type RecordedTexts = Omit<DecisionRecord, 'created_at' | 'log_seq'>

/** The names of an agent, sealed under the same secret as its decision. */
export type NameTexts = { readonly agent_handle: string; readonly agent_key: string | null }

interface NewDecision {
  readonly words: RecordedTexts
  readonly receipt: ReturnType<typeof draftReceipt>
  readonly known_by: KnownBy
  readonly agent_key: string | null
  readonly signed_us: number | null
  readonly handle: Buffer
  /** The label of the key in the request, before any rotation chain is resolved. */
  readonly key: Buffer | null
  readonly referent: Buffer | null
  readonly secret_no: number
  readonly sealed_name: Buffer
  readonly sealed: Buffer
}

const DECISION_ID_BYTES = 16

/**
 * @param rule given for decisions of `verify-batch`. `joined`: whether outcomes apply to the
 * decision, and it replaces an earlier one on the referent
 */
async function prepareDecision(
  kernel: Kernel,
  keys: TenantKeys,
  body: GovernedDecisionRequest,
  rule: { reason_code: DecisionRecord['reason_code']; joined: boolean } | null = null,
): Promise<NewDecision> {
  const started_us = kernel.clock.now()
  const context = isObject(body.context) ? body.context : {}
  if (Buffer.byteLength(JSON.stringify(context)) > CGR_CONTEXT_BYTES_MAX)
    throw new Refusal('rejected', `context is larger than ${CGR_CONTEXT_BYTES_MAX} bytes as JSON`)
  const agent_key = readKey(body.agent_key, ['body', 'agent_key'])
  const words = { ...wordsOf(kernel, keys, body), reason_code: rule?.reason_code ?? null }
  const { agent_handle, dimension } = words
  const proven = await provenBy(body, agent_key, words)
  const record = { ...words, proven }
  const named: NameTexts = { agent_handle, agent_key }
  const receipt = draftReceipt(kernel, started_us, { ...record, context })
  const id = words.decision_id
  const { secret_no, sealed } = await sealPayload(kernel, keys.tenant_id, [
    { place: { column: 'name', id }, content: named },
    { place: { column: 'decision', id }, content: { record, context, receipt } },
  ])
  const [sealed_name = Buffer.alloc(0), sealed_words = Buffer.alloc(0)] = sealed
  return {
    words: record,
    receipt,
    known_by: proven ? 'proven' : agent_key === null ? 'handle' : 'claimed',
    agent_key,
    signed_us: proven ? parseTime(body.signed_at ?? '') : null,
    handle: nameLabel(keys, dimension, agent_handle),
    key: agent_key === null ? null : keyLabel(keys, agent_key),
    referent:
      words.invoice_id === null || rule?.joined === false
        ? null
        : referentLabel(keys, dimension, words.invoice_id),
    secret_no,
    sealed_name,
    sealed: sealed_words,
  }
}

function wordsOf(kernel: Kernel, keys: TenantKeys, body: GovernedDecisionRequest): RecordedTexts {
  const { decision, reason = '', invoice_id } = body
  return {
    decision_id: kernel.ids.hex(DECISION_ID_BYTES),
    tenant_id: keys.tenant_id,
    invoice_id:
      invoice_id === undefined || invoice_id === null ? null : pseudonymOf(keys, invoice_id),
    decision,
    reason,
    reason_code: null,
    // The schema has filled in these defaults.
    agent_handle: body.agent_handle ?? '',
    verifiability_tag: body.verifiability_tag ?? 'judgment',
    agent_tier: body.agent_tier ?? null,
    model_id: body.model_id ?? '',
    raw_output: JSON.stringify({ decision, reason }),
    dimension: body.dimension ?? DIMENSION_DEFAULT,
    proven: false,
    signature: null,
    public_key: null,
  }
}

function provenBy(
  body: GovernedDecisionRequest,
  agent_key: string | null,
  words: RecordedTexts,
): Promise<boolean> {
  const { agent_signature: signature, signed_at } = body
  const loc = ['body', 'agent_signature']
  return proves('cgr_decision', { key: agent_key, signature, signed_at, loc }, (signed_at) => ({
    tenant_id: words.tenant_id,
    agent_key,
    agent_handle: words.agent_handle,
    decision: words.decision,
    verifiability_tag: words.verifiability_tag,
    dimension: words.dimension,
    invoice_id: body.invoice_id ?? null,
    signed_at,
  }))
}
