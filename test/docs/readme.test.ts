// The README's tour, run as it is written on a fresh service; its tables against the code.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { SETTINGS } from '@custos/server'
import { startTestService, type TestService } from '../../packages/server/src/testing/harness.ts'
import { type Block, blocksOf, ROOT, readPage, sectionOf } from './testing/page.ts'

const CLI = join(ROOT, 'packages', 'cli', 'bin', 'custos.js')
const BREAK = '=== the next block ==='
const TIMEOUT_MS = 60_000
const readme = readPage('README.md')

let dir: string
let service: TestService

before(async () => {
  for (const tool of ['bash', 'curl']) {
    const { error } = spawnSync(tool, ['--version'], { stdio: 'ignore' })
    assert.equal(error, undefined, `${tool} is needed: the README is tested by running its tour`)
  }
  dir = mkdtempSync(join(tmpdir(), 'custos-tour-'))
  service = await startTestService({ config: { auth: 'local' } })
})

after(async () => {
  await service?.stop()
  if (dir) rmSync(dir, { recursive: true, force: true })
})

interface Step {
  readonly command: Block
  /** What the page shows below it, if anything. */
  readonly shown: Block | undefined
}

function stepsOf(section: string): Step[] {
  const blocks = blocksOf(section)
  return blocks.flatMap((command, i) => {
    const next = blocks[i + 1]
    const shown = next?.language === 'sh' ? undefined : next
    return command.language === 'sh' ? [{ command, shown }] : []
  })
}

/** Runs the blocks in one shell, in a folder of its own; the output of each. */
async function runAll(steps: readonly Step[]): Promise<string[]> {
  // The same commands, but for the port, and for `npx` asking a registry outside the project.
  const script = steps
    .map(({ command }) => command.text)
    .join(`\necho; echo '${BREAK}'\n`)
    .replaceAll('http://127.0.0.1:8420', service.url)
    .replaceAll('npx custos', `'${process.execPath}' '${CLI}'`)
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: dir,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
  })
  const exit = new Promise<number | null>((resolve) => child.on('exit', resolve))
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  assert.equal(await exit, 0, `${errors}\n${out}`)
  return out.split(`${BREAK}\n`).map((part) => part.trim())
}

/** What the page shows must be there: `…` and times stand for any text, other values are exact. */
function assertShown(actual: unknown, shown: unknown, at: string): void {
  if (typeof shown === 'string' && shown === '…') {
    assert.equal(typeof actual, 'string', at)
  } else if (Array.isArray(shown)) {
    assert.ok(Array.isArray(actual) && actual.length === shown.length, `${at}: ${actual}`)
    for (const [i, item] of shown.entries()) assertShown(actual[i], item, `${at}[${i}]`)
  } else if (typeof shown === 'object' && shown !== null) {
    assert.ok(typeof actual === 'object' && actual !== null, `${at}: ${actual}`)
    const fields = new Map(Object.entries(actual))
    for (const [key, value] of Object.entries(shown)) {
      assert.ok(fields.has(key), `${at}.${key} is not in the answer`)
      assertShown(fields.get(key), value, `${at}.${key}`)
    }
  } else assert.equal(actual, shown, at)
}

test('the tour of the README runs as written and answers as shown', async () => {
  const steps = stepsOf(sectionOf(readme, '## Five minutes'))
  assert.ok(steps.length >= 9)
  const outputs = await runAll(steps)
  assert.equal(outputs.length, steps.length)
  for (const [i, { command, shown }] of steps.entries()) {
    const at = `${command.text.split('\n')[0]}`
    if (shown?.language === 'json')
      assertShown(JSON.parse(outputs[i] ?? ''), JSON.parse(shown.text), at)
    if (shown?.language === 'text')
      assert.equal(outputs[i]?.replaceAll(/signed by \w+/g, 'signed by …'), shown.text, at)
  }
})

test('one changed letter in the certificate of the tour is found', async () => {
  const [output] = await runAll([
    step(
      `post() { curl -sS "$1" -H 'content-type: application/json' -d "$2"; }`,
      `post ${service.url}/v1/erasure/issue '{"fact_ref": 1}' > certificate.json`,
      `curl -sS ${service.url}/v1/gcrumbs/public_key > keys.json`,
      `sed 's/"erased"/"erasex"/' certificate.json > altered.json`,
      'npx custos verify certificate.json --keys keys.json > /dev/null || exit 8',
      'if npx custos verify altered.json --keys keys.json; then exit 9; fi',
    ),
  ])
  assert.match(output ?? '', /INVALID/)
})

const step = (...lines: string[]): Step => ({
  command: { language: 'sh', text: lines.join('\n'), line: 0 },
  shown: undefined,
})

/** The rows of the first table of a section, without its head. */
function rowsOf(section: string): string[][] {
  const lines = section.split('\n').filter((line) => line.startsWith('|'))
  return lines.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

test('the configuration table of the README is that of the code', () => {
  const expected = SETTINGS.map(({ name, flag, fallback, help }) => [
    `\`${name}\``,
    flag === '' ? '' : `\`--${flag}\``,
    fallback,
    help,
  ])
  assert.deepEqual(rowsOf(sectionOf(readme, '## Configuration')), expected)
})

function helpOf(...args: string[]): string {
  const { stdout } = spawnSync(process.execPath, [CLI, ...args, '--help'], { encoding: 'utf8' })
  return stdout
}

test('the command table of the README is what the command says of itself', () => {
  const known = [...helpOf().matchAll(/^ {2}([\w-]+) +(.+)$/gm)]
  const expected = known.map(([, name, summary]) => [`\`${name}\``, summary])
  assert.deepEqual(rowsOf(sectionOf(readme, '## Commands')), expected)
})

const PAGES = [
  'README.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'docs/conformance.md',
  'docs/verifying.md',
  ...['backup', 'keys', 'upgrade', 'fsck', 'erasure', 'postgresql', 'scale', 'migrate-engine'].map(
    (name) => `docs/operating/${name}.md`,
  ),
]

test('every command line of the documentation uses commands and options that exist', () => {
  const help = new Map<string, string>()
  for (const page of PAGES) {
    const lines = readPage(page).matchAll(/(?:npx )?custos ([a-z-]+)\b([^\n`|]*)/g)
    for (const [line, name = '', rest = ''] of lines) {
      if (!line.startsWith('npx')) continue
      if (!help.has(name)) help.set(name, helpOf(name))
      const text = help.get(name) ?? ''
      assert.match(text, new RegExp(`^usage: custos ${name} `), `${page}: ${line}`)
      for (const [option] of rest.matchAll(/(?<= )--[a-z-]+/g))
        assert.ok(text.includes(option), `${page}: ${line}: no ${option}`)
    }
  }
})

test('every relative link of the documentation leads to a file', () => {
  for (const page of PAGES)
    for (const [, target = ''] of readPage(page).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g))
      assert.ok(existsSync(join(ROOT, dirname(page), target)), `${page} links to ${target}`)
})
