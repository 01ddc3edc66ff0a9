// Facts: checks that every seal opens, its provenance is signed, the log has committed to its
// content, and its versions follow each other.

import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { TOKENIZERS } from '@custos/contract'
import { factId, isValidAt, type PublishedKey } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { loadKeys } from '../../platform/kernel/sealed-column.ts'
import type { Keyring, TenantKeys } from '../../platform/keys/keyring.ts'
import { SealError } from '../../platform/keys/seal.ts'
import type { Tokenizer } from '../../platform/tokens/tokenizer.ts'
import {
  computeCommitment,
  computeCommitmentsRoot,
  descriptionColumn,
  type FactDocument,
  openFactDocument,
} from '../../slices/memory/index.ts'
import type { CheckContext, CheckFinding } from './check-context.ts'
import { parseRecord } from './check-log.ts'
import {
  countRows,
  countTombstonesByEntry,
  findRecord,
  findRefRange,
  listFactPlaces,
  listFactRows,
  listKnownRefs,
  listStoreRows,
  listTombstoneRows,
  listValidityRows,
} from './fsck.sql.ts'
import { chooseSample } from './sample.ts'

const CHUNK = 500
const SAMPLE_PAGE = 50
/** Facts opened concurrently: enough to keep the threads that verify signatures busy. */
const AT_ONCE = 32
const ERASING = 1

type FactRow = Awaited<ReturnType<typeof listFactRows>>[number]

/** Facts of one writing entry, until all that the entry counts have been seen. */
interface Group {
  seen: number
  /** Null once one of them could not be opened, because the root then cannot be rebuilt. */
  commitments: Buffer[] | null
}

export async function* checkFacts(check: CheckContext): AsyncGenerator<CheckFinding> {
  const { db, counts, log, sample } = check
  if (sample) {
    const wanted = { name: 'facts', there: await countRows(db, 'facts'), page: SAMPLE_PAGE }
    const places = await chooseSample(sample, wanted, () => findRefRange(db))
    if (places !== null) {
      yield* checkSomeFacts(check, places)
      return
    }
  }
  const erased = new Map<number, number>()
  for (const { written_seq, count } of await countTombstonesByEntry(db))
    if (written_seq !== null) erased.set(written_seq, count)
  const groups = new Map<number, Group>()
  const tokenizers = await loadTokenizers(check)
  for (let after = -1; ; ) {
    const rows = await listFactRows(db, after, CHUNK)
    for await (const { row, opened, problems } of checkRows(check, rows, tokenizers)) {
      yield* problems
      yield* addToGroup(check, row, { opened, groups, erased })
    }
    counts.facts += rows.length
    check.progress(`fact ${counts.facts}`)
    const last = rows.at(-1)
    if (!last || rows.length < CHUNK) break
    after = last.ref
    await nextTurn()
  }
  for (const [seq, count] of log.written) {
    const found = (groups.get(seq)?.seen ?? 0) + (erased.get(seq) ?? 0)
    if (found !== count)
      yield { kind: 'log', id: `entry ${seq}`, what: `speaks of ${count} facts, ${found} are here` }
  }
}

/** Checks seals, ids and signatures of a sample, and the number of facts against the log. */
async function* checkSomeFacts(
  check: CheckContext,
  places: readonly number[],
): AsyncGenerator<CheckFinding> {
  const { db, counts, log } = check
  const tokenizers = await loadTokenizers(check)
  const seen = new Set<number>()
  for (const after of places) {
    const rows = (await listFactRows(db, after, SAMPLE_PAGE)).filter(({ ref }) => !seen.has(ref))
    for await (const { row, problems } of checkRows(check, rows, tokenizers)) {
      seen.add(row.ref)
      yield* problems
    }
  }
  counts.facts = seen.size
  const tombstones = (await countTombstonesByEntry(db)).filter((row) => row.written_seq !== null)
  const here = tombstones.reduce(
    (sum, row) => sum + Number(row.count),
    await countRows(db, 'facts'),
  )
  const spoken = [...log.written.values()].reduce((sum, count) => sum + count, 0)
  if (here !== spoken)
    yield { kind: 'log', id: 'facts', what: `speaks of ${spoken} facts, ${here} are here` }
}

