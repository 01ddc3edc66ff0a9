// The conformance suite of the Model Context Protocol against `/mcp`: what it asks of any server
// passes; what fails asks for a tool, prompt, resource or capability that only its own example has.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { startTestService, type TestService } from '../../packages/server/src/testing/harness.ts'

const execute = promisify(execFile)

let service: TestService

before(async () => {
  service = await startTestService({ config: { auth: 'local' } })
})
after(() => service?.stop())

/** Scenarios that must pass whole, by version of the suite. */
const OF_2025 = ['server-initialize', 'ping', 'tools-list', 'resources-list', 'prompts-list']
const OF_2026 = [
  ...['caching', 'http-header-validation', 'sep-2164-resource-not-found'],
  ...['input-required-result-unsupported-methods', 'input-required-result-validate-input'],
]
const SUITES: readonly [version: string, passing: readonly string[]][] = [
  ['0.1.16', [...OF_2025, 'dns-rebinding-protection']],
  ['0.2.0-alpha.12', [...OF_2025, ...OF_2026, 'dns-rebinding-protection']],
]

/** Scenarios of capabilities that the server does not announce, or of tools it does not have. */
const NOT_OFFERED = new RegExp(
  `^(${[
    'completion-complete|logging-set-level|resources-(un)?subscribe|tools-call-with-logging',
    'tasks-.*|input-required-result-multi-round',
  ].join('|')})$`,
)

/** Why a check fails that asks for what only the suite's own example has. */
const OWN_EXAMPLE = new RegExp(
  [
    "(Tool|Prompt) '?(test_\\w+|json_schema_2020_12_tool)'? not found",
    'Resource not found: test:',
    '^Not testable: server (exposes no|does not list the diagnostic) tool',
    '^Prerequisite failed: could not get initial InputRequiredResult',
  ].join('|'),
)

interface Check {
  readonly id: string
  readonly status: string
  readonly errorMessage?: string
}

/** The checks of each scenario. */
async function runSuite(version: string): Promise<Map<string, Check[]>> {
  const cwd = mkdtempSync(join(tmpdir(), 'custos-mcp-suite-'))
  try {
    writeFileSync(join(cwd, 'package.json'), '{ "private": true }\n')
    const name = `@modelcontextprotocol/conformance@${version}`
    await execute('npm', ['i', '--no-audit', '--no-fund', '--ignore-scripts', name], { cwd })
    const program = join(cwd, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
    const args = ['server', '--url', `${service.url}/mcp`, '--suite', 'all', '-o', 'results']
    // It ends with an error where any scenario failed, also one that this server is not meant for.
    await execute(process.execPath, [program, ...args], { cwd }).catch(() => undefined)
    const results = join(cwd, 'results')
    return new Map(
      readdirSync(results).map((folder): [string, Check[]] => [
        folder.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, ''),
        JSON.parse(readFileSync(join(results, folder, 'checks.json'), 'utf8')),
      ]),
    )
  } finally {
    rmSync(cwd, { recursive: true })
  }
}

for (const [version, passing] of SUITES)
  test(`the suite ${version} finds no fault of this server`, async (t) => {
    const scenarios = await runSuite(version)
    let succeeded = 0
    const faults: string[] = []
    for (const [scenario, checks] of scenarios)
      for (const { id, status, errorMessage = '' } of checks) {
        if (status === 'SUCCESS') succeeded += 1
        if (status !== 'FAILURE' || NOT_OFFERED.test(scenario)) continue
        if (!OWN_EXAMPLE.test(errorMessage)) faults.push(`${scenario} ${id}: ${errorMessage}`)
      }
    assert.deepEqual(faults, [])
    for (const scenario of passing) {
      const checks = scenarios.get(scenario) ?? []
      assert.ok(
        checks.some(({ status }) => status === 'SUCCESS'),
        scenario,
      )
      assert.ok(!checks.some(({ status }) => status === 'FAILURE'), scenario)
    }
    t.diagnostic(`${succeeded} checks of ${scenarios.size} scenarios passed`)
  })
