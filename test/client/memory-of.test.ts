// The four verbs of `memoryOf`: what they remember, and that two namespaces never meet.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Custos, CustosError, isRefusal, NotFoundError } from '@custos/client'
import { verify } from '@custos/client/verify'
import fc from 'fast-check'
import { startTestService, type TestService } from '../../packages/server/src/testing/harness.ts'
import { roundsOf } from '../../packages/server/src/testing/sweep.ts'

let service: TestService
let custos: Custos

before(async () => {
  service = await startTestService()
  const { api_key } = await service.createTenant('verbs')
  custos = new Custos({ url: service.url, apiKey: api_key })
})
after(() => service.stop())

const NAMES = ['ana', 'bo'] as const
const who = fc.constantFrom(...NAMES)
const text = fc.constantFrom('likes tea', 'lives in Porto', 'has a cat', 'is away in May')
/** Which of the memories so far, of any namespace. */
const which = fc.nat({ max: 9 })
const step = fc.oneof(
  fc.record({ verb: fc.constant('remember' as const), who, text }),
  fc.record({ verb: fc.constant('correct' as const), who, text, which }),
  fc.record({ verb: fc.constant('forget' as const), who, which }),
  fc.record({ verb: fc.constant('history' as const), who, which }),
)

interface Kept {
  readonly ref: number
  readonly who: string
  readonly content: string
  state: 'current' | 'replaced' | 'forgotten'
  /** The versions before it, oldest first. */
  readonly before: readonly number[]
}

const isRefused = (error: unknown): boolean =>
  error instanceof CustosError && /no memory \d+ in the namespace/.test(error.message)

test('sequences of verbs leave what a list would, and nothing of another namespace changes', async () => {
  let stores = 0
  const property = fc.asyncProperty(fc.array(step, { maxLength: 10 }), async (steps) => {
    stores += 1
    const store = `verbs-${stores}`
    await custos.memory.createStore({ store_id: store })
    const memoryOf = (namespace: string) => custos.memoryOf({ store, namespace })
    const model: Kept[] = []
    for (const taken of steps) {
      const memory = memoryOf(taken.who)
      if (taken.verb === 'remember') {
        const content = `${taken.text} ${model.length}`
        const { ref } = await memory.remember(content)
        model.push({ ref, who: taken.who, content, state: 'current', before: [] })
        continue
      }
      const known = model[taken.which % Math.max(1, model.length)]
      if (!known) continue
      const isOwn = known.who === taken.who
      if (taken.verb === 'forget') {
        const forgetting = memory.forget(known.ref)
        if (!isOwn && known.state !== 'forgotten') await assert.rejects(forgetting, isRefused)
        else {
          const { deleted, erasure_certificate_id: id = '' } = await forgetting
          assert.equal(deleted, known.state !== 'forgotten')
          const keys = await custos.gcrumbs.publicKey()
          assert.equal((await verify(await custos.erasure.get(id), { keys })).valid, true)
          known.state = 'forgotten'
        }
      } else if (taken.verb === 'history') {
        const refs = memory
          .history(known.ref)
          .then(({ versions }) => versions.map(({ ref }) => ref))
        const chain = model.filter(({ before }) => before.includes(known.ref))
        const isShown = [
          known,
          ...model.filter(({ ref }) => known.before.includes(ref)),
          ...chain,
        ].some(({ state }) => state !== 'forgotten')
        if (!isOwn && isShown) await assert.rejects(refs, isRefused)
        else assert.ok((await refs).includes(known.ref))
      } else if (isOwn && known.state === 'current') {
        const content = `${taken.text} ${model.length}`
        const { ref, old_ref } = await memory.correct(known.ref, content)
        assert.equal(old_ref, known.ref)
        known.state = 'replaced'
        const before = [...known.before, known.ref]
        model.push({ ref, who: taken.who, content, state: 'current', before })
      }
    }
    for (const name of NAMES) {
      const { memories } = await memoryOf(name).recall('tea Porto cat May', { topK: 50 })
      const expected = model.filter(({ who: of, state }) => of === name && state === 'current')
      assert.deepEqual(
        memories.map(({ content }) => content).sort(),
        expected.map(({ content }) => content).sort(),
      )
    }
  })
  await fc.assert(property, { numRuns: roundsOf(25, 300) })
})

test('without a namespace the verbs reach the whole store; what is missing is told', async () => {
  const memory = custos.memoryOf({ store: 'default' })
  const { ref } = await custos
    .memoryOf({ store: 'default', namespace: 'ana' })
    .remember('has a dog')
  assert.equal((await memory.history(ref)).versions.length, 1)
  assert.equal((await memory.forget(ref, { reason: 'GDPR Art. 17' })).deleted, true)
  assert.equal((await memory.forget(99_999)).deleted, false)
  await assert.rejects(memory.history(99_999), NotFoundError)
  const missing = custos.memoryOf({ store: 'missing' })
  await assert.rejects(missing.remember('x'), (error) => isRefusal(error, 'store_not_found'))
})
