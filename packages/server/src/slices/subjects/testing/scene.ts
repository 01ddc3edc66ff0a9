// A tenant with things about a person: requests, waiting for their end, offline verification.

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { detectEnvelope, type Verdict, verifyEnvelope } from '@custos/proof'
import type { Answer, TestService } from '../../../testing/harness.ts'

const WAITS_MAX = 1_500
export const SUBJECT = '/v1/erasure/subject'

interface SceneKeys {
  readonly tenant_id: string
  readonly api_key: string
  readonly store_id: string
}

export async function subjectScene(service: TestService) {
  const { tenant_id, api_key } = await service.createTenant()
  const sent = { body: { name: 'people' }, key: api_key }
  const { store_id } = (await service.request('POST', '/v1/stores', sent)).body
  return sceneOf(service, { tenant_id, api_key, store_id })
}

function requestsOf(service: TestService, api_key: string) {
  const ask = (method: string, path: string, body?: unknown, key = api_key): Promise<Answer> =>
    service.request(method, path, body === undefined ? { key } : { key, body })
  const ok = async (method: string, path: string, body?: unknown) => {
    const answer = await ask(method, path, body)
    assert.ok(answer.status < 300, `${path}: ${answer.text}`)
    return answer.body
  }
  return { ask, ok }
}

async function listEvents(ok: SceneRequests['ok'], event_type: string) {
  const { breadcrumbs } = await ok('GET', '/v1/gcrumbs/breadcrumbs?limit=1000')
  return breadcrumbs.filter((crumb: { event_type: string }) => crumb.event_type === event_type)
}

type SceneRequests = ReturnType<typeof requestsOf>

function writesOf({ ok, store_id }: Pick<SceneRequests, 'ok'> & Pick<SceneKeys, 'store_id'>) {
  const write = async (content: string, metadata: object = {}, store = store_id) =>
    (await ok('POST', `/v1/stores/${store}/write`, { content, options: { metadata } })).ref
  const supersede = async (old_ref: number, content: string) =>
    (await ok('POST', `/v1/stores/${store_id}/supersede`, { old_ref, content })).ref
  const decide = async (query: string, output: string, more: object = {}): Promise<string> => {
    const body = { store_id, model_id: 'model-a', query, output, ...more }
    return (await ok('POST', '/v1/decisions/log', body)).decision_id
  }
  return { write, supersede, decide }
}

/** The same tenant, also after a restart. */
export function sceneOf(service: TestService, { tenant_id, api_key, store_id }: SceneKeys) {
  const { ask, ok } = requestsOf(service, api_key)
  const { write, supersede, decide } = writesOf({ ok, store_id })
  /** `find` undefined: everything in a namespace. */
  type Find = object | undefined
  const preview = (find: Find, more: object = {}) =>
    ok('POST', SUBJECT, { find, ...more, preview: true })
  /** An erasure of what a preview finds now. */
  const confirmed = async (find: Find, more: object = {}) => {
    const { digest } = await preview(find, { ...more, expect_digest: undefined })
    return { find, expect_digest: digest, ...more }
  }
  const request = async (find: Find, more: object = {}) =>
    ok('POST', SUBJECT, await confirmed(find, more))
  const settled = async (request_id: string) => {
    for (let waits = 0; waits < WAITS_MAX; waits += 1) {
      const shown = await ok('GET', `${SUBJECT}/${request_id}`)
      if (shown.completed_at !== null) return shown
      await delay(20)
    }
    return assert.fail('the erasure did not come to an end')
  }
  const erase = async (find: Find, more: object = {}) =>
    settled((await request(find, more)).request_id)
  const manifestOf = (request_id: string) => ok('GET', `${SUBJECT}/${request_id}/manifest`)
  const bundleOf = async (request_id: string): Promise<unknown[]> => {
    const { text } = await ask('GET', `${SUBJECT}/${request_id}/manifest?format=bundle`)
    return linesOf(text)
  }
  const access = async (find: Find, more: object = {}) => {
    const { status, text } = await ask('POST', `${SUBJECT}/access`, { find, ...more })
    assert.equal(status, 200, text)
    return linesOf(text)
  }
  const verify = async (bundle: unknown): Promise<Verdict> => {
    const { keys } = await ok('GET', '/v1/gcrumbs/public_key')
    return verifyEnvelope(detectEnvelope(bundle), { keys })
  }
  return {
    tenant_id,
    api_key,
    store_id,
    ask,
    ok,
    write,
    supersede,
    decide,
    preview,
    confirmed,
    request,
    settled,
    erase,
    manifestOf,
    bundleOf,
    access,
    verify,
    events: (event_type: string) => listEvents(ok, event_type),
  }
}

/** A line or a body, for tests to read. */
type JsonBody = Answer['body']

const linesOf = (text: string): JsonBody[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
