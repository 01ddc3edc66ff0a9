// Manifests of bulk erasures: what is signed, and that every change to one or its bundle shows.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../core/canonical.ts'
import { sha256 } from '../core/digest.ts'
import { toBase64, toHex } from '../core/encoding.ts'
import type { PublishedKey } from '../core/keys.ts'
import { detectEnvelope } from '../envelope.ts'
import { leafHash, nodeHash } from '../log/merkle.ts'
import { publish, readVector, seededKey } from '../testing/fixtures.ts'
import { verifyEnvelope } from '../verify.ts'
import { certificateBytes, type ErasureCertificate } from './certificate.ts'
import { CertificatesRoot, manifestBytes, type SignedManifest, verifyManifest } from './manifest.ts'

type Vectors = {
  keys: PublishedKey[]
  message: string
  manifest: SignedManifest
  certificates: ErasureCertificate[]
}
const { keys, message, manifest, certificates } = readVector<Vectors>('erasure-manifest.json')
const bundle = [manifest, ...certificates]
const verify = (value: unknown) => verifyEnvelope(detectEnvelope(value), { keys })

test('the message, the signature and the root come out byte for byte as in the vectors', () => {
  const bytes = manifestBytes(manifest)
  assert.equal(new TextDecoder().decode(bytes), message)
  assert.equal(toBase64(seededKey(0x11).sign(bytes)), manifest.signature)
  const [a, b, c] = certificates.map((one) => leafHash(certificateBytes(one)))
  assert.ok(a && b && c)
  assert.equal(toHex(nodeHash(nodeHash(a, b), c)), manifest.certificates_root)
  const root = new CertificatesRoot()
  for (const one of certificates) root.add(certificateBytes(one))
  assert.deepEqual([root.count, root.hex()], [3, manifest.certificates_root])
})

test('a bundle verifies, in any order of its certificates, and names the key', async () => {
  for (const value of [bundle, [manifest, ...certificates.toReversed()]]) {
    const verdict = await verify(value)
    assert.equal(verdict.valid, true, verdict.reason)
    assert.equal(verdict.type, 'erasure_manifest')
    assert.deepEqual(verdict.valid_with, [manifest.key_id])
  }
})

test('a manifest alone verifies, and says that its certificates were not given', async () => {
  const verdict = await verify(manifest)
  assert.equal(verdict.valid, true, verdict.reason)
  assert.match(verdict.not_checked[0] ?? '', /were not given/)
  assert.ok(!verdict.checks.some(({ name }) => name === 'certificates_root'))
  const record = { type: 'record', kind: 'erasure_manifest', record: manifest }
  assert.equal((await verifyEnvelope(record, { keys })).valid, true)
})

/** Every place of a JSON value that is no object and no list. */
function leavesOf(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [path]
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, [...path, key]))
}

function withLeaf(value: unknown, [key, ...rest]: (string | number)[]): unknown {
  if (key === undefined) {
    if (typeof value === 'number') return value + 1
    if (typeof value === 'boolean') return !value
    return typeof value === 'string' ? `${value}0` : 'something'
  }
  const inner = Object(value)
  if (Array.isArray(value))
    return value.map((item, i) => (String(i) === String(key) ? withLeaf(item, rest) : item))
  return { ...inner, [key]: withLeaf(inner[key], rest) }
}

const texts = readVector<Vectors>('erasure-manifest-texts.json')
const textsBundle = [texts.manifest, ...texts.certificates]

test('a manifest that names other records is signed under version 2 of the domain', async () => {
  const bytes = manifestBytes(texts.manifest)
  assert.equal(new TextDecoder().decode(bytes), texts.message)
  assert.match(texts.message, /^custos\/erasure_manifest\/v2\n/)
  assert.equal(toBase64(seededKey(0x11).sign(bytes)), texts.manifest.signature)
  const verdict = await verify(textsBundle)
  assert.equal(verdict.valid, true, verdict.reason)
})

test('a manifest of version 1 names no other record', async () => {
  const { texts: _, ...found } = texts.manifest.found
  const changed = { ...texts.manifest, found } as SignedManifest
  const signature = toBase64(seededKey(0x11).sign(manifestBytes(changed)))
  assert.deepEqual(await failing({ ...changed, signature }), ['entries', 'found'])
  assert.deepEqual(await failing(changed), ['signature', 'entries', 'found'])
})

// Beside a certificate's signature: this service's own finding, not part of it.
const OUTSIDE = new Set(['verified'])

