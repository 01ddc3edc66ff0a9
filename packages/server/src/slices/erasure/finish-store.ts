// Finishes a store's deletion: removes its row, then destroys the secret that sealed its
// description.

import { requestErasures } from '../../platform/kernel/erasure-queue.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { dropCached, findStore, removeStoreRow } from '../memory/index.ts'
import { countFacts, listStoreSecrets } from './erasure.sql.ts'
import { type PendingErasure, parsePlan } from './plan.ts'

/** A store created again under the same id has another secret and is another subject. */
const subjectOf = (store_id: string, secret_no: number): string => `${store_id}:${secret_no}`

/**
 * Records the store's deletion in the ledger, so that no restored keyring makes its description
 * readable again.
 */
export async function requestStoreErasure(
  kernel: Kernel,
  tenant_id: string,
  plan: PendingErasure<'store'>['plan'],
): Promise<PendingErasure<'store'>> {
  const { store_id, secret_no } = plan
  const [entry] = await requestErasures(kernel, tenant_id, [
    {
      tenant_id,
      subject_kind: 'store',
      subject: subjectOf(store_id, secret_no),
      store_id,
      requested_us: kernel.clock.now(),
      plan,
      destroys: [{ kind: 'decision', number: secret_no }],
    },
  ])
  if (!entry) throw new Error('the ledger answered no row for a request')
  return { entry, plan }
}

/** Returns false if the store still has memories. */
export async function finishStoreErasure(
  kernel: Kernel,
  tenant_id: string,
  { entry, plan }: PendingErasure<'store'>,
): Promise<boolean> {
  const { store_id, secret_no, facts } = plan
  // Removes the row first: a store without its secret can no longer be shown.
  const removed = await kernel.db.transact(tenant_id, async (tx) => {
    const store = await findStore(tx, store_id)
    if (store?.secret_no !== secret_no) return true
    if ((await countFacts(tx, store_id)) > 0) return false
    await removeStoreRow(tx, store_id)
    await appendCrumb(tx, {
      event_type: 'store.deleted',
      subject: store_id,
      payload: { facts },
    })
    return true
  })
  if (!removed) return false
  await kernel.keyring.destroySecrets(tenant_id, 'decision', [secret_no])
  dropCached(kernel, tenant_id, store_id, [])
  const completed_us = kernel.clock.now()
  await kernel.keyring.ledger.complete([
    { ledger_id: entry.ledger_id, certificate: null, completed_us },
  ])
  return true
}

/** Removes rows of stores that the ledger lists as deleted, after older data were restored. */
export async function removeDeletedStores(kernel: Kernel, tenant_id: string): Promise<void> {
  const stores = await kernel.db.read(tenant_id, listStoreSecrets)
  const numbers = stores.map(({ secret_no }) => secret_no)
  const secrets = await kernel.keyring.secrets(tenant_id, 'decision', numbers)
  for (const { store_id, secret_no } of stores) {
    if ((secrets.get(secret_no) ?? null) !== null) continue
    const subject = subjectOf(store_id, secret_no)
    const entry = await kernel.keyring.ledger.find(tenant_id, 'store', subject)
    if (!entry) continue
    const plan = parsePlan(entry.plan)
    if (plan.kind === 'store') await finishStoreErasure(kernel, tenant_id, { entry, plan })
  }
}
