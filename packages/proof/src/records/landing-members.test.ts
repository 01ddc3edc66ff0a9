// The members of landing certificates, and what a certificate says of its own conformance.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Json, JsonObject } from '../core/canonical.ts'
import { isObject } from '../core/shape.ts'
import {
  keys,
  type LandingDocumentOptions,
  makeLandingDocument,
  NO_EVIDENCE,
  REQUEST,
} from '../testing/landing-document.ts'
import { verifyEnvelope } from '../verify.ts'
import { type LandingRequest, reconstructLanding } from './landing.ts'

const DOCUMENT = makeLandingDocument()
const verify = (record: Json) =>
  verifyEnvelope({ type: 'record', kind: 'landing', record }, { keys })

async function failures(making: LandingDocumentOptions): Promise<string[]> {
  const { checks } = await verify(makeLandingDocument(making))
  return checks.filter(({ ok }) => !ok).map(({ name }) => name)
}

// As a service would sign that does not hold to its types.
const withActions = (permitted_actions: Json): LandingRequest =>
  ({ ...REQUEST, permitted_actions }) as LandingRequest
const withClaim = (claimed_conformance: Json): LandingRequest =>
  ({ ...REQUEST, claimed_conformance }) as LandingRequest

describe('a signed one has the members that are defined, in their shapes, and no other', () => {
  const within = (member: string, more: JsonObject): LandingDocumentOptions => {
    const { [member]: given } = DOCUMENT
    return { members: { [member]: { ...(isObject(given) ? given : {}), ...more } } }
  }
  const asked = (more: JsonObject): LandingDocumentOptions => ({
    request: { ...REQUEST, data_provenance: { ...REQUEST.data_provenance, ...more } },
  })
  const cases: [string, LandingDocumentOptions][] = [
    ['a member more', { members: { cleared_by: 'everybody' } }],
    ['one of the artifact more', within('artifact', { certified: true })],
    ['one of the authority more', within('authority', { approved: true })],
    ['one of the approval more', within('approval', { second_approver: 'cy' })],
    ['actions that are a text', { request: withActions('answer') }],
    ['actions that are none', { request: withActions(null) }],
    ['actions that are numbers', { request: withActions([1]) }],
    ['a claim that is a text', { request: withClaim('pass') }],
    ['a corpus id that is a number', asked({ corpus_id: 7 })],
    ['a corpus hash that is none', asked({ corpus_hash: 'sealed' })],
    ['sources that are objects', asked({ sources: [{ id: 'm-1' }] })],
  ]
  for (const [name, making] of cases)
    test(name, async () => {
      const found = await failures(making)
      assert.ok(found.includes('shape'), `${found}`)
      assert.ok(!found.includes('signature') && !found.includes('proposal_digest'), `${found}`)
    })
})

describe('what it says of itself beside that', () => {
  test('a certificate that nothing agreed with has not passed, and not failed', async () => {
    const nobody: LandingDocumentOptions = {
      evidence: NO_EVIDENCE,
      request: { ...REQUEST, layer_bytes: 'not_sent' },
    }
    const verdict = await verify(makeLandingDocument(nobody))
    assert.equal(verdict.valid, true, verdict.reason)
    const names = verdict.checks.map(({ name }) => name)
    assert.ok(names.includes('conformance_not_failed') && !names.includes('conformance_pass'))
    assert.equal(reconstructLanding(makeLandingDocument(nobody)).cleared_how, 'not_checked')
    const passed = (await verify(DOCUMENT)).checks.map(({ name }) => name)
    assert.ok(passed.includes('conformance_pass') && !passed.includes('conformance_not_failed'))
  })

  test('a claim of its own kind counts where it fails', async () => {
    const claim = (per_policy: JsonObject): LandingDocumentOptions => ({
      request: { ...REQUEST, claimed_conformance: { result: 'pass', per_policy } },
    })
    assert.ok((await verify(makeLandingDocument(claim({ bias: 'n/a', own: true })))).valid)
    assert.deepEqual(await failures(claim({ bias: false })), ['conformance_pass'])
  })
})
