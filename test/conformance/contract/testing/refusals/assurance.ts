// For every refusal an operation of assurance and compliance declares, a request that provokes it.

import type { RefusalCode } from '@custos/contract'
import { exampleOf } from '../../examples.ts'
import { runSql } from '../rows.ts'
import { newTenant, send } from '../tenant.ts'
import { GHOSTS } from '../world.ts'
import type { Provoke } from './provoke.ts'

const ofNone = (id: string, code: RefusalCode): [string, Provoke] => [
  `${id} ${code}`,
  ({ tenant }) => tenant.ask(id, exampleOf(id, GHOSTS)),
]

/** While a run is under way that this process knows nothing of. */
const during =
  (id: string): Provoke =>
  async ({ tenant }) => {
    const { service, tenant_id } = tenant
    const running = `update assurance_runs set status = 'running', lease_until_us = ${2 ** 53 - 1}`
    await runSql(service, `${running} where tenant_id = ?`, tenant_id)
    return tenant.ask(id)
  }

const hook = { alert_webhook: 'https://example.org' }

/** Cases by `operation code`. */
export const provokingAssurance: Readonly<Record<string, Provoke>> = {
  ...Object.fromEntries([
    ofNone('assurance.update_schedule', 'schedule_not_found'),
    ofNone('assurance.delete_schedule', 'schedule_not_found'),
    ofNone('assurance.get_run', 'run_not_found'),
    ofNone('compliance.history', 'tenant_not_found'),
  ]),
  'assurance.run run_in_progress': during('assurance.run'),
  'assurance.capture_baseline run_in_progress': during('assurance.capture_baseline'),
  'assurance.capture_baseline wrong_state': async ({ tenant }) => {
    await runSql(tenant.service, 'delete from tombstones where tenant_id = ?', tenant.tenant_id)
    return tenant.ask('assurance.capture_baseline')
  },
  'assurance.baseline baseline_not_found': async ({ tenant: { service } }) =>
    (await newTenant(service)).ask('assurance.baseline'),
  'compliance.status rejected': ({ tenant: { service } }) =>
    send(
      service,
      'compliance.status',
      { query: { cursor: 'not-a-cursor' } },
      { key: service.operator_key },
    ),
  'assurance.create_schedule rejected': ({ tenant }) =>
    tenant.ask('assurance.create_schedule', { body: hook }),
  'assurance.update_schedule rejected': ({ tenant, ids: { schedule_id } }) =>
    tenant.ask('assurance.update_schedule', { params: { schedule_id }, body: hook }),
  'assurance.run rejected': ({ tenant }) =>
    tenant.ask('assurance.run', { body: { checks: ['metrics'] } }),
  'assurance.runs rejected': ({ tenant }) =>
    tenant.ask('assurance.runs', { query: { cursor: 'not-a-cursor' } }),
}
