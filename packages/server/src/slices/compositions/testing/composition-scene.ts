// A service, and for each test a tenant of its own that composes, registers and adds policies.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { Answer, RequestOptions } from '../../../testing/harness.ts'
import { openTenantScene, type TenantScene, withMore } from '../../../testing/tenant-scene.ts'

type Body = Answer['body']

const AUTHORITY = { human_principal: 'ana@example.org', trust_tier: 'verified' }

export const member = (ref_id: string, license = 'MIT', certified = true) => ({
  ...{ ref_id, license, certified },
})

/** A composition that stands. */
const composition = (more: object = {}) => ({
  composition_kind: 'stack',
  members: [member('adapter'), member('base', 'Apache-2.0')],
  target_ref: 'stacks/support',
  authority: AUTHORITY,
  ...more,
})

interface Compositions {
  compose(more?: object, options?: RequestOptions): Promise<Answer>
  /** The row of one that is governed. */
  governed(more?: object): Promise<Body>
  /** The reasons of one that is rejected; `kept`: what else its detail says. */
  rejected(more: object): Promise<{ reasons: string[]; composition_id?: string }>
  /** The id of one that waits; a policy escalates from now on. */
  waiting(more?: object): Promise<string>
  /** A registered artifact; its row. */
  register(artifact_ref: string, metadata?: object): Promise<Body>
  /** The same, certified by a landing certificate of its own. */
  certified(artifact_ref: string, metadata?: object): Promise<Body>
  /** The document of a landing certificate. */
  landed(artifact_ref: string, data_provenance?: object): Promise<Body>
  corpus(sources?: readonly object[]): Promise<Body>
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Records that a composition can have as its members. */
function registering({ told, ok }: TenantScene) {
  const register: Compositions['register'] = (artifact_ref, metadata = {}) => {
    const layers = [{ digest: hashOf(artifact_ref) }]
    const body = { artifact_ref, base_model_ref: 'base-7b', metadata, layers }
    return told(201, 'POST', '/artifacts/register', body)
  }
  const landed: Compositions['landed'] = (artifact_ref, data_provenance) => {
    const body = {
      ...{ artifact_ref, base_model_ref: 'base-7b', layer_hashes: [hashOf(artifact_ref)] },
      data_provenance: data_provenance ?? { merkle_root: '5'.repeat(64) },
      authority: { ...AUTHORITY, delegation_ref: 'd-1' },
      conformance: { result: 'pass', harness_version: 'own/1' },
      permitted_actions: ['answer'],
    }
    return told(201, 'POST', '/landing/issue', body)
  }
  const certified: Compositions['certified'] = async (artifact_ref, metadata) => {
    const { artifact_id } = await register(artifact_ref, metadata)
    const { certificate_id } = await landed(artifact_ref)
    return ok('POST', `/artifacts/${artifact_id}/certify`, { certificate_id })
  }
  const corpus: Compositions['corpus'] = (sources = [{ id: 'm-1', license: 'CC-BY-4.0' }]) => {
    const attestations = { representativeness: 'by region', bias_examination: 'done' }
    const body = { name: 'mails', sources, attestations }
    return told(201, 'POST', '/provenance/corpora', body)
  }
  return { register, landed, certified, corpus }
}

function composing({ ask, policy }: TenantScene) {
  const compose: Compositions['compose'] = (more, options) =>
    ask('POST', '/compositions', composition(more), options)
  const expect = async (status: number, more?: object): Promise<Body> => {
    const answer = await compose(more)
    assert.equal(answer.status, status, answer.text.slice(0, 1_000))
    return answer.body
  }
  const governed: Compositions['governed'] = (more) => expect(201, more)
  const rejected: Compositions['rejected'] = async (more) => {
    const { error, detail } = await expect(422, more)
    assert.deepEqual([error, detail.status], ['rejected', 'rejected'])
    return detail
  }
  const waiting: Compositions['waiting'] = async (more) => {
    await policy('hitl_required', { operations: ['compositions.compose'] })
    const { detail } = await expect(202, more)
    assert.equal(detail.status, 'waiting_hitl')
    return detail.composition_id
  }
  return { compose, governed, rejected, waiting }
}

/** One service for all tests of the file; to be called where its tests are declared. */
export function openCompositionScene(): TenantScene & Compositions {
  const scene = openTenantScene()
  return withMore(scene, { ...registering(scene), ...composing(scene) })
}
