// Notifies followers when a tenant's log grows, whichever process appended.

import { listLogEnds } from '../../platform/db/control.sql.ts'
import { type Database, PLATFORM } from '../../platform/db/database.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { findHead, type LogPageOptions, listEntries } from './chain.sql.ts'

/** Poll interval for entries of other processes. */
const POLL_MS = 250
const TENANTS_PER_QUERY = 1_000
/** Maximum number of entries that one page scans, even if it returns fewer. */
const PAGE_SPAN = 10_000

/** How far a log extends; `generation` increases when a backup is restored. */
export interface LogEnd {
  readonly generation: number
  readonly size: number
}

const EMPTY: LogEnd = { generation: 0, size: 0 }

class LogFollowers {
  readonly #db: Database
  readonly #onFault: (error: unknown) => void
  /** `end` is the last known end of the log. */
  readonly #logs = new Map<
    string,
    { readonly listeners: Set<(end: LogEnd) => void>; end: LogEnd | null }
  >()
  #timer: NodeJS.Timeout | undefined
  #polling = false

  constructor(db: Database, onFault: (error: unknown) => void) {
    this.#db = db
    this.#onFault = onFault
  }

  add(tenant_id: string, listener: (end: LogEnd) => void): () => void {
    const log = this.#logs.get(tenant_id) ?? { listeners: new Set(), end: null }
    this.#logs.set(tenant_id, log)
    log.listeners.add(listener)
    if (this.#db.shared) this.#timer ??= setInterval(() => void this.#poll(), POLL_MS).unref()
    return () => {
      log.listeners.delete(listener)
      if (log.listeners.size > 0 || this.#logs.get(tenant_id) !== log) return
      this.#logs.delete(tenant_id)
      if (this.#logs.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    }
  }

  /** Ignores an end that is behind the known one, as it was read earlier. */
  tell(tenant_id: string, end: LogEnd): void {
    const log = this.#logs.get(tenant_id)
    if (!log) return
    const known = log.end
    if (known && known.generation >= end.generation && known.size >= end.size) return
    log.end = end
    for (const listener of [...log.listeners]) listener(end)
  }

  async #poll(): Promise<void> {
    if (this.#polling) return
    this.#polling = true
    try {
      const tenants = [...this.#logs.keys()]
      for (let at = 0; at < tenants.length; at += TENANTS_PER_QUERY) {
        const some = tenants.slice(at, at + TENANTS_PER_QUERY)
        const ends = await this.#db.read(PLATFORM, (db) => listLogEnds(db, some))
        for (const { tenant_id, ...end } of ends) this.tell(tenant_id, end)
      }
    } catch (error) {
      this.#onFault(error)
    } finally {
      this.#polling = false
    }
  }
}

// Keyed by database, because a commit knows only its database.
const followers = new WeakMap<object, LogFollowers>()

/** Called by the commit of an appended entry. */
export function tellFollowers(db: object, tenant_id: string, end: LogEnd): void {
  followers.get(db)?.tell(tenant_id, end)
}

/**
 * Calls `onGrowth` whenever the tenant's log has grown: at once for entries of this process, within
 * 250 ms for those of others. Several commits may cause one call, and some calls have no cause. A
 * follower reads the log after this call, and from its last position after each `onGrowth`.
 * `onGrowth` must return at once and not throw. Returns the function that stops following.
 */
export function followLog(
  { db, logger }: Pick<Kernel, 'db' | 'logger'>,
  tenant_id: string,
  onGrowth: (end: LogEnd) => void,
): () => void {
  let known = followers.get(db)
  if (!known) {
    known = new LogFollowers(db, (error) =>
      logger.error('log.follow_failed', {
        reason: error instanceof Error ? error.name : 'unknown',
      }),
    )
    followers.set(db, known)
  }
  return known.add(tenant_id, onGrowth)
}

export interface LogPage {
  readonly entries: Awaited<ReturnType<typeof listEntries>>
  /** The position of the next page; everything before it has been scanned. */
  readonly next_seq: number
  /** End of the log in the same snapshot. Nothing is left once `next_seq` equals its size. */
  readonly end: LogEnd
}

/**
 * Returns at most `limit` entries from `first_seq` on, oldest first. Scans a bounded number of
 * entries, so a page may be empty although more follow.
 */
export async function readLogPage(
  db: TenantDb,
  { first_seq, limit, events }: LogPageOptions,
): Promise<LogPage> {
  const { generation, size } = (await findHead(db)) ?? EMPTY
  const end = { generation, size }
  if (first_seq >= size) return { entries: [], next_seq: size, end }
  const end_seq = Math.min(size, first_seq + PAGE_SPAN)
  const entries = await listEntries(db, { first_seq, limit, events }, end_seq)
  const last = entries.length < limit ? undefined : entries.at(-1)
  return { entries, next_seq: last ? last.seq + 1 : end_seq, end }
}
