// Assessment results: valid by NIST's own schema, the same each time, and never a verdict on a law.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { REPORT_TYPES, type Report } from '@custos/contract'
import { canonicalize, isObject } from '@custos/proof'
import { Compile } from 'typebox/schema'
import { sampleReport } from '../testing/sample-report.ts'
import { viewOf } from '../view/report-view.ts'
import { oscalReport } from './assessment-results.ts'
import { nameUuid } from './names.ts'

const schemaUrl = new URL(
  '../../../../test/vectors/oscal/assessment-results-1.1.3.schema.json',
  import.meta.url,
)

/** Names within the schema are given twice, as addresses and as identifiers: the first will do. */
function withoutNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNames)
  if (!isObject(value)) return value
  const members = Object.entries(value).filter(([name]) => name !== '$id')
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNames(member)]))
}

const schema = Compile(Object(withoutNames(JSON.parse(readFileSync(schemaUrl, 'utf8')))))
const signedText = (report: Report): string => JSON.stringify(report)
const made = (report: Report) =>
  JSON.parse(oscalReport(report, signedText(report)))['assessment-results']

interface Finding {
  readonly title: string
  readonly props: { readonly name: string; readonly value: string }[]
  readonly target: {
    readonly 'target-id': string
    readonly status: { readonly state: string; readonly remarks: string }
  }
}
interface Result {
  readonly findings?: Finding[]
  readonly observations: { readonly uuid: string; readonly title: string }[]
}

describe('assessment results', () => {
  for (const report_type of REPORT_TYPES)
    for (const entries of ['some', 'none'] as const)
      test(`of ${report_type} with ${entries} on record are valid OSCAL 1.1.3`, () => {
        const file = { 'assessment-results': made(sampleReport({ report_type, entries })) }
        assert.deepEqual(schema.Errors(file)[1], [])
        assert.equal(schema.Check(file), true)
      })

  test('are checked by a schema that finds what is wrong with them', () => {
    const file = { 'assessment-results': made(sampleReport()) }
    file['assessment-results'].results[0].observations[0].uuid = 'no-uuid'
    assert.equal(schema.Check(file), false)
  })

  test('of a title with line breaks or nothing to be seen have one in one line', () => {
    for (const title of ['two\nlines', ' ', '审计\u2028报告'])
      assert.ok(schema.Check({ 'assessment-results': made(sampleReport({ title })) }), title)
  })

  test('are the same for the same report, and named otherwise for another', () => {
    const [one, again] = [sampleReport(), sampleReport()]
    assert.equal(oscalReport(one, signedText(one)), oscalReport(again, signedText(again)))
    const other = made(sampleReport({ report_id: 'f'.repeat(32) }))
    assert.notEqual(other.uuid, made(one).uuid)
  })

  test('name everything once', () => {
    const text = oscalReport(sampleReport(), '')
    const uuids = [...text.matchAll(/^ *"uuid": "([^"]+)"/gm)].map(([, uuid]) => uuid)
    // What is local to a set of results stands in each: the log, the tool and its platform.
    const local = ['log', 'tool', 'platform'].map((role) =>
      nameUuid(sampleReport().report_id, role),
    )
    const others = uuids.filter((uuid) => !local.includes(String(uuid)))
    assert.equal(new Set(others).size, others.length)
    assert.ok(others.length > 100)
  })

  test('say satisfied only where all evidence is on record, nothing of what people judge', () => {
    const report = sampleReport()
    const results: Result[] = made(report).results
    const view = viewOf(report)
    for (const [i, { sections }] of view.frameworks.entries()) {
      const findings = results[i]?.findings ?? []
      const judged = sections.filter(({ finding }) => finding !== 'NOT_AUTOMATABLE')
      assert.equal(findings.length, judged.length)
      for (const [n, section] of judged.entries()) {
        const { target, props } = findings[n] ?? assert.fail('no finding')
        const all = section.finding === 'EVIDENCE_FOUND'
        assert.equal(target.status.state, all ? 'satisfied' : 'not-satisfied')
        assert.match(target.status.remarks, /says nothing of whether the law is kept/)
        for (const about of section.missed) assert.ok(target.status.remarks.includes(about))
        assert.equal(props.find(({ name }) => name === 'finding')?.value, section.finding)
      }
      for (const { article, title } of sections.filter((one) => !judged.includes(one)))
        assert.ok(results[i]?.observations.some((one) => one.title === `${article} ${title}`))
    }
    assert.doesNotMatch(JSON.stringify(results), /compliant/i)
  })

  test('refer only to what is in them, and to the very bytes of the signed report', () => {
    const report = sampleReport({ report_type: 'eu_ai_act' })
    const signed = canonicalize(JSON.parse(JSON.stringify(report)))
    const text = oscalReport(report, signed)
    const here = new Set([...text.matchAll(/"uuid": "([^"]+)"/g)].map(([, uuid]) => uuid))
    const named = [...text.matchAll(/"(?:[a-z]+-uuid|href)": "#?([0-9a-f-]{36})"/g)]
    assert.ok(named.length > 20)
    for (const [, uuid] of named) assert.ok(here.has(uuid), uuid)
    const results = JSON.parse(text)['assessment-results']
    const objectives = JSON.stringify(results['local-definitions'])
    for (const { target } of results.results[0].findings)
      assert.ok(objectives.includes(`"id":"${target['target-id']}"`))
    const sha256 = createHash('sha256').update(signed).digest('hex')
    assert.ok(JSON.stringify(results['back-matter']).includes(`"value":"${sha256}"`))
  })
})

test('a UUID of version 5 is as RFC 9562 has them', () => {
  const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
  for (let i = 0; i < 50; i += 1) assert.match(nameUuid('one', String(i)), pattern)
  assert.notEqual(nameUuid('a', 'bc'), nameUuid('ab', 'c'))
})
