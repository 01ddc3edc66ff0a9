// Walks a log from its beginning to a position: verifies it and counts what it says.

import {
  appendLeaf,
  EMPTY_FRONTIER,
  type Frontier,
  frontierRoot,
  type JsonObject,
  type PublishedKey,
  parseCheckpoint,
  verifyCheckpoint,
} from '@custos/proof'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { sha256 } from '../gcrumbs/index.ts'
import {
  findDecisionBefore,
  findLogSize,
  listDecisions,
  listEntries,
  listEpochsBefore,
} from './evidence.sql.ts'
import { type Entry, type Seen, Tally } from './tally.ts'

export interface WalkTask {
  /** Null: all there is. */
  readonly log_seq: number | null
  readonly from: string
  readonly to: string
  readonly keys: readonly PublishedKey[]
  /** Origin without tenant and generation. */
  readonly origin: string
}

/** What is known of the log as a whole. */
export interface LogState {
  readonly status: 'intact' | 'tampered' | 'empty'
  readonly entries_verified: number
  readonly root_hash: string | null
  readonly epochs_verified: number
  readonly last_epoch: { readonly epoch_number: number; readonly tree_size: number } | null
  /** Of the last epoch's checkpoint. */
  readonly checkpoint: 'valid' | 'invalid' | 'none'
  readonly reason: string | null
  readonly at_seq: number | null
}

/** Of the newest decisions in the period. */
export interface Decided {
  readonly count: number
  readonly models: readonly { readonly model_id: string; readonly decisions: number }[]
  readonly models_total: number
  readonly average_latency_ms: number | null
}

export interface Walked {
  readonly log_seq: number
  readonly log: LogState
  readonly tally: Tally
  readonly decided: Decided
}

const PAGE = 2_000
const MODELS_SHOWN = 20
/** Decisions that are looked at one by one for their model and duration: the newest. */
const DECISIONS_MAX = 100_000

type EpochRow = Awaited<ReturnType<typeof listEpochsBefore>>[number]

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** `beyond`: the log is shorter than what was asked for. */
export async function walkLog(db: TenantDb, task: WalkTask): Promise<Walked | 'beyond'> {
  const size = await findLogSize(db)
  const log_seq = task.log_seq ?? size - 1
  if (log_seq >= size) return 'beyond'
  const walk = new Walk(await listEpochsBefore(db, log_seq + 1), new Tally(task))
  for (let first = 0; first <= log_seq && walk.problem === null; first += PAGE) {
    const end = Math.min(first + PAGE, log_seq + 1)
    const rows = await listEntries(db, first, end)
    for (const row of rows) if (walk.problem === null) walk.take(row)
    if (walk.problem === null && walk.size !== end) walk.problem = 'entry_missing'
  }
  const log = await stateOf(walk, task, db.tenant_id)
  return { log_seq, log, tally: walk.tally, decided: await decidedIn(db, walk.tally) }
}

class Walk {
  readonly tally: Tally
  problem: string | null = null
  epochsVerified = 0
  lastEpoch: EpochRow | null = null
  #frontier: Frontier = EMPTY_FRONTIER
  #lastId = '0'.repeat(64)
  #lastAt = ''
  #next = 0
  #buffer = Buffer.alloc(4_096)
  readonly #epochs: readonly EpochRow[]

  constructor(epochs: readonly EpochRow[], tally: Tally) {
    this.#epochs = epochs
    this.tally = tally
  }

  get size(): number {
    return this.#frontier.size
  }

