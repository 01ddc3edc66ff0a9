// Landing certificates: conformance follows from evidence, and no word of a signed one can change.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Json, JsonObject } from '../core/canonical.ts'
import { startVerdict } from '../core/verdict.ts'
import {
  AUTHORITY,
  HEX,
  KNOWN,
  keys,
  type LandingDocumentOptions,
  makeLandingDocument,
  NO_EVIDENCE,
  REQUEST,
} from '../testing/landing-document.ts'
import { verifyEnvelope } from '../verify.ts'
import {
  authorityReasons,
  claimReasons,
  HARNESS_VERSION,
  LANDING_CHECKS,
  landingConformance,
  landingRules,
  reconstructLanding,
} from './landing.ts'

const DOCUMENT = makeLandingDocument()
const verify = (record: Json) =>
  verifyEnvelope({ type: 'record', kind: 'landing', record }, { keys })

/** Every leaf in turn becomes another value; every list in turn loses its last item. */
function* mutations(value: Json, path: string): Generator<{ path: string; changed: Json }> {
  if (typeof value !== 'object' || value === null) {
    yield { path, changed: typeof value === 'string' ? `${value}x` : 'other' }
    return
  }
  if (Array.isArray(value)) {
    if (value.length > 0) yield { path: `${path} cut`, changed: value.slice(0, -1) }
    for (const [i, item] of value.entries())
      for (const at of mutations(item, `${path}[${i}]`))
        yield { path: at.path, changed: value.with(i, at.changed) }
    return
  }
  for (const [name, member] of Object.entries(value)) {
    const { [name]: _, ...rest } = value as JsonObject
    if (path === '' || member !== null) yield { path: `${path}.${name} left out`, changed: rest }
    for (const at of mutations(member, `${path}.${name}`))
      yield { path: at.path, changed: { ...value, [name]: at.changed } }
  }
}

function failed(document: JsonObject): string[] {
  const findings = startVerdict()
  landingRules.check(document, findings)
  return findings.checks.filter(({ ok }) => !ok).map(({ name }) => name)
}

async function failures(record: Json): Promise<string[]> {
  return (await verify(record)).checks.filter(({ ok }) => !ok).map(({ name }) => name)
}

test('a genuine certificate verifies, and says what it cannot show', async () => {
  const verdict = await verify(DOCUMENT)
  assert.equal(verdict.valid, true, verdict.reason)
  assert.deepEqual(verdict.valid_with, [keys[0]?.key_id])
  for (const start of ['base_model_ref', 'authority.delegation_ref', 'the record of corpus d'])
    assert.ok(
      verdict.not_checked.some((text) => text.startsWith(start)),
      start,
    )
})

test('changing, leaving out or cutting any member of a signed one is caught', async () => {
  let count = 0
  for (const { path, changed } of mutations(DOCUMENT, '')) {
    // What is signed is without it, and a record may be kept without its bytes.
    if (path === '.signed_bytes left out' || path === '.key_id left out') continue
    assert.equal((await verify(changed)).valid, false, path)
    count += 1
  }
  assert.ok(count > 100, `${count}`)
})

test('whoever could sign anything still could not change what was proposed', async () => {
  const proposed = ['data_provenance', 'claimed_conformance', 'permitted_actions', 'artifact']
  for (const member of proposed)
    for (const { path, changed } of mutations(DOCUMENT[member] ?? null, member)) {
      const found = await failures(makeLandingDocument({ members: { [member]: changed } }))
      assert.ok(found.length > 0 && !found.includes('signature'), path)
    }
})

test('without any signature the rules catch every change of what is derived', () => {
  assert.deepEqual(failed(DOCUMENT), [])
  for (const member of ['version', 'conformance', 'not_checked'])
    for (const { path, changed } of mutations(DOCUMENT[member] ?? null, member)) {
      // Which record agreed, only the service could see.
      if (/evidence\.(artifact|corpus)_id$/.test(path)) continue
      assert.notDeepEqual(failed({ ...DOCUMENT, [member]: changed }), [], path)
    }
})

describe('one that should never have been signed is not valid', () => {
  const cases: [string, LandingDocumentOptions, string][] = [
    ['no delegation', { authority: { ...AUTHORITY, delegation_ref: null } }, 'authority_present'],
    ['nobody', { authority: { ...AUTHORITY, human_principal: ' ' } }, 'authority_present'],
    ['a tier above', { authority: { ...AUTHORITY, trust_tier: 'basic' } }, 'authority_present'],
    [
      'a claim that fails',
      { request: { ...REQUEST, claimed_conformance: { result: 'fail' } } },
      'conformance_pass',
    ],
    [
      'a claim that fails in a part',
      {
        request: {
          ...REQUEST,
          claimed_conformance: { result: 'pass', per_policy: { bias: 'fail' } },
        },
      },
      'conformance_pass',
    ],
    ['no claim', { request: { ...REQUEST, claimed_conformance: {} } }, 'conformance_pass'],
    [
      'an unsealed root',
      { request: { ...REQUEST, data_provenance: { merkle_root: 'sealed' } } },
      'provenance_sealed',
    ],
    ['no layers', { request: { ...REQUEST, layer_hashes: [] } }, 'layer_hashes'],
    ['a short digest', { request: { ...REQUEST, layer_hashes: ['abcd'] } }, 'layer_hashes'],
    ['another corpus', { evidence: { ...KNOWN, corpus_id: 'e'.repeat(32) } }, 'corpus_consistent'],
    [
      'bytes that differ',
      { evidence: { ...KNOWN, layer_bytes: 'differ' } },
      'conformance_consistent',
    ],
    ['nothing left unchecked', { members: { not_checked: [] } }, 'not_checked'],
    [
      'evidence that is not there',
      {
        members: {
          conformance: { ...landingConformance(KNOWN, AUTHORITY), evidence: NO_EVIDENCE },
        },
      },
      'conformance_consistent',
    ],
  ]
  for (const [name, making, check] of cases)
    test(name, async () => {
      const found = await failures(makeLandingDocument(making))
      assert.ok(found.includes(check), `${found}`)
      assert.ok(!found.includes('signature'))
    })
})

