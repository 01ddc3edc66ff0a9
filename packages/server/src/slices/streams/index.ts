// Event streams: their handlers, the tickets that the edge redeems, and the end of all streams.

import { hash } from 'node:crypto'
import {
  type streams as contract,
  type EventStreamReply,
  type EventType,
  eventPayloads,
  limits,
  type streams,
} from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import { deleteExpiredTickets, insertTicket, takeTicket } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import {
  type Call,
  eventStream,
  type Handler,
  type HandlersOf,
} from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { validationDetail } from '../../platform/validation.ts'
import { readLogPage, seqAt } from '../gcrumbs/index.ts'
import { loadNewest, loadRun, mayReadTexts, refuseLimited } from '../orchestrator/index.ts'
import { meter } from '../tenants/index.ts'
import { entriesOfRun, isEvent, RUN_ENDS } from './frames.ts'
import { openStreams } from './open-streams.ts'
import { parseMark } from './start-position.ts'

/** At least 256 bits of base64url. */
const TICKET_CHARS = 43
const SECOND_US = 1_000_000

const hashTicket = (ticket: string): Buffer => hash('sha256', ticket, 'buffer')

const createTicket: Handler<typeof contract.ticket> = async (call, { body }) => {
  const { kernel, principal, tenant_id } = call
  const ticket = kernel.ids.base62(TICKET_CHARS)
  const ttl_us = (body.ttl_s ?? limits.ticket_ttl_s.default) * SECOND_US
  const expires_us = await call.transact(async (tx) => {
    const until_us = tx.now() + ttl_us
    await insertTicket(tx, {
      ticket_hash: hashTicket(ticket),
      tenant_id,
      key_id: principal.key_id,
      path: body.path,
      session_id: principal.session?.session_id ?? null,
      expires_us: until_us,
    })
    meter(tx, call.operation.id)
    return until_us
  })
  return { ticket, expires_at: formatTime(expires_us) }
}

/**
 * Consumes a ticket and returns what issued it. Returns `null` if the ticket does not exist, was
 * used, has expired, or is for another path.
 */
export async function redeemTicket(
  kernel: Kernel,
  ticket: string,
  path: string,
): Promise<{ readonly key_id: string; readonly session_id: string | null } | null> {
  const ticket_hash = hashTicket(ticket)
  const taken = await kernel.db.transact(PLATFORM, (tx) => takeTicket(tx, ticket_hash))
  if (taken === null || taken.path !== path) return null
  return kernel.clock.now() < taken.expires_us ? taken : null
}

/** Deletes expired tickets. */
export const sweepTickets = (kernel: Kernel): Promise<number> =>
  kernel.db.transact(PLATFORM, (tx) => deleteExpiredTickets(tx, kernel.clock.now()))

const RUN_EVENTS = Object.keys(eventPayloads)
  .filter(isEvent)
  .filter((event) => /^(run|step|tool)\./.test(event))
  .sort()
/** Log entries searched after the last frame; the unit of work that ends a run appends fewer. */
const END_SPAN = 1_000

const streamRun: Handler<typeof contract.run> = (call, { params, query }) => {
  refuseLimited(call)
  const last = call.header('last-event-id') || query.from || null
  return openRun(call, params.run_id, { ...query, last })
}

/** A client with frames of an earlier run gets all frames of the newest run. */
const streamWorkflow: Handler<typeof contract.workflow> = async (call, given) => {
  refuseLimited(call)
  const { params, query } = given
  const { run_id } = await loadNewest(call, params.workflow_id)
  const said = call.header('last-event-id') || query.from || null
  const last = await call.read(async (db) => ((await isOf(db, run_id, said)) ? said : null))
  return openRun(call, run_id, { ...query, last })
}

/** Whether the frame with this id belongs to the run. */
async function isOf(db: TenantDb, run_id: string, last: string | null): Promise<boolean> {
  const mark = last === null ? null : parseMark(last)
  if (mark === null || mark.seq < 0) return false
  const page = await readLogPage(db, { first_seq: mark.seq, limit: 1, events: RUN_EVENTS })
  return entriesOfRun(page.entries, run_id).some(({ seq }) => seq === mark.seq)
}

/** @param given `last` is the id of the client's last frame, or `null` if it has none */
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

/** Whether the run has ended and the client has its last frame, so nothing is left to send. */
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

const events: Handler<typeof streams.events> = async (call, { query }) => {
  const stream = openStreams(call.kernel).open(
    {
      principal: call.principal,
      tenant_id: call.tenant_id,
      events: query.events === undefined ? null : parseEvents(query.events),
      format: query.format ?? 'named',
      from: query.from ?? 'head',
      last_event_id: call.header('last-event-id'),
      run: null,
    },
    call.gone,
  )
  return eventStream({ frames: stream.frames(), cut: stream.cut })
}

/** Sorts the names, so that streams with the same events share their reads. */
function parseEvents(text: string): readonly EventType[] {
  const names = [...new Set(text.split(',').map((name) => name.trim()))].sort()
  if (names.every(isEvent)) return names
  throw validationDetail(['query', 'events'], 'names an event that does not exist', 'value_error')
}

export const streamsHandlers: HandlersOf<typeof streams> = {
  events,
  run: streamRun,
  workflow: streamWorkflow,
  ticket: createTicket,
}

/** Ends every open stream of the process. From then on, no stream opens. */
export const stopStreams = (kernel: Kernel): void => openStreams(kernel).stop()
