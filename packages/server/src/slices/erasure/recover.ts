// Recovers erasures: finishes or undoes interrupted ones, and replays the erasure ledger into
// restored data.

import { PLATFORM } from '../../platform/db/database.ts'
import { listDestroyedIds } from '../../platform/db/destructions.sql.ts'
import { listMovingIds } from '../../platform/db/moves.sql.ts'
import {
  forgetInterruption,
  listAbandonedErasures,
  noteInterruption,
  runErasure,
  takeInterrupted,
} from '../../platform/kernel/erasure-queue.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import type {
  LedgerCount,
  LedgerEntry,
  SecretKind,
  StoredCheckpoint,
} from '../../platform/keys/keyring.ts'
import { Refusal } from '../../platform/refusal.ts'
import { finishScrub, isScrubMissing, lacksScrub } from '../decisions/index.ts'
import { fitsHead, fitsLog, reconcileLog } from '../gcrumbs/index.ts'
import { dropCached } from '../memory/index.ts'
import type { StoredCertificate } from './certificate.ts'
import { certifyFacts, storeCertificate } from './certify.ts'
import { applyPlanParts, applyPlans, replaceRows } from './destroy.ts'
import {
  countStanding,
  countStandingByTenant,
  findStandingCertificate,
  findTenantMarks,
  findTombstones,
  listMarkedFacts,
  listReservedRefs,
  listStoreSecrets,
  RESERVED_SEQ,
} from './erasure.sql.ts'
import {
  applyRedactionPlan,
  applyTextPlan,
  finishRedaction,
  finishText,
} from './finish-redaction.ts'
import { finishStoreErasure, removeDeletedStores } from './finish-store.ts'
import { type FactPlan, type PendingErasure, parsePlan } from './plan.ts'
import { unmarkUnrequested } from './prepare.ts'

interface PendingResult {
  /** Refs certified by this run. */
  readonly facts: ReadonlySet<number>
  /** Unfinished subjects: `fact:<ref>`, `decision:<id>`, `text:…` and `store:…`. */
  readonly unfinished: ReadonlySet<string>
}

const NOTHING_PENDING: PendingResult = { facts: new Set(), unfinished: new Set() }

/**
 * Finishes erasures whose ledger rows are requested. Every new erasure begins with this, because a
 * plan reads the documents that earlier plans leave. Call it inside `runErasure`.
 */
export async function finishPendingErasures(
  kernel: Kernel,
  tenant_id: string,
): Promise<PendingResult> {
  const requested = await kernel.keyring.ledger.listRequested()
  // The slice `offboarding` finishes erasures of tenants.
  const entries = requested.filter(
    (entry) => entry.tenant_id === tenant_id && entry.subject_kind !== 'tenant',
  )
  if (entries.length === 0) return NOTHING_PENDING
  for (const entry of entries) await destroyAgain(kernel, entry)
  const { facts, redactions, stores, texts } = await applyInOrder(kernel, tenant_id, entries)

  const recorded = { pending: facts, known: new Map() }
  const applied = await applyPlans(kernel, tenant_id, recorded)
  const { certificates } = await certifyFacts(kernel, tenant_id, { ...recorded, ...applied })
  const unfinished = new Set(
    [...facts, ...redactions, ...stores, ...texts].map(({ entry }) => subjectOf(entry)),
  )
  for (const { entry, plan } of facts)
    if (certificates.has(plan.ref)) unfinished.delete(subjectOf(entry))
  for (const redaction of redactions)
    if (await finishRedaction(kernel, tenant_id, redaction))
      unfinished.delete(subjectOf(redaction.entry))
  for (const text of texts)
    if (await finishText(kernel, tenant_id, text)) unfinished.delete(subjectOf(text.entry))
  for (const store of stores)
    if (await finishStoreErasure(kernel, tenant_id, store))
      unfinished.delete(subjectOf(store.entry))
  return { facts: new Set(certificates.keys()), unfinished }
}

/**
 * Applies all plans before any is verified: until then a decision may be sealed under a secret that
 * another plan's erasure has destroyed.
 */
async function applyInOrder(
  kernel: Kernel,
  tenant_id: string,
  entries: readonly LedgerEntry[],
): Promise<{
  facts: PendingErasure[]
  redactions: PendingErasure<'decision'>[]
  stores: PendingErasure<'store'>[]
  texts: PendingErasure<'text'>[]
}> {
  const facts: PendingErasure[] = []
  const redactions: PendingErasure<'decision'>[] = []
  const stores: PendingErasure<'store'>[] = []
  const texts: PendingErasure<'text'>[] = []
  for (const entry of entries) {
    const plan = parsePlan(entry.plan)
    if (plan.kind === 'fact') {
      if (!isSameParts(entry, facts.at(-1)?.entry)) await applyPlanParts(kernel, tenant_id, [entry])
      facts.push({ entry, plan })
    } else if (plan.kind === 'store') stores.push({ entry, plan })
    else if (plan.kind === 'scrub') await finishScrub(kernel, entry)
    else if (plan.kind === 'text') {
      await applyTextPlan(kernel, tenant_id, plan)
      texts.push({ entry, plan })
    } else {
      await applyRedactionPlan(kernel, tenant_id, plan)
      redactions.push({ entry, plan })
    }
  }
  return { facts, redactions, stores, texts }
}

