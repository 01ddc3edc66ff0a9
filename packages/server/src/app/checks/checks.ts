// The list of checks of a tenant's data, which `custos fsck` and assurance run.

import { CLOCK_ADVICE, secondsAhead } from '../../platform/clock.ts'
import { listAppliedMigrations } from '../../platform/db/control.sql.ts'
import { plans, receipts } from '../../platform/db/migrations/0014-to-0028.ts'
import { checkDecisions, checkSomeDecisions } from '../../slices/decisions/index.ts'
import { findHead } from '../../slices/gcrumbs/index.ts'
import { checkPolicies } from '../../slices/governance/index.ts'
import { checkRecords } from '../../slices/records/index.ts'
import { checkReceipts, recompute } from '../../slices/reputation/index.ts'
import { compareMemoryCount, listOvercountedKinds } from '../../slices/tenants/index.ts'
import type { Check, CheckContext, CheckFinding } from './check-context.ts'
import {
  checkAudits,
  checkCertificates,
  checkDestroyed,
  checkManifests,
  checkTombstones,
} from './check-documents.ts'
import { checkFacts, checkStores, checkValidity } from './check-facts.ts'
import { checkCosignatures, checkLog, checkTimestamps } from './check-log.ts'

import { countRows } from './fsck.sql.ts'
import { chooseSample } from './sample.ts'

/** In the order in which they run, all after `summariseLog`. */
export const CHECKS: readonly Check[] = [
  { kind: 'log', part: 'chain', run: checkLog },
  { kind: 'log', part: 'chain', run: checkCosignatures },
  { kind: 'log', part: 'chain', run: checkTimestamps },
  {
    kind: 'store',
    part: 'seals',
    run: (context) => checkStores({ ...context, keyring: context.kernel.keyring }),
  },
  { kind: 'fact', part: 'seals', run: checkFacts },
  { kind: 'validity', part: 'ledger', run: checkValidity },
  { kind: 'tombstone', part: 'ledger', run: checkTombstones },
  { kind: 'decision', part: 'seals', run: checkDecisionTrail },
  { kind: 'certificate', part: 'ledger', run: checkCertificates },
  { kind: 'policy', part: 'policies', run: checkStoredPolicies },
  { kind: 'record', part: 'seals', run: checkRegistryRecords },
  { kind: 'reputation', part: null, run: checkReputation },
  { kind: 'receipt', part: null, run: checkGovernedReceipts },
  { kind: 'audit', part: 'seals', run: checkAudits },
  { kind: 'manifest', part: 'ledger', run: checkManifests },
  { kind: 'usage', part: null, run: checkUsage },
]

export const CLOCK_ID = 'clock'

/** Run by `custos fsck` for every tenant; assurance has its own check of clocks. */
export const CLOCK_CHECK: Check = { kind: 'log', part: null, run: checkClock }

/** Run instead of the others for a tenant whose keys were destroyed. */
export const DESTROYED_CHECKS: readonly Check[] = [
  { kind: 'certificate', part: null, run: checkDestroyed },
]

/**
 * Runs a check and yields its findings. A check that throws yields a finding too: rows that this
 * service did not write can break it in unexpected ways, and the other checks must still run. Only
 * the error's name is shown, because its message may quote content.
 */
export async function* runCheck(
  { kind, run }: Check,
  context: CheckContext,
): AsyncGenerator<CheckFinding> {
  try {
    yield* run(context)
  } catch (error) {
    const name = error instanceof Error ? error.name : 'unknown'
    yield { kind, id: '-', what: `the check failed: ${name}` }
  }
}

/** Checks the counters of billing and quotas. */
async function* checkUsage({ db, log }: CheckContext): AsyncGenerator<CheckFinding> {
  // See checkGovernedReceipts.
  if (!(await listAppliedMigrations(db)).includes(plans.name)) return
  for (const kind of await listOvercountedKinds(db, log.governed))
    yield { kind: 'usage', id: kind, what: 'the counter is larger than the number on the log' }
  const memories = await compareMemoryCount(db)
  if (memories !== null && memories.counted !== memories.rows)
    yield {
      kind: 'usage',
      id: 'memories',
      what: `the counter says ${memories.counted}, but there are ${memories.rows}`,
    }
}

async function* checkClock({ db }: CheckContext): AsyncGenerator<CheckFinding> {
  const seconds = secondsAhead((await findHead(db))?.last_us ?? 0)
  if (seconds > 0)
    yield {
      kind: 'log',
      id: CLOCK_ID,
      what: `the newest entry is ${seconds} s ahead of this machine. ${CLOCK_ADVICE}`,
    }
}

async function* checkStoredPolicies({ kernel, db }: CheckContext): AsyncGenerator<CheckFinding> {
  const { faults } = await checkPolicies(kernel, db)
  for (const { policy_id, fault } of faults) yield { kind: 'policy', id: policy_id, what: fault }
}

async function* checkRegistryRecords({
  kernel,
  db,
  log,
}: CheckContext): AsyncGenerator<CheckFinding> {
  for await (const { kind, id, fault } of checkRecords(kernel, db, log.registered))
    yield { kind, id, what: fault }
}

async function* checkReputation({ db, progress }: CheckContext): AsyncGenerator<CheckFinding> {
  const show = (entry: number) => progress(`reputation at entry ${entry}`)
  const { differences } = await recompute(db, show)
  for (const { table, id, what } of differences)
    yield { kind: 'reputation', id: `${table} ${id}`, what }
}

async function* checkGovernedReceipts({ kernel, db }: CheckContext): AsyncGenerator<CheckFinding> {
  // fsck also checks data of earlier versions, before migration, which have no such table.
  if (!(await listAppliedMigrations(db)).includes(receipts.name)) return
  for await (const { decision_id, fault } of checkReceipts(kernel, db))
    yield { kind: 'receipt', id: decision_id, what: fault }
}

async function* checkDecisionTrail(check: CheckContext): AsyncGenerator<CheckFinding> {
  const { db, counts, log } = check
  const { checked, faults } = await openDecisions(check)
  const stored = check.sample ? await countRows(db, 'decisions') : checked
  counts.decisions = checked
  for (const { decision_id, fault } of faults)
    yield { kind: 'decision', id: decision_id, what: fault }
  if (log.decisions !== stored)
    yield {
      kind: 'log',
      id: 'decisions',
      what: `the log has ${log.decisions} decisions, the table has ${stored}`,
    }
}

const DECISIONS_PAGE = 50

async function openDecisions({ kernel, db, sample, log, progress }: CheckContext) {
  const { tenant_id } = db
  const wanted = { name: 'decisions', there: log.decisions, page: DECISIONS_PAGE }
  const places =
    sample &&
    (await chooseSample(sample, wanted, async () => {
      return { first: 0, last: ((await findHead(db))?.size ?? 1) - 1 }
    }))
  return places
    ? checkSomeDecisions(kernel, tenant_id, places)
    : checkDecisions(kernel, tenant_id, (done) => progress(`decision ${done}`))
}
