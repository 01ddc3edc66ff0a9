// Walks a log from its beginning to a position, verifies it, and counts what it contains.

import { hash } from 'node:crypto'
import { type PublishedKey, parseCheckpoint, verifyCheckpoint } from '@custos/proof'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import {
  type EpochRow,
  findDecisionBefore,
  findLogHead,
  listDecisions,
  listEntries,
  listEpochs,
} from './evidence.sql.ts'
import { type Entry, type EventCounts, Tally } from './tally.ts'

export interface WalkTask {
  /** `null` means the whole log. */
  readonly log_seq: number | null
  readonly from: string
  readonly to: string
  readonly keys: readonly PublishedKey[]
  /** The origin without tenant and generation. */
  readonly origin: string
  /** The newest checkpoint signed before the walk. A shorter log was truncated. */
  readonly signed: { readonly generation: number; readonly tree_size: number } | null
}

/** The verified state of the whole log. */
interface LogState {
  readonly status: 'intact' | 'tampered' | 'empty'
  readonly entries_verified: number
  readonly root_hash: string | null
  readonly epochs_verified: number
  readonly last_epoch: { readonly epoch_number: number; readonly tree_size: number } | null
  /** The state of the last epoch's checkpoint. */
  readonly checkpoint: 'valid' | 'invalid' | 'none'
  readonly reason: string | null
  readonly at_seq: number | null
}

export interface LogWalk {
  readonly log_seq: number
  readonly log: LogState
  readonly tally: Tally
  /** The checkpoints that cover entries of the period. */
  readonly checkpoints: { readonly count: number; readonly last_seq: number | null }
  readonly decided: Awaited<ReturnType<typeof decidedIn>>
}

const PAGE = 2_000
const MODELS_SHOWN = 20
/** The most decisions read for their model and duration; the newest are chosen. */
const DECISIONS_MAX = 100_000

/** Returns `beyond` if the log is shorter than requested. Throws WalkStopped when told to stop. */
export async function walkLog(
  db: TenantDb,
  task: WalkTask,
  control?: WalkControl,
): Promise<LogWalk | 'beyond'> {
  const head = await findLogHead(db)
  const log_seq = task.log_seq ?? head.size - 1
  if (log_seq >= head.size) return 'beyond'
  const entries = log_seq + 1
  control?.passed(0, entries)
  const walk = new EntryVerifier(new Tally(task))
  const epochs = new EpochFeed(db, entries)
  for await (const { rows, end } of pagesOf(db, entries)) {
    walk.expect(await epochs.upTo(end))
    for (const row of rows) if (walk.problem === null) walk.take(row)
    if (walk.problem === null && walk.size !== end) walk.fail('entry_missing', walk.size)
    await checkSignatures(walk, task, db.tenant_id)
    control?.passed(end, entries)
    if (walk.problem !== null) break
  }
  if (walk.problem === null && isCut(head, task)) walk.fail('log_shorter_than_signed', head.size)
  const { tally, checkpoints } = walk
  return { log_seq, log: stateOf(walk), tally, checkpoints, decided: await decidedIn(db, tally) }
}

async function checkSignatures(
  walk: EntryVerifier,
  task: WalkTask,
  tenant_id: string,
): Promise<void> {
  for (const reached of walk.takeReached()) {
    const valid = await isSigned(reached.epoch, task, tenant_id)
    walk.checked(reached, valid)
    if (!valid) return
  }
}

/** Whether the whole log was truncated, wherever the report ends. */
const isCut = (
  { generation, size }: Awaited<ReturnType<typeof findLogHead>>,
  { signed }: WalkTask,
): boolean =>
  signed !== null &&
  (signed.generation > generation || (signed.generation === generation && signed.tree_size > size))

/** Reads the next page while one is processed, so that a remote database works meanwhile. */
async function* pagesOf(db: TenantDb, entries: number) {
  const ask = (first: number) => {
    const end = Math.min(first + PAGE, entries)
    const rows = listEntries(db, first, end)
    // Nobody may await this promise, so ignore its failure here.
    rows.catch(() => {})
    return { rows, end }
  }
  let next = entries > 0 ? ask(0) : null
  while (next) {
    const { end } = next
    const rows = await next.rows
    next = end < entries ? ask(end) : null
    yield { rows, end }
  }
}

function stateOf(walk: EntryVerifier): LogState {
  const { size, root, problem, problemAt, lastEpoch } = walk
  return {
    status: problem !== null ? 'tampered' : size === 0 ? 'empty' : 'intact',
    entries_verified: size,
    root_hash: root,
    epochs_verified: walk.epochsVerified,
    last_epoch: lastEpoch && {
      epoch_number: lastEpoch.epoch_number,
      tree_size: lastEpoch.tree_size,
    },
    checkpoint:
      problem === 'checkpoint_invalid' ? 'invalid' : lastEpoch === null ? 'none' : 'valid',
    reason: problem,
    at_seq: problemAt,
  }
}