// Rows of a batch share their parts.
const isSameParts = (entry: LedgerEntry, last: LedgerEntry | undefined): boolean =>
  last !== undefined && entry.parts?.parts_id === last.parts?.parts_id

const subjectOf = (entry: LedgerEntry): string => `${entry.subject_kind}:${entry.subject}`

async function destroyAgain(kernel: Kernel, entry: LedgerEntry): Promise<void> {
  const kinds: readonly SecretKind[] = ['fact', 'decision']
  for (const kind of kinds) {
    const numbers = entry.destroys.flatMap((ref) => (ref.kind === kind ? [ref.number] : []))
    await kernel.keyring.destroySecrets(entry.tenant_id, kind, numbers)
  }
}

/**
 * For every tenant of the keyring: detects a restored database, replays the erasure ledger into it,
 * then finishes or undoes what was in progress. Call it before listening. A few queries over all
 * tenants find those that need it. `generation_floor` is set for a restored keyring (see
 * reconcileLog); then no tenant is skipped.
 */
export async function reconcileErasures(
  kernel: Kernel,
  options: { generation_floor?: number } = {},
): Promise<void> {
  const tenants =
    options.generation_floor === undefined
      ? await listTenantsToReconcile(kernel)
      : await listActiveTenants(kernel)
  for (const tenant_id of tenants)
    await runErasure(kernel, tenant_id, () => reconcileTenant(kernel, tenant_id, options)).catch(
      (error: unknown) => skipTakenTenant(kernel, tenant_id, error),
    )
}

// A serving process that holds a tenant's lease this long reconciled the tenant when it started.
function skipTakenTenant(kernel: Kernel, tenant_id: string, error: unknown): void {
  if (!kernel.db.shared || !(error instanceof Refusal)) throw error
  kernel.logger.warn('erasure.turn_taken', { tenant_id })
}

// Runs under the lease: another process's running erasure would look like an interrupted one.
async function reconcileTenant(
  kernel: Kernel,
  tenant_id: string,
  options: { generation_floor?: number },
): Promise<void> {
  const missing = await needsReplay(kernel, tenant_id)
  const log = await reconcileLog(kernel, tenant_id, { certificates_missing: missing, ...options })
  if (missing || log === 'restored') {
    await replayLedger(kernel, tenant_id)
    kernel.logger.warn('erasure.ledger_replayed', { tenant_id })
  }
  await tryRecover(kernel, tenant_id)
}

/**
 * Finishes every requested erasure from its plan; makes memories visible again that are marked
 * without a ledger row. Safe while serving. A failure is logged and leaves the memory hidden. It is
 * retried when the tenant's next erasure begins, by the timers and at the next start.
 */
export async function recoverErasures(kernel: Kernel): Promise<void> {
  for (const tenant_id of await listTenantsWithOpenErasures(kernel))
    await recoverInTurn(kernel, tenant_id)
}

/**
 * Recovers erasures of tenants whose lease expired because another process died, and those that a
 * database or disk outage interrupted in this process.
 */
export async function recoverInterrupted(kernel: Kernel, stopping: AbortSignal): Promise<void> {
  for (const tenant_id of await listAbandonedErasures(kernel))
    if (!stopping.aborted) await recoverInTurn(kernel, tenant_id)
  const interrupted = takeInterrupted(kernel)
  if (interrupted.length === 0) return
  const active = new Set(await listActiveTenants(kernel))
  for (const tenant_id of interrupted)
    if (!active.has(tenant_id)) forgetInterruption(kernel, tenant_id)
    else if (!stopping.aborted) await recoverInTurn(kernel, tenant_id)
}

// A tenant with an erasure under way, here or in another process, is retried later and delays no
// other.
async function recoverInTurn(kernel: Kernel, tenant_id: string): Promise<void> {
  const recover = () => tryRecover(kernel, tenant_id)
  try {
    await runErasure(kernel, tenant_id, recover, { wait_ms: 0 })
  } catch (error) {
    const passes = noteInterruption(kernel, tenant_id, error)
    // A tenant that has just moved to another cluster also refuses.
    if (!passes && !(error instanceof Refusal)) throw error
    kernel.logger.warn('erasure.recovery_postponed', { tenant_id })
  }
}

