// Two plans of one document, both in the ledger: whatever was destroyed, the decision opens.

import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { verifyDecision } from '@custos/proof'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'
import { dropCached } from '../../memory/index.ts'
import { MARKER } from '../trail/redact-text.ts'
import { applyScrubParts, type WrittenScrub, writeScrubParts } from './scrub-parts.ts'

const CONTENTS = ['Berta Gut was dismissed', 'Berta Gut has a brother']

interface PlannedErasure {
  readonly scene: Scene
  readonly refs: readonly number[]
  readonly decision_id: string
  /** One for each ref, made from the same record. */
  readonly plans: readonly WrittenScrub[]
}

/** @param erased whether the memories' secrets go with it */
async function planBoth(t: TestContext, erased: boolean): Promise<PlannedErasure> {
  const scene = await openScene()
  t.after(() => scene.stop())
  const { kernel } = scene.service
  const refs = [await scene.write(CONTENTS[0] ?? ''), await scene.write(CONTENTS[1] ?? '')]
  const decision_id = await scene.decide({
    query: CONTENTS.join('; '),
    output: 'o',
    session_id: 'Berta',
    retrieved_refs: refs,
    retrieved_contents: CONTENTS,
  })
  const plans: WrittenScrub[] = []
  for (const [i, ref] of refs.entries()) {
    const subjects = [{ ref, content: CONTENTS[i] ?? null }]
    const parts = await writeScrubParts(kernel, scene.tenant_id, { subjects, erased })
    assert.ok(parts)
    plans.push(parts)
  }
  for (const { parts_id, count } of plans)
    await kernel.keyring.ledger.request([
      {
        tenant_id: scene.tenant_id,
        subject_kind: 'scrub',
        subject: parts_id,
        store_id: null,
        requested_us: 1,
        plan: { version: 1, kind: 'scrub' },
        parts: { parts_id, count },
      },
    ])
  return { scene, refs, decision_id, plans }
}

async function applyBoth({ scene, plans, decision_id }: PlannedErasure): Promise<void> {
  const { kernel } = scene.service
  const changed: (readonly string[])[] = []
  for (const plan of [...plans, ...plans])
    changed.push((await applyScrubParts(kernel, scene.tenant_id, plan)).changed)
  assert.deepEqual(changed, [[decision_id], [decision_id], [], []])
}

async function requireWithheld({ scene, decision_id, refs }: PlannedErasure): Promise<void> {
  const { status, body, text } = await scene.api('GET', `/v1/decisions/${decision_id}`)
  assert.equal(status, 200, text)
  assert.deepEqual([body.query, body.output, body.session_id], [MARKER, MARKER, null])
  assert.ok(!text.includes('Berta'))
  assert.deepEqual(body.retrieved_refs, refs)
  const verdict = await verifyDecision(body, scene.service.kernel.keyring.publishedKeys())
  assert.ok(verdict.valid, verdict.reason)
}

test('a decision both plans would have sealed for nobody is kept without its text', async (t) => {
  const planned = await planBoth(t, true)
  const { scene, refs } = planned
  await scene.service.kernel.keyring.destroySecrets(scene.tenant_id, 'fact', refs)
  dropCached(scene.service.kernel, scene.tenant_id, scene.store_id, refs)
  await applyBoth(planned)
  await requireWithheld(planned)
})

test('neither plan brings back what the other has taken out of a decision', async (t) => {
  const planned = await planBoth(t, false)
  await applyBoth(planned)
  await requireWithheld(planned)
})
