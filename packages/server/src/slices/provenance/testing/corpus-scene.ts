// A service, and for each test a tenant of its own that seals corpora.

import assert from 'node:assert/strict'
import type { Answer } from '../../../testing/harness.ts'
import { openTenantScene, type TenantScene, withMore } from '../../../testing/tenant-scene.ts'

export const HEX = 'ab'.repeat(32)
export const ATTESTATIONS = {
  representativeness: 'by region',
  bias_examination: { done: true },
}
export const SOURCES = [
  { id: 'mails-2024', license: 'CC-BY-4.0', content_hash: `sha256:${HEX}`, record_count: 12 },
  { id: 'mails-2025', lawful_basis: 'contract', collected: { by: 'support', in: ['de', 'pt'] } },
  { id: 'übersetzt', license: 'MIT' },
]
export const CORPUS = { name: 'support mails', sources: SOURCES, attestations: ATTESTATIONS }

type Body = Answer['body']
type Headers = Readonly<Record<string, string>>

interface Corpora {
  register(body: unknown, headers?: Headers): Promise<Answer>
  /** The row of a corpus that is sealed. */
  sealed(body?: unknown): Promise<Body>
  /** What a read of `/v1/provenance` answers. */
  read(path: string): Promise<Body>
  /** Of the log: the subjects of the entries of one type. */
  subjects(event_type: string): Promise<string[]>
}

/** One service for all tests of the file; to be called where its tests are declared. */
export function openCorpusScene(): TenantScene & Corpora {
  const scene = openTenantScene()
  const { ask, told, crumbs } = scene
  const register: Corpora['register'] = (body, headers = {}) =>
    ask('POST', '/provenance/corpora', body, { headers })
  return withMore(scene, {
    register,
    async sealed(body = CORPUS) {
      const answer = await register(body)
      assert.equal(answer.status, 201, answer.text)
      return answer.body
    },
    read: (path: string) => told(200, 'GET', `/provenance${path}`),
    subjects: async (event_type: string) =>
      (await crumbs(event_type)).map(({ subject }: { subject: string }) => subject),
  })
}
