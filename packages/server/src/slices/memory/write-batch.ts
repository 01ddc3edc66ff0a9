// POST /v1/stores/{store_id}/write_batch: all contents or none, one entry in the log.

import type { memory } from '@custos/contract'
import type { Handler, Once } from '../../platform/call.ts'
import { meter } from '../tenants/index.ts'
import { admitWrites } from './admit-contents.ts'
import { duplicatesTogether, findDuplicates } from './duplicates.ts'
import { whileIngesting } from './ingestion.ts'
import { insertFacts } from './insert-facts.ts'
import { prepareFacts } from './prepare-facts.ts'
import { readWrite } from './write-request.ts'
import { enterStore, untilStable, writeTarget } from './write-target.ts'

interface BatchIds {
  readonly [key: string]: unknown
  readonly refs: number[]
  readonly duplicates: { index: number; duplicate_of: number }[]
  readonly log_seq: number | null
}

type WriteBatch = typeof memory.write_batch

export const writeBatch: Handler<WriteBatch> = async (call, { params, query, body }) => {
  await writeTarget(call.kernel, call.tenant_id, params.store_id)
  const items = await admitWrites(call, params.store_id, body.items)
  return writeAdmitted(call, { params, query, body: { ...body, items } })
}

const writeAdmitted: Handler<WriteBatch> = (call, { params, body }) =>
  untilStable(async () => {
    const { kernel, tenant_id, operation } = call
    const target = await writeTarget(kernel, tenant_id, params.store_id)
    const intents = body.items.map((item, i) =>
      readWrite(tenant_id, target.settings, item, {
        operation: operation.id,
        loc: ['body', 'items', i],
      }),
    )
    const drafts = intents.map(({ draft }) => draft)

    const found = await findDuplicates(kernel, { tenant_id, ...params }, drafts)
    const author = { tenant_id, principal: call.principal.key_id }
    const facts = await prepareFacts(kernel, author, target.settings, drafts)
    const refs = facts.map((fact) => fact.ref)
    const now_us = kernel.clock.now()
    const isCurrent = (i: number) => (intents[i]?.valid_from_us ?? now_us) <= now_us
    const duplicates = duplicatesTogether(facts, found, isCurrent).flatMap((duplicate_of, index) =>
      duplicate_of === null ? [] : [{ index, duplicate_of }],
    )

    const once: Once<BatchIds> = {
      async run(tx) {
        const head = await enterStore(kernel, tx, target)
        const bytes = facts.reduce((sum, fact) => sum + fact.bytes, 0)
        for (const fact of facts) meter(tx, operation.id, fact.bytes)
        if (facts.length === 0) meter(tx, operation.id, bytes)
        const inserts = facts.map((fact, i) => ({
          fact,
          interval: { valid_from_us: intents[i]?.valid_from_us ?? null, valid_until_us: null },
        }))
        const written = facts.length > 0 ? await insertFacts(kernel, tx, head, inserts) : null
        const ids = { refs, duplicates, log_seq: written?.log_seq ?? null }
        return { reply: ids, ids }
      },
      // Refs, positions and nothing else: the answer is what was kept.
      replay: async (_, ids) => ids as BatchIds,
    }
    const store = { tenant_id, ...params }
    return whileIngesting(kernel, store, facts.length, () => call.once(once))
  })
