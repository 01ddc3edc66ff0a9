// Builds a new decision: its identity and signature, the memories it names, its document and its
// row.

import { randomFillSync } from 'node:crypto'
import type { JsonObject } from '@custos/contract'
import { formatTime } from '../../../platform/clock.ts'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import type { RecordSecret } from '../../../platform/kernel/record-secrets.ts'
import type { Signer, TenantKeys } from '../../../platform/keys/keyring.ts'
import { areLive, loadContents, loadFactStates, REFS_AT_ONCE } from '../../memory/index.ts'
import type { DecisionRow } from './decisions.sql.ts'
import { type DecisionDocument, sealDocument } from './document.ts'
import { decisionIdBytes, recordDigestOf } from './identity.ts'
import { erasureConflict } from './open.ts'
import { MARKER } from './redact-text.ts'

const SALT_BYTES = 32
const SALTS_AT_ONCE = 256

/** Everything prepared before the unit of work starts. */
export interface DecisionDraft {
  readonly kernel: Kernel
  readonly tenant_id: string
  readonly given: NewDecision
  readonly named: PreparedFacts
  readonly keys: TenantKeys
  readonly signer: Signer
  readonly own: RecordSecret
  readonly identity: ReturnType<typeof createIdentity>
}

/** Adds what only the unit of work knows: the memories' states and the log position. */
export interface DecisionAtLog extends DecisionDraft {
  readonly facts: FactsAtLog
  readonly seq: number
}

/** Signs outside the unit of work, which must not wait for a key. */
export function createIdentity(
  parts: Pick<DecisionDraft, 'kernel' | 'tenant_id' | 'given' | 'signer'>,
) {
  const { kernel, tenant_id, given, signer } = parts
  const logged_us = kernel.clock.now()
  const timestamp = formatTime(logged_us)
  const { store_id, model_id, query } = given
  const id = decisionIdBytes({ tenant_id, store_id, model_id, query, timestamp })
  const signature = signer.sign(id).toString('base64')
  return { id, decision_id: id.toString('hex'), logged_us, timestamp, signature }
}

