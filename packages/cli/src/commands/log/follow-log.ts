// One poll of a log monitor: verifies everything between its saved checkpoint and the current one.

import {
  appendLeaf,
  type Checkpoint,
  decodeBundle,
  decodeTile,
  equalBytes,
  type Frontier,
  isObject,
  leafHash,
  parseCheckpoint,
  sha256,
  TILE_WIDTH,
  toHex,
  type UnnamedBreadcrumb,
  verifyCheckpoint,
  widthOfLevel,
} from '@custos/proof'
import { type MonitorState, matchesCheckpoint, type OpenErasure } from './monitor-state.ts'
import type { TileReader } from './tile-reader.ts'

const TILE_HEIGHT = 8
const CERTIFICATES_AT_ONCE = 8

/** Proof that the log misbehaved, with the signed checkpoint as evidence. */
export class LogFinding extends Error {
  readonly kind: 'fork' | 'truncated' | 'gap' | 'restored' | 'not_signed' | 'certificate_missing'
  /** The checkpoint that proves the finding, as the log served it; null if there was none. */
  readonly shown: string | null

  constructor(kind: LogFinding['kind'], message: string, shown: string | null) {
    super(message)
    this.kind = kind
    this.shown = shown
  }
}

export interface FollowOptions {
  readonly reader: TileReader
  readonly keys: readonly Uint8Array[]
  /** The expected origin; null means that of the saved checkpoint, or else of the first one. */
  readonly origin: string | null
  /** Erasures before this time (RFC 3339 in UTC) must have their certificates. */
  readonly due_at: string
  progress(text: string): void
}

/** Returns the new state. Throws LogFinding, or LogUnreadable if the log cannot be read now. */
export async function followLog(
  state: MonitorState,
  options: FollowOptions,
): Promise<MonitorState> {
  const { reader, due_at } = options
  const note = await reader.checkpoint()
  if (note === null) {
    if (state.checkpoint === null) return state
    throw new LogFinding('truncated', 'the log no longer has a checkpoint', null)
  }
  const shown = await readCheckpoint(note, state, options)
  const { size, root } = shown
  const kept = state.frontier.size
  if (size < kept)
    throw new LogFinding('truncated', `the log had ${kept} entries, now ${size}`, note)
  if (size === kept) {
    if (state.checkpoint !== null && !equalBytes(parseCheckpoint(state.checkpoint).root, root))
      throw new LogFinding('fork', `two different trees of ${size} entries are signed`, note)
    requireCertificates(state.open, due_at, note)
    return { ...state, checkpoint: note }
  }
  const walk = new LogWalk(state, { ...options, note })
  await walk.readEntries(size)
  if (!matchesCheckpoint(walk.frontier, shown))
    throw new LogFinding('fork', `the ${size} entries do not hash to the signed root`, note)
  await walk.compareTiles(size)
  await walk.fetchCertificates()
  const next = walk.state(note)
  requireCertificates(next.open, due_at, note)
  return next
}

async function readCheckpoint(
  note: string,
  { checkpoint: kept }: MonitorState,
  { keys, origin }: FollowOptions,
): Promise<Checkpoint> {
  const expected = kept === null ? origin : parseCheckpoint(kept).origin
  const verdicts = await Promise.all(keys.map((publicKey) => verifyCheckpoint(note, { publicKey })))
  const shown = verdicts.find(({ ok }) => ok)?.checkpoint
  if (!shown) throw new LogFinding('not_signed', 'none of the keys has signed the checkpoint', note)
  if (expected === null || shown.origin === expected) return shown
  throw new LogFinding(
    'restored',
    `the log was ${expected} and is now ${shown.origin}: it was restored from a backup, or is ` +
      'another log; to follow it from here, begin with a new state file',
    note,
  )
}

function requireCertificates(open: readonly OpenErasure[], due_at: string, note: string): void {
  const late = open.find(({ created_at }) => created_at < due_at)
  if (!late) return
  const { about, seq, created_at } = late
  throw new LogFinding(
    'certificate_missing',
    `entry ${seq} of ${created_at} erases ${about}, but the log has no certificate for it`,
    note,
  )
}

/** Reads the entries after the saved checkpoint in order and collects what to compare. */
class LogWalk {
  readonly #options: FollowOptions & { readonly note: string }
  readonly #open: Map<string, OpenErasure>
  readonly #certified = new Map<string, { readonly seq: number; readonly digest: string }>()
  /** Hashes computed from the entries, by tile level. */
  readonly #nodes = new Map<number, { index: number; hash: Uint8Array }[]>()
  #frontier: Frontier
  #last_id: string
  #last_at: string

  constructor(state: MonitorState, options: FollowOptions & { readonly note: string }) {
    this.#options = options
    this.#frontier = state.frontier
    this.#last_id = state.last_id
    this.#last_at = state.last_at
    this.#open = new Map(state.open.map((erasure) => [erasure.about, erasure]))
  }

  get frontier(): Frontier {
    return this.#frontier
  }

