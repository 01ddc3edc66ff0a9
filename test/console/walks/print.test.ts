// On paper and without motion: what a person keeps is the page itself, dark on white, and nothing
// moves for those who asked for that.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildVerifyPage, launchBrowser, visit } from '../../pages/testing/verify-visitor.ts'
import { consoleScene } from '../testing/scene.ts'

const scene = consoleScene()
const COLOURS = `(() => {
  const { backgroundColor, color } = getComputedStyle(document.body)
  return [backgroundColor, color].map((one) => one.match(/\\d+/g).slice(0, 3).map(Number))
})()`
const MOVING = `[...document.querySelectorAll('*')].flatMap((element) =>
  [null, '::before', '::after'].map((part) => getComputedStyle(element, part))
    .filter(({ animationName: name, transitionDuration: time }) =>
      name !== 'none' || time.split(', ').some((one) => one !== '0s'))
    .map(() => element.outerHTML.slice(0, 80)))`

function assertInk([paper = [], ink = []]: readonly (readonly number[])[]): void {
  assert.deepEqual(paper, [255, 255, 255])
  assert.ok(Math.max(...ink) < 80, `the ink is ${ink}`)
}

scene('a page of the console prints without its frame, dark on white', async (given) => {
  await given.local.call('POST', '/v1/stores/default/write', { content: 'The ferry is late' })
  const made = await given.local.call('POST', '/v1/erasure/issue', { fact_ref: 1 })
  for (const path of [`/erasure/${made.certificate_id}`, '/log']) {
    const { page, end } = await given.visit(path, { theme: 'dark' })
    await page.locator('main [class*=loading]').first().waitFor({ state: 'detached' })
    assert.ok(await page.getByRole('navigation', { name: 'Screens' }).isVisible())
    assert.ok((await page.locator('main button:visible').count()) > 0)
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
    assertInk(await page.evaluate<number[][]>(COLOURS))
    assert.ok(await page.locator('h1').isVisible())
    for (const hidden of ['nav', 'header button', 'table button', 'a[href="#main"]'])
      assert.equal(await page.locator(`${hidden}:visible`).count(), 0, hidden)
    const pdf = await page.pdf()
    assert.equal(pdf.subarray(0, 5).toString(), '%PDF-')
    await end()
  }
})

scene('nothing of the console moves for those who asked for that', async (given) => {
  const { page, end } = await given.visit('/decisions')
  // An answer that does not come keeps the bar of what is loading.
  await page.route('**/v1/decisions**', () => undefined)
  await page.reload()
  await page.locator('main [class*=loading]').first().waitFor()
  await page.emulateMedia({ reducedMotion: 'no-preference' })
  assert.ok((await page.evaluate<string[]>(MOVING)).length > 0, 'otherwise the bar moves')
  await page.emulateMedia({ reducedMotion: 'reduce' })
  assert.deepEqual(await page.evaluate<string[]>(MOVING), [])
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await end()
})

test('the verify page prints dark on white, and nothing of it moves', async (t) => {
  await buildVerifyPage()
  const browser = await launchBrowser()
  if (!browser) {
    assert.equal(process.env['CI'], undefined, 'no Chromium found')
    return t.diagnostic('no Chromium on this machine: the page was not opened')
  }
  t.after(() => browser.close())
  const options = { colorScheme: 'dark', reducedMotion: 'reduce' } as const
  const { page, complaints } = await visit(browser, undefined, options)
  assert.deepEqual(await page.evaluate<string[]>(MOVING), [])
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
  assertInk(await page.evaluate<number[][]>(COLOURS))
  assert.equal(await page.locator('button:visible').count(), 0)
  assert.ok(await page.locator('h1').isVisible())
  assert.deepEqual(complaints, [])
})