export function buildDecision(placed: DecisionAtLog) {
  const { tenant_id, given, facts, keys, own, identity, seq } = placed
  const memory_seq = given.memory_seq ?? seq
  const contents = contentsToShow(given, facts)
  const document = buildDocument(placed, contents, memory_seq)
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
  const row: DecisionRow = {
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

function buildDocument(
  { tenant_id, given, named, facts, signer, identity }: DecisionAtLog,
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

// A pool of random bytes for 256 salts: one system call costs as much as all hashes of a decision.
const salts = Buffer.alloc(SALT_BYTES * SALTS_AT_ONCE)
let saltsUsed = salts.length

function takeSalt(): Buffer {
  if (saltsUsed === salts.length) {
    randomFillSync(salts)
    saltsUsed = 0
  }
  const salt = Buffer.from(salts.subarray(saltsUsed, saltsUsed + SALT_BYTES))
  // Wipes the salt: one left in the pool could be read from the heap after its decision is
  // scrubbed.
  salts.fill(0, saltsUsed, saltsUsed + SALT_BYTES)
  saltsUsed += SALT_BYTES
  return salt
}

/** What is read before the unit of work, which must not wait for it. */
export interface PreparedFacts {
  /** Distinct refs of the record, ascending. */
  readonly refs: readonly number[]
  readonly secrets: ReadonlyMap<number, Buffer | null>
  /** Stored contents by ref; `null` if the request gave no contents to compare. */
  readonly stored: ReadonlyMap<number, string> | null
  /** Whether facts with a secret are assumed to be live; the unit checks this before the commit. */
  readonly assumesLive?: boolean
}

interface FactsAtLog {
  /** Distinct refs of the record, ascending. */
  readonly refs: readonly number[]
  /** Refs of live facts, ascending; their secrets, in this order, are part of the key. */
  readonly bound: readonly number[]
  readonly secrets: readonly Buffer[]
  readonly gone: readonly number[]
}

export async function prepareFacts(
  kernel: Kernel,
  tenant_id: string,
  { refs, contents }: Pick<NewDecision, 'refs' | 'contents'>,
): Promise<PreparedFacts> {
  if (refs.length === 0) return { refs, secrets: new Map(), stored: null }
  const distinct = [...new Set(refs)].sort((a, b) => a - b)
  const stored = contents.length === 0 ? null : await loadContents(kernel, tenant_id, distinct)
  const secrets = await kernel.keyring.secrets(tenant_id, 'fact', distinct)
  return { refs: distinct, secrets, stored }
}

/**
 * Resolves the facts inside the unit of work. Throws a conflict `erasure_under_way` if one is being
 * erased, is not live as assumed, or appeared after they were prepared; the caller then prepares
 * again.
 */
export async function resolveFacts(tx: Tx, prepared: PreparedFacts): Promise<FactsAtLog> {
  const { refs, stored } = prepared
  if (refs.length === 0) return { refs, bound: [], secrets: [], gone: [] }
  const assumed = assumeLive(tx, prepared)
  if (assumed) return assumed
  const states = await loadFactStates(tx, refs)
  const [bound, secrets, gone] = [[] as number[], [] as Buffer[], [] as number[]]
  for (const ref of refs) {
    const state = states.get(ref)
    if (state === 'erasing') throw erasureConflict()
    if (state === 'erased') gone.push(ref)
    const secret = prepared.secrets.get(ref)
    // A memory whose secret was lost with a keyring cannot be read: its ref is only a label.
    if (state !== 'live' || !secret) continue
    if (stored !== null && !stored.has(ref)) throw erasureConflict()
    bound.push(ref)
    secrets.push(secret)
  }
  return { refs, bound, secrets, gone }
}

/**
 * On a remote database the check of the facts is sent together with the unit's other statements.
 * Returns `null` if the facts must be read first.
 */
function assumeLive(tx: Tx, { refs, secrets, stored, assumesLive }: PreparedFacts) {
  // The check must be one statement: a second one would be sent after the unit.
  if (!assumesLive || refs.length > REFS_AT_ONCE) return null
  const all = refs.flatMap((ref) => secrets.get(ref) ?? [])
  const isMissing = all.length < refs.length || refs.some((ref) => stored?.has(ref) === false)
  if (isMissing) return null
  tx.needs(requireLive(tx, refs))
  return { refs, bound: refs, secrets: all, gone: [] }
}

async function requireLive(tx: Tx, refs: readonly number[]): Promise<void> {
  if (!(await areLive(tx, refs))) throw erasureConflict()
}

/** Contents as the record shows them, with the marker for each erased ref. */
function contentsToShow(
  { refs, contents }: Pick<NewDecision, 'refs' | 'contents'>,
  { gone }: FactsAtLog,
): string[] {
  if (gone.length === 0) return [...contents]
  return contents.map((content, i) => (gone.includes(refs[i] ?? -1) ? MARKER : content))
}

/** Contents as they are stored: a reference if they equal the stored memory. */
function contentsToKeep(
  shown: readonly string[],
  refs: readonly number[],
  { stored }: PreparedFacts,
): (string | true)[] {
  return shown.map((content, i) => (stored?.get(refs[i] ?? -1) === content ? true : content))
}

/** A log request with canonical field names. */
export interface NewDecision {
  readonly store_id: string
  readonly model_id: string
  readonly query: string
  readonly output: string
  readonly session_id: string | null
  readonly refs: readonly number[]
  readonly contents: readonly string[]
  readonly scores: readonly number[]
  readonly token_count: number | null
  readonly latency_ms: number | null
  readonly parameters: JsonObject | null
  /** `null` means the log's size when the decision is appended. */
  readonly memory_seq: number | null
}
