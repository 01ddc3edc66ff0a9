// What policies search and compare: no form of a value leads around them, no request is endless.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PolicyType } from '@custos/contract'
import { compiledOf, textOf } from '../testing/policy-of-config.ts'
import { evaluateSet } from './evaluate-set.ts'
import { recognisers } from './personal-data.ts'
import type { Context } from './request.ts'
import { SPANS_MAX } from './rules.ts'

const compiled = (policy_type: PolicyType, config: object) =>
  compiledOf(textOf(policy_type, config))

const around = (...contexts: Context[]) => ({
  operation: 'my.own',
  contexts,
  exceeded: new Set<number>(),
})

async function said(policy: ReturnType<typeof compiled>, context: Context) {
  const { outcomes, redactions } = await evaluateSet([policy], around(context))
  const [outcome] = outcomes
  return { ...outcome, reason: outcome?.detail?.reason ?? outcome?.result, redacted: redactions[0] }
}

const SSN = '123-45-6789'
const NUMBERS = { patterns: ['\\b\\d{3}-\\d{2}-\\d{4}\\b', '\\b\\d{9}\\b'] }
const fields = ['query', 'output']

test('a hit in one field does not spare the next from being read whole', async () => {
  const guard = compiled('pii_guard', { ...NUMBERS, check_fields: fields, redact: true })
  const long = `${SSN} `.repeat(7_000)
  const { detail, result } = await said(guard, { query: SSN, output: long })
  assert.deepEqual([result, detail?.reason, detail?.field], ['denied', 'field_too_long', 1])
  const both = await said(guard, { query: SSN, output: `${SSN}!` })
  assert.deepEqual(both.redacted, { query: '<REDACTED>', output: '<REDACTED>!' })
})

test('what cannot be redacted whole is denied', async () => {
  const guard = compiled('pii_guard', { patterns: ['a'], redact: true })
  const most = await said(guard, { output: 'a'.repeat(SPANS_MAX) })
  assert.deepEqual(most.redacted, { output: '<REDACTED>'.repeat(SPANS_MAX) })
  const more = await said(guard, { output: 'a'.repeat(SPANS_MAX + 1) })
  assert.deepEqual([more.result, more.reason, more.redacted], ['denied', 'too_many_found', {}])
})

test('keys, texts and numbers of lists and objects are searched as they are', async () => {
  const guard = compiled('pii_guard', NUMBERS)
  for (const output of [
    `x\n${SSN}`,
    [`x\n${SSN}`],
    { text: `\t${SSN}` },
    { [`\t${SSN}`]: 1 },
    { deep: [{ deeper: [`"${SSN}"`] }] },
    [123456789],
    123456789,
  ])
    assert.equal((await said(guard, { output })).reason, 'personal_data', JSON.stringify(output))
  const recognising = compiled('pii_guard', { entities: ['CREDIT_CARD'] })
  const cards = { output: ['card\n4111111111111111'] }
  assert.equal((await said(recognising, cards)).reason, 'personal_data')
  assert.equal((await said(guard, { output: [] })).reason, 'allowed')
  const long = await said(guard, { output: ['a'.repeat(40_000), 'b'.repeat(30_000)] })
  assert.equal(long.reason, 'field_too_long')
})

test('redaction keeps the shape of lists and objects, and no two keys become one', async () => {
  const guard = compiled('pii_guard', { ...NUMBERS, redact: true })
  const output = {
    note: `x ${SSN} y`,
    list: ['clean', 7, null, true, `\n${SSN}`],
    [`of ${SSN}`]: { number: 123456789, other: 12345678 },
    'of 987-65-4321': 'clean',
  }
  const { redacted } = await said(guard, { output })
  assert.deepEqual(redacted, {
    output: {
      note: 'x <REDACTED> y',
      list: ['clean', 7, null, true, '\n<REDACTED>'],
      'of <REDACTED>': { number: '<REDACTED>', other: 12345678 },
      'of <REDACTED> 2': 'clean',
    },
  })
})

test('a match over several texts is taken out of each of them', async () => {
  const guard = compiled('pii_guard', { patterns: ['4111\\s1111\\s2222'], redact: true })
  const { redacted } = await said(guard, { output: ['no 4111', '1111', '2222 end', 'more'] })
  const output = ['no <REDACTED>', '<REDACTED>', '<REDACTED> end', 'more']
  assert.deepEqual(redacted, { output })
})

test('a value is made searchable once, and no further than any policy reads', async () => {
  let reads = 0
  const counting = (list: unknown[]) =>
    Object.defineProperty(list, list.length, {
      enumerable: true,
      get() {
        reads += 1
        return 'last'
      },
    })
  const filters = Array.from({ length: 20 }, () => compiled('content_filter', { patterns: ['z'] }))
  await evaluateSet(filters, around({ query: counting(['first']) }))
  assert.equal(reads, 1)
  const long = Array.from({ length: 100_000 }, () => 'a'.repeat(15))
  const { verdict } = await evaluateSet(filters, around({ query: counting(long) }))
  assert.deepEqual([verdict, reads], ['denied', 1])
})

test('patterns also find what only reads like the text', async () => {
  const filter = compiled('content_filter', { patterns: ['abc', '^.\\x{200B}.$'] })
  for (const query of ['abc', 'a\u200bbc', 'ａｂｃ', 'a\u00adbc', ['ok', 'AB\u2060C']])
    assert.equal((await said(filter, { query })).reason, 'pattern_found', JSON.stringify(query))
  assert.equal((await said(filter, { query: 'x\u200by' })).reason, 'pattern_found')
  assert.equal((await said(filter, { query: 'äb' })).reason, 'allowed')
  const guard = compiled('pii_guard', { ...NUMBERS, redact: true })
  const output = 'ä… 123\u200b-45-６７89\u200b, 987-65-4321 é'
  const { redacted } = await said(guard, { output })
  assert.deepEqual(redacted, { output: 'ä… <REDACTED>, <REDACTED> é' })
})

