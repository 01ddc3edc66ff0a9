// Runs one service, and gives each test a tenant of its own to create policies and evaluate them.

import assert from 'node:assert/strict'
import type { Answer, RequestOptions } from '../../../testing/harness.ts'
import { openTenantScene, type TenantScene, withMore } from '../../../testing/tenant-scene.ts'

/** The store every tenant has. */
export const STORE = '/stores/default'

interface Policies {
  evaluate(request: object, headers?: RequestOptions['headers']): Promise<Answer['body']>
  importLines(lines: readonly object[]): Promise<Answer>
}

/** Opens one service for all tests of the file; call this at the top level of the test file. */
export function openPolicyScene(): TenantScene & Policies {
  const scene = openTenantScene()
  const { ask } = scene
  const evaluate: Policies['evaluate'] = async (request, headers = {}) => {
    const { status, body, text } = await ask('POST', '/governance/evaluate', request, { headers })
    assert.equal(status, 200, text)
    return body
  }
  const importLines: Policies['importLines'] = (lines) =>
    ask('POST', `${STORE}/import`, undefined, {
      raw: lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
      headers: { 'content-type': 'application/x-ndjson' },
    })
  return withMore(scene, { evaluate, importLines })
}