async function tryRecover(kernel: Kernel, tenant_id: string): Promise<void> {
  try {
    await recoverTenant(kernel, tenant_id)
    forgetInterruption(kernel, tenant_id)
  } catch (error) {
    const reason = error instanceof Error ? error.name : 'unknown'
    kernel.logger.error('erasure.recovery_failed', { tenant_id, reason })
    noteInterruption(kernel, tenant_id, error)
  }
}

async function recoverTenant(kernel: Kernel, tenant_id: string): Promise<void> {
  await finishPendingErasures(kernel, tenant_id)
  await removeDeletedStores(kernel, tenant_id)
  const marked = await kernel.db.read(tenant_id, async (db) => [
    ...(await listMarkedFacts(db)),
    ...(await listReservedRefs(db)),
  ])
  const refs = marked.map(({ ref }) => ref)
  await unmarkUnrequested(kernel, tenant_id, refs)
}

const PAGE = 200

/** Whether the ledger has completed erasures or scrubs that these data lack. */
async function needsReplay(kernel: Kernel, tenant_id: string): Promise<boolean> {
  const completed = await kernel.keyring.ledger.countCompleted(tenant_id)
  const standing = completed === 0 ? 0 : await kernel.db.read(tenant_id, countStanding)
  return standing < completed || lacksScrub(kernel, tenant_id)
}

/**
 * Applies, in ledger order, every plan from the first one whose effect is missing, and stores the
 * original certificates. Documents are rewritten even if a later version is stored: the later plan
 * follows and wins. Safe to run again.
 */
async function replayLedger(kernel: Kernel, tenant_id: string): Promise<void> {
  let replaying = false
  let after = 0
  let parts_id: string | undefined
  for (;;) {
    const entries = await kernel.keyring.ledger.list(tenant_id, { after, limit: PAGE })
    for (const entry of entries) {
      replaying ||= await isEntryMissing(kernel, tenant_id, entry)
      after = entry.ledger_id
      if (!replaying) continue
      // Rows of a batch share their parts and are consecutive.
      if (entry.parts?.parts_id !== parts_id) await applyPlanParts(kernel, tenant_id, [entry])
      parts_id = entry.parts?.parts_id
      await replayEntry(kernel, tenant_id, entry)
    }
    if (entries.length < PAGE) return
  }
}

async function isEntryMissing(
  kernel: Kernel,
  tenant_id: string,
  entry: LedgerEntry,
): Promise<boolean> {
  const { subject_kind, subject, state } = entry
  // removeDeletedStores finds rows of deleted stores by their secrets once their memories are gone.
  if (subject_kind === 'store' || subject_kind === 'tenant') return false
  if (subject_kind === 'scrub') return (await isScrubMissing(kernel, entry)) === true
  return kernel.db.read(tenant_id, async (db) => {
    if (await findStandingCertificate(db, subject_kind, subject)) return false
    if (state === 'completed') return true
    if (subject_kind !== 'fact') return false
    const found = await findTombstones(db, [Number(subject)])
    return found.every(({ erased_seq }) => erased_seq === RESERVED_SEQ)
  })
}

async function replayEntry(kernel: Kernel, tenant_id: string, entry: LedgerEntry): Promise<void> {
  const { subject_kind, subject } = entry
  // The slice `offboarding` resumes it.
  if (subject_kind === 'tenant') return
  const plan = parsePlan(entry.plan)
  if (plan.kind === 'store' || subject_kind === 'store') return
  if (plan.kind === 'scrub' || subject_kind === 'scrub') return
  if (plan.kind === 'fact') await replayFact(kernel, tenant_id, plan)
  else if (plan.kind === 'text') await applyTextPlan(kernel, tenant_id, plan)
  else await applyRedactionPlan(kernel, tenant_id, plan)
  if (entry.state !== 'completed') return
  // The ledger contains only certificates that certify.ts stored.
  const certificate = entry.certificate as StoredCertificate
  const completed_us = entry.completed_us ?? kernel.clock.now()
  await kernel.db.transact(tenant_id, async (tx) => {
    if (await findStandingCertificate(tx, subject_kind, subject)) return
    await storeCertificate(kernel, tx, certificate, completed_us)
  })
}

async function replayFact(kernel: Kernel, tenant_id: string, plan: FactPlan): Promise<void> {
  await replaceRows(kernel, tenant_id, [plan])
  if (plan.store_id !== null) dropCached(kernel, tenant_id, plan.store_id, [plan.ref])
}

/** No epoch has this number. */
const NO_EPOCH = 0

interface TenantSurvey {
  readonly tenants: readonly string[]
  readonly counts: ReadonlyMap<string, LedgerCount>
  readonly checkpoints: ReadonlyMap<string, StoredCheckpoint>
  readonly marks: Awaited<ReturnType<typeof findTenantMarks>>
}

