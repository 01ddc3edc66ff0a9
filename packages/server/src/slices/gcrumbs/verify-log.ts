// Recomputes a tenant's log from its rows and reports the first inconsistency.

import {
  appendLeaf,
  type Breadcrumb,
  breadcrumbLeaf,
  decodeFrontier,
  EMPTY_FRONTIER,
  type Frontier,
  frontierRoot,
  leafHash,
  type PublishedKey,
  parseCheckpoint,
  verifyCheckpoint,
} from '@custos/proof'
import { sha256, toHex } from '../../platform/bytes.ts'
import type { Row } from '../../platform/db/schema/tables.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import {
  type EpochRow,
  findEpochs,
  findHead,
  findNode,
  listCrumbs,
  STORED_HEIGHTS,
} from './chain.sql.ts'

/** The position up to which a log is verified; the next verification continues from here. */
export interface VerifiedState {
  readonly frontier: Frontier
  readonly last_id: Uint8Array
  readonly last_at: string
}

export const UNVERIFIED: VerifiedState = {
  frontier: EMPTY_FRONTIER,
  last_id: new Uint8Array(32),
  last_at: '',
}

export interface VerifyTask {
  readonly from: VerifiedState
  readonly keys: readonly PublishedKey[]
  /** Origin without the generation. */
  readonly origin: string
  /** The last checkpoint in the keyring. A shorter log was truncated. */
  readonly signed: { readonly generation: number; readonly tree_size: number } | null
}

export interface LogVerdict {
  readonly status: 'intact' | 'empty' | 'tampered'
  readonly breadcrumbs_verified: number
  readonly epochs_verified: number
  readonly from_seq: number
  readonly tree_size: number
  readonly root_hash: string | null
  readonly reason?: string
  readonly at_seq?: number
  readonly epoch_number?: number
  readonly state: VerifiedState
}

const CHUNK = 1_000

const same = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0

class Tampered extends Error {
  readonly where: { at_seq?: number; epoch_number?: number }

  constructor(reason: string, where: { at_seq?: number; epoch_number?: number }) {
    super(reason)
    this.where = where
  }
}

/** Verifies the log on one snapshot. Never throws because of what the rows contain. */
export async function verifyLog(db: TenantDb, task: VerifyTask): Promise<LogVerdict> {
  const walk = new Walk(db, task)
  try {
    await walk.run()
    return walk.verdict({})
  } catch (error) {
    if (error instanceof Tampered) return walk.verdict({ reason: error.message, ...error.where })
    throw error
  }
}

class Walk {
  readonly #db: TenantDb
  readonly #task: VerifyTask
  #state: VerifiedState
  #epochs: EpochRow[] = []
  #epochsVerified = 0

  constructor(db: TenantDb, task: VerifyTask) {
    this.#db = db
    this.#task = task
    this.#state = task.from
  }

