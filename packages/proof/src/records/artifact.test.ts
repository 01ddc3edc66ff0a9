// Artifacts as records: what is derived is recomputed, and members they do not have are refused.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../core/canonical.ts'
import { toBase64 } from '../core/encoding.ts'
import { keyIdOf, signedBytes } from '../core/signature.ts'
import { publish, seededKey } from '../testing/fixtures.ts'
import { verifyEnvelope } from '../verify.ts'
import { type ArtifactRequest, manifestDigest } from './artifact.ts'
import { proposalDigest, recordId } from './registry-record.ts'

const key = seededKey(0x42)
const keys = [publish(key, 'record')]

const layer = { media_type: null, digest: 'ab'.repeat(32), size: 10 }
const request = {
  ...{ artifact_ref: 'adapter@1', base_model_ref: 'base', kind: 'lora' },
  layers: [layer],
  metadata: { license: 'MIT' },
} satisfies ArtifactRequest

/** Signed by a holder of the key; what follows from the request does. */
function documentOf(asked: JsonObject = request, more: JsonObject = {}): JsonObject {
  const { base_model_ref, kind } = request
  const proposal = {
    ...{ tenant_id: 't-1', kind: 'artifact' as const, request: asked },
    ...{ created_at: '2026-02-03T04:05:06.000007Z', nonce: '0f'.repeat(16) },
  }
  const layer_hashes = [layer.digest]
  const document = {
    ...{ schema_version: 'modelpack/1', record_kind: 'artifact', tenant_id: 't-1' },
    ...{ artifact_id: recordId(proposal), proposal_digest: proposalDigest(proposal) },
    ...{ created_at: proposal.created_at, issued_at: proposal.created_at, nonce: proposal.nonce },
    ...{ requested_by: 'local', policy_set: 0, evaluation_id: null, approval: null },
    ...asked,
    layer_hashes,
    manifest_digest: manifestDigest({ base_model_ref, kind, layer_hashes }),
    ...more,
  }
  const message = signedBytes('artifact', document)
  return {
    ...document,
    signed_bytes: toBase64(message),
    signature: toBase64(key.sign(message)),
    public_key: toBase64(key.publicKey),
    key_id: keyIdOf(key.publicKey),
  }
}

async function failed(record: JsonObject): Promise<string[]> {
  const { checks } = await verifyEnvelope({ type: 'record', kind: 'artifact', record }, { keys })
  return checks.filter(({ ok }) => !ok).map(({ name }) => name)
}

test('a genuine artifact verifies, with its metadata as free as it was given', async () => {
  assert.deepEqual(await failed(documentOf()), [])
  const metadata = { license: 'MIT', any: { thing: [1, null] } }
  assert.deepEqual(await failed(documentOf({ ...request, metadata })), [])
})

test('members unknown to an artifact are refused, even with a valid signature', async () => {
  assert.deepEqual(await failed(documentOf(request, { certified: true })), ['shape'])
  assert.deepEqual(await failed(documentOf(request, { status: 'certified' })), ['shape'])
  const layers = [{ ...layer, scanned: true }]
  assert.deepEqual(await failed(documentOf({ ...request, layers })), ['shape'])
  assert.deepEqual(await failed(documentOf({ ...request, metadata: [] })), ['shape'])
  const sized = [{ ...layer, size: -1 }]
  assert.deepEqual(await failed(documentOf({ ...request, layers: sized })), ['shape'])
})

test('layers that are none, or others than their digests, are refused', async () => {
  const other = [{ ...layer, digest: 'cd'.repeat(32) }]
  assert.deepEqual(await failed(documentOf({ ...request, layers: other })), ['layer_hashes'])
  assert.deepEqual(await failed(documentOf({ ...request, layers: [] })), ['layer_hashes'])
})
