// Runs the shell blocks of a page against a service and compares what they print with the page.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { startTestService, type TestService } from '../../../packages/server/src/testing/harness.ts'
import { type Block, blocksOf, ROOT } from './page.ts'

export const CLI = join(ROOT, 'packages', 'cli', 'bin', 'custos.js')
const SEPARATOR = '=== the next block ==='
const TIMEOUT_MS = 60_000

/** One shell block of a page. */
export interface Step {
  readonly command: string
  /** The block that follows on the page and shows the output, if there is one. */
  readonly shown: Block | undefined
}

/** A fresh service in local mode and a folder in which the blocks run. */
export interface Walk {
  readonly service: TestService
  readonly dir: string
  /** Runs the blocks in one shell, in order; returns the output of each. */
  run(steps: readonly Step[]): Promise<string[]>
  end(): Promise<void>
}

/** Throws when bash or curl is missing. */
export async function startWalk(): Promise<Walk> {
  for (const tool of ['bash', 'curl']) {
    const { error } = spawnSync(tool, ['--version'], { stdio: 'ignore' })
    assert.equal(error, undefined, `${tool} is needed: pages are tested by running their commands`)
  }
  const dir = mkdtempSync(join(tmpdir(), 'custos-walk-'))
  const service = await startTestService({ config: { auth: 'local' } })
  return {
    service,
    dir,
    run: (steps) => runSteps(steps, { dir, url: service.url }),
    end: async () => {
      await service.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** The `sh` blocks of a text, each with the block that shows its output. */
export function stepsOf(page: string): Step[] {
  const blocks = blocksOf(page)
  return blocks.flatMap((block, i) => {
    const next = blocks[i + 1]
    const shown = next?.language === 'sh' ? undefined : next
    return block.language === 'sh' ? [{ command: block.text, shown }] : []
  })
}

async function runSteps(
  steps: readonly Step[],
  { dir, url }: { dir: string; url: string },
): Promise<string[]> {
  // Unchanged but for the port, and for `npx`, which would ask a registry outside the project.
  const script = steps
    .map(({ command }) => command)
    .join(`\necho; echo '${SEPARATOR}'\n`)
    .replaceAll('http://127.0.0.1:8420', url)
    .replaceAll('npx custos', `'${process.execPath}' '${CLI}'`)
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: dir,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
  })
  const exit = new Promise<number | null>((resolve) => child.on('exit', resolve))
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  assert.equal(await exit, 0, `${errors}\n${out}`)
  return out.split(`${SEPARATOR}\n`).map((part) => part.trim())
}

/** Runs every step and compares each output with what the page shows below it. */
export async function assertWalk(walk: Walk, steps: readonly Step[]): Promise<void> {
  const outputs = await walk.run(steps)
  assert.equal(outputs.length, steps.length)
  for (const [i, { command, shown }] of steps.entries()) {
    const at = `${command.split('\n')[0]}`
    const output = outputs[i] ?? ''
    if (shown?.language === 'json') assertShown(JSON.parse(output), JSON.parse(shown.text), at)
    if (shown?.language === 'text') assertText(output, shown.text)
  }
}

/** `…` stands for any text; the members shown must be in the answer with exactly these values. */
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

/** A line that is `…` stands for any number of lines. */
function assertText(output: string, shown: string): void {
  const parts = shown.split(/^…$/m).map((part) => part.trim())
  const [first = '', ...rest] = parts
  const last = rest.at(-1)
  if (last === undefined) {
    assert.equal(output, first)
    return
  }
  assert.ok(output.startsWith(first) && output.endsWith(last), `${output}\nis not\n${shown}`)
  let at = first.length
  for (const part of rest) {
    at = output.indexOf(part, at)
    assert.ok(at >= 0, `${output}\nis not\n${shown}`)
    at += part.length
  }
}
