// Step 6: looks for an erased fact on every path that could show it, and reports what is found.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ErasureOutcome } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { probeDecisions, readBackScrubbed } from '../decisions/index.ts'
import { probeAbsent } from '../memory/index.ts'
import { keyGone } from './claims.ts'
import type { Known } from './plan-facts.ts'
import { findPlaces, findTombstones, listUses } from './subjects.sql.ts'

export interface ProbedPath {
  readonly path: string
  readonly result: string
}

export interface Observation {
  readonly ran_at: string
  readonly paths: readonly ProbedPath[]
  /** Read back: decisions that now show the marker instead of the fact. */
  readonly scrubbed_decision_ids: readonly string[]
  /** Sink to the status seen there. */
  readonly coverage: Readonly<Record<string, string>>
  /** No path shows it. */
  readonly gone: boolean
}

/** What a path may answer when the fact is gone; any other word means that it is not. */
const GONE: ReadonlySet<string> = new Set([
  'absent',
  'tombstoned',
  'key_destroyed',
  'key_deleted',
  'scrubbed',
  'none',
  'unused',
  'not_applicable',
])

const TURN_EVERY = 8

export interface Subject {
  readonly ref: number
  readonly store_id: string | null
  readonly outcome: ErasureOutcome
}

export async function observeFacts(
  kernel: Kernel,
  tenant_id: string,
  subjects: readonly Subject[],
  known: ReadonlyMap<number, Known>,
): Promise<Map<number, Observation>> {
  const observed = new Map<number, Observation>()
  const look = await observeRows(kernel, tenant_id, subjects)
  for (const subject of subjects) {
    const { ref, store_id } = subject
    // A batch has hundreds of facts; other requests are answered in between.
    if (observed.size % TURN_EVERY === TURN_EVERY - 1) await nextTurn()
    const words = known.get(ref)?.content ?? null
    const { rows, uses } = look(subject)
    const paths = [
      ...rows,
      ...(await probeAbsent(kernel, tenant_id, { ref, store_id })),
      ...(await probeDecisions(kernel, tenant_id, { ref, content: words })),
    ]
    const scrubbed = await readBackScrubbed(kernel, tenant_id, uses, ref)
    observed.set(ref, {
      ran_at: formatTime(kernel.clock.now()),
      paths,
      scrubbed_decision_ids: scrubbed,
      coverage: coverageOf(paths, scrubbed),
      gone: paths.every(({ result }) => GONE.has(result)) && scrubbed.length === uses.length,
    })
  }
  return observed
}

const coverageOf = (paths: readonly ProbedPath[], scrubbed: readonly string[]) => ({
  data: resultOf(paths, 'data'),
  keyring: resultOf(paths, 'keyring'),
  index: resultOf(paths, 'memory.retrieve'),
  decisions: scrubbed.length > 0 ? 'scrubbed' : 'none',
})

const resultOf = (paths: readonly ProbedPath[], path: string): string =>
  paths.find((probed) => probed.path === path)?.result ?? 'not_checked'

interface Look {
  readonly rows: ProbedPath[]
  /** Ids of the decisions that name the ref now. */
  readonly uses: string[]
}

/** The sinks this slice reads itself: the row, the secret, the decisions that name the ref. */
async function observeRows(
  kernel: Kernel,
  tenant_id: string,
  subjects: readonly Subject[],
): Promise<(subject: Subject) => Look> {
  const refs = subjects.map(({ ref }) => ref)
  const [rows, tombs, uses] = await kernel.db.read(tenant_id, async (db) => [
    new Set((await findPlaces(db, refs)).map(({ ref }) => ref)),
    new Set((await findTombstones(db, refs)).map(({ ref }) => ref)),
    Map.groupBy(await listUses(db, refs), ({ ref }) => ref),
  ])
  const secrets = await kernel.keyring.secrets(tenant_id, 'fact', refs)
  return ({ ref, outcome }) => {
    const data = rows.has(ref) ? 'present' : tombs.has(ref) ? 'tombstoned' : 'absent'
    const keyless = outcome === 'erased' ? keyGone(kernel.db.stats().engine) : 'absent'
    const secret = secrets.get(ref) ?? null
    // A number nobody has used yet may have its secret ready; it opens nothing.
    const unread = outcome === 'nothing_found' ? 'unused' : 'present'
    const keyring = secret === null ? keyless : unread
    return {
      rows: [
        { path: 'data', result: data },
        { path: 'keyring', result: keyring },
      ],
      uses: (uses.get(ref) ?? []).map(({ decision_id }) =>
        Buffer.from(decision_id).toString('hex'),
      ),
    }
  }
}