/** Findings in the order of `rows`. Verifies signatures of several rows at a time, in threads. */
async function* checkRows(
  check: CheckContext,
  rows: readonly FactRow[],
  tokenizers: ReadonlyMap<string, Tokenizer>,
) {
  const keys = await check.kernel.keyring.tenant(check.db.tenant_id)
  const secrets = await secretsOf(check, rows)
  for (let first = 0; first < rows.length; first += AT_ONCE)
    yield* await Promise.all(
      rows.slice(first, first + AT_ONCE).map(async (row) => {
        const opened = open(keys, row, secrets.get(row.ref) ?? null)
        return { row, opened, problems: await problemsOf(check, row, { opened, tokenizers }) }
      }),
    )
}

/** The tokenizer of each store, loaded only if there is something to count. */
async function loadTokenizers({ kernel, db }: CheckContext): Promise<Map<string, Tokenizer>> {
  const loaded = new Map<string, Tokenizer>()
  for (const { store_id, tokenizer } of await listStoreRows(db)) {
    const name = TOKENIZERS.find((known) => known === tokenizer)
    if (name) loaded.set(store_id, await kernel.tokenizer(name))
  }
  return loaded
}

const secretsOf = ({ kernel, db }: CheckContext, rows: readonly FactRow[]) =>
  kernel.keyring.secrets(
    db.tenant_id,
    'fact',
    rows.map(({ ref }) => ref),
  )

type OpenResult = FactDocument | 'no_secret' | 'sealed_shut'

function open(keys: TenantKeys, row: FactRow, secret: Buffer | null): OpenResult {
  if (secret === null) return 'no_secret'
  const { ref, store_id, sealed } = row
  try {
    return openFactDocument(keys, { tenant_id: keys.tenant_id, store_id, ref, secret }, sealed)
      .document
  } catch (error) {
    if (error instanceof SealError) return 'sealed_shut'
    throw error
  }
}

async function problemsOf(
  check: CheckContext,
  row: FactRow,
  { opened, tokenizers }: { opened: OpenResult; tokenizers: ReadonlyMap<string, Tokenizer> },
): Promise<CheckFinding[]> {
  const found = (what: string): CheckFinding => ({ kind: 'fact', id: String(row.ref), what })
  if (opened === 'sealed_shut') return [found('the seal does not open')]
  // The fact is being erased: its secret goes before its row, and the next start finishes it.
  if (opened === 'no_secret')
    return row.state === ERASING ? [] : [found('its secret is gone, its row is not')]
  const id = Buffer.from(factId(opened.content, tenantValue(check, row)))
  const checkingSignature = signatureProblem(check.keys, row, opened, id)
  const problems: CheckFinding[] = []
  if (id.toString('hex') !== opened.fact_id)
    problems.push(found('its id does not follow from its content'))
  const counter = tokenizers.get(row.store_id)
  if (counter && counter.count(opened.content) !== row.token_count)
    problems.push(found('its tokens are miscounted'))
  const problem = await checkingSignature
  if (problem) problems.push(found(problem))
  return problems
}

/** The tenant value on the wire: `T`, or `T/x` in the namespace x. */
const tenantValue = ({ db }: CheckContext, { namespace }: FactRow): string =>
  namespace === null ? db.tenant_id : `${db.tenant_id}/${namespace}`

async function signatureProblem(
  published: readonly PublishedKey[],
  row: FactRow,
  { signer_key_id, signature }: FactDocument,
  id: Buffer,
): Promise<string | null> {
  const key = published.find((k) => k.key_id === signer_key_id && k.purpose === 'provenance')
  if (!key) return 'signed by a key that is not published'
  if (!isValidAt(key, formatTime(row.written_us)))
    return 'its key was not valid when it was written'
  const bytes = Buffer.from(signature, 'base64')
  const signed = await verifyInThread(null, id, keyObject(key.public_key), bytes)
  return signed ? null : 'its provenance signature does not hold'
}

