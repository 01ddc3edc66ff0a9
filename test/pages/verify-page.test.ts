// The verify page as an auditor meets it: opened from a disk or from a service, in a real browser.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { readKeys, readSavedDocuments, verifySavedDocument } from '@custos/proof'
import type { Browser } from 'playwright-core'
import {
  type LocalService,
  serveLocally,
  writeSampleData,
} from '../../packages/cli/src/testing/serve-locally.ts'
import { type SampleDocument, sampleDocuments } from './testing/sample-documents.ts'
import {
  buildVerifyPage,
  launchBrowser,
  type NamedText,
  PAGE_FILE,
  visit,
} from './testing/verify-visitor.ts'

const AXE = join(import.meta.dirname, '../../node_modules/axe-core/axe.min.js')
/** An auditor keeps the file: it stays small enough to read and to send. */
/** The verifier of runs takes 12 KB of it, and its words two. */
const BYTES_MAX = 135 * 1024
/** Altered bytes of each document, spread over it. */
const ALTERED = process.env['CUSTOS_TEST_SLOW'] ? 200 : 12
const NO_ED25519 = `{
  const real = SubtleCrypto.prototype.importKey
  SubtleCrypto.prototype.importKey = async function (format, key, algorithm, ...rest) {
    if (algorithm.name === 'Ed25519') throw new DOMException('', 'NotSupportedError')
    return real.call(this, format, key, algorithm, ...rest)
  }
}`

const ends: (() => void | Promise<void>)[] = []
const samples = sampleDocuments()
let browser: Browser | null = null
let local: LocalService

before(async () => {
  await buildVerifyPage()
  browser = await launchBrowser()
  local = await serveLocally({ after: (end) => void ends.push(end) })
})

after(async () => {
  await browser?.close()
  for (const end of ends.reverse()) await end()
})

/** A test that needs a browser. Continuous integration has one: there its absence is a failure. */
function inBrowser(title: string, run: (browser: Browser) => Promise<void>): void {
  test(title, async (t: TestContext) => {
    if (browser) return run(browser)
    assert.equal(process.env['CI'], undefined, 'no Chromium found for the page tests')
    return t.diagnostic('no Chromium on this machine: the page was not opened')
  })
}

const keysFile = (keys: readonly unknown[]): NamedText => ['keys.json', JSON.stringify({ keys })]
const filesOf = ({ name, text, keys }: SampleDocument): NamedText[] =>
  keys.length === 0 ? [[name, text]] : [keysFile(keys), [name, text]]

/** What `custos verify` says of a file: valid when each of its documents is. */
async function isValidOnCommandLine(text: string, keys: readonly unknown[]): Promise<boolean> {
  const trust = { keys: readKeys(keys), entry: undefined }
  const verdicts = readSavedDocuments(text).map((one) => verifySavedDocument(one, trust))
  return (await Promise.all(verdicts)).every(({ valid }) => valid)
}

/** The text with one byte replaced by another of the same kind. */
function alter(text: string, place: number): string {
  const bytes = Buffer.from(text)
  const at = Math.floor(((place + 0.5) * bytes.length) / ALTERED)
  bytes[at] = bytes[at] === 0x30 ? 0x31 : 0x30
  return bytes.toString('utf8')
}