  async run(): Promise<void> {
    const from = this.#task.from.frontier.size
    this.#epochs = await findEpochs(this.#db, from)
    const head = await findHead(this.#db)
    const size = head?.size ?? 0
    await this.#checkEpochs()
    for (let first = from; first < size; first += CHUNK) {
      const rows = await listCrumbs(this.#db, first, Math.min(first + CHUNK, size))
      for (const row of rows) await this.#take(row)
    }
    const at_seq = this.#state.frontier.size
    if (at_seq !== size) throw new Tampered('breadcrumb_missing', { at_seq })
    if ((await listCrumbs(this.#db, size, size + 1)).length > 0)
      throw new Tampered('breadcrumb_beyond_head', { at_seq: size })
    if (head) this.#checkHead(head.frontier, head.last_id)
    this.#checkNotCut(head?.generation ?? 0)
    const [left] = this.#epochs
    if (left) throw new Tampered('epoch_beyond_log', { epoch_number: left.epoch_number })
  }

  async #take(row: Row<'breadcrumbs'>): Promise<void> {
    const at_seq = this.#state.frontier.size
    if (row.seq !== at_seq) throw new Tampered('breadcrumb_missing', { at_seq })
    const crumb = parseCrumb(row, this.#db.tenant_id)
    if (!crumb) throw new Tampered('breadcrumb_malformed', { at_seq })
    if (crumb.prev_id !== toHex(this.#state.last_id)) throw new Tampered('chain_broken', { at_seq })
    if (crumb.created_at <= this.#state.last_at) throw new Tampered('time_not_rising', { at_seq })
    const leaf = leafHash(breadcrumbLeaf(crumb), sha256)
    if (!same(leaf, row.breadcrumb_id)) throw new Tampered('breadcrumb_id_mismatch', { at_seq })
    const nodes: { height: number; index: number; node: Uint8Array }[] = []
    const frontier = appendLeaf(this.#state.frontier, leaf, {
      hash: sha256,
      onNode: (height, index, node) => nodes.push({ height, index, node }),
    })
    for (const { height, index, node } of nodes) {
      if (!STORED_HEIGHTS.some((stored) => stored === height)) continue
      const stored = await findNode(this.#db, height, index)
      if (!stored || !same(stored.hash, node)) throw new Tampered('node_mismatch', { at_seq })
    }
    this.#state = { frontier, last_id: leaf, last_at: crumb.created_at }
    await this.#checkEpochs()
  }

  async #checkEpochs(): Promise<void> {
    const size = this.#state.frontier.size
    for (;;) {
      const [epoch] = this.#epochs
      if (!epoch || epoch.tree_size > size) return
      this.#epochs.shift()
      // Several generations may have signed the same size; each epoch is checked against this tree.
      await this.#checkEpoch(epoch)
    }
  }

  async #checkEpoch(epoch: EpochRow): Promise<void> {
    const { epoch_number } = epoch
    const root = frontierRoot(this.#state.frontier, sha256)
    if (!same(root, epoch.root_hash)) throw new Tampered('epoch_root_mismatch', { epoch_number })
    const reason = await checkpointProblem(epoch, this.#task, this.#db.tenant_id)
    if (reason) throw new Tampered(reason, { epoch_number })
    this.#epochsVerified += 1
  }

  #checkHead(frontier: Uint8Array, last_id: Uint8Array): void {
    const at_seq = this.#state.frontier.size
    const stored = frontierRoot(decodeFrontier(frontier), sha256)
    const derived = frontierRoot(this.#state.frontier, sha256)
    if (!same(stored, derived) || !same(last_id, this.#state.last_id))
      throw new Tampered('head_mismatch', { at_seq })
  }

  #checkNotCut(generation: number): void {
    const { signed } = this.#task
    const at_seq = this.#state.frontier.size
    if (!signed || signed.generation < generation) return
    if (signed.generation > generation || signed.tree_size > at_seq)
      throw new Tampered('log_shorter_than_signed', { at_seq })
  }

  verdict(failure: { reason?: string; at_seq?: number; epoch_number?: number }): LogVerdict {
    const from_seq = this.#task.from.frontier.size
    const tree_size = this.#state.frontier.size
    const status = failure.reason ? 'tampered' : tree_size === 0 ? 'empty' : 'intact'
    return {
      status,
      breadcrumbs_verified: tree_size - from_seq,
      epochs_verified: this.#epochsVerified,
      from_seq,
      tree_size,
      root_hash: tree_size === 0 ? null : toHex(frontierRoot(this.#state.frontier, sha256)),
      ...failure,
      state: this.#state,
    }
  }
}

function parseCrumb(row: Row<'breadcrumbs'>, tenant_id: string): Breadcrumb | null {
  try {
    // A row is untrusted data; every field that the proof needs is checked below.
    const parsed = JSON.parse(row.record) as Omit<Breadcrumb, 'breadcrumb_id'>
    const sound =
      parsed.seq === row.seq &&
      parsed.tenant_id === tenant_id &&
      typeof parsed.created_at === 'string' &&
      typeof parsed.prev_id === 'string'
    return sound ? { ...parsed, breadcrumb_id: toHex(row.breadcrumb_id) } : null
  } catch {
    return null
  }
}

async function checkpointProblem(
  epoch: EpochRow,
  task: VerifyTask,
  tenant_id: string,
): Promise<string | null> {
  const base = `${task.origin}/${tenant_id}`
  const origin = epoch.generation === 0 ? base : `${base}/${epoch.generation}`
  try {
    const note = parseCheckpoint(epoch.checkpoint)
    if (note.size !== epoch.tree_size || !same(note.root, epoch.root_hash))
      return 'epoch_checkpoint_mismatch'
  } catch {
    return 'epoch_checkpoint_malformed'
  }
  for (const key of task.keys.filter((known) => known.purpose === 'checkpoint')) {
    const publicKey = Buffer.from(key.public_key, 'hex')
    const { ok, reason } = await verifyCheckpoint(epoch.checkpoint, { origin, publicKey })
    if (ok) return null
    if (reason === 'wrong_origin') return 'epoch_wrong_origin'
  }
  return 'epoch_signature_invalid'
}