test('any leaf of a bundle that is changed is noticed', async () => {
  for (const whole of [bundle, textsBundle]) {
    const leaves = leavesOf(whole).filter((path) => !OUTSIDE.has(String(path.at(-1))))
    assert.ok(leaves.length > 100)
    for (const path of leaves) {
      const { valid } = await verify(withLeaf(whole, path))
      assert.equal(valid, false, path.join('.'))
    }
  }
})

test('a field that is removed from a manifest, or added to it, is noticed', async () => {
  // The public key names the signer without its short name.
  for (const name of Object.keys(manifest).filter((name) => name !== 'key_id')) {
    const { [name]: _, ...left } = manifest as Readonly<Record<string, unknown>>
    assert.equal((await verifyManifest(left, keys)).valid, false, name)
  }
  assert.equal((await verifyManifest({ ...manifest, note: 'x' }, keys)).valid, false)
})

const failing = async (value: unknown): Promise<string[]> =>
  (await verify(value)).checks.filter(({ ok }) => !ok).map(({ name }) => name)

test('a certificate that is missing, extra, or there twice is told by name', async () => {
  const [one, two, three] = certificates
  assert.deepEqual(await failing([manifest, one, two]), ['all_given', 'certificates_root'])
  assert.deepEqual(await failing([...bundle, three]), ['none_extra'])
  assert.deepEqual(await failing([manifest, one, two, two]), ['all_given', 'certificates_root'])
  assert.deepEqual(await failing([...bundle, { outcome: 'erased' }]), ['none_extra'])
  assert.deepEqual(await failing([...bundle, null]), ['none_extra'])
})

/** Signed anew by the genuine key: what remains wrong is what the manifest says. */
function signedAgain(change: Partial<Record<keyof SignedManifest, Json>>): SignedManifest {
  const changed = { ...manifest, ...change } as SignedManifest
  return { ...changed, signature: toBase64(seededKey(0x11).sign(manifestBytes(changed))) }
}

test('a signed manifest that contradicts itself or its certificates is not valid', async () => {
  const { entries } = manifest
  const swapped = { entries: entries.toReversed().map((entry) => ({ ...entry })) }
  assert.deepEqual(await failing(signedAgain(swapped)), ['entries'])
  assert.deepEqual(await failing(signedAgain({ certificates: 2 })), ['counts'])
  assert.deepEqual(await failing(signedAgain({ status: 'done' })), ['status'])
  assert.deepEqual(await failing(signedAgain({ found_later: 1 })), ['found'])
  const { found } = manifest
  assert.deepEqual(await failing(signedAgain({ found: { ...found, facts: 4 } })), ['found'])
  assert.deepEqual(await failing(signedAgain({ found: {} })), ['malformed'])
  const root = signedAgain({ certificates_root: '0'.repeat(64) })
  assert.deepEqual(await failing([root, ...certificates]), ['certificates_root'])
  const other = entries.map((entry) => (entry.fact_ref === 42 ? { ...entry, fact_ref: 43 } : entry))
  const moved = signedAgain({ entries: other })
  assert.deepEqual(await failing([moved, ...certificates]), ['certificates'])
  const elsewhere = signedAgain({ tenant_id: 't-2' })
  assert.deepEqual(await failing([elsewhere, ...certificates]), ['certificates'])
  const bad = entries.map((entry) => ({ ...entry, outcome: 'held' }))
  assert.deepEqual(await failing(signedAgain({ entries: bad })), ['malformed'])
})

test('a certificate signed by a key that nobody published does not count', async () => {
  const stranger = seededKey(0x22)
  const { certificate_id } = certificates[0] ?? {}
  const forged = certificates.map((one) =>
    one.certificate_id === certificate_id
      ? {
          ...one,
          signature: toBase64(stranger.sign(certificateBytes(one))),
          public_key: toBase64(stranger.publicKey),
          key_id: publish(stranger, 'erasure').key_id,
        }
      : one,
  )
  assert.deepEqual(await failing([manifest, ...forged]), ['certificates'])
})

test('a manifest of nothing lists nothing, and nothing is missing from it', async () => {
  const empty = signedAgain({
    ...{ entries: [], certificates: 0, status: 'done' },
    found: { ...manifest.found, facts: 0, decisions_naming: 0 },
    certificates_root: toHex(sha256(new Uint8Array(0))),
  })
  const verdict = await verify(empty)
  assert.equal(verdict.valid, true, verdict.reason)
  assert.ok(verdict.checks.some(({ name }) => name === 'certificates_root'))
})