/** Verifies in a thread of the pool, so that several run at once. */
const verifyInThread = promisify(verify)

const keyObjects = new Map<string, KeyObject>()

function keyObject(public_key: string): KeyObject {
  const known = keyObjects.get(public_key)
  if (known) return known
  const x = Buffer.from(public_key, 'hex').toString('base64url')
  const made = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  keyObjects.set(public_key, made)
  return made
}

// Facts come in the order of refs, as do the commitments of an entry.
async function* addToGroup(
  check: CheckContext,
  row: FactRow,
  {
    opened,
    groups,
    erased,
  }: {
    readonly opened: OpenResult
    readonly groups: Map<number, Group>
    readonly erased: ReadonlyMap<number, number>
  },
): AsyncGenerator<CheckFinding> {
  const { written } = check.log
  const count = written.get(row.written_seq)
  if (count === undefined) {
    yield { kind: 'fact', id: String(row.ref), what: 'the log has no entry that wrote it' }
    return
  }
  const group = groups.get(row.written_seq) ?? { seen: 0, commitments: [] }
  groups.set(row.written_seq, group)
  group.seen += 1
  if (typeof opened === 'string') group.commitments = null
  else
    group.commitments?.push(
      computeCommitment(opened.content, Buffer.from(opened.commitment_salt, 'hex')),
    )
  const gone = erased.get(row.written_seq) ?? 0
  if (group.seen + gone !== count) return
  groups.delete(row.written_seq)
  written.delete(row.written_seq)
  // If one of them is erased, its content is gone and the root cannot be recomputed.
  if (group.commitments === null || gone > 0) return
  yield* rootProblem(check, row, computeCommitmentsRoot(group.commitments))
}

async function* rootProblem(
  check: CheckContext,
  row: FactRow,
  root: string,
): AsyncGenerator<CheckFinding> {
  const record = await findRecord(check.db, row.written_seq)
  const { subject, payload = {} } = parseRecord(record?.record ?? '')
  const id = `entry ${row.written_seq}`
  if (subject !== row.store_id) yield { kind: 'log', id, what: 'names another store' }
  if (payload['commitments_root'] !== root)
    yield { kind: 'log', id, what: 'did not commit to these contents' }
}

export async function* checkStores({
  keyring,
  db,
  counts,
}: Pick<CheckContext, 'db'> &
  Partial<Pick<CheckContext, 'counts'>> & { keyring: Keyring }): AsyncGenerator<CheckFinding> {
  const { tenant_id } = db
  const rows = await listStoreRows(db)
  if (counts) counts.stores = rows.length
  const numbers = rows.map(({ secret_no }) => secret_no)
  const keys = await loadKeys({ keyring }, tenant_id, numbers)
  for (const row of rows) {
    const { store_id, secret_no, sealed, state } = row
    const key = keys.get(secret_no)
    if (!key) {
      if (state !== 'deleting')
        yield { kind: 'store', id: store_id, what: 'its secret is gone, its row is not' }
      continue
    }
    try {
      descriptionColumn.open(key, tenant_id, row, sealed)
    } catch (error) {
      if (!(error instanceof SealError)) throw error
      yield { kind: 'store', id: store_id, what: 'the seal does not open' }
    }
  }
}

const VERSIONS_CHUNK = 2_000

type Version = Awaited<ReturnType<typeof listValidityRows>>[number]

/** All stored rows for a range of refs. */
interface Stretch {
  /** The last ref of the range; infinite for the last range. */
  readonly end: number
  readonly facts: ReadonlyMap<number, { store_id: string; written_seq: number }>
  readonly tombstones: ReadonlySet<number>
  readonly versions: ReadonlyMap<number, Version[]>
}