test('nothing a certificate may hold makes the rules throw out of the verifier', async () => {
  for (const member of Object.keys(DOCUMENT))
    for (const value of [null, 1, 'x', [], {}, [null], [[{}]], { per_policy: [], evidence: 1 }]) {
      if (value === null && ['evaluation_id', 'approval', 'signed_bytes'].includes(member)) continue
      if (member === 'key_id' && typeof value !== 'string') continue
      const verdict = await verify({ ...DOCUMENT, [member]: value })
      assert.equal(verdict.valid, false, `${member} ${JSON.stringify(value)}`)
    }
  const many = { ...DOCUMENT, not_checked: Array.from({ length: 200_000 }, () => 'x') }
  assert.equal((await verify(many)).valid, false)
})

const result = fc.constantFrom('pass', 'fail', 'not_checked')
const bytes = fc.constantFrom('not_sent' as const, 'match' as const, 'differ' as const)
const id = fc.constantFrom(null, 'c'.repeat(32))
const name = fc.constantFrom(null, '', ' ', 'somebody')
const tier = fc.constantFrom('untrusted', 'basic', 'root')
const authority = fc.record({
  delegation_ref: name,
  human_principal: name,
  claimed_tier: fc.option(tier),
  trust_tier: tier,
})
const evidences = fc.record({ artifact_id: id, corpus_id: id, layer_bytes: bytes })

test('nothing passes that nobody looked at, and one failure fails the whole', () => {
  const faults = fc.record({
    artifact_integrity: fc.boolean(),
    data_provenance: fc.boolean(),
  })
  fc.assert(
    fc.property(evidences, fc.option(authority), faults, (evidence, who, against) => {
      const { per_policy, result, harness_version } = landingConformance(evidence, who, against)
      assert.equal(harness_version, HARNESS_VERSION)
      const { artifact_integrity, data_provenance } = per_policy
      const { artifact_id, corpus_id, layer_bytes } = evidence
      if (artifact_integrity === 'pass') assert.ok(artifact_id !== null || layer_bytes === 'match')
      if (data_provenance === 'pass') assert.notEqual(corpus_id, null)
      if (per_policy.authority === 'pass') assert.deepEqual(who && authorityReasons(who), [])
      if (layer_bytes === 'differ' || against.artifact_integrity)
        assert.equal(artifact_integrity, 'fail')
      if (against.data_provenance) assert.equal(data_provenance, 'fail')
      const all = Object.values(per_policy)
      assert.equal(result === 'fail', all.includes('fail'))
      // Two texts of an authority are nothing that agrees.
      const agreed = artifact_integrity === 'pass' || data_provenance === 'pass'
      assert.equal(result === 'pass', agreed && !all.includes('fail'))
    }),
  )
})

test('a claim stands against the certificate exactly where it fails or is contradicted', () => {
  const names = fc.constantFrom(...LANDING_CHECKS, 'bias')
  const said = fc.oneof(result, fc.boolean(), fc.string())
  const claims = fc.record({ result, per_policy: fc.dictionary(names, said) })
  const computed = fc.record({
    artifact_integrity: result,
    data_provenance: result,
    authority: result,
  })
  fc.assert(
    fc.property(claims, computed, (claim, per_policy) => {
      const found: Record<string, string> = per_policy
      const parts = Object.entries(claim.per_policy)
      const against =
        claim.result === 'fail' ||
        parts.some(
          ([at, word]) =>
            word === 'fail' ||
            word === false ||
            ((word === 'pass' || word === true) && found[at] === 'fail'),
        )
      assert.equal(claimReasons(claim as JsonObject, per_policy).length > 0, against)
    }),
  )
})

test('the digest of the manifest is SHA-256 of the bytes the documentation says', () => {
  const { base_model_ref, kind, layer_hashes } = REQUEST
  const text =
    `{"base_model_ref":"${base_model_ref}","kind":"${kind}",` +
    `"layer_hashes":["${layer_hashes.join('","')}"]}`
  const { artifact } = DOCUMENT
  const digest = createHash('sha256').update(text).digest('hex')
  assert.deepEqual(artifact, {
    artifact_ref: REQUEST.artifact_ref,
    ...{ base_model_ref, kind, layer_hashes },
    manifest_digest: digest,
  })
})

test('the five answers are read from the certificate, and the root stands in for the hash', () => {
  assert.deepEqual(reconstructLanding(DOCUMENT), {
    what: 'adapters/support on models/base-7b',
    from_where: 'ef'.repeat(32),
    under_whom: 'ana @ verified',
    cleared_how: 'pass',
    may_do: ['answer', 'summarise'],
  })
  const bare = { ...DOCUMENT, data_provenance: { merkle_root: HEX } }
  assert.equal(reconstructLanding(bare).from_where, HEX)
})
