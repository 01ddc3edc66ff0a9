// kill -9 at every step of a person's erasure, and at random: it goes on and ends as it should.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { casesOf, roundsOf } from '../../../packages/server/src/testing/sweep.ts'
import { fsck } from '../testing/command-line.ts'
import { killAtStep, killSubject, stepsOf } from '../testing/kill-subject.ts'
import { Stage } from '../testing/stage.ts'

test('killed at any step, the erasure of a person ends with one certificate each', async (t) => {
  const stage = new Stage(t)
  await stage.start()
  const steps = await stepsOf(stage)
  t.diagnostic(steps.join(' '))
  const own = steps.filter((step) => step.startsWith('subject:'))
  assert.equal(own.length, 7)
  assert.ok(steps.includes('erasure:ledger_recorded') && steps.includes('erasure:completed'))
  for (const [i, step] of casesOf(steps, 5).entries()) await killAtStep(stage, step, `Ravi${i}x`)
  const verdict = await stage.client.ok('GET', '/v1/gcrumbs/verify?full=true')
  assert.equal(verdict.status, 'intact')
  await stage.server.stop()
  await fsck(stage.options)
})

test('killed at random, the erasure of a person of several batches ends all the same', (t) =>
  killSubject(t, { facts: 600, kills: roundsOf(2, 5), delay_ms: 700 }))
