// What a browser loads: budgets of the shell, of the first screen and of each further screen.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { consoleScene } from './testing/scene.ts'

const DIST = join(import.meta.dirname, '../../packages/console/dist')
const KB = 1_000
const BUDGETS = { shell: 135 * KB, first: 210 * KB, route: 47 * KB }

const gzipBytes = (file: string): number => gzipSync(readFileSync(join(DIST, file))).length
const sum = (files: readonly string[]): number =>
  files.reduce((total, file) => total + gzipBytes(file), 0)

/** Files that the page names, and what their scripts import before they run. */
function shellFiles(): string[] {
  const page = readFileSync(join(DIST, 'index.html'), 'utf8')
  return [...page.matchAll(/(?:src|href)="\/console\/(assets\/[^"]+)"/g)].map(
    ([, file = '']) => file,
  )
}

const scene = consoleScene()

test('the shell is at most 135 KB, and no part of it names another origin', () => {
  const files = shellFiles()
  assert.ok(files.length >= 2)
  assert.ok(sum(files) <= BUDGETS.shell, `${sum(files)} bytes: ${files.join(' ')}`)
  const html = readFileSync(join(DIST, 'index.html'), 'utf8')
  assert.doesNotMatch(html, /https?:|<script>|<style/)
})

test('what a further screen adds is at most 47 KB', () => {
  const shell = new Set(shellFiles())
  for (const file of readdirSync(join(DIST, 'assets'))) {
    const path = `assets/${file}`
    if (!shell.has(path)) assert.ok(gzipBytes(path) <= BUDGETS.route, `${path}: ${gzipBytes(path)}`)
  }
})

scene('each screen as the first one loads at most 210 KB', async ({ visit }) => {
  for (const path of ['/', '/stores/default', '/decisions', '/usage', '/access']) {
    const { page, end } = await visit(path)
    await page.waitForLoadState('load')
    const loaded = await page.evaluate<string[]>(
      "performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname)",
    )
    const files = loaded
      .filter((name) => name.startsWith('/console/assets/'))
      .map((name) => name.slice('/console/'.length))
    assert.ok(files.length > 2)
    assert.ok(sum([...new Set(files)]) <= BUDGETS.first, `${path}: ${sum(files)}`)
    await end()
  }
})
