// Files of reports over HTTP: their types, names and bytes, and what becomes of a deleted one.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, test } from 'node:test'
import { REPORT_FORMATS, type ReportFormat } from '@custos/contract'
import { readPdf } from '../../../../report-files/src/testing/read-pdf.ts'
import { startTestService, type TestService } from '../../testing/harness.ts'

let service: TestService
before(async () => {
  service = await startTestService()
})
after(() => service.stop())

async function newReport(body: object) {
  const { api_key: key } = await service.createTenant()
  const made = await service.request('POST', '/v1/reports/generate', { key, body })
  assert.equal(made.status, 200, made.text)
  const path = `/v1/reports/${made.body.report_id}/download`
  const load = async (format: string, method = 'GET') => {
    const headers = { authorization: `Bearer ${key}` }
    const answer = await fetch(`${service.url}${path}?format=${format}`, { method, headers })
    const bytes = Buffer.from(await answer.arrayBuffer())
    return { status: answer.status, headers: answer.headers, bytes }
  }
  return { report: made.body, key, load }
}

const FILES: Readonly<Record<ReportFormat, readonly [type: string, name: RegExp]>> = {
  json: ['application/json; charset=utf-8', /^attachment; filename="custos_gdpr_\d{8}\.json"$/],
  html: ['text/html; charset=utf-8', /^inline; filename="custos_gdpr_\d{8}\.html"$/],
  pdf: ['application/pdf', /^attachment; filename="custos_gdpr_\d{8}\.pdf"$/],
  oscal: [
    'application/json; charset=utf-8',
    /^attachment; filename="custos_gdpr_\d{8}\.oscal\.json"$/,
  ],
}

test("'reports.download' gives each format its type, its name and the same bytes", async () => {
  const { load } = await newReport({ report_type: 'gdpr', title: 'Jahresbericht – Ελλάδα' })
  for (const format of REPORT_FORMATS) {
    const [type, name] = FILES[format]
    const { status, headers, bytes } = await load(format)
    assert.equal(status, 200)
    assert.equal(headers.get('content-type'), type)
    assert.match(headers.get('content-disposition') ?? '', name)
    assert.equal(headers.get('content-length'), String(bytes.length))
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.ok(bytes.equals((await load(format)).bytes), format)
    const head = await load(format, 'HEAD')
    assert.equal(head.headers.get('content-length'), String(bytes.length))
    assert.equal(head.headers.get('content-type'), type)
    assert.equal(head.bytes.length, 0)
  }
})

test("'reports.download_format' gives the same file under a path of its own", async () => {
  const { report, key, load } = await newReport({ report_type: 'gdpr', title: 'Aliases' })
  const path = `/v1/reports/${report.report_id}/download`
  const headers = { authorization: `Bearer ${key}` }
  for (const format of REPORT_FORMATS) {
    const answer = await fetch(`${service.url}${path}/${format}`, { headers })
    const asked = await load(format)
    for (const name of ['content-type', 'content-disposition'])
      assert.equal(answer.headers.get(name), asked.headers.get(name))
    assert.ok(asked.bytes.equals(Buffer.from(await answer.arrayBuffer())), format)
  }
  const other = await fetch(`${service.url}${path}/docx`, { headers })
  assert.equal(other.status, 422)
})

test('a PDF is of the report that was asked for, however many are asked for', async () => {
  const { report, load } = await newReport({ report_type: 'full_audit', title: 'Ελλάδα' })
  const files = await Promise.all(['pdf', 'pdf', 'html', 'pdf'].map((format) => load(format)))
  const [first] = files
  const { pages } = readPdf(first?.bytes ?? Buffer.alloc(0))
  // A long text may be wrapped anywhere.
  const firstPage = pages[0]?.text.replaceAll(/\s/g, '') ?? ''
  for (const text of [
    'Ελλάδα',
    report.report_id,
    report.content_hash,
    report.signature.slice(0, 40),
  ])
    assert.ok(firstPage.includes(text), text)
  assert.ok(pages.length > 10)
})

test('an OSCAL file names the very bytes of the JSON file', async () => {
  const { key, load } = await newReport({ report_type: 'hipaa' })
  const { bytes } = await load('json')
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const text = (await load('oscal')).bytes.toString()
  assert.ok(text.includes(`"value": "${sha256}"`))
  const [{ rlinks }] = JSON.parse(text)['assessment-results']['back-matter'].resources.filter(
    ({ title }: { title: string }) => title === 'The signed report',
  )
  const again = await fetch(`${service.url}${rlinks[0].href}`, {
    headers: { authorization: `Bearer ${key}` },
  })
  assert.ok(bytes.equals(Buffer.from(await again.arrayBuffer())))
})

test('an entry that an OSCAL file names is the one at that position of the log', async () => {
  const { key } = await newReport({ report_type: 'hipaa' })
  for (let i = 0; i < 3; i += 1)
    await service.request('POST', '/v1/stores', { key, body: { name: `store ${i}` } })
  const made = await service.request('POST', '/v1/stores/default/write', {
    key,
    body: { content: 'Ana is in Porto' },
  })
  assert.equal(made.status, 200, made.text)
  const report = await service.request('POST', '/v1/reports/generate', {
    key,
    body: { report_type: 'hipaa' },
  })
  const path = `/v1/reports/${report.body.report_id}/download?format=oscal`
  const { text } = await service.request('GET', path, { key })
  const evidence = JSON.parse(text)['assessment-results'].results.flatMap(
    ({ observations }: { observations: { 'relevant-evidence'?: object[] }[] }) =>
      observations.flatMap((one) => one['relevant-evidence'] ?? []),
  )
  assert.ok(evidence.length > 0)
  for (const { href, props } of evidence) {
    const { body } = await service.request('GET', href, { key })
    const named = new Map(
      props.map((one: { name: string; value: string }) => [one.name, one.value]),
    )
    assert.equal(String(body.breadcrumbs[0].seq), named.get('log-position'))
    assert.equal(body.breadcrumbs[0].subject, named.get('record-id'))
  }
})

test('a format there is none of is refused, and no file is left of a deleted report', async () => {
  const { report, key, load } = await newReport({ report_type: 'dora' })
  for (const format of ['docx', 'PDF', '']) {
    const { status, bytes } = await load(format)
    assert.equal(status, 422, bytes.toString())
  }
  await service.request('DELETE', `/v1/reports/${report.report_id}`, { key })
  for (const format of REPORT_FORMATS) {
    const { status, bytes } = await load(format)
    assert.deepEqual([status, JSON.parse(bytes.toString()).error], [404, 'report_not_found'])
  }
})

test('of another tenant no file is to be had', async () => {
  const { report } = await newReport({ report_type: 'dora' })
  const { api_key: key } = await service.createTenant()
  for (const format of REPORT_FORMATS) {
    const path = `/v1/reports/${report.report_id}/download?format=${format}`
    assert.equal((await service.request('GET', path, { key })).status, 404)
  }
})
