// The commands of README.md, docs/memory.md and docs/items.md, run as written; commands and links
// of all pages.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { commands } from '../../packages/cli/src/commands/index.ts'
import { blocksOf, ROOT, readPage, sectionOf } from './testing/page.ts'
import { assertWalk, type Step, startWalk, stepsOf, type Walk } from './testing/walk.ts'

describe('README.md', () => {
  let walk: Walk

  before(async () => {
    walk = await startWalk()
  })
  after(() => walk?.end())

  test('the five minutes run as written and answer as shown', async () => {
    const steps = stepsOf(sectionOf(readPage('README.md'), '## Five minutes'))
    assert.ok(steps.length >= 6)
    await assertWalk(walk, steps)
  })

  test('one changed letter in the certificate is found', async () => {
    const { url } = walk.service
    const [output] = await walk.run([
      step(
        `post() { curl -sS "$1" -H 'content-type: application/json' -d "$2"; }`,
        `post ${url}/v1/erasure/issue '{"fact_ref": 1}' > certificate.json`,
        `curl -sS ${url}/v1/gcrumbs/public_key > keys.json`,
        `sed 's/"erased"/"erasex"/' certificate.json > altered.json`,
        'npx custos verify certificate.json --keys keys.json > /dev/null || exit 8',
        'if npx custos verify altered.json --keys keys.json; then exit 9; fi',
      ),
    ])
    assert.match(output ?? '', /INVALID/)
  })

  test('the programs run as written, and the agent remembers in its next run', async () => {
    const programs = blocksOf(sectionOf(readPage('README.md'), '## From your agent'))
      .filter(({ language }) => language === 'js')
      .map(({ text }) => text)
    assert.equal(await runProgram(walk, programs[0] ?? ''), "[ 'Ana moved to Porto' ]")
    const agent = programs[1] ?? ''
    await runProgram(walk, agent, 'I am allergic to nuts')
    assert.match(await runProgram(walk, agent, 'What am I allergic to?'), /allergic to nuts/)
    assert.equal(programs.length, 2)
  })

  test('has at most 150 lines', () => {
    assert.ok(readPage('README.md').trimEnd().split('\n').length <= 150)
  })
})

const WALKS = { 'docs/memory.md': 15, 'docs/items.md': 7 }

for (const [page, least] of Object.entries(WALKS))
  describe(page, () => {
    let walk: Walk

    before(async () => {
      walk = await startWalk()
    })
    after(() => walk?.end())

    test('every example runs as written and answers as shown', async () => {
      const steps = stepsOf(readPage(page))
      assert.ok(steps.length >= least)
      await assertWalk(walk, steps)
    })
  })

/** Runs a program of a page in a folder that finds packages and examples as the root does. */
async function runProgram({ service, dir }: Walk, text: string, ...args: string[]) {
  for (const name of ['node_modules', 'examples'])
    if (!existsSync(join(dir, name))) symlinkSync(join(ROOT, name), join(dir, name))
  const file = join(dir, 'agent.mjs')
  writeFileSync(file, text.replaceAll('http://127.0.0.1:8420', service.url))
  const { stdout } = await promisify(execFile)(process.execPath, [file, ...args])
  return stdout.trim()
}

const step = (...lines: string[]): Step => ({ command: lines.join('\n'), shown: undefined })

/** Every page but the generated ones under docs/errors. */
const PAGES = [
  ...['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'],
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.startsWith('errors'))
    .map((name) => `docs/${name}`),
]

test('every command line of the documentation uses commands and options that exist', async () => {
  const helps = commands.map(async ({ name, load }): Promise<[string, string]> => {
    const { usage, help } = await load()
    return [name, `${usage}\n${help}`]
  })
  const help = new Map(await Promise.all(helps))
  for (const page of PAGES) {
    const lines = readPage(page).matchAll(/npx custos ([a-z-]+)\b([^\n`|]*)/g)
    for (const [line, name = '', rest = ''] of lines) {
      const text = help.get(name)
      assert.ok(text !== undefined, `${page}: ${line}`)
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

// Tables and code blocks are exempt.
test('text in the documentation wraps at 100 columns', () => {
  for (const page of PAGES.filter((name) => name !== 'ARCHITECTURE.md')) {
    let code = false
    for (const [i, line] of readPage(page).split('\n').entries()) {
      if (/^ *```/.test(line)) code = !code
      const exempt = code || line.startsWith('|')
      assert.ok(exempt || line.length <= 100, `${page}:${i + 1} has ${line.length} columns`)
    }
  }
})
