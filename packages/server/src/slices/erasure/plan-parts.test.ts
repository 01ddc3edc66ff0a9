// An erasure whose plan is larger than one ledger row: stored in parts, finished after a crash
// between any two of them.

import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'
import { embeddedTest } from '../../testing/test-data.ts'
import { partLimits } from '../decisions/index.ts'

const CONTENT = 'Yvonne Abegg owes 4,400 francs'
const LABEL = 910_001
const LABEL_TEXT = 'Zita Brogli has a guardian'
const DECISIONS = 8
const PER_PART = 3
const PARTS = Math.ceil(DECISIONS / PER_PART)

interface UsedSubject {
  readonly ref: number
  readonly ids: readonly string[]
}

/** A subject that decisions used, each with a text of its own that stays. */
async function use(scene: Scene, ref: number, content: string): Promise<UsedSubject> {
  const ids: string[] = []
  for (let n = 0; n < DECISIONS; n += 1)
    ids.push(
      await scene.decide({
        query: `Case ${n}: ${content}`,
        output: `kept ${n}`,
        retrieved_refs: [ref],
        retrieved_contents: [content],
      }),
    )
  return { ref, ids }
}

async function useMemory(scene: Scene): Promise<UsedSubject> {
  return use(scene, await scene.write(CONTENT), CONTENT)
}

const useLabel = (scene: Scene): Promise<UsedSubject> => use(scene, LABEL, LABEL_TEXT)

const subjects = [
  { name: 'a memory', prepare: useMemory, text: CONTENT, outcome: 'erased' },
  { name: 'a mere label', prepare: useLabel, text: LABEL_TEXT, outcome: 'already_absent' },
] as const

async function exported(scene: Scene): Promise<string> {
  return (await scene.api('GET', '/v1/decisions/export')).text
}

async function assertGone(scene: Scene, { ref, ids }: UsedSubject, text: string): Promise<void> {
  const texts = await exported(scene)
  assert.ok(!texts.includes(text), texts)
  for (let n = 0; n < DECISIONS; n += 1) assert.ok(texts.includes(`kept ${n}`), texts)
  const { body } = await scene.api('GET', `/v1/erasure/fact/${ref}`)
  assert.equal(body.verified, true)
  assert.deepEqual(body.scrubbed_decision_ids.toSorted(), [...ids].toSorted())
  assert.equal(body.redactions.length, 2 * DECISIONS)
  assert.equal((await scene.api('GET', '/v1/gcrumbs/verify?full=true')).body.status, 'intact')
  assert.deepEqual(await scene.service.kernel.keyring.ledger.listRequested(), [])
}

for (const { name, prepare, text, outcome } of subjects)
  test(`the plan to erase ${name} of many decisions is stored in limited parts`, async () => {
    const steps: string[] = []
    const scene = await openScene({ step: (step) => void steps.push(step) })
    try {
      partLimits(scene.service.kernel).decisions_max = PER_PART
      const used = await prepare(scene)
      steps.length = 0
      assert.equal((await scene.issue(used.ref)).body.outcome, outcome)
      await assertGone(scene, used, text)
      const { ledger } = scene.service.kernel.keyring
      const entry = await ledger.find(scene.tenant_id, 'fact', String(used.ref))
      assert.equal(entry?.parts?.count, PARTS)
      assert.ok(JSON.stringify(entry.plan).length < 1_000, 'the row itself stays small')
      const count = (step: string) => steps.filter((passed) => passed === step).length
      assert.equal(count('scrub:planned'), PARTS)
      assert.equal(count('scrub:applied'), PARTS)
      const order = [
        'erasure:marked',
        'scrub:planned',
        'erasure:ledger_recorded',
        'erasure:key_destroyed',
        'scrub:applied',
      ]
      assert.deepEqual(
        order.map((step) => steps.indexOf(step)),
        order.map((step) => steps.indexOf(step)).toSorted((a, b) => a - b),
      )
    } finally {
      await scene.stop()
    }
  })

