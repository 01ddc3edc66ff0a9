// Validity: versions of a fact follow each other without gap or overlap, one of them open.

import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { CheckContext, CheckFinding } from './check-context.ts'
import { listFactPlaces, listKnownRefs, listTombstoneRows, listValidityRows } from './fsck.sql.ts'

const CHUNK = 2_000

type Version = Awaited<ReturnType<typeof listValidityRows>>[number]

/** All stored rows about one range of refs. */
interface Stretch {
  /** The last ref of the stretch; infinite for the last one. */
  readonly end: number
  readonly facts: ReadonlyMap<number, { store_id: string; written_seq: number }>
  readonly tombstones: ReadonlySet<number>
  readonly versions: ReadonlyMap<number, Version[]>
}

export async function* checkValidity(check: CheckContext): AsyncGenerator<CheckFinding> {
  for (let after = -1; after !== Number.POSITIVE_INFINITY; ) {
    const stretch = await loadStretch(check.db, after)
    for (const [ref, versions] of stretch.versions)
      for (const what of problemsOf(ref, versions, stretch))
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
    await listFactPlaces(db, after, CHUNK),
    await listTombstoneRows(db, after, CHUNK),
    await wholeVersions(db, after),
  ]
  const end = Math.min(lastRef(facts, CHUNK), lastRef(tombstones, CHUNK), versions.end)
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

// A page may end amid the versions of its last ref: those are left to the next one. A ref with
// more versions than a page holds makes the page grow.
async function wholeVersions(
  db: TenantDb,
  after: number,
): Promise<{ end: number; rows: Version[] }> {
  for (let limit = CHUNK; ; limit *= 2) {
    const rows = await listValidityRows(db, after, limit)
    if (rows.length < limit) return { end: Number.POSITIVE_INFINITY, rows }
    const cut = rows.at(-1)?.ref ?? after
    const whole = rows.filter(({ ref }) => ref < cut)
    if (whole.length > 0) return { end: cut - 1, rows: whole }
  }
}

function* problemsOf(ref: number, versions: readonly Version[], at: Stretch): Generator<string> {
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
