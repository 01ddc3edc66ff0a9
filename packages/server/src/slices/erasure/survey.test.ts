// A start with many tenants: those that need nothing cost nothing but a look at all together.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PLATFORM } from '../../platform/db/database.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { openTwoKernels } from '../../testing/two-kernels.ts'
import { rollEpoch } from '../gcrumbs/index.ts'
import { ensureTenant } from '../tenants/index.ts'
import {
  listTenantsToReconcile,
  listTenantsWithOpenErasures,
  reconcileErasures,
} from './recover.ts'

const TENANTS = ['t1', 't2', 't3', 't4', 't5']

/** The kernel, which counts the looks at single tenants. */
function counting(kernel: Kernel): { kernel: Kernel; looks: () => number } {
  let looks = 0
  const read: Kernel['db']['read'] = (tenant_id, look) => {
    if (tenant_id !== PLATFORM) looks += 1
    return kernel.db.read(tenant_id, look)
  }
  const db = new Proxy(kernel.db, {
    get: (target, key) => {
      if (key === 'read') return read
      const value = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { kernel: { ...kernel, db }, looks: () => looks }
}

test('a start takes no turn and no look of its own for tenants that need nothing', async (t) => {
  const [{ kernel }] = await openTwoKernels(t)
  for (const tenant_id of TENANTS) {
    await ensureTenant(kernel, { tenant_id })
    await rollEpoch(kernel, tenant_id)
  }
  const { kernel: counted, looks } = counting(kernel)
  const { commits } = kernel.db.stats()
  await reconcileErasures(counted)
  assert.deepEqual([kernel.db.stats().commits, looks()], [commits, 0])
})

test('a tenant whose log is behind its checkpoint is found among the others', async (t) => {
  const [{ kernel }] = await openTwoKernels(t)
  for (const tenant_id of TENANTS) {
    await ensureTenant(kernel, { tenant_id })
    await rollEpoch(kernel, tenant_id)
  }
  assert.deepEqual(await listTenantsToReconcile(kernel), [])
  const last = await kernel.keyring.checkpoints.last('t3')
  assert.ok(last)
  const { tree_size, epoch_number } = last
  const ahead = { ...last, tree_size: tree_size + 1, epoch_number: epoch_number + 1 }
  await kernel.keyring.checkpoints.save('t3', ahead)
  assert.deepEqual(
    [await listTenantsToReconcile(kernel), await listTenantsWithOpenErasures(kernel)],
    [['t3'], []],
  )
})