/** Checks that versions of a fact follow each other without gap or overlap, one of them open. */
export async function* checkValidity(check: CheckContext): AsyncGenerator<CheckFinding> {
  for (let after = -1; after !== Number.POSITIVE_INFINITY; ) {
    const stretch = await loadStretch(check.db, after)
    for (const [ref, versions] of stretch.versions)
      for (const what of findVersionProblems(ref, versions, stretch))
        yield { kind: 'validity', id: String(ref), what }
    for (const ref of stretch.facts.keys())
      if (!stretch.versions.has(ref))
        yield { kind: 'validity', id: String(ref), what: 'a fact without a version' }
    yield* danglingSuccessors(check.db, stretch)
    check.progress(`validity of ref ${after + 1}`)
    after = stretch.end
  }
}

async function loadStretch(db: TenantDb, after: number): Promise<Stretch> {
  const [facts, tombstones, versions] = [
    await listFactPlaces(db, after, VERSIONS_CHUNK),
    await listTombstoneRows(db, after, VERSIONS_CHUNK),
    await wholeVersions(db, after),
  ]
  const end = Math.min(
    lastRef(facts, VERSIONS_CHUNK),
    lastRef(tombstones, VERSIONS_CHUNK),
    versions.end,
  )
  const within = <T extends { ref: number }>(rows: readonly T[]) => rows.filter((r) => r.ref <= end)
  return {
    end,
    facts: new Map(within(facts).map((row) => [row.ref, row])),
    tombstones: new Set(within(tombstones).map(({ ref }) => ref)),
    versions: Map.groupBy(within(versions.rows), ({ ref }) => ref),
  }
}

const lastRef = (rows: readonly { ref: number }[], full: number): number =>
  rows.length < full ? Number.POSITIVE_INFINITY : (rows.at(-1)?.ref ?? Number.POSITIVE_INFINITY)

// A page may end within the versions of its last ref, which are then left to the next page. If a
// ref has more versions than a page holds, the page grows.
async function wholeVersions(
  db: TenantDb,
  after: number,
): Promise<{ end: number; rows: Version[] }> {
  for (let limit = VERSIONS_CHUNK; ; limit *= 2) {
    const rows = await listValidityRows(db, after, limit)
    if (rows.length < limit) return { end: Number.POSITIVE_INFINITY, rows }
    const cut = rows.at(-1)?.ref ?? after
    const whole = rows.filter(({ ref }) => ref < cut)
    if (whole.length > 0) return { end: cut - 1, rows: whole }
  }
}

function* findVersionProblems(
  ref: number,
  versions: readonly Version[],
  at: Stretch,
): Generator<string> {
  const fact = at.facts.get(ref)
  const erased = at.tombstones.has(ref)
  if (!fact && !erased) yield 'versions of no fact'
  if (fact && erased) yield 'both a fact and a tombstone'
  const open = versions.filter(({ until_seq }) => until_seq === null).length
  if (fact && open !== 1) yield `${open} open versions`
  if (!fact && erased && open > 0) yield 'an erased fact with an open version'
  if (fact && versions[0]?.from_seq !== fact.written_seq)
    yield 'its first version does not begin with its entry on the log'
  for (const [i, version] of versions.entries()) {
    const next = versions[i + 1]
    if (next && version.until_seq !== next.from_seq) yield 'versions that leave a gap or overlap'
    const { valid_from_us, valid_until_us, until_seq, from_seq } = version
    if (valid_until_us !== null && valid_until_us < valid_from_us) yield 'it ends before it begins'
    if (until_seq !== null && until_seq < from_seq) yield 'a version that closes before it opens'
    if (fact && version.store_id !== fact.store_id) yield 'a version in another store'
  }
}

async function* danglingSuccessors(
  db: TenantDb,
  { versions }: Stretch,
): AsyncGenerator<CheckFinding> {
  const current = [...versions.values()].flat().filter(({ until_seq }) => until_seq === null)
  const successors = current.flatMap(({ superseded_by }) => superseded_by ?? [])
  const known = await listKnownRefs(db, successors)
  for (const { ref, superseded_by } of current)
    if (superseded_by !== null && !known.has(superseded_by))
      yield { kind: 'validity', id: String(ref), what: `superseded by ${superseded_by}, unknown` }
}
