// POST /v1/decisions/log: identifies, signs and seals one decision, and appends its digest to the
// audit log.

import { isDeepStrictEqual } from 'node:util'
import {
  type Decision,
  type decisions,
  type JsonObject,
  type LogDecisionRequest,
  limits,
} from '@custos/contract'
import { Conflict, retryOnConflict } from '../../../platform/concurrency.ts'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import type { Call, Handler, IdempotentUnit } from '../../../platform/kernel/call.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { recordSecrets } from '../../../platform/kernel/record-secrets.ts'
import type { Signer } from '../../../platform/keys/keyring.ts'
import { KeyringError } from '../../../platform/keys/keyring-error.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { appendCrumb, nextSeq } from '../../gcrumbs/index.ts'
import { admit, redactedOr } from '../../governance/index.ts'
import { limitGovernedDecisions, meter, meterGoverned } from '../../tenants/index.ts'
import { insertDecisions, insertUses } from './decisions.sql.ts'
import {
  buildDecision,
  createIdentity,
  type DecisionAtLog,
  type DecisionDraft,
  type NewDecision,
  prepareFacts,
  resolveFacts,
} from './new-decision.ts'
import { isErasureConflict, retryWhileErasing, showDecision } from './open.ts'
import { findDecisionView } from './reads.ts'

/** Identities tried if ids clash. Each has a later microsecond: the clock never repeats a time. */
const IDENTITIES_MAX = 8

/** An older identity is replaced: reads by time rely on the log entry's time being close. */
const IDENTITY_AGE_US_MAX = 30_000_000

type LogResult =
  | { readonly kind: 'logged'; readonly decision: Decision }
  | { readonly kind: 'repeated'; readonly decision_id: string }

export const log: Handler<typeof decisions.log> = async (call, { body }) => {
  const { kernel, tenant_id } = call
  const given = await admitDecision(call, readLogRequest(call, body))
  const currentSigner = () => findSigner(kernel) ?? call.refuse('no_signing_key')
  currentSigner()
  const keys = await kernel.keyring.tenant(tenant_id)
  const own = await recordSecrets(kernel).take(tenant_id)
  const beyond = (size: number) =>
    call.refuse('rejected', `memory_seq is beyond the log, which has ${size} entries`)

  const attempt = async (assumesLive: boolean): Promise<LogResult> => {
    const signer = currentSigner()
    const named = { ...(await prepareFacts(kernel, tenant_id, given)), assumesLive }
    const identity = createIdentity({ kernel, tenant_id, given, signer })
    const prepared = { kernel, tenant_id, given, named, keys, signer, own, identity }
    return call.once(logUnit(prepared, beyond))
  }
  let assumesLive = kernel.db.shared
  const logOnce = async (): Promise<LogResult> => {
    if (!assumesLive) return attempt(false)
    assumesLive = false
    try {
      return await attempt(true)
    } catch (error) {
      // The conflict may come from a ref that is no memory, with no erasure under way.
      if (isErasureConflict(error)) return attempt(false)
      throw error
    }
  }
  // A decision that names a memory being erased waits until the erasure is done.
  const identified = () => logOnce().catch(identifyAgain)
  const result = await retryWhileErasing(() =>
    retryOnConflict(identified, { on: 'decision_id', attempts: IDENTITIES_MAX }),
  )
  if (result.kind === 'logged') return result.decision
  return (
    (await findDecisionView(kernel, tenant_id, result.decision_id)) ?? call.refuse('unavailable')
  )
}

/** If the key was rotated meanwhile, retries with a new identity under the new key. */
function identifyAgain(error: unknown): never {
  if (error instanceof KeyringError && error.code === 'signing_key_retired')
    throw new Conflict('decision_id')
  throw error
}

/** Applies the policies' redactions before identity and seal are computed. */
async function admitDecision(
  call: Call<typeof decisions.log>,
  given: NewDecision,
): Promise<NewDecision> {
  const { store_id, model_id, query, output, token_count: tokens, session_id, parameters } = given
  const retrieved_contents = given.contents.length === 0 ? null : given.contents
  const context = {
    store_id,
    model_id,
    query,
    output,
    tokens,
    session_id,
    parameters,
    retrieved_contents,
  }
  const redactions = await admit(call, 'decisions.log', context)
  return {
    ...given,
    query: redactedOr(redactions, 'query', query),
    output: redactedOr(redactions, 'output', output),
    session_id: redactedOr(redactions, 'session_id', session_id),
    parameters: redactedOr(redactions, 'parameters', parameters),
    contents: redactedOr(redactions, 'retrieved_contents', given.contents),
  }
}

function findSigner(kernel: Kernel): Signer | undefined {
  try {
    return kernel.keyring.signer('decision')
  } catch (error) {
    if (error instanceof KeyringError && error.code === 'no_signing_key') return undefined
    throw error
  }
}

function logUnit(
  prepared: DecisionDraft,
  beyond: (size: number) => never,
): IdempotentUnit<LogResult> {
  return {
    async run(tx) {
      const facts = await resolveFacts(tx, prepared.named)
      const seq = await nextSeq(tx)
      if ((prepared.given.memory_seq ?? 0) > seq) beyond(seq)
      const decision = await appendDecision(tx, { ...prepared, facts, seq })
      return {
        reply: { kind: 'logged', decision },
        ids: { decision_id: decision.decision_id },
      }
    },
    // Opening a sealed row needs the keyring, which a unit of work must not wait for.
    async replay(_tx, ids) {
      return { kind: 'repeated', decision_id: String(ids['decision_id']) }
    },
  }
}

