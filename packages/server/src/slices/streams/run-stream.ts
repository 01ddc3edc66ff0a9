// GET /v1/orchestrator/runs/{run_id}/stream: the entries of one run, from its first to its last.

import { type streams as contract, eventPayloads } from '@custos/contract'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { eventStream, type Handler } from '../../platform/kernel/call.ts'
import { readLogPage, seqAt } from '../gcrumbs/index.ts'
import { loadRun, refuseLimited } from '../orchestrator/index.ts'
import { entriesOfRun, isEvent, RUN_ENDS } from './frames.ts'
import { openStreams } from './open-streams.ts'
import { parseMark } from './start-position.ts'

const RUN_EVENTS = Object.keys(eventPayloads)
  .filter(isEvent)
  .filter((event) => /^(run|step|tool)\./.test(event))
  .sort()
/** The unit that ends a run appends few entries. */
const END_SPAN = 1_000

export const streamRun: Handler<typeof contract.run> = async (call, { params, query }) => {
  refuseLimited(call)
  const { kernel, tenant_id, principal } = call
  const { run_id } = params
  const last_event_id = call.header('last-event-id')
  const { first_seq, over } = await call.read(async (db) => {
    const run = await loadRun(db, run_id)
    const last = last_event_id || query.from
    return {
      first_seq: Math.max(0, await seqAt(db, run.created_us - 1)),
      over: last !== undefined && (await isAllKnown(db, run, last)),
    }
  })
  if (over) return eventStream({ frames: null, cut: call.gone })
  const stream = openStreams(kernel).open(
    {
      principal,
      tenant_id,
      events: RUN_EVENTS,
      format: query.format ?? 'named',
      from: query.from ?? String(first_seq),
      last_event_id,
      run: { run_id, first_seq },
    },
    call.gone,
  )
  return eventStream({ frames: stream.frames(), cut: stream.cut })
}

/** Whether the frame with this id is the last of a run that has ended, or comes after it. */
async function isAllKnown(
  db: TenantDb,
  { run_id, ended_us }: { readonly run_id: string; readonly ended_us: number | null },
  last: string,
): Promise<boolean> {
  const mark = parseMark(last)
  if (mark === null || ended_us === null) return false
  const first_seq = mark.seq + 1
  if (first_seq <= (await seqAt(db, ended_us - 1))) return false
  const page = await readLogPage(db, { first_seq, limit: END_SPAN, events: RUN_ENDS })
  const { generation, size } = page.end
  if (mark.generation !== generation || first_seq > size) return false
  return entriesOfRun(page.entries, run_id).length === 0
}
