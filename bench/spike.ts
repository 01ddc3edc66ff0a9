// The ceiling of decision logging and of writes: one file that does the same necessary work on the
// service's schema and nothing else, so that the difference is what the service adds.
//
// It keeps: JSON and shape of the body, the id (BLAKE2b-128), the signature (Ed25519), salted
// commitments, a key of its own for each record (SHA-256, AES-256-GCM), tokens and vector of a
// memory, the log entry with its leaf and frontier, all rows and indexes, a durable commit for what
// arrives in one turn of the event loop, the checkpointer. It leaves out policies, credentials,
// idempotency keys, duplicates, the search index, metering and the request log. What it writes,
// `custos fsck` accepts.

import { hash, randomFillSync } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { LogDecisionRequest, WriteRequest } from '@custos/contract'
import { DIMENSIONS, loadModel, MODEL, VERSION } from '@custos/embeddings'
import {
  appendLeaf,
  decodeFrontier,
  EMPTY_FRONTIER,
  encodeFrontier,
  frontierRoot,
  leafHash,
} from '@custos/proof'
import { LOCAL_TENANT } from '@custos/server'
import { createBLAKE2b } from 'hash-wasm'
import { Compile } from 'typebox/compile'
import { hmacSha256, jsonBytes } from '../packages/server/src/platform/bytes.ts'
import { formatTime, systemClock } from '../packages/server/src/platform/clock.ts'
import { lockDataDir } from '../packages/server/src/platform/db/data-dir.ts'
import type { Tables } from '../packages/server/src/platform/db/schema/tables.ts'
import { startCheckpointer } from '../packages/server/src/platform/db/sqlite/checkpointer.ts'
import { SqliteConnection } from '../packages/server/src/platform/db/sqlite/connection.ts'
import { spaceMark, spaceOf } from '../packages/server/src/platform/embed/embedder.ts'
import { openFileKeyring } from '../packages/server/src/platform/keys/file/open-file-keyring.ts'
import type { SecretBlock, SecretKind } from '../packages/server/src/platform/keys/keyring.ts'
import { loadMasterKey } from '../packages/server/src/platform/keys/master-key.ts'
import { seal } from '../packages/server/src/platform/keys/seal.ts'
import { loadTokenizer } from '../packages/server/src/platform/tokens/tokenizer.ts'

const STORE = 'default'
const SECRETS_AT_ONCE = 1_024
const REFILL_AT = 256
const STORED_HEIGHTS = [8, 16, 24, 32]
const SALT_BYTES = 32

const data_dir = String(process.env['CUSTOS_DATA_DIR'])
const clock = systemClock()
const dir = lockDataDir(data_dir)
const db = new SqliteConnection(dir.database, 'write')
const checkpointer = startCheckpointer(dir.database)
const keyring = await openFileKeyring({
  dir: join(data_dir, 'keyring'),
  master_key: loadMasterKey({ data_dir }).key,
  now_us: () => clock.now(),
})
const keys = await keyring.tenant(LOCAL_TENANT)
const [decisionSigner, factSigner] = [keyring.signer('decision'), keyring.signer('provenance')]
const decision_public_key = decisionSigner.public_key.toString('base64')
const tokenizer = await loadTokenizer('o200k_base')
const model = loadModel()
const space = spaceOf({ model: MODEL, version: VERSION, dimensions: DIMENSIONS })
const space_mark = spaceMark(space)
const blake2b128 = await createBLAKE2b(128)
const isDecision = Compile(LogDecisionRequest)
const isWrite = Compile(WriteRequest)

const sha256 = (bytes: Uint8Array): Uint8Array => hash('sha256', bytes, 'buffer')
const blake2b = (text: string): Buffer =>
  Buffer.from(blake2b128.init().update(text).digest('binary'))

const randoms = Buffer.alloc(SALT_BYTES * 256)
let randomsUsed = randoms.length

