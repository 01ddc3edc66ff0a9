// Appends to a tenant's log inside a unit of work: sequence number, link, leaf and tree together.

import assert from 'node:assert/strict'
import { type EventPayload, type EventType, eventPayloads } from '@custos/contract'
import {
  appendLeaf,
  canonicalize,
  decodeFrontier,
  EMPTY_FRONTIER,
  encodeFrontier,
  type Frontier,
  type Json,
} from '@custos/proof'
import { Compile } from 'typebox/compile'
import { sha256 } from '../../platform/bytes.ts'
import { formatTime } from '../../platform/clock.ts'
import type { SharedSlot, Tx } from '../../platform/db/tenant-db.ts'
import { Refusal } from '../../platform/refusal.ts'
import { findOpenHead, insertCrumbs, insertNode, STORED_HEIGHTS, upsertHead } from './chain.sql.ts'
import { tellFollowers } from './follow.ts'

/** The head of a tenant's log. `generation` increases when a restore forces a new origin. */
interface ChainHead {
  readonly generation: number
  readonly frontier: Frontier
  readonly last_id: Uint8Array
  readonly last_us: number
  /** Whether the tenant is being off-boarded. */
  readonly closed: boolean
  /** Whether a unit of the commit changed the head; if not, it was only read. */
  readonly changed: boolean
}

const LEAF_PREFIX = Uint8Array.of(0)

const EMPTY: ChainHead = {
  generation: 0,
  frontier: EMPTY_FRONTIER,
  last_id: new Uint8Array(32),
  last_us: 0,
  closed: false,
  changed: false,
}

const chainSlot: SharedSlot<ChainHead> = {
  name: 'chain',
  async flush(tx, head) {
    if (!head.changed) return
    await upsertHead(tx, {
      generation: head.generation,
      size: head.frontier.size,
      frontier: encodeFrontier(head.frontier),
      last_id: head.last_id,
      last_us: head.last_us,
    })
  },
  committed(tenant_id, { generation, frontier, changed }, db) {
    if (changed) tellFollowers(db, tenant_id, { generation, size: frontier.size })
  },
}

/** The head as this unit of work sees it. The units of one commit read it once. */
export async function loadHead(tx: Tx): Promise<ChainHead> {
  const known = tx.shared.get(chainSlot)
  if (known) return known
  const row = await findOpenHead(tx)
  // Another part of the unit may have loaded it meanwhile.
  const quicker = tx.shared.get(chainSlot)
  if (quicker) return quicker
  const head = row
    ? {
        closed: row.destroyed !== null,
        changed: false,
        generation: row.generation,
        frontier: decodeFrontier(row.frontier),
        last_id: row.last_id,
        last_us: row.last_us,
      }
    : EMPTY
  tx.shared.set(chainSlot, head)
  return head
}

/** Refuses further entries in this commit, because the tenant is being off-boarded. */
export async function refuseEntries(tx: Tx): Promise<void> {
  tx.shared.set(chainSlot, { ...(await loadHead(tx)), closed: true })
}

const validators = new Map<EventType, { Check(value: unknown): boolean }>()

// The schema is closed, so no text of a caller can enter a log that is never erased.
function assertPayload(event_type: EventType, payload: unknown): void {
  let validator = validators.get(event_type)
  if (!validator) {
    validator = Compile(eventPayloads[event_type])
    validators.set(event_type, validator)
  }
  assert(validator.Check(payload), `payload of ${event_type} is not what its schema says`)
}

// A unit that was in flight when the tenant was off-boarded is refused.
function assertOpen({ closed }: ChainHead, event_type: EventType): void {
  if (!closed || event_type === 'tenant.destroyed' || event_type === 'log.restored') return
  throw new Refusal('unauthenticated', 'the tenant was off-boarded')
}

/**
 * Appends one log entry and returns its sequence number and time. Call it late in a unit: on a
 * shared database it takes the tenant's head lock.
 * @param crumb.subject an id we minted: a store, decision, certificate, key
 */
export async function appendCrumb<E extends EventType>(
  tx: Tx,
  crumb: { readonly event_type: E; readonly subject: string; readonly payload: EventPayload<E> },
): Promise<{ seq: number; created_us: number }> {
  assertPayload(crumb.event_type, crumb.payload)
  const head = await loadHead(tx)
  assertOpen(head, crumb.event_type)
  const seq = head.frontier.size
  const created_us = Math.max(tx.now(), head.last_us + 1)
  const record = canonicalize({
    tenant_id: tx.tenant_id,
    seq,
    event_type: crumb.event_type,
    subject: crumb.subject,
    payload: crumb.payload as Json,
    prev_id: Buffer.from(head.last_id).toString('hex'),
    created_at: formatTime(created_us),
  })
  const leaf = sha256(Buffer.concat([LEAF_PREFIX, Buffer.from(record)]))
  // Nothing in this unit reads the entry, so the next statement need not wait for it.
  tx.gather(insertCrumbs, [{ seq, breadcrumb_id: leaf, record }])
  const frontier = appendLeaf(head.frontier, leaf, {
    hash: sha256,
    onNode: (height, idx, hash) => {
      if (STORED_HEIGHTS.some((stored) => stored === height))
        tx.needs(insertNode(tx, { height, idx, hash }))
    },
  })
  tx.shared.set(chainSlot, {
    ...head,
    changed: true,
    frontier,
    last_id: leaf,
    last_us: created_us,
  })
  return { seq, created_us }
}

/** Continues the log under a new origin after a restore (design 5, Backups). */
export async function raiseGeneration(tx: Tx, generation: number): Promise<void> {
  const head = await loadHead(tx)
  tx.shared.set(chainSlot, { ...head, changed: true, generation })
}

/** The seq that the next entry of this unit will get: the transaction time of its rows. */
export async function nextSeq(tx: Tx): Promise<number> {
  return (await loadHead(tx)).frontier.size
}
