// An erasure cut off after any of its steps is undone or finished by the next start.

import assert from 'node:assert/strict'
import test from 'node:test'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'
import { ERASURE_STEPS } from './steps.ts'

const CONTENT = 'Ravi Subramanian has account 4417-2290'
const UNDONE = new Set(['erasure:marked', 'erasure:planned'])
const fateOf = (at: string): string => (UNDONE.has(at) ? 'undoes' : 'finishes')

/** Every named point from `at` on throws: nothing after it happens, as if the process were gone. */
function cutAt(at: string): { step: (name: string) => void; arm(): void } {
  let armed = false
  let gone = false
  return {
    arm() {
      armed = true
    },
    step(name) {
      if (armed && name === at) gone = true
      if (gone) throw new Error('cut off')
    },
  }
}

async function decisionTexts(scene: Scene): Promise<string> {
  return (await scene.api('GET', '/v1/decisions/export')).text
}

for (const name of ERASURE_STEPS) {
  const at = `erasure:${name}`
  test(`cut off after step ${name}: the next start ${fateOf(at)} it`, async () => {
    const cut = cutAt(at)
    const first = await openScene({ step: cut.step })
    const old = await first.write('An older version, kept')
    const ref = await first.supersede(old, CONTENT)
    await first.decide({
      query: `About ${CONTENT}`,
      output: 'noted',
      retrieved_refs: [ref, old],
      retrieved_contents: [CONTENT, 'An older version, kept'],
    })
    cut.arm()
    assert.equal((await first.issue(ref)).status, 500)
    await first.stop({ keep: true })

    const again = await openScene({ data_dir: first.service.data_dir }, first)
    try {
      const path = `/v1/stores/${again.store_id}/memories`
      const certificate = await again.api('GET', `/v1/erasure/fact/${ref}`)
      if (UNDONE.has(at)) {
        assert.equal(certificate.status, 404)
        assert.equal((await again.api('GET', `${path}/${ref}`)).body.content, CONTENT)
        assert.ok((await decisionTexts(again)).includes(CONTENT))
        assert.equal((await again.issue(ref)).body.deleted, true)
      } else {
        assert.equal(certificate.status, 200, certificate.text)
        assert.equal(certificate.body.outcome, 'erased')
        assert.equal(certificate.body.verified, true)
        assert.equal(certificate.body.scrubbed_decision_ids.length, 1)
        assert.equal((await again.issue(ref)).body.deleted, false)
      }
      assert.equal((await again.api('GET', `${path}/${ref}`)).status, 404)
      assert.equal((await again.api('GET', `${path}/${old}`)).body.superseded_by, null)
      const texts = await decisionTexts(again)
      assert.ok(!texts.includes(CONTENT) && texts.includes('An older version, kept'), texts)
      assert.equal((await again.api('GET', '/v1/erasure/stats')).body.total, 1)
      assert.equal((await again.api('GET', '/v1/gcrumbs/verify?full=true')).body.status, 'intact')
      assert.deepEqual(await again.service.kernel.keyring.ledger.listRequested(), [])
    } finally {
      await again.stop()
    }
  })
}

test('a failure after the plan is durable is finished by the next request', async () => {
  const cut = cutAt('erasure:key_destroyed')
  let broken = true
  const scene = await openScene({
    step: (name) => {
      if (broken) cut.step(name)
    },
  })
  try {
    const ref = await scene.write(CONTENT)
    const other = await scene.write('Another memory')
    cut.arm()
    assert.equal((await scene.issue(ref)).status, 500)
    const path = `/v1/stores/${scene.store_id}/memories`
    assert.equal((await scene.api('GET', `${path}/${ref}`)).status, 404, 'hidden meanwhile')
    broken = false
    assert.equal((await scene.issue(other)).body.deleted, true)
    const { body } = await scene.api('GET', `/v1/erasure/fact/${ref}`)
    assert.equal(body.verified, true)
    assert.ok(body.limits.some((limit: string) => limit.includes('without the text')))
  } finally {
    await scene.stop()
  }
})
