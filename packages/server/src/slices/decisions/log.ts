// POST /v1/decisions/log: one decision, identified, signed, sealed, and its digest on the log.

import type { Decision, decisions } from '@custos/contract'
import type { Handler, Once } from '../../platform/call.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import type { Signer } from '../../platform/keys/keyring.ts'
import { KeyringError } from '../../platform/keys/keyring-error.ts'
import { recordSecrets } from '../../platform/record-secrets.ts'
import { appendCrumb, nextSeq } from '../gcrumbs/index.ts'
import { meter } from '../tenants/index.ts'
import { insertDecision, insertUses } from './decisions.sql.ts'
import { isUnchanged, loadFactsAtLog } from './facts-at-log.ts'
import { readLogRequest } from './log-request.ts'
import { type BuiltDecision, buildDecision, identify, type Prepared } from './new-decision.ts'
import { findShown } from './reads.ts'
import { showDecision } from './show.ts'

const ATTEMPTS_MAX = 20
const CLASHES_MAX = 8
/** An older identity is made anew: reads by time rely on the log's time being near. */
const IDENTITY_US_MAX = 30_000_000

/** The facts named are no longer what the unit was prepared for. */
class FactsChanged extends Error {}

type Outcome =
  | { readonly kind: 'logged'; readonly decision: Decision }
  | { readonly kind: 'repeated'; readonly decision_id: string }

export const log: Handler<typeof decisions.log> = async (call, { body }) => {
  const { kernel, tenant_id } = call
  const given = readLogRequest(call, body)
  const signer = findSigner(kernel) ?? call.refuse('no_signing_key')
  const keys = await kernel.keyring.tenant(tenant_id)
  const own = await recordSecrets(kernel).take(tenant_id)
  const beyond = (size: number) =>
    call.refuse('rejected', `memory_seq is beyond the log, which has ${size} entries`)

  const logOnce = async (): Promise<Outcome> => {
    const facts = await loadFactsAtLog(kernel, tenant_id, given)
    const identity = identify({ kernel, tenant_id, given, signer })
    const prepared = { kernel, tenant_id, given, facts, keys, signer, own, identity }
    return call.once(unitOf(prepared, beyond))
  }
  const outcome = await untilUnchanged(logOnce)
  if (outcome.kind === 'logged') return outcome.decision
  return (await findShown(kernel, tenant_id, outcome.decision_id)) ?? call.refuse('unavailable')
}

function findSigner(kernel: Kernel): Signer | undefined {
  try {
    return kernel.keyring.signer('decision')
  } catch (error) {
    if (error instanceof KeyringError && error.code === 'no_signing_key') return undefined
    throw error
  }
}

async function untilUnchanged(attempt: () => Promise<Outcome>): Promise<Outcome> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof FactsChanged) || attempts === ATTEMPTS_MAX) throw error
    }
  }
}

function unitOf(prepared: Prepared, beyond: (size: number) => never): Once<Outcome> {
  return {
    async run(tx) {
      if (!(await isUnchanged(tx, prepared.facts))) throw new FactsChanged()
      const seq = await nextSeq(tx)
      if ((prepared.given.memory_seq ?? 0) > seq) beyond(seq)
      const decision = await append(tx, prepared, seq)
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

async function append(tx: Tx, prepared: Prepared, seq: number): Promise<Decision> {
  const { given, facts, keys, tenant_id } = prepared
  const { row, document, contents } = await insertUnderFreshId(tx, prepared, seq)
  const bound = new Set(facts.bound)
  await insertUses(
    tx,
    seq,
    facts.refs.map((ref) => ({ ref, bound: bound.has(ref) })),
  )
  const decision_id = Buffer.from(row.decision_id).toString('hex')
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
  return showDecision({ tenant_id, decision_id, row, document, contents })
}

// A clash of ids takes the next microsecond, as the clock never gives one twice.
async function insertUnderFreshId(tx: Tx, prepared: Prepared, seq: number): Promise<BuiltDecision> {
  let { identity } = prepared
  if (tx.now() - identity.logged_us > IDENTITY_US_MAX) identity = identify(prepared)
  for (let clashes = 0; clashes < CLASHES_MAX; clashes += 1) {
    const inserted = buildDecision({ ...prepared, identity }, seq)
    if ((await insertDecision(tx, inserted.row)) === 'inserted') return inserted
    identity = identify(prepared)
  }
  throw new Error('no free decision id')
}
