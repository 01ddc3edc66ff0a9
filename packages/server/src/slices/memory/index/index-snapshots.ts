// Snapshots of indexes: written to sealed files, and loaded after a start instead of the rows.
//
// A snapshot is a cache. One that does not open, or is of another version or another history of the
// log, is ignored, and the index is built from rows.

import { mkdir, readdir, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { wallTime } from '../../../platform/clock.ts'
import { listServedIds } from '../../../platform/db/control.sql.ts'
import { PLATFORM } from '../../../platform/db/database.ts'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { SealError } from '../../../platform/keys/seal.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { yieldBetweenChunks } from '../../../platform/yield-between-chunks.ts'
import { listLeaves } from '../../gcrumbs/index.ts'
import {
  DRAFT_SUFFIX,
  destroySnapshotSecrets,
  findSnapshotKey,
  isCurrentSecret,
  readSnapshot,
  SNAPSHOT_SUFFIX,
  SnapshotWriter,
  snapshotPath,
  takeSnapshotKey,
} from '../snapshots/snapshot-file.ts'
import { listIndexSecrets } from '../snapshots/snapshot-secrets.sql.ts'
import { parseStoreSettings } from '../stores/store-settings.ts'
import { findStore, type StoreRow } from '../stores/stores.sql.ts'
import { IndexLoader, makeTail, OtherIndex, originOf, saveIndex } from './saved-index.ts'
import type { StoreIndex } from './store-index.ts'

/** How long the work runs before it yields to other requests, which also wait for one piece. */
const STRETCH_MS = 4
/** Free disk space required for a file, as a multiple of the index: the database needs it more. */
const ROOM_FACTOR = 3
/** An older draft of another process was left by a crash. */
const DRAFT_AGE_MAX_MS = 3_600_000

/** Returns lower-case hex; an empty string if the log has no entry there. */
async function findEntryHash(db: TenantDb, seq: number): Promise<string> {
  const [leaf] = await listLeaves(db, seq, seq + 1)
  return leaf ? Buffer.from(leaf.breadcrumb_id).toString('hex') : ''
}

/**
 * Writes a snapshot of the index; serves requests between its pieces. Returns false if no snapshot
 * can be written now or the index changed in a way that a snapshot cannot follow.
 * `isOver`: asked between pieces; if true, an incomplete snapshot is abandoned.
 * `resting`: pauses as long as it works, which leaves half of the processor to requests.
 */
export async function saveSnapshot(
  kernel: Kernel,
  { tenant_id, store_id, index }: { tenant_id: string; store_id: string; index: StoreIndex },
  options: { readonly isOver: () => boolean; readonly resting: boolean },
): Promise<boolean> {
  const dir = kernel.settings.index_dir
  if (dir === null || !(await hasRoom(dir, index.bytes()))) return false
  const began = performance.now()
  const { head_seq } = index
  const taken = await takeSnapshotKey(kernel, tenant_id, { store_id, head_seq })
  if (taken === null) return false
  await kernel.step('index:secret')
  const { store, entry } = await kernel.db.read(tenant_id, async (db) => ({
    store: await findStore(db, store_id),
    entry: await findEntryHash(db, head_seq),
  }))
  if (!store || entry === '') return false
  const id = { tenant_id, store_id, ...taken }
  const writer = await SnapshotWriter.open(snapshotPath(dir, tenant_id, store_id), id)
  try {
    const origin = originOf(store, parseStoreSettings(store).languages)
    const pieces = saveIndex(index, { origin, head_seq, entry })
    const isWhole = await writeAll(writer, pieces, options)
    await kernel.step('index:written')
    const end = await readPosition(kernel, tenant_id, index.head_seq)
    if (!isWhole || end.entry === '' || !(await isCurrentSecret(kernel, tenant_id, id))) {
      await writer.abandon()
      return false
    }
    await writer.write(makeTail(end))
    await writer.finish()
  } catch (error) {
    await writer.abandon()
    throw error
  }
  const ms = Math.round(performance.now() - began)
  const { size: facts } = index
  const { bytes } = writer
  kernel.logger.info('index.snapshot_saved', { tenant_id, store_id, facts, bytes, ms })
  return true
}

const readPosition = async (kernel: Kernel, tenant_id: string, head_seq: number) => ({
  head_seq,
  entry: await kernel.db.read(tenant_id, (db) => findEntryHash(db, head_seq)),
})

async function hasRoom(dir: string, bytes: number): Promise<boolean> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const { bavail, bsize } = await statfs(dir)
  return bavail * bsize > bytes * ROOM_FACTOR
}

async function writeAll(
  writer: SnapshotWriter,
  pieces: Generator<Buffer, boolean>,
  { isOver, resting }: Parameters<typeof saveSnapshot>[2],
): Promise<boolean> {
  const pace = yieldBetweenChunks(STRETCH_MS)
  try {
    for (let next = pieces.next(); ; next = pieces.next()) {
      if (next.done) return next.value
      if (isOver()) return false
      await writer.write(next.value)
      if (resting) await delay(STRETCH_MS)
      else await pace()
    }
  } finally {
    // Releases what a save holds of the index, also if it was abandoned.
    pieces.return(false)
  }
}

