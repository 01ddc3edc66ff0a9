// A batch of memories embedded again: opened, given vectors, sealed anew, put back if unchanged.

import assert from 'node:assert/strict'
import { EmbedderRefused, EmbedderUnavailable } from '../../../platform/embed/embedder.ts'
import type { Space } from '../../../platform/embed/embedders.ts'
import type { Kernel } from '../../../platform/kernel.ts'
import { appendCrumb } from '../../gcrumbs/index.ts'
import { embedInSteps, runningEmbeddings } from '../facts/embeddings.ts'
import { sealFactDocument } from '../facts/fact-document.ts'
import { type FactRow, findFactHeads, LIVE } from '../facts/facts.sql.ts'
import { type FactWithVector, openFactRows } from '../facts/opened-fact.ts'
import { listFactsToEmbed, updateSealed } from '../facts/vectors.sql.ts'
import { storeIndexes } from '../index/store-indexes.ts'
import { advanceStoreHead, loadStoreHead } from '../stores/store-heads.ts'
import { parseStoreSettings } from '../stores/store-settings.ts'

const BATCH = 128

export interface BatchTarget {
  readonly tenant_id: string
  readonly store_id: string
  readonly embedder: string
  readonly space: Space
}

export interface BatchEnd {
  readonly embedded: number
  /** The last ref looked at; null: the store has no more, or goes by another embedder now. */
  readonly last: number | null
  /** Why none of it has been embedded; null: it has. */
  readonly failure: EmbedderFailure | null
}

export type EmbedderFailure = EmbedderUnavailable | EmbedderRefused

/** The next facts after `after` that lack a vector of the target's space. */
export async function embedBatch(
  kernel: Kernel,
  target: BatchTarget,
  after: number,
): Promise<BatchEnd> {
  const { tenant_id, store_id, space } = target
  const rows = await kernel.db.read(tenant_id, (db) =>
    listFactsToEmbed(db, store_id, { mark: space.mark, after, limit: BATCH }),
  )
  const last = rows.at(-1)
  if (!last) return { embedded: 0, last: null, failure: null }
  const resealed = await reseal(kernel, target, rows).catch(failureOf)
  if (!Array.isArray(resealed)) return { embedded: 0, last: last.ref, failure: resealed }
  await kernel.step('reembed:sealed')
  const embedded = await putBack(kernel, target, resealed)
  await kernel.step('reembed:stored')
  return { embedded: embedded ?? 0, last: embedded === null ? null : last.ref, failure: null }
}

function failureOf(error: unknown): EmbedderFailure {
  if (error instanceof EmbedderUnavailable || error instanceof EmbedderRefused) return error
  throw error
}

interface Resealed {
  readonly fact: FactWithVector
  readonly vector: Int8Array
  readonly sealed: Buffer
}

async function reseal(
  kernel: Kernel,
  target: BatchTarget,
  rows: readonly FactRow[],
): Promise<Resealed[]> {
  const { tenant_id, store_id, space } = target
  const embedder = kernel.embedders.find(target.embedder)
  if (!embedder) throw new Error('a space has its embedder')
  const refs = rows.map(({ ref }) => ref)
  const batch = { tenant_id, store_id, refs }
  // What an erasure interrupts is let go of here, and nothing of it is sealed.
  return runningEmbeddings(kernel).run(batch, async (signal) => {
    const facts = await openFactRows(kernel, tenant_id, rows, {
      onBroken: (ref) => kernel.logger.error('memory.seal_broken', { tenant_id, ref }),
    })
    const contents = facts.map(({ content }) => content)
    const vectors = await embedInSteps(embedder, contents, { patient: true, signal })
    const keys = await kernel.keyring.tenant(tenant_id)
    // Asked again after the wait: a secret destroyed meanwhile is not brought back.
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
 * Puts back those that are live and as they were when they were opened: an erased memory, or one
 * whose erasure has begun, stays as it is. Null: the store goes by another embedder now.
 */
function putBack(
  kernel: Kernel,
  { tenant_id, store_id, embedder, space }: BatchTarget,
  resealed: readonly Resealed[],
): Promise<number | null> {
  return kernel.db.transact(tenant_id, async (tx) => {
    const head = await loadStoreHead(tx, store_id)
    if (head?.state !== 'active' || head.embedder !== embedder) return null
    const heads = await findFactHeads(
      tx,
      resealed.map(({ fact }) => fact.ref),
    )
    const now = new Map(heads.map((row) => [row.ref, row]))
    const same = resealed.filter(({ fact }) => {
      const row = now.get(fact.ref)
      return row?.state === LIVE && row.sealed_seq === fact.sealed_seq
    })
    const refs = same.map(({ fact }) => fact.ref)
    if (refs.length === 0) return 0
    // On the log, so that the store moves on: every index learns of it as of a write.
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
    for (const { fact, sealed } of same) {
      const row = { ref: fact.ref, sealed_seq: seq, space_mark: space.mark, sealed }
      const changed = await updateSealed(tx, { ...row, before_seq: fact.sealed_seq })
      assert.equal(changed, 1, 'what this unit found unchanged is there')
    }
    await advanceStoreHead(tx, store_id, seq)
    const vectors = same.map(({ fact, vector }) => ({ ref: fact.ref, vector }))
    const change = { tenant_id, store_id, from_seq: head.head_seq, to_seq: seq }
    tx.afterCommit(() =>
      storeIndexes(kernel).applyChange({ ...change, facts: [], vectors, closed: [] }),
    )
    return refs.length
  })
}
