// Corpora: what their digests are made of, and that no word of a signed one can be changed.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { canonicalize, type Json, type JsonObject } from '../core/canonical.ts'
import { toBase64, toHex } from '../core/encoding.ts'
import { signedBytes } from '../core/signature.ts'
import { startVerdict } from '../core/verdict.ts'
import { publish, seededKey } from '../testing/fixtures.ts'
import { verifyEnvelope } from '../verify.ts'
import {
  type CorpusContent,
  clearanceReasons,
  corpusRequest,
  corpusRules,
  derivation,
  deriveCorpus,
  runToEnd,
} from './corpus.ts'
import { corpusPath, corpusTree, verifyCorpusProof } from './corpus-proof.ts'
import { proposalDigest, recordId } from './registry-record.ts'

const key = seededKey(0x33)
const keys = [publish(key, 'record')]
const nativeHex = (...parts: (string | Uint8Array)[]): string => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}

const CORPUS: CorpusContent = {
  name: 'support mails',
  sources: [
    { id: 'mails-2024', license: 'CC-BY-4.0', content_hash: 'a'.repeat(64), record_count: 12 },
    { id: 'mails-2025', lawful_basis: 'contract', collected: { by: 'team', from: ['de', 'pt'] } },
    { id: 'übersetzt', license: 'MIT', weight: 1.5 },
  ],
  attestations: { representativeness: 'by region', bias_examination: { done: true, on: [1, 2] } },
  processing: ['deduplicated', { step: 'redacted', entities: ['EMAIL_ADDRESS'] }],
  metadata: { team: 'blue', numbers: [0, null] },
}

function documentOf(corpus: CorpusContent): JsonObject {
  const derived = deriveCorpus(corpus)
  const request = corpusRequest(corpus, derived)
  const created_at = '2026-01-02T03:04:05.000006Z'
  const proposal = {
    ...{ tenant_id: 't-1', kind: 'corpus' as const, request, created_at },
    nonce: '0'.repeat(32),
  }
  const document = {
    schema_version: corpusRules.schema_version,
    record_kind: 'corpus',
    tenant_id: 't-1',
    corpus_id: recordId(proposal),
    created_at,
    issued_at: created_at,
    nonce: proposal.nonce,
    proposal_digest: proposalDigest(proposal),
    requested_by: 'k-1',
    policy_set: 0,
    evaluation_id: null,
    approval: null,
    ...corpus,
    ...derived,
    clearance: 'cleared',
  }
  const message = signedBytes('corpus', document)
  return {
    ...document,
    signed_bytes: toBase64(message),
    signature: toBase64(key.sign(message)),
    public_key: toBase64(key.publicKey),
    key_id: keys[0]?.key_id ?? '',
  }
}

const DOCUMENT = documentOf(CORPUS)
const verify = (record: Json) =>
  verifyEnvelope({ type: 'record', kind: 'corpus', record }, { keys })

/** Every way to change one leaf of a value: each leaf in turn becomes another. */
function* mutations(value: Json, path: string): Generator<{ path: string; changed: Json }> {
  if (typeof value !== 'object' || value === null) {
    yield { path, changed: typeof value === 'string' ? `${value}x` : 'other' }
    return
  }
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries())
      for (const at of mutations(item, `${path}[${i}]`))
        yield { path: at.path, changed: value.with(i, at.changed) }
    return
  }
  for (const [name, member] of Object.entries(value))
    for (const at of mutations(member, `${path}.${name}`))
      yield { path: at.path, changed: { ...value, [name]: at.changed } }
}

function failed(document: JsonObject): string[] {
  const findings = startVerdict()
  corpusRules.check(document, findings)
  return findings.checks.filter(({ ok }) => !ok).map(({ name }) => name)
}

test('the digests are SHA-256 of the bytes the documentation says', () => {
  const { name, sources, processing, attestations } = CORPUS
  const jcs = sources.map(canonicalize)
  const leaf = (text = '') => Buffer.from(nativeHex(Uint8Array.of(0), text), 'hex')
  const node = (left: Buffer, right: Buffer) => nativeHex(Uint8Array.of(1), left, right)
  const [a, b, c] = jcs.map(leaf)
  assert.ok(a && b && c)
  const root = node(Buffer.from(node(a, b), 'hex'), c)
  const text =
    `{"attestations":${canonicalize(attestations)},"merkle_root":"${root}",` +
    `"name":${canonicalize(name)},"processing":${canonicalize(processing)},` +
    `"sources":[${jcs.join(',')}]}`
  assert.deepEqual(deriveCorpus(CORPUS), {
    source_count: 3,
    sources_digest: nativeHex(`[${jcs.join(',')}]`),
    merkle_root: root,
    corpus_hash: nativeHex(text),
  })
})

