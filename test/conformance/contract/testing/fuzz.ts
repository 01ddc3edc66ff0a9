// Random requests made from good ones, the same for the same seed.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { Compile } from 'typebox/compile'
import type { Answer, TestService } from '../../../../packages/server/src/testing/harness.ts'
import { exampleOf } from '../examples.ts'
import { operationOf, operations, type Sent } from './table.ts'
import { assertClientError, send } from './tenant.ts'
import type { World } from './world.ts'

/** A change of one place of a body: which way down, and what stands there then. */
interface Change {
  readonly way: readonly number[]
  readonly how: 'replace' | 'remove' | 'add' | 'repeat'
  readonly value: unknown
}

interface Shot {
  readonly id: string
  readonly changes: readonly Change[]
}

const PARALLEL = 16

const strange = fc.constantFrom<unknown>(
  null,
  '',
  -0,
  0.1,
  -1,
  2 ** 31,
  2 ** 53 - 1,
  1e308,
  '\u0007',
  '\ufeff',
  '\u202e',
  '0',
  'null',
  '../..',
  "'; DROP TABLE facts; --",
  '2026-02-30T00:00:00Z',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999999Z',
  '2026-01-01T00:00:00.123456789+14:00',
  [],
  {},
  [[]],
  { length: 3 },
  { toString: 'x', valueOf: 1, hasOwnProperty: {} },
)
const value = fc.oneof(strange, fc.jsonValue({ maxDepth: 3 }), fc.string({ unit: 'grapheme' }))
const change: fc.Arbitrary<Change> = fc.record({
  way: fc.array(fc.nat(6), { maxLength: 3 }),
  how: fc.constantFrom('replace', 'remove', 'add', 'repeat'),
  value,
})

/** These would take the sweep's own key, store or tenant away. */
const LEFT_ALONE = new Set(['tenants.rotate_key', 'memory.delete_store', 'offboarding.destroy_key'])

const ids = operations
  .filter(({ body, body_type, method, id }) => {
    const takesJson = body !== undefined && body_type !== 'application/x-ndjson'
    return takesJson && method !== 'GET' && !LEFT_ALONE.has(id)
  })
  .map(({ id }) => id)

const shot: fc.Arbitrary<Shot> = fc.record({
  id: fc.constantFrom(...ids),
  changes: fc.array(change, { minLength: 1, maxLength: 3 }),
})

function mutate(body: unknown, { way, how, value }: Change): unknown {
  if (typeof body !== 'object' || body === null) return how === 'remove' ? null : value
  const keys = Object.keys(body)
  const at = keys[(way[0] ?? 0) % Math.max(1, keys.length)]
  if (Array.isArray(body)) {
    const index = Number(at ?? 0)
    if (how === 'repeat') return [...body, ...body]
    if (how === 'remove') return body.toSpliced(index, 1)
    return body.toSpliced(index, how === 'add' ? 0 : 1, value)
  }
  const object: Record<string, unknown> = { ...body }
  if (how === 'add') return { ...object, [`k${JSON.stringify(value)?.slice(0, 20)}`]: value }
  if (at === undefined) return body
  if (way.length > 1)
    return { ...object, [at]: mutate(object[at], { way: way.slice(1), how, value }) }
  if (how !== 'remove') return { ...object, [at]: value }
  const { [at]: _, ...rest } = object
  return rest
}

function requestOf({ id, changes }: Shot, world: World): Sent {
  const good = exampleOf(id, world.ids)
  const body = changes.reduce<unknown>(mutate, good.body ?? {})
  return { ...good, body: body === undefined ? null : body }
}

function judge(answer: Answer, id: string, sent: Sent): void {
  const about = `${id} ${JSON.stringify(sent.body)?.slice(0, 500)}`
  const { status, reply, accepted, reply_type } = operationOf(id)
  if (answer.status >= 400) {
    assertClientError(answer, about)
    return
  }
  const waits = accepted !== undefined && answer.status === 202
  if (!waits) assert.equal(answer.status, status, about)
  const schema = Compile(waits ? accepted : reply)
  const lines = reply_type === 'application/x-ndjson' ? linesOf(answer.text) : [answer.body]
  for (const one of lines) assert.ok(schema.Check(one), `${about}: ${answer.text.slice(0, 500)}`)
}

const linesOf = (text: string): unknown[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

/** Sends `count` random requests; every answer is one the contract describes, none a 5xx. */
export async function fuzz(
  service: TestService,
  world: World,
  { count, seed }: { count: number; seed: number },
): Promise<{ accepted: number; refused: number }> {
  const shots = fc.sample(shot, { numRuns: count, seed })
  const tally = { accepted: 0, refused: 0 }
  for (let at = 0; at < shots.length; at += PARALLEL) {
    const volley = shots.slice(at, at + PARALLEL).map(async (one) => {
      const sent = requestOf(one, world)
      const isOperators = operationOf(one.id).access === 'operator'
      const key = isOperators ? service.operator_key : world.tenant.api_key
      const answer = await send(service, one.id, sent, { key })
      judge(answer, one.id, sent)
      tally[answer.status < 400 ? 'accepted' : 'refused'] += 1
    })
    await Promise.all(volley)
  }
  return tally
}
