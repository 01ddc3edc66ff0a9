// Opens sealed decisions: loads the secrets of their keys and the memories they refer to; and shows
// them. Opened documents are kept in memory, so that a page that is read often is decrypted once.

import type { Decision } from '@custos/contract'
import { toHex, viewBytes } from '../../../platform/bytes.ts'
import { formatTime } from '../../../platform/clock.ts'
import { Conflict, retryOnConflict } from '../../../platform/concurrency.ts'
import type { TenantDb, Tx } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { LruCache } from '../../../platform/lru-cache.ts'
import { yieldBetweenChunks } from '../../../platform/yield-between-chunks.ts'
import { findExpired, loadFactsForErasure, loadLiveFacts } from '../../memory/index.ts'
import { type DecisionRow, updateSealed } from './decisions.sql.ts'
import {
  type DecisionDocument,
  NO_SECRET,
  openDocument,
  readSealed,
  type SealedHead,
} from './document.ts'
import { MARKER } from './redact-text.ts'
import { scrubDocument } from './scrub-document.ts'

export interface OpenedDecision {
  readonly row: DecisionRow
  readonly decision_id: string
  readonly head: SealedHead
  /** The decision's own secret; empty once the decision is redacted. */
  readonly own: readonly Buffer[]
  /** Secrets of the bound facts, in their order. */
  readonly secrets: readonly Buffer[]
  readonly document: DecisionDocument
}

/** An opened decision with its contents filled in. */
export interface ResolvedDecision extends OpenedDecision {
  /** Empty, or one content per ref. */
  readonly contents: readonly string[]
}

const WAIT_MS = 50
const READS_MAX = 101

/** Retries while an erasure is between secret and rows, for at most 5 s; then refuses. */
export const retryWhileErasing = <T>(read: () => Promise<T>): Promise<T> =>
  retryOnConflict(read, {
    on: 'erasure_under_way',
    attempts: READS_MAX,
    pause_ms: WAIT_MS,
    message: 'text of a decision is being erased',
  })

/** A secret of the decision is destroyed, and its scrubbed text is about to be stored. */
export const erasureConflict = (): Conflict => new Conflict('erasure_under_way')

export const isErasureConflict = (error: unknown): boolean =>
  error instanceof Conflict && error.subject === 'erasure_under_way'

/**
 * Opens rows of one tenant. Throws a conflict `erasure_under_way` if a secret is gone.
 * @param options.cached whether to reuse documents that this process has opened before
 */
export async function openRows(
  kernel: Kernel,
  tenant_id: string,
  rows: readonly DecisionRow[],
  { cached = false }: { readonly cached?: boolean } = {},
): Promise<OpenedDecision[]> {
  const { removals } = openedDecisions
  const sealed = rows.map((row) => ({ row, ...readSealed(row.sealed) }))
  const keys = await kernel.keyring.tenant(tenant_id)
  const owns = await kernel.keyring.secrets(
    tenant_id,
    'decision',
    sealed.flatMap(({ head }) => ownSecretNumber(head)),
  )
  const bound = [...new Set(sealed.flatMap(({ head }) => head.bound))]
  const facts =
    bound.length === 0
      ? new Map<number, Buffer | null>()
      : await kernel.keyring.secrets(tenant_id, 'fact', bound)
  return sealed.map(({ row, head, box }) => {
    const decision_id = toHex(row.decision_id)
    const own = ownSecretNumber(head).map((number) => requireSecret(owns.get(number)))
    const secrets = head.bound.map((ref) => requireSecret(facts.get(ref)))
    const opened = { row, decision_id, head, own, secrets }
    const known = cached ? openedDecisions.find(tenant_id, row) : undefined
    if (known) return { ...opened, document: known }
    const key = keys.decisionKey(decision_id, [...own, ...secrets])
    const document = openDocument({ owner: { tenant_id, decision_id }, head, key }, box)
    if (cached) openedDecisions.add(removals, tenant_id, { ...row, document })
    return { ...opened, document }
  })
}

