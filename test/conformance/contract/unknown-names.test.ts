// A name that an operation does not declare is refused, in its body and its query, and nothing is
// changed: a misspelt restriction must not become none.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { OperationSpec } from '@custos/contract'
import fc from 'fast-check'
import type { Answer, TestService } from '../../../packages/server/src/testing/harness.ts'
import { exampleOf } from './examples.ts'
import { startContractService } from './testing/payments.ts'
import { difference, type RowCounts, rowCounts } from './testing/rows.ts'
import { operationOf, operations, type Sent } from './testing/table.ts'
import { assertRefusal, send } from './testing/tenant.ts'
import { buildWorld, type World } from './testing/world.ts'

let service: TestService
let world: World

before(async () => {
  service = await startContractService()
  world = await buildWorld(service)
})

after(() => service.stop())

const ask = ({ id, access }: OperationSpec, sent: Sent): Promise<Answer> => {
  const key = access === 'operator' ? service.operator_key : world.tenant.api_key
  return send(service, id, sent, access === 'public' ? {} : { key })
}

/** Asserts that the answer names the place as unknown, and repeats no value. */
function assertUnknown(answer: Answer, loc: readonly (string | number)[], about: string): void {
  assertRefusal(answer, 'validation', about)
  const places = answer.body.detail.flatMap(({ loc: at, type }: { loc: unknown; type: string }) =>
    type === 'extra_forbidden' ? [JSON.stringify(at)] : [],
  )
  assert.ok(places.includes(JSON.stringify(loc)), `${about}: ${answer.text}`)
  assert.ok(!answer.text.includes('canary'), `${about} repeats the input: ${answer.text}`)
}

/** Objects whose keys are the caller's: their members are recorded as they come. */
const CALLERS =
  `args attestations conformance context data_provenance filter instance labels metadata parameters
  input_schema params spec value`.split(/\s+/)
/** Lists of objects whose keys are the caller's. */
const OPEN_ITEMS = ['invoices', 'sources']
/** Bodies that are records of any kind, of this service or another. */
const OPEN_BODIES = new Set(['gcrumbs.verify_envelope'])

/** The path of each object of a body whose keys are not the caller's. */
function* closedObjects(
  value: unknown,
  at: readonly (string | number)[] = [],
): Generator<readonly (string | number)[]> {
  if (typeof value !== 'object' || value === null || CALLERS.includes(String(at.at(-1)))) return
  const isList = Array.isArray(value)
  // Further fields of a source are covered by its leaf; an invoice has fields of the caller's own.
  if (!isList && !OPEN_ITEMS.includes(String(at.at(-2)))) yield at
  for (const [name, member] of Object.entries(value))
    yield* closedObjects(member, [...at, isList ? Number(name) : name])
}

/** A copy of a body with one more member in the object at a path. */
function withMember(
  value: unknown,
  [step, ...further]: readonly (string | number)[],
  [name, member]: readonly [string, unknown],
): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (step === undefined) return { ...value, [name]: member }
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => [
    key,
    key === String(step) ? withMember(inner, further, [name, member]) : inner,
  ])
  return Array.isArray(value) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries)
}

const takingJson = operations.filter(
  ({ method, body_type, raw_body, id }) =>
    method !== 'GET' && body_type !== 'application/x-ndjson' && !raw_body && !OPEN_BODIES.has(id),
)

/** Asserts that the tests of a suite change no row. */
function changeNothing(): void {
  let counts: RowCounts
  before(async () => {
    counts = await rowCounts(service)
  })
  after(async () => assert.deepEqual(difference(counts, await rowCounts(service)), {}))
}

describe('a body with an unknown name', () => {
  changeNothing()
  for (const operation of takingJson)
    test(`${operation.id} refuses it in every object that is not the caller's own`, async () => {
      const sent = exampleOf(operation.id, world.ids)
      const body = sent.body ?? {}
      for (const at of closedObjects(body)) {
        const changed = withMember(body, at, ['unheard_of', { canary: 'canary' }])
        const answer = await ask(operation, { ...sent, body: changed })
        assertUnknown(answer, ['body', ...at, 'unheard_of'], `${operation.id} ${at.join('.')}`)
      }
    })
})

