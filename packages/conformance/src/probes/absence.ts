// What a capability that is not declared must do when it is used: refuse.

import type { GmpCapability } from '../result.ts'
import { Refused, type Store } from '../store.ts'
import type { ProbeContext } from './probe.ts'

const AT = '2024-02-02T00:00:00.000000+00:00'

/** Uses a capability. Those without an operation or option of their own are not here. */
const USES: Partial<Record<GmpCapability, (store: Store) => Promise<unknown>>> = {
  audit: (store) => store.audit(),
  supersession_chain: async (store) => {
    const ref = await store.write('The ferry to Anholt is blue.', {})
    return store.supersede(ref, 'The ferry to Anholt is green.', {})
  },
  bi_temporal: (store) => store.retrieve('What is blue?', { budget_tokens: 64, as_of: AT }),
  hard_delete: async (store) => store.erase(await store.write('The pier is closed.', {})),
  multi_tenant: (store) => store.write('The pier is open.', { tenant_id: 'apart-1' }),
}

/** Adds a check where the protocol says what refusing looks like: 422 capability_not_supported. */
export async function checkAbsence(context: ProbeContext, capability: GmpCapability) {
  const use = USES[capability]
  if (!use) return
  const expected = '422 capability_not_supported'
  const name = 'refused, since it is not declared'
  const store = await context.openStore()
  try {
    await use(store)
    context.checks.add(name, false, `${expected}; it was carried out`)
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    const right = error.status === 422 && error.code === 'capability_not_supported'
    context.checks.add(name, right, `${expected}; ${error.message}`)
  }
}
