// Fills a stopped service with decisions by inserting rows and log entries, without requests.

import { createHash, hash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import {
  appendLeaf,
  canonicalize,
  decodeFrontier,
  encodeFrontier,
  type Frontier,
  type JsonObject,
} from '@custos/proof'
import { Client } from 'pg'
import type { Place } from './engines.ts'

/** The operations for inserting, equal for both engines. */
interface Target {
  first(sql: string): Promise<Record<string, unknown> | undefined>
  insert(table: string, columns: readonly string[], rows: readonly (readonly unknown[])[]): unknown
  /** Ends a batch. */
  commit(): Promise<void>
  close(): Promise<void>
}

interface Head {
  frontier: Frontier
  last_id: Buffer
  last_us: number
}

const BATCH = 5_000
const MODELS = 7
/** Number of decisions per memory, which is written first. */
const DECISIONS_A_MEMORY = 10
/** Time between two entries, so small that a million of them end before now. */
const STEP_US = 4
/** Heights of the interior nodes that the service stores. */
const STORED_HEIGHTS = [8, 16, 24, 32]
const SEALED = Buffer.alloc(1_120, 7)

const sha256 = (bytes: Uint8Array): Uint8Array => hash('sha256', bytes, 'buffer')
const digestOf = (at: number): Buffer => createHash('sha256').update(String(at)).digest()

/** Appends this number of decisions to the log of the only tenant. */
export async function seedDecisions(place: Pick<Place, 'env'>, decisions: number): Promise<void> {
  const target = await openTarget(place)
  try {
    const seed = await Seed.open(target)
    for (let at = 0; at < decisions; at += BATCH)
      await seed.add(at, Math.min(at + BATCH, decisions))
  } finally {
    await target.close()
  }
}

class Seed {
  readonly #target: Target
  readonly #tenant_id: string
  readonly #head: Head
  readonly #crumbs: unknown[][] = []
  readonly #nodes: unknown[][] = []

  private constructor(target: Target, tenant_id: string, head: Head) {
    this.#target = target
    this.#tenant_id = tenant_id
    this.#head = head
  }

  static async open(target: Target): Promise<Seed> {
    const row = await target.first('select * from chain_heads')
    if (!row) throw new Error('there is no log to go on from')
    return new Seed(target, String(row['tenant_id']), {
      frontier: decodeFrontier(Buffer.from(row['frontier'] as Uint8Array)),
      last_id: Buffer.from(row['last_id'] as Uint8Array),
      last_us: Number(row['last_us']),
    })
  }

  /** Adds one batch in one transaction. */
  async add(first: number, end: number): Promise<void> {
    const decisions: unknown[][] = []
    for (let at = first; at < end; at += 1) {
      if (at % DECISIONS_A_MEMORY === 0)
        this.#append('memory.written', 'default', {
          ...{ count: 1, first_ref: at, last_ref: at },
          commitments_root: digestOf(-at).toString('hex'),
        })
      const id = randomBytes(16)
      const seq = this.#append('decision.logged', id.toString('hex'), {
        record_digest: digestOf(at).toString('hex'),
        store_label: digestOf(0).toString('hex'),
        refs: at % 4,
        memory_seq: 0,
      })
      decisions.push([
        ...[this.#tenant_id, seq, id, this.#head.last_us, 'default', `model-${at % MODELS}`],
        ...[at + 1, 180, 412.5 + (at % 100), 0, SEALED],
      ])
    }
    await this.#flush(decisions)
  }

  #append(event_type: string, subject: string, payload: JsonObject): number {
    const head = this.#head
    const seq = head.frontier.size
    head.last_us += STEP_US
    const record = canonicalize({
      tenant_id: this.#tenant_id,
      seq,
      event_type,
      subject,
      payload,
      prev_id: head.last_id.toString('hex'),
      created_at: timeOf(head.last_us),
    })
    const leaf = Buffer.from(sha256(Buffer.concat([Uint8Array.of(0), Buffer.from(record)])))
    this.#crumbs.push([this.#tenant_id, seq, leaf, record])
    head.frontier = appendLeaf(head.frontier, leaf, {
      hash: sha256,
      onNode: (height, idx, node) => {
        if (STORED_HEIGHTS.includes(height))
          this.#nodes.push([this.#tenant_id, height, idx, Buffer.from(node)])
      },
    })
    head.last_id = leaf
    return seq
  }

  async #flush(decisions: readonly (readonly unknown[])[]): Promise<void> {
    const { frontier, last_id, last_us } = this.#head
    const target = this.#target
    const own = ['tenant_id', 'seq']
    await target.insert('breadcrumbs', [...own, 'breadcrumb_id', 'record'], this.#crumbs)
    await target.insert('chain_nodes', ['tenant_id', 'height', 'idx', 'hash'], this.#nodes)
    const about = ['decision_id', 'logged_us', 'store_id', 'model_id', 'secret_no']
    const rest = ['token_count', 'latency_ms', 'memory_seq', 'sealed']
    await target.insert('decisions', [...own, ...about, ...rest], decisions)
    const row = [this.#tenant_id, 0, frontier.size, encodeFrontier(frontier), last_id, last_us]
    await target.first('delete from chain_heads')
    const columns = ['tenant_id', 'generation', 'size', 'frontier', 'last_id', 'last_us']
    await target.insert('chain_heads', columns, [row])
    await target.commit()
    this.#crumbs.length = 0
    this.#nodes.length = 0
  }
}

/** Formats a time like the log, with six fractional digits. */
function timeOf(us: number): string {
  const whole = new Date(Math.floor(us / 1_000)).toISOString().slice(0, -1)
  return `${whole}${String(us % 1_000).padStart(3, '0')}Z`
}

function openTarget({ env }: Pick<Place, 'env'>): Promise<Target> {
  const url = env['CUSTOS_DATABASE_URL']
  return url ? openPostgres(url) : openSqlite(join(String(env['CUSTOS_DATA_DIR']), 'custos.db'))
}

async function openSqlite(path: string): Promise<Target> {
  const db = new DatabaseSync(path)
  db.exec('begin')
  return {
    first: async (sql) => db.prepare(sql).get(),
    insert(table, columns, rows) {
      const marks = columns.map(() => '?').join(', ')
      const insert = db.prepare(`insert into ${table} (${columns.join(', ')}) values (${marks})`)
      for (const row of rows) insert.run(...(row as []))
    },
    commit: async () => db.exec('commit; begin'),
    close: async () => db.close(),
  }
}

async function openPostgres(url: string): Promise<Target> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('begin')
  return {
    first: async (sql) => (await client.query(sql)).rows[0],
    async insert(table, columns, rows) {
      const { rows: types } = await client.query(
        `select column_name as name, data_type as type from information_schema.columns
         where table_schema = current_schema() and table_name = $1`,
        [table],
      )
      const lists = columns.map((name, i) => {
        const { type } = types.find((one) => one.name === name)
        return `$${i + 1}::${type}[]`
      })
      await client.query(
        `insert into ${table} (${columns.join(', ')}) select * from unnest(${lists.join(', ')})`,
        columns.map((_, i) => rows.map((row) => row[i])),
      )
    },
    async commit() {
      await client.query('commit; begin')
    },
    close: () => client.end(),
  }
}