test('a tool is known under any form of its name, and by one name only', async () => {
  const denies = compiled('tool_deny', { denied_tools: ['shell', 'fs_.*'] })
  for (const tool_name of [
    'shell',
    ' shell ',
    'shell\n',
    'she\u200bll',
    'ｓｈｅｌｌ',
    'fs_x\n',
    'fs_a\nb',
  ])
    assert.equal((await said(denies, { tool_name })).reason, 'tool_denied', tool_name)
  assert.equal((await said(denies, { tool: 'shell' })).reason, 'tool_denied')
  assert.equal((await said(denies, { tool_name: null, tool: 'shell' })).reason, 'tool_denied')
  assert.equal((await said(denies, { tool_name: 'ok', tool: 'ok' })).reason, 'allowed')
  for (const tool_name of ['ok', ''])
    assert.equal((await said(denies, { tool_name, tool: 'shell' })).reason, 'ambiguous')
  for (const tool_name of ['', ' ', '\u200b'])
    assert.equal((await said(denies, { tool_name })).reason, 'missing_context')
  const named = async (chars: number) =>
    (await said(denies, { tool_name: 'x'.repeat(chars) })).reason
  assert.deepEqual([await named(1_024), await named(1_025)], ['allowed', 'field_too_long'])
  const asks = compiled('hitl_required', { tools: ['pay'] })
  assert.equal((await said(asks, { tool_name: 'pay ' })).reason, 'approval_needed')
  assert.equal((await said(asks, { tool_name: '' })).reason, 'missing_context')
})

test('a value of another type is not another value', async () => {
  const rule = (field: string, operator: string, value: unknown) =>
    compiled('world_model_constraint', {
      deny_if: { params_has: [{ list_path: 'of.items', match_all: [{ field, operator, value }] }] },
    })
  const judge = async (policy: ReturnType<typeof compiled>, ...items: unknown[]) =>
    (await said(policy, { action: 'pay', params: { of: { items } } })).reason
  const five = rule('kind', '==', 5)
  assert.equal(await judge(five, { kind: 5 }), 'parameters_refused')
  for (const item of [{ kind: '5' }, { kind: [5] }, [{ kind: 5 }], null, 5, { kind: { is: 5 } }])
    assert.equal(await judge(five, item), 'wrong_type', JSON.stringify(item))
  for (const item of [{ kind: 6 }, { kind: null }, {}])
    assert.equal(await judge(five, item), 'allowed')
  const bad = rule('tags', 'contains', 'bad')
  assert.equal(await judge(bad, { tags: ['good', 'bad'] }), 'parameters_refused')
  for (const tags of ['bad', [['bad']], { bad: 1 }, [5], 5])
    assert.equal(await judge(bad, { tags }), 'wrong_type', JSON.stringify(tags))
  for (const tags of [['good'], [], [null]]) assert.equal(await judge(bad, { tags }), 'allowed')
  const { reason } = await said(five, { action: 'pay', params: { of: [{ items: [{ kind: 5 }] }] } })
  assert.equal(reason, 'wrong_type')
  const deep = rule('a.kind', '==', 5)
  assert.equal(await judge(deep, { a: [{ kind: 5 }] }), 'wrong_type')
})

test('a request that asks for too much searching is denied, also in redacting', async () => {
  const heavy = '(?:\\pL|\\d){0,60}(?:a.{100}|b.{100})Z'
  const filter = compiled('content_filter', { patterns: [heavy], check_fields: ['content'] })
  const outcomesOf = async (policies: ReturnType<typeof compiled>[], texts: number) => {
    const items = Array.from({ length: texts }, () => ({ content: 'x'.repeat(60_000) }))
    const contexts = [...items, { output: 'x'.repeat(3_000) }]
    return (await evaluateSet(policies, around(...contexts))).outcomes
  }
  const reasons = async (policies: ReturnType<typeof compiled>[], texts: number) =>
    (await outcomesOf(policies, texts)).map(({ result, detail }) => detail?.reason ?? result)
  assert.deepEqual(await reasons([filter], 54), ['allowed'])
  assert.deepEqual(await reasons([filter], 55), ['work_exceeded'])
  const guard = compiled('pii_guard', {
    patterns: ['x[^y]*y|x'],
    redact: true,
    check_fields: ['output'],
  })
  assert.deepEqual(await reasons([guard, filter], 50), ['personal_data', 'allowed'])
  assert.deepEqual(await reasons([guard, filter], 54), ['personal_data', 'work_exceeded'])
  assert.deepEqual(await reasons([filter, guard], 54), ['allowed', 'work_exceeded'])
})

test('other requests run while a large one is judged', async () => {
  const guard = compiled('pii_guard', { entities: recognisers.entities, check_fields: ['content'] })
  const items = Array.from({ length: 200 }, () => ({
    content: 'Jane of Main Street. '.repeat(2_000),
  }))
  let turns = 0
  const next = () => {
    turns += 1
    waiting = setImmediate(next)
  }
  let waiting = setImmediate(next)
  await evaluateSet([guard], around(...items))
  clearImmediate(waiting)
  assert.ok(turns > 0)
})
