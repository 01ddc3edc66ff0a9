// A report of the same data, period and position has the same bytes on either engine.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { REPORT_TYPES } from '@custos/contract'
import { canonicalize } from '@custos/proof'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { runMigrateEngine } from '../admin.ts'
import { type Agent, EMBEDDED, fillDirectory, store, tell } from './testing/filled-directory.ts'
import { inPlace, startOn } from './testing/place.ts'

interface Asked {
  readonly framework: string
  readonly from: string
  readonly to: string
  readonly log_seq: number
}

/** The content as its hash is made of it. */
async function contentOf(service: TestService, agent: Agent, asked: Asked): Promise<string> {
  const report = await tell(service, agent, 'POST', '/v1/reports/generate', asked)
  return canonicalize(report.content)
}

/** What makes a report differ where engines do: times, orders, numbers with fractions. */
async function decideMore(service: TestService, agent: Agent): Promise<void> {
  for (const [i, latency_ms] of [412.5, 0.1, 0.2, 1e-7, 33_333.333, 7].entries())
    await tell(service, agent, 'POST', '/v1/decisions/log', {
      ...{ store_id: agent.store_id, model_id: i % 2 === 0 ? 'ä-model' : 'Z-model', latency_ms },
      ...{ query: `Where ${i}?`, output: 'In Lisbon', retrieved_refs: [agent.refs[3]] },
    })
  await tell(service, agent, 'POST', '/v1/governance/policies', {
    ...{ name: 'People decide', policy_type: 'hitl_required', action: 'escalate' },
    config: { operations: ['artifacts.register'] },
  })
}

test('the content of a report is the same on SQLite and on PostgreSQL, to the byte', async () => {
  const filled = await fillDirectory()
  const [agent] = filled.agents
  assert.ok(agent)
  try {
    const before = new Map<string, string>()
    let asked = { from: '', to: '', log_seq: 0 }
    const embedded = await startTestService({ data_dir: filled.data_dir, config: EMBEDDED })
    try {
      await decideMore(embedded, agent)
      const whole = await tell(embedded, agent, 'POST', '/v1/reports/generate', {})
      assert.ok(whole.content.models.length >= 2 && whole.content.log.epochs_verified > 0)
      assert.equal(whole.content.log.status, 'intact')
      asked = { from: whole.period_start, to: whole.period_end, log_seq: whole.log_seq }
      for (const framework of REPORT_TYPES)
        before.set(framework, await contentOf(embedded, agent, { ...asked, framework }))
      // The same engine once more, after the log has grown by what was just made.
      assert.equal(before.get('full_audit'), canonicalize(whole.content))
    } finally {
      await embedded.stop({ keep: true })
    }
    await inPlace(filled, async ({ config }) => {
      await runMigrateEngine(config, { force: false })
      const moved = await startOn(config)
      try {
        const same = async () => {
          for (const framework of REPORT_TYPES) {
            const content = await contentOf(moved, agent, { ...asked, framework })
            assert.equal(content, before.get(framework), framework)
          }
        }
        await same()
        await tell(moved, agent, 'POST', store(agent, '/write'), { content: 'Later' })
        await decideMore(moved, agent)
        await tell(moved, agent, 'POST', '/v1/erasure/issue', { fact_ref: agent.refs[3] })
        await tell(moved, agent, 'POST', '/v1/gcrumbs/roll', {})
        await same()
      } finally {
        await moved.stop()
      }
    })
  } finally {
    filled.remove()
  }
})
