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
import { prepareFacts, settleFacts } from './facts-at-log.ts'
import { readLogRequest } from './log-request.ts'
import {
  type BuiltDecision,
  buildDecision,
  identify,
  type Placed,
  type Prepared,
} from './new-decision.ts'
import { whenSettled } from './open.ts'
import { findShown } from './reads.ts'
import { showDecision } from './show.ts'

const CLASHES_MAX = 8
/** An older identity is made anew: reads by time rely on the log's time being near. */
const IDENTITY_US_MAX = 30_000_000

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
    const named = await prepareFacts(kernel, tenant_id, given)
    const identity = identify({ kernel, tenant_id, given, signer })
    const prepared = { kernel, tenant_id, given, named, keys, signer, own, identity }
    return call.once(unitOf(prepared, beyond))
  }
  // A log that names a fact being erased waits until it is known to be gone.
  const outcome = await whenSettled(logOnce)
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
  const { row, document, contents } = await insertUnderFreshId(tx, placed)
  const bound = new Set(facts.bound)
  const uses = facts.refs.map((ref) => ({ ref, bound: bound.has(ref) }))
  const decision_id = Buffer.from(row.decision_id).toString('hex')
  const crumb = {
    event_type: 'decision.logged' as const,
    subject: decision_id,
    payload: {
      record_digest: document.record_digest,
      store_label: keys.label(given.store_id),
      refs: given.refs.length,
      memory_seq: row.memory_seq,
    },
  }
  // Sent together: on a database across a network they share the way there and back.
  await Promise.all([insertUses(tx, seq, uses), appendCrumb(tx, crumb)])
  meter(tx, 'decisions.log', row.sealed.length)
  return showDecision({ tenant_id, decision_id, row, document, contents })
}

// A clash of ids takes the next microsecond, as the clock never gives one twice.
async function insertUnderFreshId(tx: Tx, placed: Placed): Promise<BuiltDecision> {
  let { identity } = placed
  if (tx.now() - identity.logged_us > IDENTITY_US_MAX) identity = identify(placed)
  for (let clashes = 0; clashes < CLASHES_MAX; clashes += 1) {
    const inserted = buildDecision({ ...placed, identity })
    if ((await insertDecision(tx, inserted.row)) === 'inserted') return inserted
    identity = identify(placed)
  }
  throw new Error('no free decision id')
}