test('a part ends before the document that would make it too large', async () => {
  const scene = await openScene()
  try {
    partLimits(scene.service.kernel).bytes_max = 3_000
    const ref = await scene.write(CONTENT)
    for (const size of [10, 10, 9_000, 10])
      await scene.decide({ query: 'q'.repeat(size), output: 'o', retrieved_refs: [ref] })
    assert.equal((await scene.issue(ref)).body.scrubbed_decision_ids.length, 4)
    const { ledger } = scene.service.kernel.keyring
    const entry = await ledger.find(scene.tenant_id, 'fact', String(ref))
    assert.equal(entry?.parts?.count, 3)
  } finally {
    await scene.stop()
  }
})

test('the memories of a deleted store share the parts of their plan', async () => {
  const scene = await openScene()
  try {
    const { kernel } = scene.service
    partLimits(kernel).decisions_max = PER_PART
    const refs = [await scene.write(CONTENT), await scene.write('Adam Beyeler paid her')]
    for (let n = 0; n < DECISIONS; n += 1)
      await scene.decide({ query: CONTENT, output: 'Adam Beyeler paid her', retrieved_refs: refs })
    await scene.api('DELETE', `/v1/stores/${scene.store_id}`)
    await kernel.jobs.idle()
    const entries = await Promise.all(
      refs.map((ref) => kernel.keyring.ledger.find(scene.tenant_id, 'fact', String(ref))),
    )
    assert.equal(entries[0]?.parts?.count, PARTS)
    assert.deepEqual(entries[1]?.parts, entries[0]?.parts)
    for (const ref of refs) {
      const { body } = await scene.api('GET', `/v1/erasure/fact/${ref}`)
      assert.equal(body.scrubbed_decision_ids.length, DECISIONS)
      assert.equal(body.redactions.length, 2 * DECISIONS)
    }
  } finally {
    await scene.stop()
  }
})

/** The n-th time the named step is passed everything stops, as if the process were gone. */
function cutAt(name: string, times: number) {
  const cut = { armed: false, passed: 0, gone: false }
  return {
    arm: () => {
      cut.armed = true
    },
    step: (step: string) => {
      if (cut.armed && step === name) cut.passed += 1
      if (cut.passed === times) cut.gone = true
      if (cut.gone) throw new Error('cut off')
    },
  }
}

const CUTS = [
  { step: 'scrub:planned', times: 1, undone: true },
  { step: 'scrub:planned', times: PARTS, undone: true },
  { step: 'erasure:planned', times: 1, undone: true },
  { step: 'erasure:ledger_recorded', times: 1, undone: false },
  { step: 'scrub:applied', times: 1, undone: false },
  { step: 'scrub:applied', times: 2, undone: false },
  { step: 'scrub:applied', times: PARTS, undone: false },
] as const

for (const { name, prepare, text, outcome } of subjects)
  for (const { step, times, undone } of CUTS)
    test(`${name} cut off at ${step}, ${times}, is ${undone ? 'undone' : 'finished'}`, async () => {
      const cut = cutAt(step, times)
      const first = await openScene({ step: cut.step })
      partLimits(first.service.kernel).decisions_max = PER_PART
      const used = await prepare(first)
      const before = await exported(first)
      cut.arm()
      assert.equal((await first.issue(used.ref)).status, 500)
      await first.stop({ keep: true })

      const again = await openScene({ data_dir: first.service.data_dir }, first)
      try {
        if (undone) {
          assert.equal(await exported(again), before)
          assert.equal((await again.api('GET', `/v1/erasure/fact/${used.ref}`)).status, 404)
          const id = await again.decide({
            query: 'q',
            output: 'o',
            retrieved_refs: [used.ref],
            retrieved_contents: ['said again'],
          })
          const { body } = await again.api('GET', `/v1/decisions/${id}`)
          assert.deepEqual(body.retrieved_contents, ['said again'], 'the number is as it was')
          const issued = await again.issue(used.ref)
          assert.equal(issued.body.outcome, outcome)
          assert.equal(issued.body.scrubbed_decision_ids.length, DECISIONS + 1)
          assert.ok(!(await exported(again)).includes(text))
        } else await assertGone(again, used, text)
      } finally {
        await again.stop()
      }
    })

