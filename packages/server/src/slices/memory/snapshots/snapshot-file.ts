// A file of sealed pieces. Each piece is bound to its file and its position, and the last frame is
// empty: a file that was cut, changed or assembled from others does not open.
//
// The file is a cache. It is written under another name and renamed when it is complete, so a crash
// leaves the previous file or none.

import { createHash, randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { jsonBytes } from '../../../platform/bytes.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { loadKeys, type NewKey, newKey } from '../../../platform/kernel/sealed-column.ts'
import { PRIVATE_DIRECTORY, PRIVATE_FILE } from '../../../platform/keys/durable-file.ts'
import {
  open as openSealed,
  SEAL_OVERHEAD_BYTES,
  SealError,
  seal,
} from '../../../platform/keys/seal.ts'
import { findStore } from '../stores/stores.sql.ts'
import {
  deleteIndexSecrets,
  findIndexSecrets,
  insertIndexSecret,
  isErasedSince,
  isErasing,
} from './snapshot-secrets.sql.ts'

const DOMAIN = 'custos/index-snapshot/v1'
const LENGTH_BYTES = 4
/** A longer frame is invalid. */
const FRAME_BYTES_MAX = 64 * 1024 * 1024
/** Maximum bytes written between two flushes: a long flush would delay those of the database. */
const FLUSH_BYTES = 8 * 1024 * 1024
const READ_BYTES = 1024 * 1024
export const SNAPSHOT_SUFFIX = '.index'
export const DRAFT_SUFFIX = '.draft'

/** File names do not contain the names of tenants and stores. */
export function snapshotPath(dir: string, tenant_id: string, store_id: string): string {
  const digest = createHash('sha256')
    .update(jsonBytes([tenant_id, store_id]))
    .digest('hex')
  return join(dir, `${digest.slice(0, 40)}${SNAPSHOT_SUFFIX}`)
}

/** `id` is the owner of the file and the key that opens it. */
const associatedData = (
  id: NewKey & { readonly tenant_id: string; readonly store_id: string },
  frame: number,
  isLast: boolean,
): Buffer => jsonBytes([DOMAIN, id.tenant_id, id.store_id, id.secret_no, frame, isLast])

/** Writes one snapshot: call `write` for each piece, then `finish` or `abandon`. */
export class SnapshotWriter {
  readonly #path: string
  readonly #draft: string
  readonly #id: Parameters<typeof associatedData>[0]
  readonly #file: FileHandle
  #frames = 0
  #unflushed = 0
  bytes = 0

  private constructor(
    path: string,
    draft: string,
    { id, file }: { id: Parameters<typeof associatedData>[0]; file: FileHandle },
  ) {
    this.#path = path
    this.#draft = draft
    this.#id = id
    this.#file = file
  }

  static async open(
    path: string,
    id: Parameters<typeof associatedData>[0],
  ): Promise<SnapshotWriter> {
    await mkdir(dirname(path), { recursive: true, mode: PRIVATE_DIRECTORY })
    const draft = `${path}.${randomBytes(6).toString('hex')}${DRAFT_SUFFIX}`
    return new SnapshotWriter(path, draft, { id, file: await open(draft, 'wx', PRIVATE_FILE) })
  }

  /** `piece` must not be empty. It can be reused once the promise resolves. */
  async write(piece: Uint8Array): Promise<void> {
    await this.#write(piece, false)
    if (this.#unflushed < FLUSH_BYTES) return
    this.#unflushed = 0
    await this.#file.datasync()
  }

  /** Durably makes the file the snapshot of its store. */
  async finish(): Promise<void> {
    await this.#write(new Uint8Array(0), true)
    await this.#file.sync()
    await this.#file.close()
    await rename(this.#draft, this.#path)
  }

  async abandon(): Promise<void> {
    await this.#file.close().catch(() => {})
    await rm(this.#draft, { force: true })
  }

  async #write(piece: Uint8Array, isLast: boolean): Promise<void> {
    const sealed = seal(this.#id.key, associatedData(this.#id, this.#frames, isLast), piece)
    const length = Buffer.alloc(LENGTH_BYTES)
    length.writeUInt32LE(sealed.length)
    await this.#file.writev([length, sealed])
    this.#frames += 1
    this.#unflushed += LENGTH_BYTES + sealed.length
    this.bytes += LENGTH_BYTES + sealed.length
  }
}

/** Yields a file's pieces, each valid until the next; throws SealError unless all is intact. */
export async function* readSnapshot(
  path: string,
  id: Parameters<typeof associatedData>[0],
): AsyncGenerator<Buffer> {
  let frame = 0
  let isOver = false
  for await (const sealed of readFrames(path)) {
    if (isOver) throw new SealError()
    isOver = sealed.length === SEAL_OVERHEAD_BYTES
    const piece = openSealed(id.key, associatedData(id, frame, isOver), sealed)
    frame += 1
    try {
      if (!isOver) yield piece
    } finally {
      piece.fill(0)
    }
  }
  if (!isOver) throw new SealError()
}

async function* readFrames(path: string): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0)
  for await (const chunk of createReadStream(path, { highWaterMark: READ_BYTES })) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (;;) {
      if (rest.length < LENGTH_BYTES) break
      const length = rest.readUInt32LE()
      if (length > FRAME_BYTES_MAX) throw new SealError()
      const end = LENGTH_BYTES + length
      if (rest.length < end) break
      yield rest.subarray(LENGTH_BYTES, end)
      rest = rest.subarray(end)
    }
  }
  if (rest.length > 0) throw new SealError()
}

// The secret that snapshots of a store's index are sealed under, until the next erasure.
//
// All snapshots since the last erasure of a store share one secret. An erasure names it in the
// ledger and destroys it together with the secret of the memory. No copy of a snapshot that holds
// the memory can then be opened: neither the current one, nor an earlier one, nor one in a backup.
// This is complete because no secret is taken between the hiding of a memory and its tombstone, and
// none for an index that has not applied an erasure. It does not reach a copy of a snapshot whose
// secret no row names any more, after an older database was restored beside a newer keyring.

/** The key of existing snapshots; `null` if there are none that can be opened. */
export async function findSnapshotKey(
  kernel: Kernel,
  tenant_id: string,
  store_id: string,
): Promise<NewKey | null> {
  const [row] = await kernel.db.read(tenant_id, (db) => findIndexSecrets(db, [store_id]))
  if (!row) return null
  const key = (await loadKeys(kernel, tenant_id, [row.secret_no])).get(row.secret_no)
  return key ? { secret_no: row.secret_no, key } : null
}

/**
 * The key for a snapshot of an index at log position `head_seq`; `null` if an erasure is under way
 * or the index has not applied one.
 */
export async function takeSnapshotKey(
  kernel: Kernel,
  tenant_id: string,
  { store_id, head_seq }: { store_id: string; head_seq: number },
): Promise<NewKey | null> {
  // Read before the key: a row that appears later is another process's, and its secret is alive.
  const [seen] = await kernel.db.read(tenant_id, (db) => findIndexSecrets(db, [store_id]))
  const known = await findSnapshotKey(kernel, tenant_id, store_id)
  const taken = known ?? (await newKey(kernel, tenant_id))
  const { secret_no } = taken
  const isTaken = await kernel.db.transact(tenant_id, async (tx) => {
    const store = await findStore(tx, store_id)
    if (store?.state !== 'active') return false
    if ((await isErasing(tx, store_id)) || (await isErasedSince(tx, store_id, head_seq)))
      return false
    const [row] = await findIndexSecrets(tx, [store_id])
    if (row?.secret_no === secret_no) return true
    if (known !== null) return false
    // A crash during an erasure can leave the row of a destroyed secret.
    if (row && row.secret_no !== seen?.secret_no) return false
    if (row) await deleteIndexSecrets(tx, [row.secret_no])
    await insertIndexSecret(tx, { store_id, secret_no })
    return true
  })
  return isTaken ? taken : null
}

/** Whether snapshots of the store are still sealed under this secret. */
export const isCurrentSecret = (
  kernel: Kernel,
  tenant_id: string,
  { store_id, secret_no }: { store_id: string; secret_no: number },
): Promise<boolean> =>
  kernel.db.read(
    tenant_id,
    async (db) => (await findIndexSecrets(db, [store_id]))[0]?.secret_no === secret_no,
  )

/** Destroys the secrets: no copy of a snapshot under one of them can be opened afterwards. */
export async function destroySnapshotSecrets(
  kernel: Kernel,
  tenant_id: string,
  numbers: readonly number[],
): Promise<void> {
  if (numbers.length === 0) return
  await kernel.keyring.destroySecrets(tenant_id, 'decision', numbers)
  await kernel.db.transact(tenant_id, (tx) => deleteIndexSecrets(tx, numbers))
}
