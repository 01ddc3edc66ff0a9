// A batch of facts embedded again: opened, embedded, sealed with the new vectors, and stored if the
// rows have not changed.

import assert from 'node:assert/strict'
import { EmbedderRefused, EmbedderUnavailable } from '../../../platform/embed/embedder.ts'
import type { Space } from '../../../platform/embed/embedders.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { appendCrumb } from '../../gcrumbs/index.ts'
import { embedInSteps, runningEmbeddings } from '../facts/embeddings.ts'
import { sealFactDocument } from '../facts/fact-document.ts'
import { type FactRow, findFactHeads, LIVE } from '../facts/facts.sql.ts'
import { searchedText } from '../facts/item-name.ts'
import { type FactWithVector, isExpired, openFactRows } from '../facts/opened-fact.ts'
import { listFactsToEmbed, updateSealed } from '../facts/vectors.sql.ts'
import { storeIndexes } from '../index/store-indexes.ts'
import { advanceStoreHead, loadStoreHead } from '../stores/store-heads.ts'
import { parseStoreSettings } from '../stores/store-settings.ts'

const BATCH = 128

/** A store and the embedding space its vectors are to be in. */
export interface ReembedTarget {
  readonly tenant_id: string
  readonly store_id: string
  readonly embedder: string
  readonly space: Space
}

interface BatchResult {
  readonly embedded: number
  /** The last ref processed; null: the store has no more facts, or another embedder by now. */
  readonly last: number | null
  /** Why the batch was not embedded; null: it was. */
  readonly failure: EmbedderFailure | null
}

export type EmbedderFailure = EmbedderUnavailable | EmbedderRefused

/** Embeds the next facts with ref > `after` that have no vector of the target's space. */
export async function embedBatch(
  kernel: Kernel,
  target: ReembedTarget,
  after: number,
): Promise<BatchResult> {
  const { tenant_id, store_id, space } = target
  const rows = await kernel.db.read(tenant_id, (db) =>
    listFactsToEmbed(db, store_id, { mark: space.mark, after, limit: BATCH }),
  )
  const last = rows.at(-1)
  if (!last) return { embedded: 0, last: null, failure: null }
  const resealed = await resealFacts(kernel, target, rows).catch(toEmbedderFailure)
  if (!Array.isArray(resealed)) return { embedded: 0, last: last.ref, failure: resealed }
  await kernel.step('reembed:sealed')
  const embedded = await storeResealed(kernel, target, resealed)
  await kernel.step('reembed:stored')
  return { embedded: embedded ?? 0, last: embedded === null ? null : last.ref, failure: null }
}

function toEmbedderFailure(error: unknown): EmbedderFailure {
  if (error instanceof EmbedderUnavailable || error instanceof EmbedderRefused) return error
  throw error
}

interface ResealedFact {
  readonly fact: FactWithVector
  readonly vector: Int8Array
  readonly sealed: Buffer
}

async function resealFacts(
  kernel: Kernel,
  target: ReembedTarget,
  rows: readonly FactRow[],
): Promise<ResealedFact[]> {
  const { tenant_id, store_id, space } = target
  const embedder = kernel.embedders.find(target.embedder)
  if (!embedder) throw new Error('a space has its embedder')
  const refs = rows.map(({ ref }) => ref)
  const batch = { tenant_id, store_id, refs }
  // An erasure interrupts the run: nothing of the batch is sealed.
  return runningEmbeddings(kernel).run(batch, async (signal) => {
    const opened = await openFactRows(kernel, tenant_id, rows, {
      onBroken: (ref) => kernel.logger.error('memory.seal_broken', { tenant_id, ref }),
    })
    // An embedder may be a service elsewhere: nothing that has expired is sent there.
    const facts = opened.filter((fact) => !isExpired(fact, kernel.clock.now()))
    const contents = facts.map(({ document }) => searchedText(document))
    const vectors = await embedInSteps(embedder, contents, { patient: true, signal })
    const keys = await kernel.keyring.tenant(tenant_id)
    // Read again after the wait: a secret destroyed meanwhile is not restored.
    const secrets = await kernel.keyring.secrets(tenant_id, 'fact', refs)
    return facts.flatMap((fact, i) => {
      const [vector, secret] = [vectors[i], secrets.get(fact.ref)]
      if (!vector || !secret) return []
      const document = { ...fact.document, space: space.name }
      const owner = { tenant_id, store_id, ref: fact.ref, secret }
      return [{ fact, vector, sealed: sealFactDocument(keys, owner, { document, vector }) }]
    })
  })
}

/**
 * Stores the facts that are live and unchanged since they were opened; facts that are erased or
 * being erased are left alone. Null: the store has another embedder by now.
 */
function storeResealed(
  kernel: Kernel,
  { tenant_id, store_id, embedder, space }: ReembedTarget,
  resealed: readonly ResealedFact[],
): Promise<number | null> {
  return kernel.db.transact(tenant_id, async (tx) => {
    const head = await loadStoreHead(tx, store_id)
    if (head?.state !== 'active' || head.embedder !== embedder) return null
    const heads = await findFactHeads(
      tx,
      resealed.map(({ fact }) => fact.ref),
    )
    const now = new Map(heads.map((row) => [row.ref, row]))
    const unchanged = resealed.filter(({ fact }) => {
      const row = now.get(fact.ref)
      return row?.state === LIVE && row.sealed_seq === fact.sealed_seq
    })
    const refs = unchanged.map(({ fact }) => fact.ref)
    if (refs.length === 0) return 0
    // A log entry advances the store's log position: every index applies the change as a write.
    const { seq } = await appendCrumb(tx, {
      event_type: 'store.reembedded',
      subject: store_id,
      payload: {
        embedder: parseStoreSettings(head).embedder,
        count: refs.length,
        first_ref: Math.min(...refs),
        last_ref: Math.max(...refs),
      },
    })
    for (const { fact, sealed } of unchanged) {
      const row = { ref: fact.ref, sealed_seq: seq, space_mark: space.mark, sealed }
      const changed = await updateSealed(tx, { ...row, before_seq: fact.sealed_seq })
      assert.equal(changed, 1, 'what this unit found unchanged is there')
    }
    await advanceStoreHead(tx, store_id, seq)
    const vectors = unchanged.map(({ fact, vector }) => ({ ref: fact.ref, vector }))
    const change = { tenant_id, store_id, from_seq: head.head_seq, to_seq: seq }
    tx.afterCommit(() =>
      storeIndexes(kernel).applyChange({ ...change, facts: [], vectors, closed: [] }),
    )
    return refs.length
  })
}