async function appendDecision(tx: Tx, placed: DecisionAtLog): Promise<Decision> {
  const { given, facts, keys, tenant_id, seq } = placed
  const old = tx.now() - placed.identity.logged_us > IDENTITY_AGE_US_MAX
  const identity = old ? createIdentity(placed) : placed.identity
  const { row, document, contents } = buildDecision({ ...placed, identity })
  const bound = new Set(facts.bound)
  const uses = facts.refs.map((ref) => ({ decision_seq: seq, ref, bound: bound.has(ref) ? 1 : 0 }))
  const { decision_id } = identity
  // Nothing in this unit reads these rows, so the next statement need not wait for them.
  tx.gather(insertDecisions, [row])
  tx.gather(insertUses, uses)
  await appendCrumb(tx, {
    event_type: 'decision.logged',
    subject: decision_id,
    payload: {
      record_digest: document.record_digest,
      store_label: keys.label(given.store_id),
      refs: given.refs.length,
      memory_seq: row.memory_seq,
    },
  })
  meter(tx, 'decisions.log', row.sealed.length)
  meterGoverned(tx, 'logged')
  await limitGovernedDecisions(placed.kernel, tx)
  return showDecision({ tenant_id, decision_id, row, document, contents })
}

/** Prepares a decision of another slice before its unit of work. Refuses `no_signing_key`. */
export async function prepareDecision(
  kernel: Kernel,
  tenant_id: string,
  given: NewDecision,
): Promise<DecisionDraft> {
  const signer = findSigner(kernel)
  if (!signer) throw new Refusal('no_signing_key')
  return {
    kernel,
    tenant_id,
    given,
    named: await prepareFacts(kernel, tenant_id, given),
    keys: await kernel.keyring.tenant(tenant_id),
    signer,
    own: await recordSecrets(kernel).take(tenant_id),
    identity: createIdentity({ kernel, tenant_id, given, signer }),
  }
}

/**
 * Logs the decision in the caller's unit of work. Throws a conflict: `decision_id`, or
 * `erasure_under_way` while a memory that it names is being erased.
 */
export async function logDecision(tx: Tx, draft: DecisionDraft): Promise<Decision> {
  const facts = await resolveFacts(tx, draft.named)
  return appendDecision(tx, { ...draft, facts, seq: await nextSeq(tx) })
}

/** Fields with two names. */
const ALIASES = [
  ['output', 'raw_output'],
  ['retrieved_refs', 'retrieved_fact_refs'],
  ['retrieved_scores', 'retrieval_scores'],
  ['token_count', 'output_tokens'],
] as const

/** If both names had values, one would be signed and the other lost. */
function refuseContradictions(call: Call<typeof decisions.log>, body: LogDecisionRequest): void {
  for (const [name, alias] of ALIASES) {
    const [value, other] = [body[name], body[alias]]
    if (value == null || other == null || isDeepStrictEqual(value, other)) continue
    const msg = `differs from \`${name}\`, which is the same field`
    call.refuse('validation', undefined, {
      detail: [{ loc: ['body', alias], msg, type: 'value_error' }],
    })
  }
}

function readLogRequest(call: Call<typeof decisions.log>, body: LogDecisionRequest): NewDecision {
  refuseContradictions(call, body)
  const output = body.output ?? body.raw_output
  if (output === undefined)
    return call.refuse('validation', undefined, {
      detail: [{ loc: ['body', 'output'], msg: 'Field required', type: 'missing' }],
    })
  const refs = body.retrieved_refs ?? body.retrieved_fact_refs ?? []
  const contents = body.retrieved_contents ?? []
  const scores = body.retrieved_scores ?? body.retrieval_scores ?? []
  refuseLengths(call, refs.length, { retrieved_contents: contents, retrieved_scores: scores })
  const { store_id, model_id, query, parameters = null } = body
  refuseSizes(call, query, parameters)
  const allowed = call.principal.allowed_stores
  if (allowed.length > 0 && !allowed.includes(store_id)) call.refuse('store_not_found')
  return {
    store_id,
    model_id,
    query,
    output,
    session_id: body.session_id ?? null,
    refs,
    contents,
    scores,
    token_count: body.token_count ?? body.output_tokens ?? null,
    latency_ms: body.latency_ms ?? null,
    parameters,
    memory_seq: body.memory_seq ?? null,
  }
}

function refuseLengths(
  call: Call<typeof decisions.log>,
  refs: number,
  arrays: Readonly<Record<string, readonly unknown[]>>,
): void {
  for (const [name, items] of Object.entries(arrays))
    if (items.length > 0 && items.length !== refs)
      call.refuse('lengths_differ', `${name} has ${items.length} items for ${refs} refs`)
}

function refuseSizes(
  call: Call<typeof decisions.log>,
  query: string,
  parameters: JsonObject | null,
): void {
  if (Buffer.byteLength(query) > limits.query_bytes)
    call.refuse('rejected', `query is longer than ${limits.query_bytes} bytes`)
  if (parameters === null) return
  if (Buffer.byteLength(JSON.stringify(parameters)) > limits.metadata_bytes)
    call.refuse('rejected', `parameters are longer than ${limits.metadata_bytes} bytes`)
}