/**
 * Lists tenants whose data may be older than the keyring, or that have open erasures. Reads without
 * leases: what another process is doing looks unfinished and is checked again under the lease.
 */
export async function listTenantsToReconcile(kernel: Kernel): Promise<string[]> {
  const seen = await surveyTenants(kernel)
  const unfinished = await filterUnfinished(kernel, seen)
  const rest = seen.tenants.filter((tenant_id) => !unfinished.has(tenant_id))
  const behind = await filterOutdated(kernel, seen, rest)
  return seen.tenants.filter((tenant_id) => unfinished.has(tenant_id) || behind.has(tenant_id))
}

/** Lists tenants with open erasures. */
export async function listTenantsWithOpenErasures(kernel: Kernel): Promise<string[]> {
  return [...(await filterUnfinished(kernel, await surveyTenants(kernel)))]
}

/**
 * Tenants that have keys and are neither being off-boarded nor moving between clusters. The log of
 * other tenants accepts no entries.
 */
async function listActiveTenants({
  db,
  keyring,
}: Pick<Kernel, 'db' | 'keyring'>): Promise<string[]> {
  const leaving = new Set([
    ...(await db.read(PLATFORM, listDestroyedIds)),
    ...(await db.read(PLATFORM, listMovingIds)),
  ])
  return (await keyring.listTenants()).filter((tenant_id) => !leaving.has(tenant_id))
}

async function surveyTenants({ db, keyring }: Kernel): Promise<TenantSurvey> {
  const tenants = await listActiveTenants({ db, keyring })
  const listed = await keyring.checkpoints.listLast()
  const checkpoints = new Map(listed.map((row) => [row.tenant_id, row]))
  const marks = await findTenantMarks(
    db,
    tenants.map((tenant_id) => {
      const epoch_number = checkpoints.get(tenant_id)?.epoch_number ?? NO_EPOCH
      return { tenant_id, params: { epoch_number } }
    }),
  )
  // Read after the data: an erasure completed meanwhile has its certificate there or is checked
  // again.
  const counted = await keyring.ledger.countAll()
  const counts = new Map(counted.map((row) => [row.tenant_id, row]))
  return { tenants, counts, checkpoints, marks }
}

async function filterUnfinished(
  kernel: Kernel,
  { tenants, counts, marks }: TenantSurvey,
): Promise<Set<string>> {
  const unfinished = new Set<string>()
  for (const tenant_id of tenants) {
    const { requested = 0, stores = 0 } = counts.get(tenant_id) ?? {}
    const { erasing = null, held = null } = marks.get(tenant_id) ?? {}
    if (
      requested > 0 ||
      erasing !== null ||
      held !== null ||
      (stores > 0 && (await hasStoreWithoutSecret(kernel, tenant_id)))
    )
      unfinished.add(tenant_id)
  }
  return unfinished
}

// Older data bring back the row of a deleted store.
async function hasStoreWithoutSecret(kernel: Kernel, tenant_id: string): Promise<boolean> {
  const stores = await kernel.db.read(tenant_id, listStoreSecrets)
  const numbers = stores.map(({ secret_no }) => secret_no)
  const secrets = await kernel.keyring.secrets(tenant_id, 'decision', numbers)
  return numbers.some((number) => (secrets.get(number) ?? null) === null)
}

async function filterOutdated(
  kernel: Kernel,
  { counts, checkpoints, marks }: TenantSurvey,
  tenants: readonly string[],
): Promise<Set<string>> {
  const certified = tenants.filter((tenant_id) => (counts.get(tenant_id)?.completed ?? 0) > 0)
  const standing = await countStandingByTenant(kernel.db, certified)
  const behind = new Set<string>()
  for (const tenant_id of tenants) {
    const { completed = 0, scrubs = 0 } = counts.get(tenant_id) ?? {}
    if (
      (standing.get(tenant_id) ?? 0) < completed ||
      (scrubs > 0 && (await lacksScrub(kernel, tenant_id))) ||
      !(await hasLastCheckpoint(kernel, tenant_id, { checkpoints, marks }))
    )
      behind.add(tenant_id)
  }
  return behind
}

/** Whether the log extends the last checkpoint and contains its epoch. */
async function hasLastCheckpoint(
  { db }: Kernel,
  tenant_id: string,
  { checkpoints, marks }: Pick<TenantSurvey, 'checkpoints' | 'marks'>,
): Promise<boolean> {
  const stored = checkpoints.get(tenant_id)
  if (!stored) return true
  const mark = marks.get(tenant_id)
  const fits = fitsHead(mark, stored)
  if (fits === null && !(await db.read(tenant_id, (one) => fitsLog(one, stored)))) return false
  return fits !== false && (mark?.epoch ?? null) !== null
}