/** Takes random bytes from a pool, because one system call costs as much as a commitment. */
function takeRandom(bytes: number): Buffer {
  if (randomsUsed + bytes > randoms.length) {
    randomFillSync(randoms)
    randomsUsed = 0
  }
  const taken = Buffer.from(randoms.subarray(randomsUsed, randomsUsed + bytes))
  randomsUsed += bytes
  return taken
}

/** A stock of secret numbers whose secrets are durable before they are used. */
class SecretStock {
  readonly #kind: SecretKind
  readonly #blocks: SecretBlock[] = []
  #used = 0
  #left = 0
  #refill: Promise<void> | null = null

  constructor(kind: SecretKind) {
    this.#kind = kind
  }

  async take(): Promise<{ number: number; secret: Buffer }> {
    while (this.#left === 0) await this.#reserve()
    if (this.#left < REFILL_AT) void this.#reserve()
    const [block] = this.#blocks
    if (!block) throw new Error('the stock of secrets is empty')
    const number = block.first + this.#used
    this.#used += 1
    this.#left -= 1
    if (this.#used === block.count) {
      this.#blocks.shift()
      this.#used = 0
    }
    return { number, secret: block.secretAt(number) }
  }

  #reserve(): Promise<void> {
    const options = { at_least: 1, count: SECRETS_AT_ONCE }
    this.#refill ??= keyring
      .reserve(LOCAL_TENANT, this.#kind, options)
      .then((block) => {
        this.#blocks.push(block)
        this.#left += block.count
      })
      .finally(() => {
        this.#refill = null
      })
    return this.#refill
  }
}

const decisionSecrets = new SecretStock('decision')
const factSecrets = new SecretStock('fact')
const factSecretOf = new Map<number, Buffer>()

/** Loads the secrets of the memories that a decision names, which are part of its key. */
async function loadFactSecrets(refs: readonly number[]): Promise<Buffer[]> {
  const missing = refs.filter((ref) => !factSecretOf.has(ref))
  const loaded = missing.length > 0 && (await keyring.secrets(LOCAL_TENANT, 'fact', missing))
  for (const [ref, secret] of loaded || []) if (secret) factSecretOf.set(ref, secret)
  return refs.map((ref) => {
    const secret = factSecretOf.get(ref)
    if (!secret) throw new Error(`there is no memory ${ref}`)
    return secret
  })
}

const headRow = db.get('select * from chain_heads where tenant_id = ?', [LOCAL_TENANT]) as
  | Tables['chain_heads']
  | undefined
const generation = headRow?.generation ?? 0
let frontier = headRow ? decodeFrontier(headRow.frontier) : EMPTY_FRONTIER
let last_id = headRow?.last_id ?? new Uint8Array(32)
let last_us = headRow?.last_us ?? 0
let store_seq: number | null = null

const insertEntry =
  'insert into breadcrumbs (tenant_id, seq, breadcrumb_id, record) values (?, ?, ?, ?)'
const insertNode = 'insert into chain_nodes (tenant_id, height, idx, hash) values (?, ?, ?, ?)'

/** Appends one log entry: leaf, frontier and row. Keys of `payload` are in canonical order. */
function appendEntry(event_type: string, subject: string, payload: object) {
  const seq = frontier.size
  last_us = Math.max(clock.now(), last_us + 1)
  // Keys are in the order of RFC 8785; JSON.stringify writes texts and integers canonically.
  const record = JSON.stringify({
    created_at: formatTime(last_us),
    event_type,
    payload,
    prev_id: Buffer.from(last_id).toString('hex'),
    seq,
    subject,
    tenant_id: LOCAL_TENANT,
  })
  last_id = leafHash(Buffer.from(record), sha256)
  db.run(insertEntry, [LOCAL_TENANT, seq, last_id, record])
  frontier = appendLeaf(frontier, last_id, {
    hash: sha256,
    onNode: (height, idx, node) => {
      if (STORED_HEIGHTS.includes(height)) db.run(insertNode, [LOCAL_TENANT, height, idx, node])
    },
  })
  return { seq, created_us: last_us }
}

/** Writes the rows that all units of a commit share. */
function writeHeads(): void {
  db.run(
    `insert into chain_heads (tenant_id, generation, size, frontier, last_id, last_us)
     values (?, ?, ?, ?, ?, ?) on conflict (tenant_id) do update set size = excluded.size,
     frontier = excluded.frontier, last_id = excluded.last_id, last_us = excluded.last_us`,
    [LOCAL_TENANT, generation, frontier.size, encodeFrontier(frontier), last_id, last_us],
  )
  if (store_seq === null) return
  const update = 'update stores set head_seq = ? where tenant_id = ? and store_id = ?'
  db.run(update, [store_seq, LOCAL_TENANT, STORE])
  store_seq = null
}

/** The clear header of a sealed decision: revision 0, its secret number, its bound memories. */
function sealedHead(secret_no: number, bound: readonly number[]): Buffer {
  const head = Buffer.alloc(15 + bound.length * 8)
  head.writeUInt8(1, 0)
  head.writeBigUInt64BE(BigInt(secret_no), 5)
  head.writeUInt16BE(bound.length, 13)
  for (const [i, ref] of bound.entries()) head.writeBigUInt64BE(BigInt(ref), 15 + i * 8)
  return head
}

/** Runs in the transaction. The returned answer is sent after the durable commit. */
type Unit = () => object

const insertDecision = `insert into decisions (tenant_id, seq, decision_id, logged_us, store_id,
  model_id, session_label, secret_no, token_count, latency_ms, memory_seq, sealed)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const insertUses = (count: number): string =>
  `insert into decision_facts (tenant_id, ref, decision_seq, bound)
   values ${Array.from({ length: count }, () => '(?, ?, ?, 1)').join(', ')}`

/** Prepares a decision before its transaction. */
async function prepareDecision(body: LogDecisionRequest) {
  const { store_id, model_id, query, output = '', session_id = null } = body
  const refs = body.retrieved_refs ?? []
  const bound = [...new Set(refs)].sort((a, b) => a - b)
  const fact_secrets = await loadFactSecrets(bound)
  const own = await decisionSecrets.take()
  const logged_us = clock.now()
  const timestamp = formatTime(logged_us)
  const id = blake2b(LOCAL_TENANT + store_id + model_id + query + timestamp)
  return {
    store_id,
    model_id,
    query,
    output,
    session_id,
    refs,
    contents: body.retrieved_contents ?? [],
    scores: body.retrieved_scores ?? [],
    token_count: body.token_count ?? null,
    latency_ms: body.latency_ms ?? null,
    bound,
    secrets: [own.secret, ...fact_secrets],
    secret_no: own.number,
    logged_us,
    timestamp,
    id,
    decision_id: id.toString('hex'),
    signed: {
      signature: decisionSigner.sign(id).toString('base64'),
      public_key: decision_public_key,
      key_id: decisionSigner.key_id,
    },
  }
}

type PreparedDecision = Awaited<ReturnType<typeof prepareDecision>>

/** The record digest: hex SHA-256 of the record with salted commitments in place of texts. */
function digestOf(made: PreparedDecision, memory_seq: number, salt: Buffer): string {
  const { refs, contents, scores, session_id } = made
  const commit = hmacSha256(salt)
  const digested = {
    decision_id: made.decision_id,
    latency_ms: made.latency_ms,
    memory_seq,
    model_id: made.model_id,
    output_commitment: commit(made.output),
    parameters_commitment: null,
    query_commitment: commit(made.query),
    retrieved: refs.map((ref, i) => ({
      content_commitment: commit(contents[i] ?? ''),
      ref,
      score: scores[i] ?? null,
    })),
    session_commitment: session_id === null ? null : commit(session_id),
    store_id: made.store_id,
    tenant_id: LOCAL_TENANT,
    timestamp: made.timestamp,
    token_count: made.token_count,
  }
  return hash('sha256', JSON.stringify(digested), 'hex')
}

function sealDecision(made: PreparedDecision, record_digest: string, salt: Buffer): Buffer {
  const { bound, decision_id, secret_no } = made
  const document = {
    query: made.query,
    output: made.output,
    session_id: made.session_id,
    parameters: null,
    refs: made.refs,
    contents: made.contents,
    scores: made.scores,
    known: bound,
    gone: [],
    scrubbed: [],
    redactions: [],
    commitment_salt: salt.toString('base64'),
    record_digest,
    ...made.signed,
  }
  const key = keys.decisionKey(decision_id, made.secrets)
  const owner = jsonBytes(['decision', LOCAL_TENANT, decision_id, secret_no, 0, ...bound])
  return Buffer.concat([sealedHead(secret_no, bound), seal(key, owner, jsonBytes(document))])
}

function insertDecisionRows(made: PreparedDecision, seq: number, sealed: Buffer): void {
  const { session_id, bound } = made
  const label = session_id === null ? null : Buffer.from(keys.label(session_id), 'hex')
  const named = [LOCAL_TENANT, seq, made.id, made.logged_us, made.store_id, made.model_id, label]
  const counted = [made.secret_no, made.token_count, made.latency_ms, seq]
  db.run(insertDecision, [...named, ...counted, sealed])
  if (bound.length === 0) return
  const uses = bound.flatMap((ref) => [LOCAL_TENANT, ref, seq])
  db.run(insertUses(bound.length), uses)
}

async function logDecision(body: LogDecisionRequest): Promise<Unit> {
  const made = await prepareDecision(body)
  return () => {
    const { decision_id, refs, scores, token_count, timestamp } = made
    const seq = frontier.size
    const salt = takeRandom(SALT_BYTES)
    const record_digest = digestOf(made, seq, salt)
    insertDecisionRows(made, seq, sealDecision(made, record_digest, salt))
    appendEntry('decision.logged', decision_id, {
      memory_seq: seq,
      record_digest,
      refs: refs.length,
      store_label: keys.label(made.store_id),
    })
    acknowledged.decisions += 1
    return {
      decision_id,
      tenant_id: LOCAL_TENANT,
      store_id: made.store_id,
      session_id: made.session_id,
      model_id: made.model_id,
      query: made.query,
      retrieved_refs: refs,
      retrieved_contents: made.contents,
      retrieved_scores: scores,
      output: made.output,
      token_count,
      latency_ms: made.latency_ms,
      timestamp,
      parameters: null,
      ...made.signed,
      record_digest,
      memory_seq: seq,
      log_seq: seq,
      redacted: false,
      redactions: [],
      created_at: timestamp,
      retrieved_fact_refs: refs,
      retrieval_scores: scores,
      output_tokens: token_count,
    }
  }
}

const insertFact = `insert into facts (tenant_id, ref, store_id, namespace, written_seq, written_us,
  token_count, state, sealed_seq, space_mark, sealed) values (?, ?, ?, null, ?, ?, ?, 0, ?, ?, ?)`

const insertValidity = `insert into validity (tenant_id, store_id, ref, from_seq, until_seq,
  valid_from_us, valid_until_us, predecessor, superseded_by)
  values (?, ?, ?, ?, null, ?, null, null, null)`

/** The payload of a memory: length as u32, JSON, vector. */
function factPayload(document: object, vector: Int8Array): Buffer {
  const json = jsonBytes(document)
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(json.length)
  return Buffer.concat([length, json, new Uint8Array(vector.buffer)])
}

async function writeMemory(body: WriteRequest): Promise<Unit> {
  const { content, options } = body
  const { number: ref, secret } = await factSecrets.take()
  const token_count = tokenizer.count(content)
  const vector = model.embed(content)
  const id = blake2b(`${content}\u001f${LOCAL_TENANT}`)
  const content_hash = id.toString('hex')
  const salt = takeRandom(SALT_BYTES)
  const document = {
    content,
    metadata: options?.metadata ?? {},
    write_id: takeRandom(16).toString('hex'),
    fact_id: content_hash,
    signature: factSigner.sign(id).toString('base64'),
    signer_key_id: factSigner.key_id,
    principal: 'local',
    commitment_salt: salt.toString('hex'),
    space,
  }
  const owner = jsonBytes(['fact', LOCAL_TENANT, STORE, ref])
  const sealed = seal(keys.factKey(secret), owner, factPayload(document, vector))
  const root = leafHash(Buffer.from(hmacSha256(salt)(content), 'hex'), sha256)
  const only = appendLeaf(EMPTY_FRONTIER, root, { hash: sha256 })
  const commitments_root = Buffer.from(frontierRoot(only, sha256)).toString('hex')
  return () => {
    const payload = { commitments_root, count: 1, first_ref: ref, last_ref: ref }
    const { seq, created_us } = appendEntry('memory.written', STORE, payload)
    const kept = [token_count, seq, space_mark, sealed]
    db.run(insertFact, [LOCAL_TENANT, ref, STORE, seq, created_us, ...kept])
    db.run(insertValidity, [LOCAL_TENANT, STORE, ref, seq, created_us])
    store_seq = seq
    acknowledged.facts += 1
    return { ref, content_hash, status: 'stored', duplicate_of: null, log_seq: seq, token_count }
  }
}

const acknowledged = { decisions: 0, facts: 0 }
const waiting: { readonly unit: Unit; readonly reply: ServerResponse }[] = []
let scheduled = false

/** Schedules one durable commit for all requests of this turn of the event loop. */
function commitSoon(): void {
  if (scheduled) return
  scheduled = true
  setImmediate(() => {
    scheduled = false
    const batch = waiting.splice(0)
    db.step('BEGIN IMMEDIATE')
    const answers = batch.map(({ unit }) => unit())
    writeHeads()
    db.step('COMMIT')
    checkpointer.noteCommit()
    for (const [i, { reply }] of batch.entries()) answer(reply, 200, answers[i])
  })
}

function answer(reply: ServerResponse, status: number, body: unknown): void {
  const text = Buffer.from(JSON.stringify(body))
  const headers = { 'content-type': 'application/json', 'content-length': text.length }
  reply.writeHead(status, headers).end(text)
}

function unitOf(path: string | undefined, body: unknown): Promise<Unit> | null {
  if (path === '/v1/decisions/log') return isDecision.Check(body) ? logDecision(body) : null
  if (path === `/v1/stores/${STORE}/write`) return isWrite.Check(body) ? writeMemory(body) : null
  return null
}

async function serve(path: string | undefined, text: string, reply: ServerResponse) {
  const unit = await unitOf(path, JSON.parse(text))
  if (unit === null) return answer(reply, 422, { detail: 'not what is served here' })
  waiting.push({ unit, reply })
  commitSoon()
}

function countRows(connection: SqliteConnection) {
  const count = (table: string) =>
    Number(Object.values(connection.get(`select count(*) from ${table}`, []) ?? {})[0])
  return { decisions: count('decisions'), facts: count('facts'), entries: count('breadcrumbs') }
}

/** Checks with a new connection that each answered request has left its rows. */
function requireRows(): void {
  const connection = new SqliteConnection(dir.database, 'read')
  const after = countRows(connection)
  connection.close()
  const { decisions, facts } = acknowledged
  const left = [
    after.decisions - before.decisions === decisions,
    after.facts - before.facts === facts,
    after.entries - before.entries === decisions + facts,
  ]
  if (left.includes(false)) throw new Error('an answered request has not left its rows')
}

const before = countRows(db)
const server = createServer((request, reply) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    serve(request.url, Buffer.concat(chunks).toString(), reply).catch((error) => {
      console.error(error)
      answer(reply, 500, { detail: 'failed' })
    })
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address && typeof address === 'object') console.log(`http://127.0.0.1:${address.port}`)
})
process.once('SIGTERM', () => {
  server.closeAllConnections()
  // After the commit of the requests that had arrived.
  server.close(() =>
    setImmediate(async () => {
      db.close()
      await checkpointer.stop()
      keyring.close()
      requireRows()
      dir.unlock()
    }),
  )
})
