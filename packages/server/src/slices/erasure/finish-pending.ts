// Finishes erasures whose ledger rows say requested: a crash or a failure has left them halfway.

import type { Kernel } from '../../platform/kernel.ts'
import type { LedgerEntry, SecretKind } from '../../platform/keys/keyring.ts'
import { finishScrub } from '../decisions/index.ts'
import { applyParts } from './apply-plans.ts'
import { finishFacts } from './finish-facts.ts'
import { applyRedactionPlan, finishRedaction } from './finish-redaction.ts'
import { finishStore } from './finish-store.ts'
import { type Pending, type PendingRedaction, type PendingStore, readPlan } from './plan.ts'

export interface PendingResult {
  /** Refs certified by this run. */
  readonly facts: ReadonlySet<number>
  /** `fact:<ref>`, `decision:<id>` and `store:…` of what is still not finished. */
  readonly unfinished: ReadonlySet<string>
}

const NOTHING: PendingResult = { facts: new Set(), unfinished: new Set() }

/**
 * Every new erasure begins here: a later plan is made from what the earlier ones left, so their
 * documents must be in place first. The caller holds the tenant's erasure turn.
 */
export async function finishPending(kernel: Kernel, tenant_id: string): Promise<PendingResult> {
  const requested = await kernel.keyring.ledger.listRequested()
  // A tenant's own is for whoever off-boards it.
  const entries = requested.filter(
    (entry) => entry.tenant_id === tenant_id && entry.subject_kind !== 'tenant',
  )
  if (entries.length === 0) return NOTHING
  for (const entry of entries) await destroyAgain(kernel, entry)
  const { facts, redactions, stores } = await applyInOrder(kernel, tenant_id, entries)

  const { certificates } = await finishFacts(kernel, tenant_id, {
    pending: facts,
    known: new Map(),
  })
  const unfinished = new Set(
    [...facts, ...redactions, ...stores].map(({ entry }) => subjectOf(entry)),
  )
  for (const { entry, plan } of facts)
    if (certificates.has(plan.ref)) unfinished.delete(subjectOf(entry))
  for (const redaction of redactions)
    if (await finishRedaction(kernel, tenant_id, redaction))
      unfinished.delete(subjectOf(redaction.entry))
  for (const store of stores)
    if (await finishStore(kernel, tenant_id, store)) unfinished.delete(subjectOf(store.entry))
  return { facts: new Set(certificates.keys()), unfinished }
}

interface Applied {
  readonly facts: Pending[]
  readonly redactions: PendingRedaction[]
  readonly stores: PendingStore[]
}

/**
 * All plans are in place before any is verified: until then a decision may stand sealed under a
 * secret that another plan's erasure has destroyed.
 */
async function applyInOrder(
  kernel: Kernel,
  tenant_id: string,
  entries: readonly LedgerEntry[],
): Promise<Applied> {
  const facts: Pending[] = []
  const redactions: PendingRedaction[] = []
  const stores: PendingStore[] = []
  for (const entry of entries) {
    const plan = readPlan(entry.plan)
    if (plan.kind === 'fact') {
      if (!isSameParts(entry, facts.at(-1)?.entry)) await applyParts(kernel, tenant_id, [entry])
      facts.push({ entry, plan })
    } else if (plan.kind === 'store') stores.push({ entry, plan })
    else if (plan.kind === 'scrub') await finishScrub(kernel, entry)
    else {
      await applyRedactionPlan(kernel, tenant_id, plan)
      redactions.push({ entry, plan })
    }
  }
  return { facts, redactions, stores }
}

// The rows of a batch share their parts.
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
