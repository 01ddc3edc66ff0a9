// Schemas of inputs: declared names and nothing else; any text as an id in a path.

import assert from 'node:assert/strict'
import test from 'node:test'
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import { about, Hex16, JsonObject, OptionalNullable, pathId, Ref } from './common.ts'
import { closeSchema, openIds } from './input-schema.ts'

const Item = Type.Object({ name: Type.String(), labels: Type.Optional(JsonObject) })
const open = Type.Object({
  items: Type.Optional(Type.Array(Item)),
  item: OptionalNullable(Item),
  either: Type.Optional(Type.Union([Type.String(), Item])),
  counts: Type.Optional(Type.Record(Type.String(), Item)),
  pair: Type.Optional(Type.Tuple([Item, Type.Integer()])),
  free: Type.Optional(Type.Object({ known: Type.Boolean() }, { additionalProperties: true })),
})
const closed = Compile(closeSchema(open))

const item = { name: 'a' }
const misspelt = { ...item, nmae: 'b' }

test('a misspelt name is refused at every depth of a closed schema', () => {
  for (const body of [
    { itmes: [] },
    { items: [item, misspelt] },
    { item: misspelt },
    { either: misspelt },
    { counts: { any: misspelt } },
    { pair: [misspelt, 1] },
  ]) {
    assert.ok(Compile(open).Check(body), JSON.stringify(body))
    assert.ok(!closed.Check(body), JSON.stringify(body))
  }
})

test('what was valid without unknown names stays valid in a closed schema', () => {
  for (const body of [
    {},
    { items: [item], item, either: item, counts: { any: item }, pair: [item, 1] },
    { item: null, either: 'text' },
    { item: { name: 'a', labels: { 'of the caller': { and: ['what', 'it', 'holds'] } } } },
    { free: { known: true, further: 1 } },
  ])
    assert.ok(closed.Check(body), JSON.stringify(body))
})

test('closing a schema leaves the schema itself as it was', () => {
  assert.ok(Compile(open).Check({ further: 1 }))
  assert.ok(!('additionalProperties' in open))
})

test('any text is an id in a path, while a number has to be one', () => {
  const params = openIds(
    Type.Object({ id: Hex16, named: about(Hex16, 'Id'), plain: pathId({}), ref: Ref }),
  )
  const valid = Compile(params)
  const good = { id: 'x', named: '', plain: 'x'.repeat(1_000), ref: 1 }
  assert.ok(valid.Check(good))
  assert.ok(!valid.Check({ ...good, ref: 'x' }))
  assert.ok(!valid.Check({ ...good, id: 1 }))
  assert.deepEqual(JSON.parse(JSON.stringify(params.properties)), {
    id: { type: 'string' },
    named: { type: 'string', about: 'Id' },
    plain: { type: 'string' },
    ref: JSON.parse(JSON.stringify(Ref)),
  })
})
