// GET /v1/decisions/export: every decision as NDJSON, oldest first, a true stream.

import type { decisions } from '@custos/contract'
import type { Call, Handler } from '../../platform/call.ts'
import { findHead } from '../gcrumbs/index.ts'
import { whenSettled } from './open.ts'
import { showPage } from './reads.ts'
import { whichDecisions } from './which.ts'

const BATCH_ROWS = 50

type ExportCall = Call<typeof decisions.export>
type ExportQuery = Parameters<Handler<typeof decisions.export>>[1]['query']

export const exportDecisions: Handler<typeof decisions.export> = async (call, { query }) => ({
  stream: streamDecisions(call, query),
  filename: `decisions_${call.tenant_id}.ndjson`,
})

/** A line a decision; each batch is read when the reader has taken the one before. */
async function* streamDecisions(call: ExportCall, query: ExportQuery): AsyncGenerator<string> {
  const size = (await call.read(findHead))?.size ?? 0
  for (let after: number | null = -1; after !== null; ) {
    const { shown, next } = await readBatch(call, query, { after, size })
    for (const decision of shown) yield `${JSON.stringify(decision)}\n`
    after = next
  }
}

/** Decisions that were on the log when the export began: one that goes on growing still ends. */
const readBatch = (
  call: ExportCall,
  query: ExportQuery,
  { after, size }: { after: number; size: number },
) =>
  whenSettled(() =>
    call.read(async (db) => {
      const which = await whichDecisions(call.kernel, call.principal, db, query)
      const range =
        which === 'none'
          ? which
          : {
              ...which,
              after_seq: Math.max(which.after_seq ?? -1, after),
              before_seq: Math.min(which.before_seq ?? size, size),
            }
      return showPage(call.kernel, db, range, { order: 'asc', limit: BATCH_ROWS })
    }),
  )
