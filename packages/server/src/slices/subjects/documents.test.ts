// Requests of data subjects as documents for people: the access letter, manifest and certificate.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { readPdf } from '../../../../report-files/src/testing/read-pdf.ts'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { SUBJECT, subjectScene } from './testing/scene.ts'

let service: TestService
before(async () => {
  service = await startTestService()
})
after(() => service.stop())

async function scene() {
  const made = await subjectScene(service)
  const load = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(`${service.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${made.api_key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const bytes = Buffer.from(await answer.arrayBuffer())
    assert.equal(answer.status, 200, bytes.toString())
    return { type: answer.headers.get('content-type'), bytes }
  }
  return { ...made, load }
}

/** The words of a PDF; a long word may be parted anywhere. */
const wordsOf = (file: Uint8Array): string =>
  readPdf(file)
    .pages.map(({ text }) => text)
    .join('')
    .replaceAll(/\s/g, '')

const sha256 = (bytes: Uint8Array | string): string =>
  createHash('sha256').update(bytes).digest('hex')

describe('documents', () => {
  test("'subjects.access' gives each format the same records", async () => {
    const { ask, load, write, decide } = await scene()
    await write('Jana <b>Novak</b> drinks tea\nand coffee', { customer: 'c-1017' })
    await write(`Jana Novak: ${'très long 漢字 '.repeat(1_500)}`, { signature: 'her own' })
    await decide('What does Jana Novak drink?', 'tea')
    const body = { find: { text: 'Jana Novak' } }
    const other = { find: { text: '<b>Novak' } }
    const lines = await ask('POST', `${SUBJECT}/access`, body)
    const json = await load('POST', `${SUBJECT}/access?format=json`, body)
    assert.equal(json.type, 'application/json; charset=utf-8')
    const { records } = JSON.parse(json.bytes.toString())
    assert.deepEqual(
      records.map(({ record }: { record: string }) => record),
      lines.text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).record),
    )
    assert.deepEqual([records.length, records.at(-1).record], [4, 'end'])

    const html = await load('POST', `${SUBJECT}/access?format=html`, other)
    assert.equal(html.type, 'text/html; charset=utf-8')
    const page = html.bytes.toString()
    assert.match(page, /Article 15 of the General Data Protection Regulation/)
    assert.match(page, /Jana &lt;b&gt;Novak&lt;\/b&gt; drinks tea\nand coffee/)
    assert.doesNotMatch(page, /<b>Novak/)

    const pdf = await load('POST', `${SUBJECT}/access?format=pdf`, body)
    assert.equal(pdf.type, 'application/pdf')
    const words = wordsOf(pdf.bytes)
    for (const text of ['Whatisheldaboutyou', 'WhatdoesJanaNovakdrink?', 'U+6F22'])
      assert.ok(words.includes(text), text)
    assert.equal(words.split('très').length, 1_501)
    assert.ok(words.includes('metadata·signatureherown'))
    assert.ok(!words.includes('source·signature'), 'bytes of signatures are left out')
    assert.ok(words.includes('searched·1'), 'a sentence with commas stands by itself')
    const listed = (await ask('GET', `${SUBJECT}?kind=access`)).body
    assert.equal(listed.count, 4)
  })

  test('a long text begins on the sheet of its name', async () => {
    const { load, write } = await scene()
    for (let lines = 0; lines < 12; lines += 1)
      await write(`Jana ${'line '.repeat(lines * 36)}${'word '.repeat(400)}`)
    const body = { find: { text: 'Jana' } }
    const { bytes } = await load('POST', `${SUBJECT}/access?format=pdf`, body)
    const { pages } = readPdf(bytes)
    assert.ok(pages.length > 6)
    for (const { text } of pages.slice(1)) {
      const [, after] = /(?:^|\s)content\s+(.*)$/s.exec(text) ?? []
      if (after !== undefined) assert.match(after, /^Jana /)
    }
  })

  test('too much for a PDF is refused before anything is recorded', async () => {
    const { ask, write } = await scene()
    for (let part = 0; part < 11; part += 1) await write(`Jana ${part} ${'tea '.repeat(24_000)}`)
    const body = { find: { text: 'Jana' } }
    const refused = await ask('POST', `${SUBJECT}/access?format=pdf`, body)
    assert.deepEqual([refused.status, refused.body.error], [422, 'rejected'])
    assert.equal((await ask('GET', SUBJECT)).body.count, 0)
    assert.equal((await ask('POST', `${SUBJECT}/access?format=html`, body)).status, 200)
  })

  test("a PDF of 'subjects.manifest' or 'erasure.get' names id, digest and check", async () => {
    const { ask, load, write, erase, events } = await scene()
    await write('Jana Novak drinks tea')
    const { request_id } = await erase({ text: 'Jana Novak' })
    const path = `${SUBJECT}/${request_id}/manifest`
    const bundle = (await ask('GET', `${path}?format=bundle`)).text.trim().split('\n')
    const { entries } = JSON.parse(bundle[0] ?? '')
    const certificate = JSON.parse(bundle[1] ?? '')
    const manifest = await load('GET', `${path}?format=pdf`)
    assert.equal(manifest.type, 'application/pdf')
    const words = wordsOf(manifest.bytes)
    const [erased] = await events('subject.erased')
    const digests = [entries[0].certificate_digest, erased.payload.record_digest]
    for (const text of [request_id, 'Thisfileisarendering', ...digests])
      assert.ok(words.includes(text), text)
    const one = `/v1/erasure/${certificate.certificate_id}?format=pdf`
    const file = await load('GET', one)
    assert.equal(sha256(file.bytes), sha256((await load('GET', one)).bytes))
    const text = wordsOf(file.bytes)
    const digest = sha256(Buffer.from(certificate.signed_bytes, 'base64'))
    assert.equal(digest, entries[0].certificate_digest)
    const found = 'memory.retrieve:absent'
    for (const part of [certificate.certificate_id, digest, 'custosverifyFILE', found])
      assert.ok(text.includes(part), part)
  })
})