const ownSecretNumber = ({ secret_no }: SealedHead): number[] =>
  secret_no === NO_SECRET ? [] : [secret_no]

function requireSecret(secret: Buffer | null | undefined): Buffer {
  if (secret) return secret
  throw erasureConflict()
}

/** Fills in stored contents for references to them, and the marker for memories that are gone. */
export async function resolveContents(
  kernel: Kernel,
  db: TenantDb,
  opened: readonly OpenedDecision[],
): Promise<ResolvedDecision[]> {
  const referenced = new Set<number>()
  for (const { document } of opened)
    for (const [i, content] of document.contents.entries())
      if (content === true) referenced.add(document.refs[i] ?? -1)
  const facts = referenced.size === 0 ? new Map() : await loadLiveFacts(kernel, db, [...referenced])
  return opened.map((decision) => {
    const { refs, contents } = decision.document
    const shown = contents.map((content, i) =>
      content === true ? (facts.get(refs[i] ?? -1)?.content ?? MARKER) : content,
    )
    return { ...decision, contents: shown }
  })
}

/** Opens rows as they are stored and resolves their contents. */
export const openResolved = async (
  kernel: Kernel,
  db: TenantDb,
  rows: readonly DecisionRow[],
): Promise<ResolvedDecision[]> =>
  resolveContents(kernel, db, await openRows(kernel, db.tenant_id, rows))

/** Same, but hides expired memories. Reads show this form. */
export async function openVisible(
  kernel: Kernel,
  db: TenantDb,
  rows: readonly DecisionRow[],
): Promise<ResolvedDecision[]> {
  // With other processes: one may replace a document, and this cache would keep the erased text.
  const cached = !kernel.db.shared
  const opened = await openRows(kernel, db.tenant_id, rows, { cached })
  return resolveContents(kernel, db, await hideExpired(kernel, db, opened))
}

/** Removes expired memories from the documents, as their erasure will. */
async function hideExpired(
  kernel: Kernel,
  db: TenantDb,
  opened: readonly OpenedDecision[],
): Promise<readonly OpenedDecision[]> {
  const bound = [...new Set(opened.flatMap(({ head }) => head.bound))]
  const expired = await findExpired(db, bound, kernel.clock.now())
  if (expired.size === 0) return opened
  const facts = await loadFactsForErasure(kernel, db, [...expired])
  const pace = yieldBetweenChunks()
  const hidden: OpenedDecision[] = []
  for (const decision of opened) {
    let { document } = decision
    for (const ref of decision.head.bound) {
      if (!expired.has(ref)) continue
      const subject = { ref, content: facts.get(ref)?.content ?? null }
      document = scrubDocument(document, [subject])?.document ?? document
      await pace()
    }
    hidden.push({ ...decision, document })
  }
  return hidden
}

/**
 * A decision's own texts, which its redaction removes: query, output, session, every text, number
 * and key of the parameters, and logged contents of unbound memories. Texts that were removed
 * already are left out.
 */
export function ownTexts({ document, head }: Pick<OpenedDecision, 'document' | 'head'>): string[] {
  const { query, output, session_id, parameters, contents, refs } = document
  const bound = new Set(head.bound)
  const texts = [query, output, session_id ?? '', ...textsIn(parameters)]
  for (const [i, content] of contents.entries())
    if (typeof content === 'string' && !bound.has(refs[i] ?? -1)) texts.push(content)
  return texts.filter((text) => text !== '' && text !== MARKER)
}

/** Every text, number and key in a JSON value. */
export function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  else if (typeof value === 'number') yield String(value)
  else if (Array.isArray(value)) for (const item of value) yield* textsIn(item)
  else if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value)) {
      yield key
      yield* textsIn(item)
    }
}

