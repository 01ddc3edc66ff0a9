// Builds a decision: its identity and signature, its sealed document and its row.

import { randomFillSync } from 'node:crypto'
import { formatTime } from '../../platform/clock.ts'
import type { Kernel } from '../../platform/kernel.ts'
import type { Signer, TenantKeys } from '../../platform/keys/keyring.ts'
import type { RecordSecret } from '../../platform/record-secrets.ts'
import type { DecisionRow } from './decisions.sql.ts'
import { type DecisionDocument, sealDocument } from './document.ts'
import {
  contentsToKeep,
  contentsToShow,
  type FactsAtLog,
  type PreparedFacts,
} from './facts-at-log.ts'
import { decisionIdBytes, recordDigestOf } from './identity.ts'
import type { NewDecision } from './log-request.ts'

const SALT_BYTES = 32
const SALTS_AT_ONCE = 256

export interface Identity {
  readonly id: Buffer
  readonly decision_id: string
  readonly logged_us: number
  readonly timestamp: string
  readonly signature: string
}

/** All that is ready before the unit of work starts. */
export interface Prepared {
  readonly kernel: Kernel
  readonly tenant_id: string
  readonly given: NewDecision
  readonly named: PreparedFacts
  readonly keys: TenantKeys
  readonly signer: Signer
  readonly own: RecordSecret
  readonly identity: Identity
}

/** What the unit of work adds: the facts as it finds them, and its place on the log. */
export interface Placed extends Prepared {
  readonly facts: FactsAtLog
  readonly seq: number
}

export interface BuiltDecision {
  readonly row: DecisionRow
  readonly document: DecisionDocument
  readonly contents: readonly string[]
}

/** Signs here, so that the unit of work finds it ready. */
export function identify(
  parts: Pick<Prepared, 'kernel' | 'tenant_id' | 'given' | 'signer'>,
): Identity {
  const { kernel, tenant_id, given, signer } = parts
  const logged_us = kernel.clock.now()
  const timestamp = formatTime(logged_us)
  const { store_id, model_id, query } = given
  const id = decisionIdBytes({ tenant_id, store_id, model_id, query, timestamp })
  const signature = signer.sign(id).toString('base64')
  return { id, decision_id: id.toString('hex'), logged_us, timestamp, signature }
}

export function buildDecision(placed: Placed): BuiltDecision {
  const { tenant_id, given, facts, keys, own, identity, seq } = placed
  const memory_seq = given.memory_seq ?? seq
  const contents = contentsToShow(given, facts)
  const document = documentOf(placed, contents, memory_seq)
  const key = keys.decisionKey(identity.decision_id, [own.secret, ...facts.secrets])
  const sealed = sealDocument(
    {
      owner: { tenant_id, decision_id: identity.decision_id },
      head: { secret_no: own.secret_no, revision: 0, bound: facts.bound },
      key,
    },
    document,
  )
  const { session_id } = given
  const row = {
    seq,
    decision_id: identity.id,
    logged_us: identity.logged_us,
    store_id: given.store_id,
    model_id: given.model_id,
    session_label: session_id === null ? null : Buffer.from(keys.label(session_id), 'hex'),
    secret_no: own.secret_no,
    token_count: given.token_count,
    latency_ms: given.latency_ms,
    memory_seq,
    sealed,
  }
  return { row, document, contents }
}

function documentOf(
  { tenant_id, given, named, facts, signer, identity }: Placed,
  contents: readonly string[],
  memory_seq: number,
): DecisionDocument {
  const salt = takeSalt()
  const { decision_id, timestamp } = identity
  const committed = { ...given, contents, memory_seq, decision_id, tenant_id, timestamp }
  return {
    query: given.query,
    output: given.output,
    session_id: given.session_id,
    parameters: given.parameters,
    refs: given.refs,
    contents: contentsToKeep(contents, given.refs, named),
    scores: given.scores,
    known: facts.bound,
    gone: facts.gone,
    scrubbed: [],
    redactions: [],
    commitment_salt: salt.toString('base64'),
    record_digest: recordDigestOf(committed, salt),
    signature: identity.signature,
    public_key: signer.public_key.toString('base64'),
    key_id: signer.key_id,
  }
}

// Drawn from the system 256 at a time: one call costs as much as all hashes of a decision.
const salts = Buffer.alloc(SALT_BYTES * SALTS_AT_ONCE)
let saltsUsed = salts.length

function takeSalt(): Buffer {
  if (saltsUsed === salts.length) {
    randomFillSync(salts)
    saltsUsed = 0
  }
  const salt = Buffer.from(salts.subarray(saltsUsed, saltsUsed + SALT_BYTES))
  // A salt that is still in the pool could be read from the heap after its decision was scrubbed.
  salts.fill(0, saltsUsed, saltsUsed + SALT_BYTES)
  saltsUsed += SALT_BYTES
  return salt
}