/** Erases all three ways after the entries of the directory were copied, then puts them back. */
async function eraseAfterCopy(entries: readonly string[], ledger_copy: string) {
  const config = { ledger_copy }
  const first = await openScene({ config })
  const memory = await useMemory(first)
  const label = await useLabel(first)
  const scrubbed = await first.write('Beat Christen is on leave')
  await use(first, scrubbed, 'Beat Christen is on leave')
  await first.stop({ keep: true })
  const dir = first.service.data_dir
  const backup = mkdtempSync(join(tmpdir(), 'custos-backup-'))
  for (const entry of entries) cpSync(join(dir, entry), join(backup, entry), { recursive: true })

  const second = await openScene({ data_dir: dir, config }, first)
  partLimits(second.service.kernel).decisions_max = PER_PART
  const { body } = await second.api('DELETE', `/v1/decisions/scrub/${scrubbed}`)
  assert.equal(body.decisions_affected, DECISIONS)
  for (const { ref } of [memory, label]) assert.equal((await second.issue(ref)).status, 200)
  const decisions = await exported(second)
  await second.stop({ keep: true })
  for (const entry of entries) {
    rmSync(join(dir, entry), { recursive: true, force: true })
    cpSync(join(backup, entry), join(dir, entry), { recursive: true })
  }
  for (const suffix of ['-wal', '-shm']) rmSync(join(dir, `custos.db${suffix}`), { force: true })
  rmSync(backup, { recursive: true })
  return { first, decisions, memory, label }
}

/** The first start on restored data, then the next. */
async function assertReplayed(
  { first, decisions, memory, label }: Awaited<ReturnType<typeof eraseAfterCopy>>,
  config: { ledger_copy: string },
): Promise<void> {
  const options = { data_dir: first.service.data_dir, config }
  const size = async (scene: Scene): Promise<number> =>
    (await scene.api('GET', '/v1/gcrumbs/stats')).body.total_breadcrumbs
  let before: number
  const restored = await openScene(options, first)
  try {
    assert.equal(await exported(restored), decisions)
    for (const { ref, ids } of [memory, label]) {
      const { body } = await restored.api('GET', `/v1/erasure/fact/${ref}`)
      assert.deepEqual(body.scrubbed_decision_ids.toSorted(), [...ids].toSorted())
    }
    before = await size(restored)
  } finally {
    await restored.stop({ keep: true })
  }
  const again = await openScene(options, first)
  try {
    assert.equal(await size(again), before, 'nothing is left to replay')
  } finally {
    await again.stop()
  }
}

for (const entries of [['custos.db'], ['custos.db', 'keyring']])
  embeddedTest(
    `${entries.join(' and ')} restored: all parts are replayed, no text is lost`,
    async () => {
      const copies = mkdtempSync(join(tmpdir(), 'custos-ledger-'))
      const ledger_copy = join(copies, 'ledger.ndjson')
      try {
        await assertReplayed(await eraseAfterCopy(entries, ledger_copy), { ledger_copy })
      } finally {
        rmSync(copies, { recursive: true, force: true })
      }
    },
  )

embeddedTest(
  'data from before a scrub are recognised as restored, and are scrubbed again',
  async () => {
    const first = await openScene()
    const ref = await first.write(CONTENT)
    await use(first, ref, CONTENT)
    await first.stop({ keep: true })
    const dir = first.service.data_dir
    const backup = mkdtempSync(join(tmpdir(), 'custos-backup-'))
    cpSync(join(dir, 'custos.db'), join(backup, 'custos.db'))
    const second = await openScene({ data_dir: dir }, first)
    await second.api('DELETE', `/v1/decisions/scrub/${ref}`)
    const decisions = await exported(second)
    await second.stop({ keep: true })
    cpSync(join(backup, 'custos.db'), join(dir, 'custos.db'))
    for (const suffix of ['-wal', '-shm']) rmSync(join(dir, `custos.db${suffix}`), { force: true })
    rmSync(backup, { recursive: true })
    const restored = await openScene({ data_dir: dir }, first)
    try {
      assert.equal(await exported(restored), decisions)
      assert.ok(!decisions.includes(CONTENT))
    } finally {
      await restored.stop()
    }
  },
)