/** The record (interface 2.1), then the aliases of its fields that have no content. */
export function showDecision({
  tenant_id,
  decision_id,
  row,
  document,
  contents,
}: Pick<ResolvedDecision, 'decision_id' | 'document' | 'contents'> & {
  readonly tenant_id: string
  readonly row: Omit<DecisionRow, 'sealed' | 'decision_id' | 'session_label'>
}): Decision {
  const timestamp = formatTime(row.logged_us)
  const refs = [...document.refs]
  const scores = [...document.scores]
  return {
    decision_id,
    tenant_id,
    store_id: row.store_id,
    session_id: document.session_id,
    model_id: row.model_id,
    query: document.query,
    retrieved_refs: refs,
    retrieved_contents: [...contents],
    retrieved_scores: scores,
    output: document.output,
    token_count: row.token_count,
    latency_ms: row.latency_ms,
    timestamp,
    parameters: document.parameters,
    signature: document.signature,
    public_key: document.public_key,
    key_id: document.key_id,
    record_digest: document.record_digest,
    memory_seq: row.memory_seq,
    log_seq: row.seq,
    redacted: document.redactions.length > 0,
    redactions: document.redactions.map((note) => ({ ...note })),
    created_at: timestamp,
    retrieved_fact_refs: refs,
    retrieval_scores: scores,
    output_tokens: row.token_count,
  }
}

/** Maximum total of sealed bytes. An opened document takes two to three times as much. */
const BYTES_MAX = 8 * 1024 * 1024
/** Size of an entry apart from its document. */
const ENTRY_BYTES = 512

/**
 * Documents are keyed by the exact sealed bytes that they were opened from. The cache does not say
 * whether a document may still be shown: callers must have found its secrets in the keyring.
 */
class OpenedDecisions {
  readonly #entries = new LruCache<
    string,
    { readonly sealed: Uint8Array; readonly document: DecisionDocument }
  >({ max: BYTES_MAX, weigh: ({ sealed }) => ENTRY_BYTES + sealed.length })
  #removals = 0

  /** Read this before loading the secrets, and pass it to `add`. */
  get removals(): number {
    return this.#removals
  }

  find(
    tenant_id: string,
    { decision_id, sealed }: Pick<DecisionRow, 'decision_id' | 'sealed'>,
  ): DecisionDocument | undefined {
    const known = this.#entries.get(keyOf(tenant_id, decision_id))
    return known && viewBytes(known.sealed).equals(sealed) ? known.document : undefined
  }

  /** Does nothing if a decision was removed since `removals` was read: perhaps this one. */
  add(
    removals: number,
    tenant_id: string,
    {
      decision_id,
      sealed,
      document,
    }: Pick<DecisionRow, 'decision_id' | 'sealed'> & { readonly document: DecisionDocument },
  ): void {
    if (removals !== this.#removals) return
    this.#entries.set(keyOf(tenant_id, decision_id), { sealed, document })
  }

  remove(tenant_id: string, decision_id: Uint8Array): void {
    this.#removals += 1
    this.#entries.delete(keyOf(tenant_id, decision_id))
  }

  removeTenant(tenant_id: string): void {
    this.#removals += 1
    for (const [key] of this.#entries.entries())
      if (key.slice(ID_BYTES) === tenant_id) this.#entries.delete(key)
  }

  has(tenant_id: string, decision_id: Uint8Array): boolean {
    return this.#entries.has(keyOf(tenant_id, decision_id))
  }
}

const ID_BYTES = 16
/** The id has a fixed length, so the rest of the key is the tenant. */
const keyOf = (tenant_id: string, decision_id: Uint8Array): string =>
  viewBytes(decision_id).toString('latin1') + tenant_id

/** One cache per process: the code that replaces a sealed document has no kernel. */
export const openedDecisions = new OpenedDecisions()

/** Replaces the sealed document and removes the opened one from the memory of this process. */
export async function replaceSealed(
  tx: Tx,
  { seq, decision_id }: Pick<DecisionRow, 'seq' | 'decision_id'>,
  change: { readonly sealed: Uint8Array; readonly secret_no: number },
): Promise<void> {
  await updateSealed(tx, seq, change)
  tx.afterCommit(() => openedDecisions.remove(tx.tenant_id, decision_id))
}