async function isSigned(
  { checkpoint, generation, tree_size, root_hash }: EpochRow,
  { keys, origin: base }: WalkTask,
  tenant_id: string,
): Promise<boolean> {
  const origin = `${base}/${tenant_id}${generation === 0 ? '' : `/${generation}`}`
  try {
    const note = parseCheckpoint(checkpoint)
    if (note.size !== tree_size || Buffer.compare(note.root, root_hash) !== 0) return false
  } catch {
    return false
  }
  for (const { public_key } of keys.filter(({ purpose }) => purpose === 'checkpoint')) {
    const publicKey = Buffer.from(public_key, 'hex')
    if ((await verifyCheckpoint(checkpoint, { origin, publicKey })).ok) return true
  }
  return false
}

/**
 * Figures of the newest decisions in the period. In the order of the log, so that the sum is the
 * same wherever it is made.
 */
async function decidedIn(db: TenantDb, tally: Tally) {
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

async function* newestDecisions(db: TenantDb, { first_seq, last_seq }: EventCounts) {
  const border = await findDecisionBefore(db, last_seq, DECISIONS_MAX)
  let after = Math.max(first_seq - 1, border ?? -1)
  while (after < last_seq) {
    const rows = await listDecisions(db, { after, last: last_seq, limit: PAGE })
    yield* rows
    after = rows.at(-1)?.seq ?? last_seq
  }
}

/** Epochs per query, about two megabytes. Each query scans all epochs. */
const LOT = 4_000

export class EpochFeed {
  readonly #db: TenantDb
  readonly #size: number
  #waiting: EpochRow[] = []
  #last = { tree_size: -1, epoch_number: 0 }
  #ended = false

  /** @param size only epochs over fewer entries are returned */
  constructor(db: TenantDb, size: number) {
    this.#db = db
    this.#size = size
  }

  /** The epochs over at most `entries` that were not returned before. */
  async upTo(entries: number): Promise<readonly EpochRow[]> {
    while (!this.#ended && this.#last.tree_size <= entries) await this.#load()
    const beyond = this.#waiting.findIndex(({ tree_size }) => tree_size > entries)
    return this.#waiting.splice(0, beyond === -1 ? this.#waiting.length : beyond)
  }

  async #load(): Promise<void> {
    const asked = { after: this.#last, size: this.#size, limit: LOT }
    const rows = await listEpochs(this.#db, asked)
    this.#ended = rows.length < LOT
    this.#last = rows.at(-1) ?? this.#last
    this.#waiting = [...this.#waiting, ...rows]
  }
}

/** The walk was told to stop. */
export class WalkStopped extends Error {
  override readonly name = 'WalkStopped'
}

const STOP = 0
const DONE = 1
const TOTAL = 2
const CELLS = 3

/** Shared memory that a thread checks after each page, as it handles no messages while reading. */
export class WalkControl {
  readonly buffer: SharedArrayBuffer
  readonly #cells: BigInt64Array

  constructor(buffer = new SharedArrayBuffer(CELLS * BigInt64Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer
    this.#cells = new BigInt64Array(buffer)
  }

  stop(): void {
    Atomics.store(this.#cells, STOP, 1n)
  }

  /** Called by the thread: reports the number of entries it has read. Throws WalkStopped. */
  passed(done: number, total: number): void {
    Atomics.store(this.#cells, TOTAL, BigInt(total))
    Atomics.store(this.#cells, DONE, BigInt(done))
    if (Atomics.load(this.#cells, STOP) === 1n) throw new WalkStopped()
  }

  /** The entries read and their total. Both are 0 before the walk begins. */
  get progress(): { readonly done: number; readonly total: number } {
    const done = Number(Atomics.load(this.#cells, DONE))
    return { done, total: Number(Atomics.load(this.#cells, TOTAL)) }
  }
}

const HASH_BYTES = 32
const HASH_HEX = 2 * HASH_BYTES

/**
 * An incremental Merkle tree. A million entries take two million hashes, and hex strings cost a
 * third of byte arrays, each of which is allocated separately.
 */
export class EntryTree {
  #size = 0
  /** The roots of perfect subtrees, by descending size. */
  readonly #nodes: string[] = []
  /** The byte 0x01 and two hashes. */
  readonly #pair = Buffer.alloc(1 + 2 * HASH_BYTES, 1)
  /** The byte 0x00 and an entry. */
  #leaf = Buffer.alloc(4_096)

  get size(): number {
    return this.#size
  }

  /** The leaf hash of an entry, which is also its id on the log. */
  leafOf(record: string): string {
    // UTF-8 needs at most three bytes per UTF-16 unit.
    if (this.#leaf.length <= 3 * record.length) this.#leaf = Buffer.alloc(4 * record.length)
    const length = this.#leaf.write(record, 1)
    return hash('sha256', this.#leaf.subarray(0, length + 1), 'hex')
  }

  append(leaf: string): void {
    let node = leaf
    // Each trailing 1 bit of the size is a waiting left sibling, like a carry in an addition.
    for (let waiting = this.#size; waiting % 2 === 1; waiting = (waiting - 1) / 2)
      node = this.#join(this.#nodes.pop() ?? '', node)
    this.#nodes.push(node)
    this.#size += 1
  }

  /** `null` if the tree is empty. */
  get root(): string | null {
    return this.#nodes.length === 0
      ? null
      : this.#nodes.reduceRight((right, left) => this.#join(left, right))
  }

  #join(left: string, right: string): string {
    this.#pair.write(left, 1, HASH_HEX, 'hex')
    this.#pair.write(right, 1 + HASH_BYTES, HASH_HEX, 'hex')
    return hash('sha256', this.#pair, 'hex')
  }
}

/** An epoch whose root the entries reproduce. */
interface VerifiedEpoch {
  readonly epoch: EpochRow
  /** Whether the newest entry that the epoch covers is in the period. */
  readonly inPeriod: boolean
}

/** Verifies each entry's hash and link, and compares the tree with the signed epochs. */
class EntryVerifier {
  readonly tally: Tally
  /** The first problem found. */
  problem: string | null = null
  /** The position of the first entry with a problem. */
  problemAt: number | null = null
  epochsVerified = 0
  lastEpoch: EpochRow | null = null
  /** The verified checkpoints of the period so far. */
  readonly checkpoints: { count: number; last_seq: number | null } = { count: 0, last_seq: null }
  readonly #tree = new EntryTree()
  #epochs: readonly EpochRow[] = []
  #reached: VerifiedEpoch[] = []
  #lastId = '0'.repeat(64)
  #lastAt = ''
  #next = 0

  constructor(tally: Tally) {
    this.tally = tally
  }

  /** Sets the epochs over the next entries, ordered by tree size. */
  expect(epochs: readonly EpochRow[]): void {
    this.#epochs = epochs
    this.#next = 0
  }

  fail(problem: string, at: number | null): void {
    this.problem = problem
    this.problemAt = at
  }

  /** Returns the epochs reached since the last call, whose signatures are not checked yet. */
  takeReached(): readonly VerifiedEpoch[] {
    const reached = this.#reached
    this.#reached = []
    return reached
  }

  checked({ epoch, inPeriod }: VerifiedEpoch, valid: boolean): void {
    this.lastEpoch = epoch
    if (!valid) return void this.fail('checkpoint_invalid', null)
    this.epochsVerified += 1
    if (!inPeriod) return
    this.checkpoints.count += 1
    this.checkpoints.last_seq = epoch.tree_size - 1
  }

  get size(): number {
    return this.#tree.size
  }

  /** Lowercase hex. `null` if the tree is empty. */
  get root(): string | null {
    return this.#tree.root
  }

  take({ seq, id, record }: Awaited<ReturnType<typeof listEntries>>[number]): void {
    if (seq !== this.size) return void this.fail('entry_missing', this.size)
    const leaf = this.#tree.leafOf(record)
    if (leaf !== id) return void this.fail('entry_changed', seq)
    const entry = entryOf(record)
    if (entry?.seq !== seq) return void this.fail('entry_malformed', seq)
    if (entry.prev_id !== this.#lastId) return void this.fail('chain_broken', seq)
    if (entry.created_at <= this.#lastAt) return void this.fail('time_not_rising', seq)
    this.#tree.append(leaf)
    this.#lastId = leaf
    this.#lastAt = entry.created_at
    this.#checkEpochs()
    this.tally.take(entry)
  }

  #checkEpochs(): void {
    for (;;) {
      const epoch = this.#epochs[this.#next]
      if (!epoch || epoch.tree_size > this.size) return
      if (this.root !== Buffer.from(epoch.root_hash).toString('hex'))
        return void this.fail('epoch_root_mismatch', this.size)
      this.#next += 1
      this.#reached.push({ epoch, inPeriod: this.tally.covers(this.#lastAt) })
    }
  }
}

function entryOf(record: string) {
  try {
    // The leaf hash covers these bytes. Only the members that a report needs are checked.
    const entry: Entry & { readonly prev_id: string } = JSON.parse(record)
    return typeof entry.created_at === 'string' && typeof entry.payload === 'object' ? entry : null
  } catch {
    return null
  }
}
