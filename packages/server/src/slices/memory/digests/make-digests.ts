// Makes the digests of sessions that have become quiet. A timer runs it; after a crash at any point
// the next run continues.
//
// A digest is a memory like any other, with its sources in its sealed document and in rows. An
// erasure of a source erases the digest first, so that a digest never outlives its source.

import type { JsonObject } from '@custos/contract'
import { listServedIds } from '../../../platform/db/control.sql.ts'
import { PLATFORM } from '../../../platform/db/database.ts'
import { listTenantsWith } from '../../../platform/db/engines/first-of-each.ts'
import type { Row } from '../../../platform/db/schema/tables.ts'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { findSession } from '../facts/conversation.ts'
import type { FactDraft } from '../facts/fact-document.ts'
import { areLive, findFact, findFacts, LIVE } from '../facts/facts.sql.ts'
import { type FactWithVector, isExpired, openFactRows } from '../facts/opened-fact.ts'
import { prepareFacts } from '../facts/prepare-facts.ts'
import {
  anyDueStatement,
  findSessionRow,
  insertDigestSources,
  listDueSessions,
  listNewestRefs,
  updateSession,
} from '../facts/session-digests.sql.ts'
import type { StoreSettings } from '../stores/store-settings.ts'
import { loadTargetHead, loadWriteTarget } from '../stores/write-target.ts'
import { makeAnalyser } from '../text/analysis.ts'
import { insertFacts } from '../write/insert-facts.ts'
import { linkSuccessor } from '../write/supersede.ts'
import { extractDigest } from './extract-digest.ts'

/** Sessions of one tenant digested per run of the timer. */
const SESSIONS_AT_ONCE = 200

/** A digest is made from this many newest memories of a session. */
const SOURCES_MAX = 500

/** Author of a digest, in place of a credential. */
const AUTHOR = 'service'

/** Returns the number of digests made. A failure at one session does not affect the others. */
export async function makeDueDigests(kernel: Kernel, stopping?: AbortSignal): Promise<number> {
  const params = { at_us: kernel.clock.now() }
  const tenants = await kernel.db.read(PLATFORM, listServedIds)
  let made = 0
  for (const tenant_id of await listTenantsWith(kernel.db, tenants, {
    statement: anyDueStatement,
    params,
  })) {
    const due = await kernel.db.read(tenant_id, (db) =>
      listDueSessions(db, { ...params, limit: SESSIONS_AT_ONCE }),
    )
    for (const session of due) {
      if (stopping?.aborted) return made
      try {
        if (await digestSession(kernel, tenant_id, session)) made += 1
      } catch (error) {
        // A quota, a store being deleted, or a change in between: the next run tries again.
        const reason = error instanceof Refusal ? error.code : String(Object(error).name)
        kernel.logger.warn('digest.not_made', { tenant_id, reason })
      }
    }
  }
  return made
}

async function digestSession(
  kernel: Kernel,
  tenant_id: string,
  session: Row<'digest_sessions'>,
): Promise<boolean> {
  const target = await loadWriteTarget(kernel, tenant_id, session.store_id)
  const facts = await loadSources(kernel, tenant_id, session)
  const draft = await draftDigest(kernel, target.settings, facts)
  const author = { tenant_id, principal: AUTHOR }
  const [fact] = await prepareFacts(kernel, author, target.settings, draft ? [draft] : [])
  await kernel.step('digest:prepared')
  return kernel.db.transact(tenant_id, async (tx) => {
    const head = await loadTargetHead(kernel, tx, target)
    const current = await findSessionRow(tx, session)
    // Whatever changed the session has also set when its digest is due.
    if (current?.changed_seq !== session.changed_seq || current.due_us === null) return false
    const refs = facts.map(({ ref }) => ref)
    if (!(await areLive(tx, refs))) return false
    const ends = facts.flatMap(({ valid_until_us }) => valid_until_us ?? [])
    const valid_until_us = ends.length === 0 ? null : Math.min(...ends)
    if (valid_until_us !== null && valid_until_us <= tx.now()) return false
    // If a source has an end, the digest ends with it and a new one becomes due.
    const next = { due_us: valid_until_us }
    if (!fact) {
      await updateSession(tx, session, next)
      return false
    }
    const interval = { valid_from_us: null, valid_until_us }
    await insertDigest(kernel, tx, current.digest_ref, { head, fact, interval })
    tx.gather(
      insertDigestSources,
      refs.map((ref) => ({ ref, digest_ref: fact.ref, extracted: null })),
    )
    await updateSession(tx, session, { ...next, digest_ref: fact.ref })
    return true
  })
}

/** Inserts the digest, as the next version of the session's last digest if there is one. */
async function insertDigest(
  kernel: Kernel,
  tx: Tx,
  digest_ref: number | null,
  digest: Omit<Parameters<typeof linkSuccessor>[2], 'old'>,
): Promise<void> {
  const old = digest_ref === null ? undefined : await findFact(tx, digest_ref)
  if (old?.state === LIVE && old.superseded_by === null)
    await linkSuccessor(kernel, tx, { ...digest, old })
  else await insertFacts(kernel, tx, digest.head, [digest])
}

/** The newest memories of the session that are valid now, in write order. */
async function loadSources(
  kernel: Kernel,
  tenant_id: string,
  session: Row<'digest_sessions'>,
): Promise<FactWithVector[]> {
  const rows = await kernel.db.read(tenant_id, async (db) =>
    findFacts(db, await listNewestRefs(db, session, SOURCES_MAX)),
  )
  const now_us = kernel.clock.now()
  const facts = await openFactRows(kernel, tenant_id, rows)
  const valid = facts.filter(
    (fact) =>
      fact.valid_from_us <= now_us &&
      (fact.valid_until_us === null || now_us < fact.valid_until_us) &&
      !isExpired(fact, now_us),
  )
  return valid.sort((a, b) => a.ref - b.ref)
}

async function draftDigest(
  kernel: Kernel,
  { tokenizer, languages }: StoreSettings,
  facts: readonly FactWithVector[],
): Promise<FactDraft | null> {
  const [first] = facts
  const session_id = first && findSession(first.metadata)
  if (!first || session_id == null) return null
  const { count } = await kernel.tokenizer(tokenizer)
  const extracted = extractDigest(facts, {
    analyser: makeAnalyser(languages),
    countTokens: count,
    capitals: !languages.includes('de'),
  })
  if (extracted === null) return null
  const { content, date } = extracted
  const metadata: JsonObject = date === null ? {} : { date }
  const expiries = facts.flatMap(({ document }) => document.expires_us ?? [])
  return {
    content,
    metadata,
    namespace: first.namespace,
    digest: { session_id, sources: facts.map(({ ref }) => ref) },
    // The digest is hidden and erased with the first source that expires.
    ...(expiries.length > 0 && { expires_us: Math.min(...expiries) }),
  }
}
