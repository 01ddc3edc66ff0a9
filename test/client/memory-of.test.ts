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

type TakenStep = typeof step extends fc.Arbitrary<infer S> ? S : never

interface ModelMemory {
  readonly ref: number
  readonly who: string
  readonly content: string
  state: 'current' | 'replaced' | 'forgotten'
  /** The versions before it, oldest first. */
  readonly before: readonly number[]
}

const hasRef =
  (ref: number) =>
  (memory: ModelMemory): boolean =>
    memory.ref === ref

const isRefused = (error: unknown): boolean =>
  error instanceof CustosError && /no memory \d+ in the namespace/.test(error.message)

/** What a sequence of verbs has left, beside the service. */
class Model {
  readonly memories: ModelMemory[] = []
  readonly #store: string

  constructor(store: string) {
    this.#store = store
  }

  memoryOf(namespace: string) {
    return custos.memoryOf({ store: this.#store, namespace })
  }

  async take(step: TakenStep): Promise<void> {
    const memory = this.memoryOf(step.who)
    const content = `${'text' in step ? step.text : ''} ${this.memories.length}`
    if (step.verb === 'remember') {
      const { ref } = await memory.remember(content)
      this.memories.push({ ref, who: step.who, content, state: 'current', before: [] })
      return
    }
    const known = this.memories[step.which % Math.max(1, this.memories.length)]
    if (!known) return
    const isOwn = known.who === step.who
    if (step.verb === 'forget') await this.#forget(known, step.who)
    else if (step.verb === 'history') await this.#readHistory(known, step.who)
    else if (isOwn && known.state === 'current') {
      const { ref, old_ref } = await memory.correct(known.ref, content)
      assert.equal(old_ref, known.ref)
      known.state = 'replaced'
      const before = [...known.before, known.ref]
      this.memories.push({ ref, who: step.who, content, state: 'current', before })
    }
  }

  async #forget(known: ModelMemory, by: string): Promise<void> {
    const forgetting = this.memoryOf(by).forget(known.ref)
    if (known.state === 'forgotten') return await assert.rejects(forgetting, NotFoundError)
    if (known.who !== by) return await assert.rejects(forgetting, isRefused)
    const { deleted, erasure_certificate_id: id = '' } = await forgetting
    assert.equal(deleted, true)
    const keys = await custos.gcrumbs.publicKey()
    assert.equal((await verify(await custos.erasure.get(id), { keys })).valid, true)
    const wasCurrent = known.state === 'current'
    known.state = 'forgotten'
    // The version before the current one is current again.
    const before = known.before.toReversed().flatMap((ref) => this.memories.find(hasRef(ref)) ?? [])
    const last = before.find(({ state }) => state !== 'forgotten')
    if (wasCurrent && last) last.state = 'current'
  }

  async #readHistory(known: ModelMemory, by: string): Promise<void> {
    const versions = this.memories.filter(
      ({ ref, before }) =>
        ref === known.ref || known.before.includes(ref) || before.includes(known.ref),
    )
    const reading = this.memoryOf(by).history(known.ref)
    if (known.who !== by && versions.some(({ state }) => state !== 'forgotten'))
      return await assert.rejects(reading, isRefused)
    const found = await reading
    assert.ok(found.versions.some(({ ref }) => ref === known.ref))
  }
}

test('sequences of verbs leave what a list would, and touch no other namespace', async () => {
  let stores = 0
  const property = fc.asyncProperty(fc.array(step, { maxLength: 10 }), async (steps) => {
    stores += 1
    const store = `verbs-${stores}`
    await custos.memory.createStore({ store_id: store })
    const model = new Model(store)
    for (const taken of steps) await model.take(taken)
    for (const name of NAMES) {
      const { memories } = await model.memoryOf(name).recall('tea Porto cat May', { topK: 50 })
      const expected = model.memories.filter((one) => one.who === name && one.state === 'current')
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

test('a conversation is remembered turn by turn in its namespace, all or none', async () => {
  await custos.memory.createStore({ store_id: 'talks' })
  const memory = custos.memoryOf({ store: 'talks', namespace: 'ana' })
  const messages = [
    { role: 'user', speaker: 'Ana', content: 'I moved to Porto' },
    { role: 'assistant', content: 'How do you like it?' },
  ]
  const { refs, log_seq } = await memory.remember(messages, { session: 's1' })
  assert.equal(refs.length, 2)
  assert.equal(typeof log_seq, 'number')
  const { memories } = await memory.recall('where does Ana live')
  const found = memories.map((one) => ('metadata' in one ? one.metadata : {}))
  assert.ok(found.some(({ speaker, session_id }) => speaker === 'Ana' && session_id === 's1'))
  const other = custos.memoryOf({ store: 'talks', namespace: 'ben' })
  assert.deepEqual((await other.recall('where does Ana live')).memories, [])
  const extracting = memory.remember(messages, { mode: 'extract', model: 'none' })
  await assert.rejects(extracting, (error) => isRefusal(error, 'provider_not_found'))
  const bad = [{ content: 'fine' }, { content: ' ' }]
  await assert.rejects(memory.remember(bad), (error) => isRefusal(error, 'validation'))
  assert.equal((await custos.memory.stats('talks')).facts, 2)
})
