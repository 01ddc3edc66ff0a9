// Tenants' schemas: what is enforced, what is refused, and that no schema blocks the service.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { worldModelLimits } from '@custos/contract'
import type { Json, JsonObject } from '@custos/proof'
import fc from 'fast-check'
import { Check } from 'typebox/schema'
import { findProblems, showProblem } from './check-run.ts'
import { readForm, readJsonSchema, SpecRefused } from './json-schema.ts'

const WHERE = ['body', 'spec']
/** A schema of the property `a`. */
const ofA = (schema: Json, more: JsonObject = {}): JsonObject => ({
  ...{ type: 'object', properties: { a: schema } },
  ...more,
})
const problems = (schema: JsonObject, value: JsonObject): string[] =>
  findProblems(readForm(schema, WHERE), value).map(showProblem)

const cases: readonly (readonly [schema: Json, fits: readonly Json[], fails: readonly Json[]])[] = [
  [true, [1, null], []],
  [false, [], [1, null]],
  [{ type: 'integer' }, [1, 1e3, -0], [1.5, '1', true, null]],
  [{ type: ['string', 'null'] }, ['', null], [0, [], {}]],
  [{ enum: [1, 'a', { b: [1], c: null }] }, [1, 'a', { c: null, b: [1] }], [2, { b: [1] }]],
  [{ const: { toString: 1 } }, [{ toString: 1 }], [{}, 1]],
  [{ minimum: 1, maximum: 2 }, [1, 2, 'x'], [0.9, 2.1]],
  [{ exclusiveMinimum: 1, exclusiveMaximum: 2 }, [1.5], [1, 2]],
  [{ multipleOf: 0.1 }, [0.3, 1, 'x'], [0.35]],
  [{ multipleOf: 3 }, [9, 0, -3], [10]],
  [
    { multipleOf: 0.01 },
    [5000000.01, 123456789.01, -0.07, 1e21, 4.35, 0, -0],
    [5000000.005, 123456789.005, 0.001, 5e-324],
  ],
  [{ multipleOf: 1 }, [1e9, 1e300], [1000000000.5, 4503599627370495.5]],
  [{ multipleOf: 0.7 }, [7e22, 2.1], [1e22, 1]],
  [{ multipleOf: 1e300 }, [1e301, 0], [1e299, 1]],
  [{ multipleOf: 5e-324 }, [1e308, 1, 0.1, 1e-323], []],
  [{ minLength: 2, maxLength: 2 }, ['ab', '😀😀', 7], ['😀', 'abc']],
  [{ format: 'date' }, ['2026-02-28', 7], ['2026-02-30', 'x']],
  [{ format: 'email' }, ['a@b.test'], ['a@', '']],
  [{ minItems: 1, maxItems: 2 }, [[1], [1, 2], 'x'], [[], [1, 2, 3]]],
  [
    { uniqueItems: true },
    [[1, '1', { a: 1 }, { a: 2 }]],
    [
      [1, 1],
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
    ],
  ],
  [
    { prefixItems: [{ type: 'string' }], items: { type: 'number' } },
    [['a', 1], []],
    [[1], ['a', 'b']],
  ],
  [{ contains: { const: 1 }, maxContains: 2 }, [[1], [2, 1, 1]], [[], [2], [1, 1, 1]]],
  [{ contains: { const: 1 }, minContains: 0 }, [[]], []],
  [{ required: ['b', 'valueOf'] }, [{ b: 1, valueOf: 1 }, 7], [{ b: 1 }]],
  [{ minProperties: 1, maxProperties: 1 }, [{ b: 1 }, []], [{}, { b: 1, c: 1 }]],
  [
    { properties: { 'b.c': true }, additionalProperties: { type: 'number' } },
    [{ 'b.c': 'x', d: 1 }],
    [{ bxc: 'x' }],
  ],
  [{ propertyNames: { maxLength: 1 } }, [{ b: 1 }, {}], [{ bb: 1 }]],
  [{ dependentRequired: { b: ['c'] } }, [{ c: 1 }, { b: 1, c: 1 }], [{ b: 1 }]],
  [{ dependentSchemas: { b: { minProperties: 2 } } }, [{ c: 1 }, { b: 1, c: 1 }], [{ b: 1 }]],
  [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, [1], [0, 3]],
  [{ anyOf: [{ type: 'string' }, { minimum: 5 }] }, ['x', 5], [4]],
  [{ oneOf: [{ minimum: 1 }, { minimum: 5 }] }, [3], [0, 6]],
  [{ not: { type: 'string' } }, [1], ['x']],
  [
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    { if: { type: 'number' }, then: { minimum: 1 }, else: { type: 'string' } },
    [1, 'x'],
    [0, null],
  ],
  [{ $ref: '#/$defs/small', description: 'x' }, [1], [11]],
]
for (const [schema, fits, fails] of cases)
  test(`${JSON.stringify(schema)} holds`, () => {
    const $defs = { small: { maximum: 10 } }
    const whole = ofA(schema, { $defs })
    for (const value of fits) assert.deepEqual(problems(whole, { a: value }), [])
    for (const value of fails) assert.notDeepEqual(problems(whole, { a: value }), [])
    assert.deepEqual(problems(whole, {}), [])
  })