  state(checkpoint: string): MonitorState {
    return {
      checkpoint,
      frontier: this.#frontier,
      last_id: this.#last_id,
      last_at: this.#last_at,
      open: [...this.#open.values()],
    }
  }

  async readEntries(size: number): Promise<void> {
    const { reader, progress } = this.#options
    while (this.#frontier.size < size) {
      const begin = this.#frontier.size
      const index = Math.floor(begin / TILE_WIDTH)
      const width = Math.min(TILE_WIDTH, size - index * TILE_WIDTH)
      const bytes = await reader.tile({ level: 'entries', index, width })
      const entries = this.#decode(bytes, width, decodeBundle)
      for (const entry of entries.slice(begin - index * TILE_WIDTH)) this.#readEntry(entry)
      progress(`entry ${this.#frontier.size} of ${size}`)
    }
  }

  #decode<T>(
    bytes: Uint8Array | null,
    width: number,
    decode: (bytes: Uint8Array, width: number) => T,
  ): T {
    try {
      if (bytes) return decode(bytes, width)
    } catch {
      // Undecodable bytes are treated as missing.
    }
    throw this.#finding('gap', `a part of the log after entry ${this.#frontier.size} is missing`)
  }

  #finding(kind: LogFinding['kind'], message: string): LogFinding {
    return new LogFinding(kind, message, this.#options.note)
  }

  #readEntry(bytes: Uint8Array): void {
    const seq = this.#frontier.size
    const entry = parseEntry(bytes)
    if (!entry || entry.seq !== seq)
      throw this.#finding('gap', `entry ${seq} is missing or out of place`)
    if (entry.prev_id !== this.#last_id)
      throw this.#finding('fork', `entry ${seq} does not follow the entry before it`)
    if (entry.created_at <= this.#last_at)
      throw this.#finding('fork', `entry ${seq} is older than the entry before it`)
    const leaf = leafHash(bytes)
    this.#addNode(0, { index: seq, hash: leaf })
    this.#frontier = appendLeaf(this.#frontier, leaf, {
      onNode: (height, index, hash) => {
        if (height % TILE_HEIGHT === 0) this.#addNode(height / TILE_HEIGHT, { index, hash })
      },
    })
    this.#last_id = toHex(leaf)
    this.#last_at = entry.created_at
    this.#followErasure(entry)
  }

  #addNode(level: number, node: { index: number; hash: Uint8Array }): void {
    const nodes = this.#nodes.get(level) ?? []
    this.#nodes.set(level, nodes)
    nodes.push(node)
  }

  #followErasure({ seq, event_type, subject, payload, created_at }: UnnamedBreadcrumb): void {
    if (event_type === 'erasure.certified') {
      this.#certified.set(String(subject), { seq, digest: String(payload['digest']) })
      this.#open.delete(`the text of certificate ${subject}`)
      if (payload['subject_kind'] === 'fact') this.#open.delete(`memory ${payload['ref']}`)
    }
    if (event_type === 'memory.erased')
      this.#expectCertificate(`memory ${payload['ref']}`, seq, created_at)
    if (event_type !== 'decision.redacted' && event_type !== 'text.redacted') return
    const certificate_id = String(payload['certificate_id'])
    // The redaction and its certificate are written together, in either order.
    if (!this.#certified.has(certificate_id))
      this.#expectCertificate(`the text of certificate ${certificate_id}`, seq, created_at)
  }

  #expectCertificate(about: string, seq: number, created_at: string): void {
    this.#open.set(about, { about, seq, created_at })
  }

  /** Compares served tiles with computed hashes, because other clients build proofs from tiles. */
  async compareTiles(size: number): Promise<void> {
    for (const [level, nodes] of this.#nodes) {
      const tiles = Map.groupBy(nodes, ({ index }) => Math.floor(index / TILE_WIDTH))
      for (const [index, own] of tiles) {
        const width = Math.min(TILE_WIDTH, widthOfLevel(size, level) - index * TILE_WIDTH)
        const bytes = await this.#options.reader.tile({ level, index, width })
        const hashes = this.#decode(bytes, width, decodeTile)
        const differs = own.find(({ index: at, hash }) => {
          const served = hashes[at - index * TILE_WIDTH]
          return !served || !equalBytes(served, hash)
        })
        if (differs)
          throw this.#finding('fork', `a tile of level ${level} does not match the signed tree`)
      }
    }
  }

  /** Fetches each certificate that the log names and compares its digest. */
  async fetchCertificates(): Promise<void> {
    const certified = [...this.#certified]
    for (let at = 0; at < certified.length; at += CERTIFICATES_AT_ONCE) {
      const some = certified.slice(at, at + CERTIFICATES_AT_ONCE)
      await Promise.all(
        some.map(([id, { seq, digest }]) => this.#fetchCertificate(id, seq, digest)),
      )
      this.#options.progress(`certificate ${at + some.length} of ${certified.length}`)
    }
  }

  async #fetchCertificate(certificate_id: string, seq: number, digest: string): Promise<void> {
    const signed = await this.#options.reader.certificate(certificate_id)
    if (signed && toHex(sha256(signed)) === digest) return
    const what = signed ? 'differs from the digest on the log' : 'is missing'
    throw this.#finding(
      'certificate_missing',
      `certificate ${certificate_id} of entry ${seq} ${what}`,
    )
  }
}

function parseEntry(bytes: Uint8Array): UnnamedBreadcrumb | null {
  try {
    const read: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    if (!isObject(read) || !isObject(read['payload'])) return null
    return {
      tenant_id: String(read['tenant_id']),
      seq: Number(read['seq']),
      event_type: String(read['event_type']),
      subject: String(read['subject']),
      payload: read['payload'],
      prev_id: String(read['prev_id']),
      created_at: String(read['created_at']),
    }
  } catch {
    return null
  }
}