  get root(): Uint8Array | null {
    return this.size === 0 ? null : frontierRoot(this.#frontier, sha256)
  }

  take(row: { seq: number; breadcrumb_id: Uint8Array; record: string }): void {
    const leaf = this.#leafOf(row.record)
    if (row.seq !== this.size) this.problem = 'entry_missing'
    else if (Buffer.compare(leaf, row.breadcrumb_id) !== 0) this.problem = 'entry_changed'
    if (this.problem !== null) return
    const entry = entryOf(row.record)
    if (entry?.seq !== row.seq) this.problem = 'entry_malformed'
    else if (entry.prev_id !== this.#lastId) this.problem = 'chain_broken'
    else if (entry.created_at <= this.#lastAt) this.problem = 'time_not_rising'
    if (!entry || this.problem !== null) return
    this.#frontier = appendLeaf(this.#frontier, leaf, { hash: sha256 })
    this.#lastId = hex(leaf)
    this.#lastAt = entry.created_at
    this.#checkEpochs()
    this.tally.take(entry)
  }

  /** The leaf hash, through one buffer for all of them: byte 0x00, then the record. */
  #leafOf(record: string): Uint8Array {
    // UTF-8 takes at most three bytes for each unit of UTF-16.
    if (this.#buffer.length <= 3 * record.length) this.#buffer = Buffer.alloc(4 * record.length)
    const length = this.#buffer.write(record, 1)
    return sha256(this.#buffer.subarray(0, length + 1))
  }

  #checkEpochs(): void {
    for (;;) {
      const epoch = this.#epochs[this.#next]
      if (!epoch || epoch.tree_size > this.size) return
      const root = frontierRoot(this.#frontier, sha256)
      if (Buffer.compare(root, epoch.root_hash) !== 0) {
        this.problem = 'epoch_root_mismatch'
        return
      }
      this.#next += 1
      this.epochsVerified += 1
      this.lastEpoch = epoch
    }
  }
}

type LinkedEntry = Entry & { readonly prev_id: string }

function entryOf(record: string): LinkedEntry | null {
  try {
    // Its bytes are those the leaf was made of; what a report needs of it is checked.
    const entry = JSON.parse(record) as LinkedEntry & { payload: JsonObject }
    return typeof entry.created_at === 'string' && typeof entry.payload === 'object' ? entry : null
  } catch {
    return null
  }
}

async function stateOf(walk: Walk, task: WalkTask, tenant_id: string): Promise<LogState> {
  const { size, root, problem, lastEpoch } = walk
  const checkpoint = lastEpoch ? await checkpointOf(lastEpoch, task, tenant_id) : 'none'
  const reason = problem ?? (checkpoint === 'invalid' ? 'checkpoint_invalid' : null)
  return {
    status: reason !== null ? 'tampered' : size === 0 ? 'empty' : 'intact',
    entries_verified: size,
    root_hash: root && hex(root),
    epochs_verified: walk.epochsVerified,
    last_epoch: lastEpoch && {
      epoch_number: lastEpoch.epoch_number,
      tree_size: lastEpoch.tree_size,
    },
    checkpoint,
    reason,
    at_seq: problem === null ? null : size,
  }
}

async function checkpointOf(
  { checkpoint, generation, tree_size, root_hash }: EpochRow,
  { keys, origin: base }: WalkTask,
  tenant_id: string,
): Promise<'valid' | 'invalid'> {
  const origin = `${base}/${tenant_id}${generation === 0 ? '' : `/${generation}`}`
  try {
    const note = parseCheckpoint(checkpoint)
    if (note.size !== tree_size || Buffer.compare(note.root, root_hash) !== 0) return 'invalid'
  } catch {
    return 'invalid'
  }
  for (const { public_key } of keys.filter(({ purpose }) => purpose === 'checkpoint')) {
    const publicKey = Buffer.from(public_key, 'hex')
    if ((await verifyCheckpoint(checkpoint, { origin, publicKey })).ok) return 'valid'
  }
  return 'invalid'
}

/** In the order of the log, so that the sum is the same wherever it is made. */
async function decidedIn(db: TenantDb, tally: Tally): Promise<Decided> {
  const seen = tally.seen.get('decision.logged')
  const models = new Map<string, number>()
  let [count, timed, sum] = [0, 0, 0]
  for await (const { model_id, latency_ms } of seen ? newestDecisions(db, seen) : []) {
    count += 1
    models.set(model_id, (models.get(model_id) ?? 0) + 1)
    if (latency_ms === null) continue
    timed += 1
    sum += latency_ms
  }
  const byUse = [...models].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
  return {
    count,
    models: byUse.slice(0, MODELS_SHOWN).map(([model_id, decisions]) => ({ model_id, decisions })),
    models_total: models.size,
    average_latency_ms: timed === 0 ? null : Math.round((sum / timed) * 1_000) / 1_000,
  }
}

async function* newestDecisions(db: TenantDb, { first_seq, last_seq }: Seen) {
  const border = await findDecisionBefore(db, last_seq, DECISIONS_MAX)
  let after = Math.max(first_seq - 1, border ?? -1)
  while (after < last_seq) {
    const rows = await listDecisions(db, { after, last: last_seq, limit: PAGE })
    yield* rows
    after = rows.at(-1)?.seq ?? last_seq
  }
}