test('a genuine record verifies, and says what it cannot show', async () => {
  const verdict = await verify(DOCUMENT)
  assert.equal(verdict.valid, true, verdict.reason)
  assert.deepEqual(verdict.valid_with, [keys[0]?.key_id])
  assert.ok(verdict.not_checked.some((text) => text.startsWith('the licences')))
  assert.ok(verdict.not_checked.some((text) => text.includes('content_hash')))
})

test('changing any leaf of a signed record is caught, whoever changes it', async () => {
  let count = 0
  for (const { path, changed } of mutations(DOCUMENT, '')) {
    const verdict = await verify(changed)
    assert.equal(verdict.valid, false, path)
    count += 1
  }
  assert.ok(count > 40)
})

test('without a signature the rules catch every change of what is derived or derived from', () => {
  const covered = ['name', 'sources', 'attestations', 'processing', 'source_count']
  covered.push('sources_digest', 'merkle_root', 'corpus_hash', 'clearance')
  assert.deepEqual(failed(DOCUMENT), [])
  for (const member of covered)
    for (const { path, changed } of mutations(DOCUMENT[member] ?? null, member))
      assert.notDeepEqual(failed({ ...DOCUMENT, [member]: changed }), [], path)
})

test('metadata, which no digest covers, is covered by the id and by the proposal', async () => {
  const verdict = await verify({ ...DOCUMENT, metadata: { team: 'red' }, signed_bytes: null })
  const names = verdict.checks.filter(({ ok }) => !ok).map(({ name }) => name)
  assert.deepEqual(names, ['signature', 'proposal_digest', 'corpus_id'])
})

test('a signed record that could never have been cleared is not valid', async () => {
  const [first] = CORPUS.sources
  assert.ok(first)
  const bad: CorpusContent[] = [
    { ...CORPUS, sources: [{ id: 'x' }] },
    { ...CORPUS, sources: [first, first] },
    { ...CORPUS, sources: [] },
    { ...CORPUS, attestations: { representativeness: 'yes' } },
  ]
  for (const corpus of bad) assert.equal((await verify(documentOf(corpus))).valid, false)
})

test('a signed one has the members that are defined, in their shapes, and no other', async () => {
  const [first] = CORPUS.sources
  assert.ok(first)
  const bad: JsonObject[] = [
    { ...CORPUS, approved_by: 'everybody' },
    { ...CORPUS, name: 7 },
    { ...CORPUS, attestations: ['representativeness', 'bias_examination'] },
    { ...CORPUS, processing: 'deduplicated' },
    { ...CORPUS, metadata: null },
    ...[
      { id: 7, license: 'MIT' },
      { ...first, license: 7, lawful_basis: 'contract' },
      { ...first, license: null, lawful_basis: 'contract' },
      { ...first, content_hash: 'A'.repeat(64) },
      { ...first, record_count: -1 },
    ].map((source): JsonObject => ({ ...CORPUS, sources: [source] })),
  ]
  for (const corpus of bad) {
    const { checks } = await verify(documentOf(corpus as CorpusContent))
    const failing = checks.filter(({ ok }) => !ok).map(({ name }) => name)
    assert.ok(failing.includes('shape'), JSON.stringify(corpus))
    assert.ok(!failing.includes('signature') && !failing.includes('proposal_digest'))
  }
  const more = { ...CORPUS, sources: [{ ...first, owner: { of: ['team', null] } }] }
  assert.equal((await verify(documentOf(more))).valid, true, 'a source may say more')
})

test('nothing a record may hold makes the rules throw out of the verifier', async () => {
  for (const member of ['sources', 'attestations', 'processing', 'name', 'merkle_root'])
    for (const value of [null, 1, 'x', [], {}, [null], [[{}]]])
      assert.equal((await verify({ ...DOCUMENT, [member]: value })).valid, false)
})

test('each reason names its source by its position', () => {
  const sources = [
    { id: 'a', license: ' ', lawful_basis: '' },
    { id: 'b', license: 'MIT' },
    { id: 'b', lawful_basis: 'consent' },
  ]
  assert.deepEqual(clearanceReasons(sources, { representativeness: true, bias_examination: [] }), [
    'sources[0] has neither license nor lawful_basis',
    'sources[2] has the id of sources[1]',
    'attestations have no bias_examination',
  ])
  const inherited: JsonObject = Object.create({ representativeness: 1, bias_examination: 1 })
  assert.equal(clearanceReasons([{ id: 'a', license: 'MIT' }], inherited).length, 2)
})

