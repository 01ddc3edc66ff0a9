// Facts with their seals opened, and the memory objects they are shown as.

import type { Memory } from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../platform/kernel.ts'
import type { TenantKeys } from '../../platform/keys/keyring.ts'
import { SealError } from '../../platform/keys/seal.ts'
import { makePacer } from '../../platform/pacer.ts'
import {
  ERASING,
  type FactHead,
  type FactRow,
  findFactHeads,
  findFacts,
  LIVE,
} from './facts.sql.ts'
import { wireTenant } from './namespace.ts'
import { openedFacts } from './opened-facts.ts'
import { type FactDocument, openFact } from './sealed-fact.ts'

/** A fact as it is shown. */
export interface KnownFact extends FactHead {
  readonly content: string
  readonly metadata: FactDocument['metadata']
  readonly document: FactDocument
}

export interface OpenedFact extends KnownFact {
  readonly vector: Int8Array | null
}

export interface OpenOptions {
  /** Rows in another state are left out; live ones only when not given. */
  readonly states?: readonly number[]
  /** Told of a row that was changed, which is then left out; without it, SealError is thrown. */
  readonly onBroken?: (ref: number) => void
}

/** Opens rows; a row in another state, or whose secret is destroyed, is left out. */
export async function openRows(
  kernel: Kernel,
  tenant_id: string,
  rows: readonly FactRow[],
  { states = [LIVE], onBroken }: OpenOptions = {},
): Promise<OpenedFact[]> {
  const seen = rows.filter((row) => states.includes(row.state))
  if (seen.length === 0) return []
  const keys = await kernel.keyring.tenant(tenant_id)
  const refs = seen.map((row) => row.ref)
  const secrets = await kernel.keyring.secrets(tenant_id, 'fact', refs)
  const opened: OpenedFact[] = []
  const pace = makePacer()
  for (const row of seen) {
    const secret = secrets.get(row.ref)
    if (!secret) continue
    const fact = openRow(keys, tenant_id, row, secret)
    if (fact instanceof SealError && !onBroken) throw fact
    if (fact instanceof SealError) onBroken?.(row.ref)
    else opened.push(fact)
    await pace()
  }
  return opened
}

function openRow(
  keys: TenantKeys,
  tenant_id: string,
  row: FactRow,
  secret: Buffer,
): OpenedFact | SealError {
  const owner = { tenant_id, store_id: row.store_id, ref: row.ref, secret }
  try {
    const { document, vector } = openFact(keys, owner, row.sealed)
    const { content, metadata } = document
    const { sealed: _, ...head } = row
    return { ...head, content, metadata, document, vector }
  } catch (error) {
    if (error instanceof SealError) return error
    throw error
  }
}

/** Live facts by ref, whatever their store. */
export async function openFacts(
  kernel: Kernel,
  db: TenantDb,
  refs: readonly number[],
): Promise<Map<number, KnownFact>> {
  const { tenant_id } = db
  const cache = openedFacts(kernel)
  const found = new Map<number, KnownFact>()
  const unknown: number[] = []
  for (const head of await findFactHeads(db, refs)) {
    if (head.state !== LIVE) continue
    const document = cache.find(tenant_id, head.ref)
    if (document) found.set(head.ref, withDocument(head, document))
    else unknown.push(head.ref)
  }
  if (unknown.length === 0) return found
  const mark = cache.mark()
  for (const fact of await openRows(kernel, tenant_id, await findFacts(db, unknown))) {
    found.set(fact.ref, fact)
    cache.remember(mark, tenant_id, fact)
  }
  return found
}

const withDocument = (head: FactHead, document: FactDocument): KnownFact => {
  const { content, metadata } = document
  return { ...head, content, metadata, document }
}

/**
 * What those refs hold that are facts, or were when they were last read: whoever relies on one
 * looks in the same unit of work whether it still is.
 */
export async function knownContents(
  kernel: Kernel,
  tenant_id: string,
  refs: readonly number[],
): Promise<Map<number, string>> {
  const cache = openedFacts(kernel)
  const contents = new Map<number, string>()
  const unknown: number[] = []
  for (const ref of refs) {
    const document = cache.find(tenant_id, ref)
    if (document) contents.set(ref, document.content)
    else unknown.push(ref)
  }
  if (unknown.length === 0) return contents
  const opened = await kernel.db.read(tenant_id, (db) => openFacts(kernel, db, unknown))
  for (const [ref, { content }] of opened) contents.set(ref, content)
  return contents
}

/** Live facts and those whose erasure is under way, always from their rows. */
export async function openForErasure(
  kernel: Kernel,
  db: TenantDb,
  refs: readonly number[],
): Promise<Map<number, OpenedFact>> {
  const rows = await findFacts(db, refs)
  const opened = await openRows(kernel, db.tenant_id, rows, { states: [LIVE, ERASING] })
  return new Map(opened.map((fact) => [fact.ref, fact]))
}

/** Those of the rows that are live, or hidden by an erasure that may yet be taken back. */
export const openStored = (
  kernel: Kernel,
  tenant_id: string,
  rows: readonly FactRow[],
): Promise<OpenedFact[]> => openRows(kernel, tenant_id, rows, { states: [LIVE, ERASING] })

interface ShownKey {
  readonly hex: string
  readonly base64: string
}

/** Public keys in the encodings memories show, by key id; keys are only ever added. */
const shownKeys = perKernel(() => new Map<string, ShownKey>())

function keyOf(kernel: Kernel, key_id: string): ShownKey {
  const known = shownKeys(kernel).get(key_id)
  if (known) return known
  const found = kernel.keyring.publishedKeys().find((key) => key.key_id === key_id)
  const hex = found?.public_key ?? ''
  const key = { hex, base64: Buffer.from(hex, 'hex').toString('base64') }
  if (found) shownKeys(kernel).set(key_id, key)
  return key
}

/** The memory object of interface and GMP; `source` is never null. */
export function showMemory(kernel: Kernel, tenant_id: string, fact: KnownFact): Memory {
  const { document } = fact
  const written_at = formatTime(fact.written_us)
  const key = keyOf(kernel, document.signer_key_id)
  const original = document.original_written_us
  return {
    ref: fact.ref,
    content: fact.content,
    metadata: fact.metadata,
    written_at,
    valid_from: formatTime(fact.valid_from_us),
    valid_until: fact.valid_until_us === null ? null : formatTime(fact.valid_until_us),
    tenant_id: wireTenant(tenant_id, fact.namespace),
    superseded_by: fact.superseded_by,
    source: {
      write_id: document.write_id,
      written_at,
      written_by: key.hex,
      signature: document.signature,
      public_key: key.base64,
      key_id: document.signer_key_id,
      principal: document.principal,
      ...(original === undefined ? {} : { original_written_at: formatTime(original) }),
    },
    token_count: fact.token_count,
  }
}
