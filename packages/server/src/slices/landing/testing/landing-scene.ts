// A service, and for each test a tenant of its own with requests for landing certificates.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { Answer } from '../../../testing/harness.ts'
import { openTenantScene, type TenantScene, withMore } from '../../../testing/tenant-scene.ts'

type Body = Answer['body']

export const BYTES = [Buffer.from('first layer'), Buffer.from('second layer')]
export const digestOf = (bytes: Uint8Array): string =>
  createHash('sha256').update(bytes).digest('hex')
export const HASHES = BYTES.map(digestOf)
export const ROOT = '5'.repeat(64)

export const AUTHORITY = {
  delegation_ref: 'delegations/17',
  human_principal: 'ana@example.org',
  trust_tier: 'verified',
}

/** A request that conforms, as far as anybody can see. */
export const request = (more: object = {}) => ({
  artifact_ref: 'adapters/support',
  base_model_ref: 'models/base-7b',
  layer_hashes: HASHES,
  data_provenance: { merkle_root: ROOT },
  authority: AUTHORITY,
  conformance: { result: 'pass', harness_version: 'own/3' },
  permitted_actions: ['answer', 'summarise'],
  ...more,
})

interface Landing {
  issue(more?: object): Promise<Answer>
  /** The document of a certificate that was issued at once. */
  issued(more?: object): Promise<Body>
  /** The id of one that waits; a policy escalates from now on. */
  waiting(more?: object): Promise<string>
  verify(certificate_id: string): Promise<Body>
  /** A policy over landing certificates. */
  rule(action: 'deny' | 'escalate', more?: object): Promise<string>
  /** A sealed corpus and its block. */
  corpus(name?: string, ids?: readonly string[]): Promise<Body>
  register(more?: object): Promise<Body>
  events(): Promise<string[]>
}

type LandingScene = TenantScene & Landing

/** One service for all tests of the file; to be called where its tests are declared. */
export function openLandingScene(): LandingScene {
  const scene = openTenantScene()
  return withMore(scene, { ...landing(scene), ...registries(scene) })
}

function landing({ ask, ok, policy }: TenantScene) {
  const issue: Landing['issue'] = (more) => ask('POST', '/landing/issue', request(more))
  const rule: Landing['rule'] = (action, more = {}) =>
    policy('hitl_required', { operations: ['landing.issue'] }, { action, ...more })
  return {
    issue,
    rule,
    async issued(more?: object) {
      const { status, body, text } = await issue(more)
      assert.equal(status, 201, text)
      return body
    },
    async waiting(more?: object): Promise<string> {
      await rule('escalate')
      const { status, body, text } = await issue(more)
      assert.equal(status, 202, text)
      assert.equal(body.detail.status, 'waiting_hitl')
      return body.detail.certificate_id
    },
    verify: (certificate_id: string) => ok('GET', `/landing/${certificate_id}/verify`),
  }
}

function registries({ ok, crumbs }: TenantScene) {
  return {
    async corpus(name = 'mails', ids: readonly string[] = ['m-1', 'm-2']) {
      const sources = ids.map((id) => ({ id, license: 'CC-BY-4.0' }))
      const attestations = { representativeness: 'by region', bias_examination: 'done' }
      const corpus = await ok('POST', '/provenance/corpora', { name, sources, attestations })
      return ok('GET', `/provenance/corpora/${corpus.corpus_id}/block`)
    },
    register: (more: object = {}) =>
      ok('POST', '/artifacts/register', {
        artifact_ref: 'adapters/support',
        base_model_ref: 'models/base-7b',
        layers: HASHES.map((digest) => ({ digest })),
        ...more,
      }),
    events: async () => (await crumbs()).map(({ event_type }: Body) => event_type),
  }
}