const refused: readonly (readonly [schema: JsonObject, at: string])[] = [
  [{ type: 'array' }, 'type'],
  [{ $schema: 'http://json-schema.org/draft-07/schema#' }, '$schema'],
  [ofA({ type: 'text' }), 'type'],
  [ofA({ type: [] }), 'type'],
  [ofA({ type: ['string', 'string'] }), 'type'],
  [ofA({ enum: [] }), 'enum'],
  [ofA({ minimum: '1' }), 'minimum'],
  [ofA({ multipleOf: 0 }), 'multipleOf'],
  [ofA({ minLength: -1 }), 'minLength'],
  [ofA({ required: 'b' }), 'required'],
  [ofA({ required: true }), 'required'],
  [ofA({ items: [{}] }), 'items'],
  [ofA({ anyOf: [] }), 'anyOf'],
  [ofA({ format: 'regex' }), 'format'],
  [ofA({ pattern: '^a' }), 'pattern'],
  [ofA({ patternProperties: {} }), 'patternProperties'],
  [ofA({ unevaluatedProperties: false }), 'unevaluatedProperties'],
  [ofA({ minimun: 1 }), 'minimun'],
  [ofA({ $id: 'x' }), '$id'],
  [ofA({ $dynamicRef: '#x' }), '$dynamicRef'],
  [ofA({ $ref: '#' }), '$ref'],
  [ofA({ $ref: '#/$defs/none' }), '$ref'],
  [ofA({ $ref: 'https://example.test/schema' }), '$ref'],
  [ofA({ $ref: '#/$defs/b' }, { $defs: { b: { items: { $ref: '#/$defs/b' } } } }), '$ref'],
  [ofA(true, { $defs: { unused: { minimum: 'x' } } }), 'minimum'],
  [ofA({ $defs: {} }), '$defs'],
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  [ofA({ then: { minimum: 'x' } }), 'minimum'],
]
for (const [schema, at] of refused)
  test(`a schema with ${JSON.stringify(schema).slice(0, 90)} is refused`, () => {
    assert.throws(
      () => readJsonSchema(schema, WHERE),
      (error) => error instanceof SpecRefused && error.loc.at(-1) === at,
    )
  })

const nested = (depth: number): Json => (depth === 0 ? {} : { not: nested(depth - 1) })

test('a schema is as deep and as large as its limits, and no more', () => {
  const { schema_depth, schema_nodes } = worldModelLimits
  readJsonSchema({ type: 'object', ...Object(nested(schema_depth)) }, WHERE)
  const deeper = { type: 'object', ...Object(nested(schema_depth + 1)) }
  assert.throws(() => readJsonSchema(deeper, WHERE), SpecRefused)
  const names = (count: number) => ({ required: Array.from({ length: count }, (_, i) => `n${i}`) })
  // The schema, its type, and the list count as well.
  readJsonSchema({ type: 'object', ...names(schema_nodes - 3) }, WHERE)
  const larger = { type: 'object', ...names(schema_nodes - 2) }
  assert.throws(() => readJsonSchema(larger, WHERE), SpecRefused)
})

test('references that double at each step are refused before they are followed', () => {
  const twice = (name: string) => ({ allOf: [{ $ref: name }, { $ref: name }] })
  const steps = Array.from({ length: 14 }, (_, i): [string, Json] => [
    `d${i}`,
    i === 0 ? {} : twice(`#/$defs/d${i - 1}`),
  ])
  const schema = { type: 'object', $defs: Object.fromEntries(steps) }
  assert.throws(() => readJsonSchema(schema, WHERE), SpecRefused)
})

test('all definitions of a schema share one limit, however often they are referred to', () => {
  const { schema_nodes } = worldModelLimits
  const large = { required: Array.from({ length: schema_nodes - 100 }, (_, i) => `n${i}`) }
  const refs = Array.from({ length: 10 }, (_, i): [string, Json] => [
    `d${i}`,
    { $ref: '#/$defs/large' },
  ])
  const schema = (definitions: JsonObject): JsonObject => ({
    ...{ type: 'object', $defs: definitions },
  })
  readJsonSchema(schema({ large, d0: { $ref: '#/$defs/other' }, other: {} }), WHERE)
  const many = schema({ large, ...Object.fromEntries(refs) })
  assert.throws(() => readJsonSchema(many, WHERE), SpecRefused)
  // One that is referred to is counted where it is referred to, and not once more.
  const once = schema({ large })
  readJsonSchema({ ...once, properties: { a: { $ref: '#/$defs/large' } } }, WHERE)
  // A long text is as much to read as many short ones.
  const text = { const: 'x'.repeat(50_000) }
  const allOf = Array.from({ length: 600 }, () => ({ $ref: '#/$defs/text' }))
  assert.throws(() => readJsonSchema({ ...schema({ text }), allOf }, WHERE), SpecRefused)
})

