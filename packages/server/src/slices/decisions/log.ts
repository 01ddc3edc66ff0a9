// POST /v1/decisions/log: one decision, identified, signed, sealed, and its digest on the log.

import type { Decision, decisions } from '@custos/contract'
import type { Handler, Once } from '../../platform/call.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import type { Signer } from '../../platform/keys/keyring.ts'
import { KeyringError } from '../../platform/keys/keyring-error.ts'
import { recordSecrets } from '../../platform/record-secrets.ts'
import { appendCrumb, nextSeq } from '../gcrumbs/index.ts'
import { admit, redactedOr } from '../governance/index.ts'
import { meter } from '../tenants/index.ts'
import { type DecisionRow, insertDecision, insertUses } from './decisions.sql.ts'
import { prepareFacts, settleFacts } from './facts-at-log.ts'
import { type LogCall, type NewDecision, readLogRequest } from './log-request.ts'
import { buildDecision, identify, type Placed, type Prepared } from './new-decision.ts'
import { whenSettled } from './open.ts'
import { findShown } from './reads.ts'
import { showDecision } from './show.ts'

const CLASHES_MAX = 8

/** Another decision has this id. */
class IdTaken extends Error {}

/** An older identity is made anew: reads by time rely on the log's time being near. */
const IDENTITY_US_MAX = 30_000_000

type Outcome =
  | { readonly kind: 'logged'; readonly decision: Decision }
  | { readonly kind: 'repeated'; readonly decision_id: string }

export const log: Handler<typeof decisions.log> = async (call, { body }) => {
  const { kernel, tenant_id } = call
  const given = await admitDecision(call, readLogRequest(call, body))
  const signer = findSigner(kernel) ?? call.refuse('no_signing_key')
  const keys = await kernel.keyring.tenant(tenant_id)
  const own = await recordSecrets(kernel).take(tenant_id)
  const beyond = (size: number) =>
    call.refuse('rejected', `memory_seq is beyond the log, which has ${size} entries`)

  const logOnce = async (): Promise<Outcome> => {
    const named = await prepareFacts(kernel, tenant_id, given)
    const identity = identify({ kernel, tenant_id, given, signer })
    const prepared = { kernel, tenant_id, given, named, keys, signer, own, identity }
    return call.once(unitOf(prepared, beyond))
  }
  // A log that names a fact being erased waits until it is known to be gone.
  const outcome = await whenSettled(() => underFreeId(logOnce))
  if (outcome.kind === 'logged') return outcome.decision
  return (await findShown(kernel, tenant_id, outcome.decision_id)) ?? call.refuse('unavailable')
}

/** Redacted where a policy says so, before anything is made of it. */
async function admitDecision(call: LogCall, given: NewDecision): Promise<NewDecision> {
  const { store_id, model_id, query, output, token_count: tokens, session_id, parameters } = given
  const retrieved_contents = given.contents.length === 0 ? null : given.contents
  const asked = { store_id, model_id, query, output, tokens }
  const context = { ...asked, session_id, parameters, retrieved_contents }
  const redactions = await admit(call, 'decision.log', context)
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

function unitOf(prepared: Prepared, beyond: (size: number) => never): Once<Outcome> {
  return {
    async run(tx) {
      const facts = await settleFacts(tx, prepared.named)
      const seq = await nextSeq(tx)
      if ((prepared.given.memory_seq ?? 0) > seq) beyond(seq)
      const decision = await append(tx, { ...prepared, facts, seq })
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

async function append(tx: Tx, placed: Placed): Promise<Decision> {
  const { given, facts, keys, tenant_id, seq } = placed
  const old = tx.now() - placed.identity.logged_us > IDENTITY_US_MAX
  const identity = old ? identify(placed) : placed.identity
  const { row, document, contents } = buildDecision({ ...placed, identity })
  const bound = new Set(facts.bound)
  const uses = facts.refs.map((ref) => ({ ref, bound: bound.has(ref) }))
  const { decision_id } = identity
  // None of these is looked at in this unit: the next one need not wait.
  tx.needs(insertNew(tx, row))
  tx.needs(insertUses(tx, seq, uses))
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

async function insertNew(tx: Tx, row: DecisionRow): Promise<void> {
  if ((await insertDecision(tx, row)) === 'exists') throw new IdTaken()
}

// A clash of ids takes a later microsecond, as the clock never gives one twice.
async function underFreeId<T>(logOnce: () => Promise<T>): Promise<T> {
  for (let clashes = 1; ; clashes += 1) {
    try {
      return await logOnce()
    } catch (error) {
      if (!(error instanceof IdTaken) || clashes === CLASHES_MAX) throw error
    }
  }
}