/** Loads the store's snapshot, an index at an earlier log position; `null` if none is usable. */
export async function loadSnapshot(
  kernel: Kernel,
  tenant_id: string,
  store: StoreRow,
): Promise<StoreIndex | null> {
  const { store_id } = store
  const dir = kernel.settings.index_dir
  if (dir === null) return null
  const path = snapshotPath(dir, tenant_id, store_id)
  if (!(await exists(path))) return null
  const taken = await findSnapshotKey(kernel, tenant_id, store_id)
  if (taken === null) return null
  try {
    const began = performance.now()
    const id = { tenant_id, store_id, ...taken }
    const index = await loadPieces(kernel, store, { path, id })
    const ms = Math.round(performance.now() - began)
    const { size: facts } = index
    kernel.logger.info('index.snapshot_loaded', { tenant_id, store_id, facts, ms })
    return index
  } catch (error) {
    const reason = reasonOf(error)
    if (reason === null) throw error
    kernel.logger.warn('index.snapshot_refused', { tenant_id, store_id, reason })
    // A file that could not be read now may be intact: the next start tries it again.
    if (reason === 'other' || reason === 'damaged') await rm(path, { force: true })
    return null
  }
}

async function loadPieces(
  kernel: Kernel,
  store: StoreRow,
  { path, id }: { path: string; id: Parameters<typeof readSnapshot>[1] },
): Promise<StoreIndex> {
  const pace = yieldBetweenChunks(STRETCH_MS)
  const { languages } = parseStoreSettings(store)
  const loader = new IndexLoader(originOf(store, languages), languages)
  for await (const piece of readSnapshot(path, id)) {
    const isFirst = loader.head === null
    loader.load(piece)
    if (isFirst) await requireSameHistory(kernel, { id, store, at: loader.head })
    await pace()
  }
  await requireSameHistory(kernel, { id, store, at: loader.tail })
  return loader.finish()
}

async function requireSameHistory(
  kernel: Kernel,
  { id, store, at }: { id: { tenant_id: string }; store: StoreRow; at: IndexLoader['tail'] },
): Promise<void> {
  if (at === null || at.head_seq > store.head_seq) throw new OtherIndex()
  const { entry } = await readPosition(kernel, id.tenant_id, at.head_seq)
  if (entry !== at.entry) throw new OtherIndex()
}

/** Why a snapshot is unusable; `null` if the error has nothing to do with the file. */
function reasonOf(error: unknown): string | null {
  // The database or the keyring did not answer, which says nothing about the file.
  if (error instanceof Refusal) return null
  if (error instanceof OtherIndex) return 'other'
  if (error instanceof SealError || error instanceof RangeError || error instanceof SyntaxError)
    return 'damaged'
  return error instanceof Error && 'code' in error ? String(error.code) : null
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Destroys the secrets: no copy of a snapshot under one of them can be opened afterwards. */
export async function destroySnapshots(
  kernel: Kernel,
  tenant_id: string,
  snapshots: Awaited<ReturnType<typeof listIndexSecrets>>,
): Promise<void> {
  const numbers = snapshots.map(({ secret_no }) => secret_no)
  await destroySnapshotSecrets(kernel, tenant_id, numbers)
  for (const { store_id } of snapshots) await removeSnapshot(kernel, tenant_id, store_id)
}

/** Removes the file of a snapshot whose secret is destroyed. */
export async function removeSnapshot(
  kernel: Kernel,
  tenant_id: string,
  store_id: string,
): Promise<void> {
  const dir = kernel.settings.index_dir
  if (dir === null) return
  // Nothing depends on the file; the next start removes what is left.
  await rm(snapshotPath(dir, tenant_id, store_id), { force: true }).catch(() => {})
}

/**
 * Removes files that belong to no store or are incomplete. If no other process serves the data, it
 * also destroys secrets without a file.
 */
export async function sweepSnapshots(kernel: Kernel): Promise<void> {
  const dir = kernel.settings.index_dir
  if (dir === null || !(await exists(dir))) return
  // Lists files first: a process stores the secret before it writes the file.
  const files = await readdir(dir)
  const known = new Set<string>()
  for (const tenant_id of await kernel.db.read(PLATFORM, listServedIds)) {
    const secrets = await kernel.db.read(tenant_id, listIndexSecrets)
    if (secrets.length === 0) continue
    const numbers = secrets.map(({ secret_no }) => secret_no)
    const alive = await kernel.keyring.secrets(tenant_id, 'decision', numbers)
    const lost: number[] = []
    for (const { store_id, secret_no } of secrets) {
      const path = snapshotPath(dir, tenant_id, store_id)
      const opens = (alive.get(secret_no) ?? null) !== null
      if (opens && (kernel.db.shared || (await exists(path)))) known.add(path)
      else lost.push(secret_no)
    }
    await destroySnapshotSecrets(kernel, tenant_id, lost)
  }
  for (const file of files) {
    const path = join(dir, file)
    const isDraft = file.endsWith(DRAFT_SUFFIX)
    if (
      isDraft ? await isAbandoned(kernel, path) : file.endsWith(SNAPSHOT_SUFFIX) && !known.has(path)
    )
      await rm(path, { force: true })
  }
}

async function isAbandoned(kernel: Kernel, draft: string): Promise<boolean> {
  if (!kernel.db.shared) return true
  const found = await stat(draft).catch(() => null)
  return found !== null && wallTime() / 1_000 - found.mtimeMs > DRAFT_AGE_MAX_MS
}
