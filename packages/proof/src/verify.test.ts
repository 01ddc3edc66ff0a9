// The verifier's entrance: proofs about the log, recognition, and input of any kind.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { JsonObject } from './core/canonical.ts'
import { toBase64 } from './core/encoding.ts'
import type { PublishedKey } from './core/keys.ts'
import { signedBytes } from './core/signature.ts'
import type { Verdict } from './core/verdict.ts'
import { detectEnvelope } from './envelope.ts'
import { buildLog, publish, readVector, seededKey, withFields } from './testing/fixtures.ts'
import { reportBytes, verifyEnvelope, verifyReport } from './verify.ts'

type Vectors = {
  keys: PublishedKey[]
  epochs: [JsonObject, JsonObject]
  consistency_path: string[]
  proof: JsonObject
  negative_proofs: { mutation: string; set: object; fails: string[] }[]
}
const { keys, proof, ...vectors } = readVector<Vectors>('checkpoint.json')
const [older, newer] = vectors.epochs
const path = vectors.consistency_path
const { certificate } = readVector<{ certificate: JsonObject }>('certificate.json')
const failed = (verdict: Verdict) =>
  verdict.checks.filter((check) => !check.ok).map((check) => check.name)

test('a genuine inclusion proof verifies, aliases and all, and names the key', async () => {
  const aliases = { leaf: proof['leaf_hash'], merkle_root: proof['root_hash'], n_leaves: 7 }
  const shown = withFields(proof, { ...aliases, proof: proof['audit_path'] })
  const verdict = await verifyEnvelope({ type: 'proof', proof: shown }, { keys })
  assert.equal(verdict.valid, true, verdict.reason)
  assert.deepEqual(verdict.valid_with, [keys[0]?.key_id])
})

for (const { mutation, set, fails } of vectors.negative_proofs) {
  test(`an inclusion proof with ${mutation} fails: ${fails.join(', ')}`, async () => {
    const changed = withFields(proof, set)
    const verdict = await verifyEnvelope({ type: 'proof', proof: changed }, { keys })
    assert.equal(verdict.valid, false)
    assert.deepEqual(failed(verdict), fails)
  })
}

test('an epoch must repeat its checkpoint exactly', async () => {
  const judge = (set: object) =>
    verifyEnvelope({ type: 'epoch', epoch: withFields(older, set) }, { keys })
  assert.equal((await judge({})).valid, true)
  assert.deepEqual(failed(await judge({ tree_size: 4 })), ['tree_size'])
  assert.deepEqual(failed(await judge({ n_leaves: 4 })), ['n_leaves'])
  assert.deepEqual(failed(await judge({ root_hash: newer['root_hash'] })), ['root_hash'])
  assert.deepEqual(failed(await judge({ checkpoint: 'x' })), ['checkpoint'])
  assert.deepEqual(failed(await judge({ checkpoint: 7 })), ['malformed'])
  assert.deepEqual(failed(await judge({ created_at: '2020-01-01T00:00:00Z' })), ['key_known'])
})

test('an epoch names the log of its checkpoint, and what is not in it is not checked', async () => {
  const judge = (set: object) =>
    verifyEnvelope({ type: 'epoch', epoch: withFields(older, set) }, { keys })
  const origin = String(older['checkpoint']).split('\n')[0]
  const shown = await judge({ origin, generation: 0, consistency: { from_epoch: 'x' } })
  assert.equal(shown.valid, true, shown.reason)
  assert.match(shown.not_checked.join(), /^consistency: .*,epoch_number, created_at: /)
  for (const odd of ['other/log', '', 7, `${origin}/1`])
    assert.deepEqual(failed(await judge({ origin: odd })), ['origin'])
  for (const generation of [1, -1, '0'])
    assert.deepEqual(failed(await judge({ generation })), ['generation'])
  for (const name of ['merkle_root', 'n_leaves', 'origin', 'generation']) {
    assert.deepEqual(failed(await judge({ [name]: null })), [name])
    assert.equal((await judge({ [name]: undefined })).valid, true, name)
  }
})

test('the numbers of two epochs are in the order of their checkpoints', async () => {
  const judge = (from: object, to: object) =>
    verifyEnvelope(
      { type: 'consistency', from: withFields(older, from), to: withFields(newer, to), path },
      { keys },
    )
  assert.equal((await judge({ epoch_number: 4 }, { epoch_number: 5 })).valid, true)
  for (const epoch_number of [4, 3])
    assert.deepEqual(failed(await judge({ epoch_number: 4 }, { epoch_number })), ['epoch_number'])
  assert.deepEqual(failed(await judge({ origin: 'x' }, { origin: 'x' })), [
    'from.origin',
    'to.origin',
  ])
})

