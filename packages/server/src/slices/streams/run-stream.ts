// The entries of one run, from its first to its last: of one that is named, and of the newest of
// a workflow.

import { type streams as contract, type EventStreamReply, eventPayloads } from '@custos/contract'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { type Call, eventStream, type Handler } from '../../platform/kernel/call.ts'
import { Refusal } from '../../platform/refusal.ts'
import { readLogPage, seqAt } from '../gcrumbs/index.ts'
import { loadNewest, loadRun, mayReadTexts, refuseLimited } from '../orchestrator/index.ts'
import { entriesOfRun, isEvent, RUN_ENDS } from './frames.ts'
import { openStreams } from './open-streams.ts'
import { parseMark } from './start-position.ts'

const RUN_EVENTS = Object.keys(eventPayloads)
  .filter(isEvent)
  .filter((event) => /^(run|step|tool)\./.test(event))
  .sort()
/** The unit that ends a run appends few entries. */
const END_SPAN = 1_000

export const streamRun: Handler<typeof contract.run> = (call, { params, query }) => {
  refuseLimited(call)
  const last = call.header('last-event-id') || query.from || null
  return openRun(call, params.run_id, { ...query, last })
}

/** A client that has frames of an earlier run gets all of the newest. */
export const streamWorkflow: Handler<typeof contract.workflow> = async (call, given) => {
  refuseLimited(call)
  const { params, query } = given
  const { run_id } = await loadNewest(call, params.workflow_id)
  const said = call.header('last-event-id') || query.from || null
  const last = await call.read(async (db) => ((await isOf(db, run_id, said)) ? said : null))
  return openRun(call, run_id, { ...query, last })
}

/** Whether the frame with this id is one of the run. */
async function isOf(db: TenantDb, run_id: string, last: string | null): Promise<boolean> {
  const mark = last === null ? null : parseMark(last)
  if (mark === null || mark.seq < 0) return false
  const page = await readLogPage(db, { first_seq: mark.seq, limit: 1, events: RUN_EVENTS })
  return entriesOfRun(page.entries, run_id).some(({ seq }) => seq === mark.seq)
}

/** @param given `last`: id of the last frame that the client has; null: it has none */
async function openRun(
  call: Call,
  run_id: string,
  given: Pick<Parameters<typeof streamRun>[1]['query'], 'format' | 'deltas'> & {
    readonly last: string | null
  },
): Promise<EventStreamReply> {
  const { last, format = 'named', deltas = false } = given
  const { kernel, tenant_id, principal } = call
  if (deltas && !mayReadTexts(call))
    throw new Refusal('scope_missing', 'text of answers needs decisions:read')
  const { first_seq, over } = await call.read(async (db) => {
    const run = await loadRun(db, run_id)
    return {
      first_seq: Math.max(0, await seqAt(db, run.created_us - 1)),
      over: last !== null && (await isAllKnown(db, run, last)),
    }
  })
  if (over) return eventStream({ frames: null, cut: call.gone })
  const stream = openStreams(kernel).open(
    {
      principal,
      tenant_id,
      events: RUN_EVENTS,
      format,
      from: String(first_seq),
      last_event_id: last,
      run: { run_id, first_seq, deltas },
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
