// Steps 4 to 7: rows replaced, indexes dropped, read paths checked, certificates signed. They need
// the plan alone, so that the next start can run them after a crash.

import type { Kernel } from '../../platform/kernel.ts'
import { forget } from '../memory/index.ts'
import { applyParts, replaceRows, scrubLate } from './apply-plans.ts'
import type { StoredCertificate } from './certificate.ts'
import { certifyFacts, findCertified } from './certify-facts.ts'
import { observeFacts } from './observe-facts.ts'
import type { FactPlan, Pending } from './plan.ts'
import type { Known } from './plan-facts.ts'
import { passed } from './steps.ts'

export interface Finished {
  readonly certificates: ReadonlyMap<number, StoredCertificate>
  /** Refs that a read path still shows: not certified, their ledger rows stay requested. */
  readonly unproven: readonly number[]
}

export interface FactWork {
  /** In ledger order. */
  readonly pending: readonly Pending[]
  /** Empty when a later start finishes the erasure. */
  readonly known: ReadonlyMap<number, Known>
}

export async function finishFacts(
  kernel: Kernel,
  tenant_id: string,
  { pending, known }: FactWork,
): Promise<Finished> {
  const plans = pending.map(({ plan }) => plan)
  const entries = pending.map(({ entry }) => entry)
  const redactions = await applyParts(kernel, tenant_id, entries)
  const seqs = await replaceRows(kernel, tenant_id, plans)
  await scrubLate(kernel, tenant_id, plans, known)
  await passed(kernel, '4')

  for (const { ref, store_id } of plans)
    if (store_id !== null) forget(kernel, tenant_id, store_id, [ref])
  await passed(kernel, '5')

  const observed = await observeFacts(kernel, tenant_id, plans, known)
  const unproven = plans.filter(({ ref }) => observed.get(ref)?.gone !== true)
  for (const plan of unproven)
    reportUnproven(kernel, tenant_id, plan, observed.get(plan.ref)?.paths)
  await passed(kernel, '6')

  const known_certificates = await findCertified(kernel, tenant_id, pending)
  const proven = pending.filter(({ plan }) => observed.get(plan.ref)?.gone === true)
  const certificates = await certifyFacts(kernel, tenant_id, {
    pending: proven,
    certified: known_certificates,
    observed,
    redactions,
    seqs,
    known,
  })
  return { certificates, unproven: unproven.map(({ ref }) => ref) }
}

function reportUnproven(
  kernel: Kernel,
  tenant_id: string,
  plan: FactPlan,
  paths: readonly { path: string; result: string }[] = [],
): void {
  kernel.logger.error('erasure.not_verified', {
    tenant_id,
    ref: plan.ref,
    certificate_id: plan.certificate_id,
    paths: paths.map(({ path, result }) => `${path}:${result}`).join(' '),
  })
}