test('an inclusion proof without one of its members does not pass for an epoch', async () => {
  for (const name of ['included', 'breadcrumb_seq']) {
    const cut = Object.fromEntries(Object.entries(proof).filter(([key]) => key !== name))
    const envelope = detectEnvelope(cut)
    assert.equal(envelope?.type, 'proof', name)
  }
  const alias = withFields(proof, { proof: [7] })
  const verdict = await verifyEnvelope({ type: 'proof', proof: alias }, { keys })
  assert.deepEqual(failed(verdict), ['proof'])
})

test('a checkpoint by no published key, or by a key for other things, is not valid', async () => {
  const envelope = { type: 'epoch', epoch: older }
  assert.deepEqual(failed(await verifyEnvelope(envelope, { keys: [] })), ['signature', 'key_known'])
  const elsewhere = keys.map((key) => ({ ...key, purpose: 'erasure' }))
  assert.deepEqual(failed(await verifyEnvelope(envelope, { keys: elsewhere })), ['key_known'])
})

test('a later epoch extends an earlier one, and not the other way round', async () => {
  const judge = (from: unknown, to: unknown, hashes: string[]) =>
    verifyEnvelope({ type: 'consistency', from, to, path: hashes }, { keys })
  assert.equal((await judge(older, newer, path)).valid, true)
  assert.equal((await judge(older, older, [])).valid, true)
  assert.deepEqual(failed(await judge(newer, older, path)), ['consistency'])
  assert.deepEqual(failed(await judge(older, newer, path.slice(1))), ['consistency'])
  assert.deepEqual(failed(await judge(older, newer, ['x'])), ['malformed'])
  assert.deepEqual(failed(await judge(null, newer, path)), ['malformed'])
})

test('a breadcrumb list is judged and its first failure named', async () => {
  const breadcrumbs = buildLog(5)
  const judge = (list: unknown) =>
    verifyEnvelope({ type: 'breadcrumbs', breadcrumbs: list }, { keys: [] })
  assert.equal((await judge(breadcrumbs)).valid, true)
  assert.equal((await judge(breadcrumbs.toSpliced(1, 1))).reason, 'breadcrumbs: seq_gap at index 1')
  assert.equal((await judge([])).valid, false)
  assert.equal((await judge('x')).valid, false)
})

test('a signed record of another kind is judged under its own domain', async () => {
  const key = seededKey(9)
  const body = { issued_at: '2026-01-02T00:00:00Z', keys: [] }
  const message = signedBytes('key_list', body)
  const record = {
    ...body,
    signed_bytes: toBase64(message),
    signature: toBase64(key.sign(message)),
    public_key: toBase64(key.publicKey),
  }
  const judge = (set: object, trusted: PublishedKey[]) =>
    verifyEnvelope({ type: 'record', kind: 'key_list', record, ...set }, { keys: trusted })
  const list = [publish(key, 'key_list')]
  assert.equal((await judge({}, list)).valid, true)
  assert.deepEqual(failed(await judge({}, [])), ['key_known'])
  assert.deepEqual(failed(await judge({ kind: 'unheard_of' }, list)), ['malformed'])
  const changed = { ...record, keys: ['x'] }
  assert.deepEqual(failed(await judge({ record: changed }, list)), ['signed_bytes', 'signature'])
  const early = { ...record, issued_at: '2020-01-01T00:00:00Z' }
  assert.ok(failed(await judge({ record: early }, list)).includes('key_known'))
})

test('answers of the API are recognised as they were saved', () => {
  const log = buildLog(3)
  const decision = { decision_id: 'd', query: 'q', timestamp: 't' }
  const memory = { content: 'c', source: null }
  const bare: [unknown, string | undefined][] = [
    [certificate, 'certificate'],
    [older, 'epoch'],
    [proof, 'proof'],
    [{ from: older, to: newer, path }, 'consistency'],
    [{ from_checkpoint: 'a', to_checkpoint: 'b', path }, 'consistency'],
    [log, 'breadcrumbs'],
    [log[0], 'breadcrumbs'],
    [{ breadcrumbs: log, count: 3 }, 'breadcrumbs'],
    [decision, 'decision'],
    [{ decision, facts_since_deleted: [] }, 'decision'],
    [{ decisions: [decision], count: 1 }, 'list'],
    [{ certificates: [certificate] }, 'list'],
    [{ memories: [memory] }, 'list'],
    [[older, newer], 'list'],
    [{ type: 'memory', memory }, 'memory'],
    [{ type: 'constructor' }, undefined],
    [{ type: 'epoch' }, undefined],
    [[], undefined],
    [[older, 7], undefined],
    [{}, undefined],
    [null, undefined],
    ['text', undefined],
  ]
  for (const [json, type] of bare) {
    assert.equal(detectEnvelope(json)?.type, type, JSON.stringify(json).slice(0, 60))
  }
})

