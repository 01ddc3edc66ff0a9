// A proof of a move: it verifies, and every changed leaf of it is noticed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sha256 } from '../core/digest.ts'
import { toBase64, toHex } from '../core/encoding.ts'
import { detectEnvelope } from '../envelope.ts'
import { assembleNote, formatCheckpointBody } from '../log/note.ts'
import { noteKeyHash } from '../log/verifier-key.ts'
import { publish, seededKey } from '../testing/fixtures.ts'
import { verifyEnvelope } from '../verify.ts'
import { type TenantMoveStatement, tenantMoveBytes, verifyTenantMove } from './tenant-move.ts'

const source = seededKey(0x21)
const roller = seededKey(0x22)
const keys = [publish(source, 'record'), publish(roller, 'checkpoint')]
const AT = '2026-03-01T10:00:00.000000Z'
const root = new Uint8Array(32).fill(7)

function checkpointOf(size: number, origin = 'custos/test/t-1'): string {
  const body = formatCheckpointBody({ origin, size, root })
  const signature = roller.sign(new TextEncoder().encode(body))
  const keyHash = noteKeyHash(origin, roller.publicKey)
  return assembleNote(body, [{ name: origin, keyHash, signature }])
}

const lastOf = (size: number, origin?: string) => ({
  epoch_number: 3,
  tree_size: size,
  root_hash: toHex(root),
  checkpoint: checkpointOf(size, origin),
})

const statement: TenantMoveStatement = {
  record_kind: 'tenant_move',
  move_id: 'a'.repeat(32),
  tenant_id: 't-1',
  origin: 'custos/test',
  address: 'https://eu-2.custos.example',
  started_at: AT,
  proved_at: AT,
  paused_ms: 120,
  tables: [{ name: 'breadcrumbs', rows: 9, sha256: '1'.repeat(64) }],
  control: [{ name: 'tenants', rows: 1, sha256: '2'.repeat(64) }],
  keys: {
    secrets: 2,
    blocks: 1,
    ledger: 1,
    ledger_sha256: '3'.repeat(64),
    checkpoint: { tree_size: 9, root_hash: toHex(root) },
    signing_keys: 6,
  },
  tenant: {
    tree_size: 9,
    root_hash: toHex(root),
    checkpoint_size: 9,
    facts: 2,
    decisions: 1,
    stores: 1,
  },
  last_checkpoint: lastOf(9),
}

const signed = (of: TenantMoveStatement) => ({
  ...of,
  signature: toBase64(source.sign(tenantMoveBytes(of))),
  public_key: toBase64(source.publicKey),
  key_id: publish(source, 'record').key_id,
})
const proof = signed(statement)

test('a genuine proof verifies, and is recognised by what it says it is', async () => {
  const verdict = await verifyEnvelope(detectEnvelope(proof), { keys })
  assert.equal(verdict.valid, true, verdict.reason)
  assert.equal(verdict.type, 'tenant_move')
  assert.equal(verdict.valid_with.length, 2)
  // What is signed stays what it is.
  const digest = toHex(sha256(tenantMoveBytes(statement)))
  assert.equal(digest, '13fb89b349edbc1ae3c395911ca5f8a5552308aeab48ed32e181df6967337c18')
})

/** Every place of a JSON value that is no object and no list. */
function leavesOf(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path]
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, [...path, key]))
}

function changed(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return typeof value === 'number' ? value + 1 : `${value}0`
  if (Array.isArray(value))
    return value.map((item, i) => (String(i) === key ? changed(item, rest) : item))
  const inner = Object(value)
  return { ...inner, [key]: changed(inner[key], rest) }
}

for (const path of leavesOf(proof))
  test(`a proof with another ${path.join('.')} does not verify`, async () => {
    const verdict = await verifyTenantMove(changed(proof, path), keys)
    assert.equal(verdict.valid, false)
  })

const failing = async (of: Partial<TenantMoveStatement>) =>
  (await verifyTenantMove(signed({ ...statement, ...of }), keys)).checks
    .filter(({ ok }) => !ok)
    .map(({ name }) => name)

test('the log of the proof is that of the tenant and extends its last checkpoint', async () => {
  assert.deepEqual(await failing({}), [])
  assert.deepEqual(await failing({ last_checkpoint: null }), [])
  assert.deepEqual(await failing({ last_checkpoint: lastOf(8) }), [])
  assert.deepEqual(await failing({ last_checkpoint: lastOf(10) }), ['log_extended'])
  const tenant = { ...statement.tenant, root_hash: '4'.repeat(64) }
  assert.deepEqual(await failing({ tenant }), ['log_extended'])
  assert.deepEqual(await failing({ tables: [] }), ['log_entries'])
  assert.deepEqual(await failing({ tenant_id: 't-2' }), ['log_of_tenant'])
  const restored = lastOf(9, 'custos/test/t-1/1')
  assert.deepEqual(await failing({ last_checkpoint: restored }), [])
})

test('a key of another purpose, another kind of record and other values are refused', async () => {
  const other = [publish(source, 'erasure'), publish(roller, 'checkpoint')]
  assert.equal((await verifyTenantMove(proof, other)).valid, false)
  assert.equal((await verifyTenantMove({ ...proof, record_kind: 'report' }, keys)).valid, false)
  for (const value of [null, 'x', [], {}, { ...proof, tables: [{ name: 'x' }] }])
    assert.equal((await verifyTenantMove(value, keys)).valid, false)
})
