// Manifests of bulk erasures: each verifies and is what the log recorded; none is missing.

import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isObject, type JsonObject, manifestBytes, verifyManifest } from '@custos/proof'
import { toHex } from '../../platform/bytes.ts'
import type { CheckContext, CheckFinding } from './check-context.ts'
import { findManifest, listRequestRows } from './fsck.sql.ts'

const CHUNK = 200

/** After `summariseLog`. */
export async function* checkManifests(check: CheckContext): AsyncGenerator<CheckFinding> {
  const missing = new Set(check.log.manifests.keys())
  for (let after = -1; ; ) {
    const rows = await listRequestRows(check.db, after, CHUNK)
    for (const row of rows) {
      const id = toHex(row.request_id)
      missing.delete(id)
      for (const what of await problemsOf(check, id, row)) yield { kind: 'manifest', id, what }
      await nextTurn()
    }
    after = rows.at(-1)?.seq ?? after
    if (rows.length < CHUNK) break
  }
  for (const id of missing) yield { kind: 'manifest', id, what: 'logged, its request is not here' }
}

async function problemsOf(
  { db, keys, log }: CheckContext,
  id: string,
  row: Awaited<ReturnType<typeof listRequestRows>>[number],
): Promise<string[]> {
  const logged = log.manifests.get(id)
  const ended = row.completed_us !== null && row.kind === 'erase'
  if (ended && logged === undefined) return ['ended, and the log does not say so']
  if (!ended) return logged === undefined ? [] : ['ended by the log, and not here']
  const { manifest } = (await findManifest(db, row.request_id)) ?? {}
  const record = typeof manifest === 'string' ? parse(manifest) : null
  if (record === null) return ['the manifest does not read']
  const verdict = await verifyManifest(record, keys)
  if (!verdict.valid) return [`does not verify: ${verdict.reason ?? 'unknown'}`]
  const problems: string[] = []
  if (record['tenant_id'] !== db.tenant_id) problems.push('is of another tenant')
  if (record['request_id'] !== id || record['status'] !== row.status)
    problems.push('the row differs from the manifest in it')
  if (logged !== digestOf(record)) problems.push('the log recorded another manifest')
  return problems
}

const digestOf = (record: JsonObject): string =>
  createHash('sha256').update(manifestBytes(record)).digest('hex')

function parse(record: string): JsonObject | null {
  try {
    const parsed: unknown = JSON.parse(record)
    return isObject(parsed) ? parsed : null
  } catch {
    return null
  }
}
