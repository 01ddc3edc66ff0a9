// Assigns memories to sessions in stores that make digests, and ends digests that are outdated.

import { fromHex } from '../../../platform/bytes.ts'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import type { TenantKeys } from '../../../platform/keys/keyring.ts'
import type { StoreSettings } from '../stores/store-settings.ts'
import { reviseValidity } from './chain-repair.ts'
import { findSession } from './conversation.ts'
import type { FactDraft } from './fact-document.ts'
import {
  deleteDigest,
  deleteExtractedSources,
  deleteSessionFacts,
  insertSessionFacts,
  listDigestsAmong,
  listDigestsUsing,
  listSessionsOf,
  updateSession,
  upsertSession,
} from './session-digests.sql.ts'
import { findCurrentValidity } from './validity.sql.ts'

const SECOND_US = 1_000_000

export interface SessionMark {
  readonly session_mac: Uint8Array
  /** Quiet time of the session before its digest is made. */
  readonly rest_us: number
}

/** The session of a new memory; `null` if it has none or the store makes no digests. */
export function markSession(
  keys: Pick<TenantKeys, 'label'>,
  { store_id, digest_after_s }: StoreSettings,
  { metadata, namespace, digest }: FactDraft,
): SessionMark | null {
  const session = findSession(metadata)
  if (digest_after_s === null || session === null || digest !== undefined) return null
  const name = JSON.stringify([store_id, namespace, session])
  return {
    session_mac: fromHex(keys.label(`session\n${name}`)),
    rest_us: digest_after_s * SECOND_US,
  }
}

/** Adds new memories to their sessions and restarts the quiet time of each. */
export function noteSessionFacts(
  tx: Tx,
  { store_id, seq, now_us }: { store_id: string; seq: number; now_us: number },
  facts: readonly { readonly ref: number; readonly session: SessionMark | null }[],
): void {
  const marked = facts.flatMap(({ ref, session }) => (session ? [{ ref, ...session }] : []))
  if (marked.length === 0) return
  tx.gather(
    insertSessionFacts,
    marked.map(({ ref, session_mac }) => ({ ref, store_id, session_mac })),
  )
  const sessions = new Map(marked.map((one) => [Buffer.from(one.session_mac).toString('hex'), one]))
  for (const { session_mac, rest_us } of sessions.values()) {
    const change = { changed_seq: seq, due_us: now_us + rest_us }
    tx.needs(upsertSession(tx, { store_id, session_mac, ...change, digest_ref: null }))
  }
}

/**
 * Ends the digests made from memories that have changed, and makes their sessions due for a new
 * digest at once.
 * @returns the digests that ended, for the index
 */
export async function endDigests(
  tx: Tx,
  refs: readonly number[],
  seq: number,
): Promise<{ ref: number; valid_until_us: number }[]> {
  if (refs.length === 0) return []
  const sessions = await listSessionsOf(tx, refs)
  if (sessions.length === 0) return []
  const now_us = tx.now()
  for (const session of sessions)
    await updateSession(tx, session, { changed_seq: seq, due_us: now_us })
  const ended: { ref: number; valid_until_us: number }[] = []
  const uses = (await listDigestsUsing(tx, refs)).filter(({ extracted }) => extracted === null)
  for (const ref of new Set(uses.map(({ digest_ref }) => digest_ref))) {
    const until_us = (await findCurrentValidity(tx, ref))?.valid_until_us ?? null
    if (until_us !== null && until_us <= now_us) continue
    await reviseValidity(tx, ref, seq, { valid_until_us: now_us })
    ended.push({ ref, valid_until_us: now_us })
  }
  return ended
}

/**
 * Removes erased memories from their sessions, which become due for a new digest, and deletes the
 * records of erased digests.
 * @returns the refs that were digests
 */
export async function removeSessionFacts(
  tx: Tx,
  refs: readonly number[],
  seq: number,
): Promise<ReadonlySet<number>> {
  const digests = await listDigestsAmong(tx, refs)
  for (const digest_ref of digests) await deleteDigest(tx, digest_ref)
  await deleteExtractedSources(tx, refs)
  const sessions = await listSessionsOf(tx, refs)
  if (sessions.length === 0) return digests
  await deleteSessionFacts(tx, refs)
  for (const session of sessions)
    await updateSession(tx, session, { changed_seq: seq, due_us: tx.now() })
  return digests
}
