// The end of a store's deletion: its row goes, then the secret its description was sealed under.

import { requestInTurn } from '../../platform/erasure-turn.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { dropCached, findStore, removeStoreRow } from '../memory/index.ts'
import { countFacts, listStoreSecrets } from './erasure.sql.ts'
import { type PendingErasure, parsePlan, type StorePlan } from './plan.ts'

/** A store made again under the same id has another secret, and is another subject. */
const subjectOf = (store_id: string, secret_no: number): string => `${store_id}:${secret_no}`

/** The ledger row of a store whose facts are all erased: no restored keyring revives its name. */
export async function requestStoreErasure(
  kernel: Kernel,
  tenant_id: string,
  plan: StorePlan,
): Promise<PendingErasure<StorePlan>> {
  const { store_id, secret_no } = plan
  const [entry] = await requestInTurn(kernel, tenant_id, [
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

/** false: there are facts in the store, so it is not its turn yet. */
export async function finishStoreErasure(
  kernel: Kernel,
  tenant_id: string,
  { entry, plan }: PendingErasure<StorePlan>,
): Promise<boolean> {
  const { store_id, secret_no, facts } = plan
  // The row goes first: a store without its secret could not be shown any more.
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

/** Rows of stores that the ledger knows as deleted: data from before that was restored. */
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