const manySources = fc
  .array(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })), { minLength: 1, maxLength: 40 })
  .map((list) =>
    list.map((members, i): JsonObject & { id: string } => ({
      ...JSON.parse(JSON.stringify(members)),
      id: `s-${i}`,
    })),
  )

const rootOf = (sources: readonly JsonObject[]) =>
  deriveCorpus({ name: '', sources, processing: [], attestations: {} }).merkle_root

async function proofOf(sources: readonly (JsonObject & { id: string })[], index: number) {
  const tree = runToEnd(corpusTree(sources))
  const source = sources[index]
  assert.ok(source)
  return {
    ...{ included: true, corpus_id: 'c', source_id: source.id, leaf_index: index },
    ...(await corpusPath(tree, index)),
    ...{ tree_size: tree.size, merkle_root: toHex(tree.root), source },
  }
}

test('every source is proved to be in its corpus; no other one, and nowhere else', async () => {
  await fc.assert(
    fc.asyncProperty(manySources, fc.nat(), fc.nat(), async (sources, n, other) => {
      const [index, size] = [n % sources.length, sources.length]
      const corpus = { corpus_id: 'c', merkle_root: rootOf(sources), source_count: size }
      const proof = await proofOf(sources, index)
      const valid = (given: object) => verifyCorpusProof({ ...proof, ...given }, corpus).valid
      assert.equal(valid({}), true)
      assert.equal(valid({ source: { ...proof.source, added: 1 } }), false)
      assert.equal(valid({ leaf: '0'.repeat(64) }), false)
      assert.equal(valid({ leaf_index: size }), false)
      assert.equal(valid({ tree_size: size + 1 }), false)
      assert.equal(valid({ merkle_root: '0'.repeat(64) }), false)
      assert.equal(valid({ source_id: 'another' }), false)
      assert.equal(valid({ corpus_id: 'another' }), false)
      const elsewhere = other % size
      const forged = { leaf_index: elsewhere, proof: null }
      assert.equal(valid(forged), elsewhere === index)
    }),
    { numRuns: 150 },
  )
})

test('the sides given for older clients lead to the root by themselves', async () => {
  const nodeOf = (left: string, right: string) =>
    nativeHex(Uint8Array.of(1), Buffer.from(left, 'hex'), Buffer.from(right, 'hex'))
  for (let size = 1; size <= 33; size += 1) {
    const sources = Array.from({ length: size }, (_, i) => ({ id: `s-${i}` }))
    for (let index = 0; index < size; index += 1) {
      const { leaf, proof, merkle_root } = await proofOf(sources, index)
      const climbed = proof.reduce(
        (at, [sibling, side]) => (side === 'L' ? nodeOf(sibling, at) : nodeOf(at, sibling)),
        leaf,
      )
      assert.equal(climbed, merkle_root, `${index} of ${size}`)
    }
  }
})

test('a proof with other sides, a damaged path or of an absent source is not valid', async () => {
  const sources = Array.from({ length: 5 }, (_, i) => ({ id: `s-${i}` }))
  const proof = await proofOf(sources, 3)
  const turned = proof.proof.map(([hash, side]) => [hash, side === 'L' ? 'R' : 'L'])
  const cases: [object, string][] = [
    [{ proof: turned }, 'proof'],
    [{ audit_path: proof.audit_path.slice(1), proof: null }, 'inclusion'],
    [{ audit_path: proof.audit_path.map((hash) => hash.toUpperCase()), proof: null }, 'inclusion'],
    [{ included: false }, 'included'],
    [{ tree_size: -1 }, 'malformed'],
    [{ source: 'text' }, 'malformed'],
    [{ source: { id: '\ud800' } }, 'malformed'],
  ]
  for (const [set, name] of cases) {
    const { valid, reason } = verifyCorpusProof({ ...proof, ...set })
    assert.equal(valid, false)
    assert.ok(reason?.startsWith(name), reason)
  }
  const alone = verifyCorpusProof(proof)
  assert.equal(alone.valid, true)
  assert.match(alone.not_checked.join(), /merkle_root and tree_size/)
})

test('what is derived in steps is what is derived at once, and no step is long', () => {
  const sources = Array.from({ length: 1_201 }, (_, i) => ({ id: `s-${i}`, license: 'MIT' }))
  const parts = { ...CORPUS, sources }
  const steps = derivation(parts)
  let count = 0
  for (;;) {
    const { done, value } = steps.next()
    if (done) {
      assert.deepEqual(value, deriveCorpus(parts))
      break
    }
    count += 1
  }
  assert.equal(count, 3)
  assert.equal([...corpusTree(sources)].length, 2)
  assert.equal(toHex(runToEnd(corpusTree(sources)).root), rootOf(sources))
})
