// Tickets: a browser opens a stream without sending an API key.

import { hash } from 'node:crypto'
import { type streams as contract, limits } from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import { deleteExpiredTickets, insertTicket, takeTicket } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { Handler } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { meter } from '../tenants/index.ts'

/** 256 bits and more. */
const TICKET_CHARS = 43
const SECOND_US = 1_000_000

const hashTicket = (ticket: string): Buffer => hash('sha256', ticket, 'buffer')

export const createTicket: Handler<typeof contract.ticket> = async (call, { body }) => {
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
 * What made the ticket, which is used up by this; null: there is no such ticket, it was used or has
 * expired, or it is for another path.
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

/** Removes tickets nobody used. */
export const sweepTickets = (kernel: Kernel): Promise<number> =>
  kernel.db.transact(PLATFORM, (tx) => deleteExpiredTickets(tx, kernel.clock.now()))