/** An object that counts how often its members are listed or read. */
function counting<T extends object>(value: T): { readonly watched: T; count(): number } {
  let count = 0
  const watched = new Proxy(value, {
    ownKeys(target) {
      count += 1
      return Reflect.ownKeys(target)
    },
    get(target, name) {
      count += 1
      return Reflect.get(target, name)
    },
  })
  return { watched, count: () => count }
}

test('the members of an object are listed once for all rules', () => {
  for (const rule of [{ minProperties: 1 }, { propertyNames: { minLength: 1 } }]) {
    const schema = { type: 'object', allOf: Array.from({ length: 300 }, () => rule) }
    const { watched, count } = counting<JsonObject>({ a: 1, b: 2 })
    assert.deepEqual(problems(schema, watched), [])
    assert.ok(count() <= 4, String(count()))
  }
  // Each name is work of its own.
  const allOf = Array.from({ length: 300 }, () => ({ propertyNames: { minLength: 1 } }))
  const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`n${i}`, 1]))
  const found = problems({ type: 'object', allOf }, wide)
  assert.deepEqual(found, ['is too large to be checked against its schema'])
})

test('positions beyond the end of a list are not tested', () => {
  const prefixItems = Array.from({ length: 1_000 }, () => true)
  const { watched, count } = counting<Json[]>([1])
  assert.deepEqual(problems(ofA({ prefixItems }), { a: watched }), [])
  assert.ok(count() < 10, String(count()))
})

test('a comparison of long decimals is counted as the work that it is', () => {
  const schema = ofA({ items: { multipleOf: 5e-324 } })
  const found = problems(schema, { a: Array.from({ length: 5_000 }, () => 1.1e308) })
  assert.deepEqual(found, ['is too large to be checked against its schema'])
})

test('a check that takes too much work ends, and the value does not fit', () => {
  const many = Array.from({ length: 900 }, () => ({ type: 'integer' }))
  const list = Array.from({ length: 5_000 }, () => 1)
  const found = problems(ofA({ items: { allOf: many } }), { a: list })
  assert.deepEqual(found, ['is too large to be checked against its schema'])
  const texts = Array.from({ length: 90 }, () => ({ minLength: 1 }))
  const long = problems(ofA({ allOf: texts }), { a: 'x'.repeat(20_000) })
  assert.equal(long.length, 1)
})

test('problems are named by their location, eight at most', () => {
  const schema = ofA({ items: { type: 'string' } })
  assert.deepEqual(problems(schema, { a: ['x', 1] }), ['a.1: must be string'])
  assert.equal(problems(schema, { a: Array.from({ length: 50 }, () => 1) }).length, 8)
})

/** Schemas of up to three keywords, some of which hold others. */
function schemaOf(inner: fc.Arbitrary<Json>, value: fc.Arbitrary<Json>): fc.Arbitrary<JsonObject> {
  const list = fc.array(inner, { minLength: 1, maxLength: 2 })
  const named = <T extends Json>(names: readonly string[], values: fc.Arbitrary<T>) =>
    fc.tuple(fc.constantFrom(...names), values)
  const type = fc.constantFrom('string', 'integer', 'number', 'boolean', 'object', 'array', 'null')
  const counts = ['Length', 'Items', 'Properties'].flatMap((what) => [`min${what}`, `max${what}`])
  const keyword: fc.Arbitrary<[string, Json]> = fc.oneof(
    named(['type'], type),
    named(['enum'], fc.array(value, { minLength: 1, maxLength: 3 })),
    named(['minimum', 'maximum', ...counts], fc.nat(3)),
    named(['items', 'contains', 'additionalProperties', 'not'], inner),
    named(['allOf', 'anyOf', 'oneOf', 'prefixItems'], list),
    named(['properties'], fc.dictionary(fc.constantFrom('a', 'b'), inner, { maxKeys: 2 })),
    named(['required'], fc.uniqueArray(fc.constantFrom('a', 'b', 'c'))),
    named(['uniqueItems'], fc.boolean()),
  )
  return fc.array(keyword, { maxLength: 3 }).map((keywords) => Object.fromEntries(keywords))
}

test('a library agrees on whether values fit schemas', () => {
  const value = fc.oneof(
    fc.constantFrom<Json>(null, true, false, 0, 1, 2, 2.5, '', 'a', 'ab', [], {}),
    fc.array(fc.constantFrom<Json>(0, 1, 'a', null, [1], { b: 1 }), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom<Json>(0, 1, 'a', null)),
  )
  const leaf = schemaOf(
    fc.constantFrom<Json>(true, false, { type: 'string' }, { minimum: 1 }),
    value,
  )
  const schema = schemaOf(schemaOf(leaf, value), value)
  fc.assert(
    fc.property(schema, value, (inner, given) => {
      const whole = ofA(JSON.parse(JSON.stringify(inner)))
      const object = { a: given }
      const fits = findProblems(readJsonSchema(whole, WHERE), object).length === 0
      assert.equal(fits, Check(whole, structuredClone(object)))
    }),
    { numRuns: 3_000 },
  )
})