/** A provider adds parameters of its own to its answer (RFC 6749, 4.1.2). */
const OPEN_QUERIES = new Set(['identity.callback'])

describe('a query with an unknown parameter', () => {
  changeNothing()
  for (const operation of operations.filter(({ id }) => !OPEN_QUERIES.has(id)))
    test(`${operation.id} refuses it`, async () => {
      const sent = exampleOf(operation.id, world.ids)
      for (const name of ['unheard_of', 'namespace ']) {
        const query = { ...sent.query, [name]: 'canary' }
        assertUnknown(await ask(operation, { ...sent, query }), ['query', name], operation.id)
      }
    })
})

const declaredAnywhere = (name: string): boolean =>
  /^[a-z_0-9]{1,30}$/.test(name) || name === '__proto__' || name === 'constructor'

describe('unknown names', () => {
  changeNothing()
  test('any name in any object of any body is refused unless it is declared', async () => {
    const shots = takingJson.flatMap(({ id }) => {
      const { body = {} } = exampleOf(id, world.ids)
      return [...closedObjects(body)].map((at) => ({ id, at }))
    })
    const name = fc.string({ unit: 'grapheme', maxLength: 40 })
    const property = fc.asyncProperty(
      fc.constantFrom(...shots),
      name.filter((text) => !declaredAnywhere(text) && !text.includes('\0')),
      fc.constantFrom<unknown>(null, 'canary', 1, true, [], {}, { canary: ['canary'] }),
      async ({ id, at }, unknown, value) => {
        const sent = exampleOf(id, world.ids)
        const body = withMember(sent.body ?? {}, at, [unknown, value])
        const answer = await ask(operationOf(id), { ...sent, body })
        assertUnknown(answer, ['body', ...at, unknown], `${id} ${at.join('.')} ${unknown}`)
      },
    )
    await fc.assert(property, { numRuns: 300, seed: 150 })
  })

  test('the misspelt names that were seen are refused, with the name that was meant', async () => {
    const { store_id, policy_id, ref } = world.ids
    const seen: [id: string, sent: Sent, loc: string[], meant: string | null][] = [
      [
        'subjects.erase',
        { body: { find: { text: 'Aria' }, preveiw: true } },
        ['body', 'preveiw'],
        'preview',
      ],
      [
        'keys.create',
        { body: { allowed_store: [store_id] } },
        ['body', 'allowed_store'],
        'allowed_stores',
      ],
      [
        'keys.create',
        { body: { expire_at: '2030-01-01T00:00:00Z' } },
        ['body', 'expire_at'],
        'expires_at',
      ],
      [
        'retention.place_hold',
        { params: { store_id }, body: { reason: 'case 7', untl: '2030-01-01T00:00:00Z' } },
        ['body', 'untl'],
        'until',
      ],
      [
        'governance.update_policy',
        { params: { policy_id }, body: { enabeld: false } },
        ['body', 'enabeld'],
        'enabled',
      ],
      [
        'memory.memories',
        { params: { store_id }, query: { namespce: 'x' } },
        ['query', 'namespce'],
        'namespace',
      ],
      [
        'memory.write',
        { params: { store_id }, body: { content: 'x', ttl: 1 } },
        ['body', 'ttl'],
        null,
      ],
      [
        'memory.delete',
        { params: { store_id }, body: { ref, dry_run: true } },
        ['body', 'dry_run'],
        null,
      ],
    ]
    for (const [id, sent, loc, meant] of seen) {
      const answer = await world.tenant.ask(id, sent)
      assertRefusal(answer, 'validation', id)
      const msg = `there is no such property${meant ? `; did you mean \`${meant}\`?` : ''}`
      assert.deepEqual(answer.body.detail, [{ loc, msg, type: 'extra_forbidden' }], id)
    }
  })
})