test('the page is one small file without an address of any other', () => {
  const html = readFileSync(PAGE_FILE, 'utf8')
  assert.ok(Buffer.byteLength(html) <= BYTES_MAX)
  assert.doesNotMatch(html, /<(script|link|img)[^>]+(src|href)="(?!data:)/)
})

inBrowser(
  'every genuine document is valid, from a file on a disk and without a request',
  async (browser) => {
    const { judge, page, requests, complaints } = await visit(browser)
    for (const sample of samples) {
      assert.ok(await isValidOnCommandLine(sample.text, sample.keys), sample.name)
      assert.deepEqual(await judge(filesOf(sample)), ['VALID'], sample.name)
      assert.equal(await page.locator('.checks .failed').count(), 0)
    }
    assert.deepEqual([requests, complaints], [[], []])
    await page.context().close()
  },
)

inBrowser('the page and the command line agree on every altered byte', async (browser) => {
  const { judge, page, requests, complaints } = await visit(browser)
  for (const { name, text, keys } of samples) {
    const altered = Array.from({ length: ALTERED }, (_, i) => alter(text, i))
    const files = altered.map((one, i): NamedText => [`${name}-${i}`, one])
    const words = await judge([...(keys.length > 0 ? [keysFile(keys)] : []), ...files])
    assert.equal(words.length, altered.length)
    for (const [i, one] of altered.entries()) {
      const valid = await isValidOnCommandLine(one, keys)
      assert.equal(words[i] === 'VALID', valid, `${name}, place ${i}: ${words[i]}`)
    }
    assert.ok(words.includes('NOT VALID'), name)
  }
  assert.deepEqual([requests, complaints], [[], []])
  await page.context().close()
})

inBrowser(
  'without keys an unchanged record cannot be judged, and a changed one is not valid',
  async (browser) => {
    const { judge, page } = await visit(browser)
    const sample = samples.find(({ name }) => name === 'certificate-0')
    assert.ok(sample)
    assert.deepEqual(await judge([['a.json', sample.text]]), ['CANNOT JUDGE'])
    await page.getByText('Add the key list to see who signed it').waitFor()
    const changed = sample.text.replace('"erased"', '"already_absent"')
    assert.deepEqual(await judge([['a.json', changed]]), ['NOT VALID'])
    await page.getByText('do not follow from the record').waitFor()
    const nothing = await judge([['a.txt', 'nothing to see'], keysFile(sample.keys)])
    assert.deepEqual(nothing, ['CANNOT JUDGE'])
    await page.context().close()
  },
)

inBrowser('keys can be pasted, as a list or as one key, and removed again', async (browser) => {
  const { judge, page } = await visit(browser)
  const sample = samples.find(({ name }) => name === 'certificate-0')
  assert.ok(sample)
  const [key] = readKeys(sample.keys)
  const badge = page.locator('article h3 .badge')
  await judge([['a.json', sample.text]])
  await page.getByText('Paste a key list').click()
  for (const pasted of [JSON.stringify(sample.keys), String(key?.public_key)]) {
    await page.getByLabel('Key list as JSON').fill(pasted)
    await page.getByRole('button', { name: 'Trust these keys' }).click()
    await badge.filter({ hasText: /^✓VALID$/ }).waitFor()
    await page.getByRole('button', { name: 'Remove' }).click()
    await badge.filter({ hasText: 'CANNOT JUDGE' }).waitFor()
  }
  await page.getByLabel('Key list as JSON').fill('{"keys": []}')
  await page.getByRole('button', { name: 'Trust these keys' }).click()
  await page.getByText('This is no key list and no public key.').waitFor()
  await page.context().close()
})

inBrowser(
  'a browser without Ed25519 judges no signature, and never says not valid',
  async (browser) => {
    const { judge, page } = await visit(browser, undefined, { before: NO_ED25519 })
    const signed = samples.filter(({ keys }) => keys.length > 0)
    for (const sample of signed)
      assert.deepEqual(await judge(filesOf(sample)), ['CANNOT JUDGE'], sample.name)
    await page.getByText('This browser cannot check Ed25519 signatures').waitFor()
    await page.context().close()
  },
)

inBrowser(
  'a service shows the page without a credential, and its keys on a click only',
  async (browser) => {
    const { certificate, decision_id } = await writeSampleData(local)
    const { call, text } = local
    const proof = await call('GET', `/v1/gcrumbs/epochs/2/proof?seq=${certificate.log_seq}`)
    const keys = await call('GET', '/v1/gcrumbs/public_key')
    const address = `${local.url}/verify`
    const { judge, page, requests, complaints } = await visit(browser, address)
    const decision = await text(`/v1/decisions/${decision_id}`)
    const files: NamedText[] = [
      ['certificate.json', JSON.stringify(certificate)],
      ['decision.json', decision],
      ['proof.json', JSON.stringify(proof)],
      ['proof.tlog-proof', proof.tlog_proof],
      ['entry.json', JSON.stringify(proof.breadcrumb)],
      ['store.ndjson', await text('/v1/stores/default/export')],
    ]
    const doubtful = Array.from({ length: 4 }, () => 'CANNOT JUDGE')
    assert.deepEqual(await judge(files), [...doubtful, 'VALID', 'CANNOT JUDGE'])
    assert.deepEqual(requests, [])
    await page.getByRole('button', { name: 'Use the keys of this server' }).click()
    await page.getByText('then the server is what you trust').waitFor()
    await page.locator('#status', { hasText: ' 0 not judged' }).waitFor()
    assert.deepEqual(requests, [`${local.url}/v1/gcrumbs/public_key`])
    const valid = files.map(() => 'VALID')
    assert.deepEqual(await judge([keysFile(keys.keys), ...files]), valid)
    const documents = [certificate, JSON.parse(decision), proof]
    const bundle = JSON.stringify({ custos_bundle: 1, keys: keys.keys, documents })
    assert.deepEqual(await judge([['bundle.json', bundle]], 3), ['VALID'])
    await page.getByText('They came with the documents').waitFor()
    assert.deepEqual(complaints, [])
    await page.context().close()
  },
)

inBrowser('one changed character is shown to matter, and can be undone', async (browser) => {
  const { judge, page, complaints } = await visit(browser)
  for (const name of ['certificate-0', 'epoch', 'report-1']) {
    const sample = samples.find((one) => one.name === name)
    assert.ok(sample)
    await judge(filesOf(sample))
    const details = page.locator('.card-body > details', { hasText: 'Change one character' })
    await details.locator('summary').click()
    await details.getByRole('button', { name: 'Change one for me' }).click()
    await details.getByText(/NOT VALID “.” became “.” at character \d+/).waitFor()
    const field = details.locator('textarea')
    assert.notEqual(await field.inputValue(), sample.text)
    await details.getByRole('button', { name: 'Undo' }).click()
    await details.locator('.attempt strong', { hasText: /^VALID$/ }).waitFor()
    await field.fill('{}')
    await details.getByText('no longer a document').waitFor()
  }
  assert.deepEqual(complaints, [])
  await page.context().close()
})

inBrowser(
  'a thousand documents in a file are counted, and those that fail come first',
  async (browser) => {
    const { judge, page } = await visit(browser)
    const sample = samples.find(({ name }) => name === 'certificate-0')
    assert.ok(sample)
    const good = JSON.parse(sample.text)
    const lines = Array.from({ length: 1000 }, (_, i) =>
      JSON.stringify(i === 700 ? { ...good, fact_ref: 43 } : good),
    )
    const files: NamedText[] = [keysFile(sample.keys), ['all.ndjson', lines.join('\n')]]
    assert.deepEqual(await judge(files, 1000), ['NOT VALID'])
    await page.getByText('1000 checked: 999 valid, 1 not valid, 0 not judged').first().waitFor()
    const first = page.locator('.document').first()
    await first.getByText('Certificate of erasure, line 701').waitFor()
    assert.notEqual(await first.getAttribute('open'), null)
    assert.equal(await page.locator('.document').count(), 100)
    await page.getByRole('button', { name: 'Show 100 more' }).click()
    assert.equal(await page.locator('.document').count(), 200)
    await page.context().close()
  },
)

inBrowser('names and texts of a document are shown as text, whatever they say', async (browser) => {
  const { judge, page, requests, complaints } = await visit(browser)
  const name = '<img src=http://127.0.0.1:9/x onerror=alert(1)> \u202e審計'
  const text = JSON.stringify({ certificate_id: name, outcome: `<script>${name}</script>` })
  assert.deepEqual(await judge([[name, text]]), ['NOT VALID'])
  assert.equal(await page.locator('img').count(), 0)
  assert.equal(await page.locator('article .name').innerText(), name)
  assert.deepEqual([requests, complaints], [[], []])
  await page.context().close()
})

for (const [look, colorScheme, scale] of [
  ['light', 'light', 1],
  ['dark', 'dark', 1],
  ['light at 200 %', 'light', 2],
] as const)
  inBrowser(`no rule of accessibility is broken: ${look}`, async (browser) => {
    const viewport = { width: 1280 / scale, height: 900 / scale }
    const options = { colorScheme, viewport, deviceScaleFactor: scale, bypassCSP: true }
    const { judge, page } = await visit(browser, undefined, options)
    await page.addScriptTag({ path: AXE })
    const check = async (state: string) => {
      const run = `axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa'] })
        .then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html))`
      assert.deepEqual(await page.evaluate(run), [], state)
      const overflow = 'document.documentElement.scrollWidth - innerWidth'
      assert.equal(await page.evaluate(overflow), 0, state)
    }
    await check('empty')
    const certificate = samples.find(({ name }) => name === 'certificate-0')
    assert.ok(certificate)
    const { text, keys } = certificate
    await judge([
      keysFile(keys),
      ['valid.json', text],
      ['changed.json', text.replace('"erased"', '"already_absent"')],
      ['many.ndjson', `${JSON.stringify(JSON.parse(text))}\n`.repeat(3)],
      ['other.txt', 'x'],
    ])
    for (const summary of await page.locator('summary').all()) await summary.click()
    await check('with results')
    await page.context().close()
  })

inBrowser('keys alone suffice to give a file, open a check and clear', async (browser) => {
  const { page } = await visit(browser)
  const sample = samples.find(({ name }) => name === 'certificate-0')
  assert.ok(sample)
  const press = async (name: RegExp, times = 40) => {
    for (let i = 0; i < times; i += 1) {
      await page.keyboard.press('Tab')
      const focused = String(await page.evaluate('document.activeElement.textContent'))
      const label = String(await page.evaluate('document.activeElement.labels?.[0]?.textContent'))
      if (name.test(focused) || name.test(label)) return
    }
    assert.fail(`not reached: ${name}`)
  }
  await press(/Drop files here/)
  await press(/^Paste a document$/)
  await page.keyboard.press('Enter')
  await press(/^Text of a document$/)
  await page.keyboard.insertText(sample.text)
  await press(/^Check this text$/)
  await page.keyboard.press('Enter')
  await page.locator('#status', { hasText: '1 checked' }).waitFor()
  await press(/^The bytes that are signed$/)
  await page.keyboard.press('Enter')
  await page.getByText('custos/erasure/v1').waitFor()
  await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('Enter')
  await page.locator('article').waitFor({ state: 'hidden' })
  await page.context().close()
})