test('a list is valid when each of its items is, and names the ones that are not', async () => {
  const good = detectEnvelope([older, newer])
  assert.equal((await verifyEnvelope(good, { keys })).valid, true)
  const mixed = detectEnvelope([older, { ...newer, tree_size: 8 }])
  assert.deepEqual(failed(await verifyEnvelope(mixed, { keys })), ['items[1] epoch'])
  const nested = { type: 'list', items: [{ type: 'list', items: [] }] }
  assert.equal((await verifyEnvelope(nested, { keys })).valid, false)
  assert.equal((await verifyEnvelope({ type: 'list', items: [] }, { keys })).valid, false)
})

test('no input makes the verifier throw, and none of it is valid', async () => {
  const types = ['breadcrumbs', 'epoch', 'proof', 'certificate', 'decision', 'memory', 'list']
  const samples = [certificate, proof, older, newer]
  const field = fc.constantFrom(...samples.flatMap((sample) => Object.keys(sample)))
  const broken = fc
    .tuple(fc.constantFrom(...samples), field, fc.anything())
    .map(([sample, name, value]) => withFields(sample, { [name]: value }))
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...types),
      fc.oneof(broken, fc.anything()),
      async (type, x) => {
        const contents = { breadcrumbs: x, epoch: x, proof: x, certificate: x, decision: x }
        const verdict = await verifyEnvelope(
          { type, memory: x, items: [x], ...contents },
          { keys: [] },
        )
        // Without a published key nothing signed can be valid.
        assert.equal(verdict.valid, false)
        assert.ok(verdict.reason)
        detectEnvelope(x)
      },
    ),
    { numRuns: 300 },
  )
})

test('keys that cannot be read are not trusted', async () => {
  // Outside the type on purpose: a key list may come from a file.
  const odd = [{ public_key: 'zz' }, null] as unknown as PublishedKey[]
  assert.equal((await verifyEnvelope({ type: 'epoch', epoch: older }, { keys: odd })).valid, false)
})

interface ReportVectors {
  readonly keys: PublishedKey[]
  readonly versions: readonly {
    readonly version: number
    readonly message: string
    readonly record: JsonObject & { readonly signature: string; readonly key_id: string }
    readonly negative: readonly {
      readonly mutation: string
      readonly set: object
      readonly remove?: readonly string[]
      readonly fails: readonly string[]
    }[]
  }[]
}
const { keys: reportKeys, versions } = readVector<ReportVectors>('report.json')

for (const { version, message, record, negative } of versions) {
  test(`message and signature of version ${version} are byte for byte those of the vectors`, () => {
    const bytes = reportBytes(record)
    assert.equal(new TextDecoder().decode(bytes), message)
    assert.equal(toBase64(seededKey(0x71).sign(bytes)), record.signature)
  })

  test(`a genuine report of version ${version} is recognised and verifies`, async () => {
    const verdict = await verifyEnvelope(detectEnvelope(record), { keys: reportKeys })
    assert.equal(verdict.valid, true, verdict.reason)
    assert.deepEqual(verdict.valid_with, [record.key_id])
    assert.match(verdict.not_checked.join(), /what the report counts/)
    const shown = withFields(record, { signed_bytes: toBase64(reportBytes(record)) })
    assert.equal((await verifyReport(shown, reportKeys)).valid, true)
    const wrong = await verifyReport(withFields(record, { signed_bytes: 'AA==' }), reportKeys)
    assert.match(wrong.reason ?? '', /^signed_bytes/)
  })

  for (const { mutation, set, remove = [], fails } of negative)
    test(`version ${version} with ${mutation} fails: ${fails.join(', ')}`, async () => {
      const changed = withFields(record, set)
      const kept = Object.entries(changed).filter(([name]) => !remove.includes(name))
      const verdict = await verifyReport(Object.fromEntries(kept), reportKeys)
      assert.equal(verdict.valid, false)
      assert.deepEqual(failed(verdict), fails)
    })
}

test('a report by an unknown key, or one of another purpose, does not verify', async () => {
  for (const { record } of versions) {
    const other = reportKeys.map((key) => ({ ...key, purpose: 'report' }))
    for (const given of [[], other])
      assert.match((await verifyReport(record, given)).reason ?? '', /^key_known/)
  }
})

for (const value of [null, [], 'text', {}, { report_version: 2, title: '\ud800' }])
  test(`what is no report is judged, never thrown at: ${JSON.stringify(value)}`, async () => {
    assert.equal((await verifyReport(value, reportKeys)).valid, false)
  })
