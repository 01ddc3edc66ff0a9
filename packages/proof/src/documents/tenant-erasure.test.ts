// A certificate of off-boarding: it verifies, and every changed leaf of it is noticed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toBase64, toHex } from '../core/encoding.ts'
import { detectEnvelope } from '../envelope.ts'
import { assembleNote, formatCheckpointBody } from '../log/note.ts'
import { noteKeyHash } from '../log/verifier-key.ts'
import { publish, seededKey } from '../testing/fixtures.ts'
import { verifyEnvelope } from '../verify.ts'
import {
  type TenantErasureStatement,
  tenantErasureBytes,
  verifyTenantErasure,
} from './tenant-erasure.ts'

const eraser = seededKey(0x11)
const roller = seededKey(0x12)
const keys = [publish(eraser, 'erasure'), publish(roller, 'checkpoint')]
const AT = '2026-03-01T10:00:00.000000Z'
const root = new Uint8Array(32).fill(7)

function checkpointOf(size: number, origin = 'custos/test/t-1'): string {
  const body = formatCheckpointBody({ origin, size, root })
  const signature = roller.sign(new TextEncoder().encode(body))
  const keyHash = noteKeyHash(origin, roller.publicKey)
  return assembleNote(body, [{ name: origin, keyHash, signature }])
}

const statement = (size: number): TenantErasureStatement => ({
  record_kind: 'tenant_erasure',
  certificate_id: 'a'.repeat(32),
  tenant_id: 't-1',
  counts: { stores: 1, facts: 2 },
  destroyed: { 'keyring.tenant_key': 'destroyed' },
  verification: { ran_at: AT, paths: [{ path: 'keyring.tenant_key', result: 'destroyed' }] },
  last_checkpoint: {
    epoch_number: 3,
    tree_size: size,
    root_hash: toHex(root),
    checkpoint: checkpointOf(size),
  },
  remains: ['The log'],
  limits: ['Copies'],
  legal_basis: 'contract',
  requested_by: null,
  erasure_requested_at: AT,
  erasure_completed_at: AT,
  log_seq: 8,
})

const signed = (of: TenantErasureStatement) => ({
  ...of,
  signature: toBase64(eraser.sign(tenantErasureBytes(of))),
  public_key: toBase64(eraser.publicKey),
  key_id: publish(eraser, 'erasure').key_id,
})
const certificate = signed(statement(9))

test('a genuine certificate verifies, and is recognised by what it says it is', async () => {
  const verdict = await verifyEnvelope(detectEnvelope(certificate), { keys })
  assert.equal(verdict.valid, true, verdict.reason)
  assert.equal(verdict.type, 'tenant_erasure')
  assert.equal(verdict.valid_with.length, 2)
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

for (const path of leavesOf(certificate))
  test(`a certificate with another ${path.join('.')} does not verify`, async () => {
    const verdict = await verifyTenantErasure(changed(certificate, path), keys)
    assert.equal(verdict.valid, false)
  })

test('a checkpoint that does not end with the entry of the record is noticed', async () => {
  const { valid, checks } = await verifyTenantErasure(signed(statement(10)), keys)
  assert.equal(valid, false)
  assert.deepEqual(
    checks.filter(({ ok }) => !ok).map(({ name }) => name),
    ['closes_log'],
  )
})

const failing = async (of: TenantErasureStatement) =>
  (await verifyTenantErasure(signed(of), keys)).checks.filter(({ ok }) => !ok).map((c) => c.name)

test('a checkpoint of another tenant is noticed, one of the restored log is accepted', async () => {
  assert.deepEqual(await failing({ ...statement(9), tenant_id: 't-2' }), ['log_of_tenant'])
  assert.deepEqual(await failing({ ...statement(9), tenant_id: '1' }), ['log_of_tenant'])
  const { last_checkpoint } = statement(9)
  const restored = { ...last_checkpoint, checkpoint: checkpointOf(9, 'custos/test/t-1/2') }
  assert.deepEqual(await failing({ ...statement(9), last_checkpoint: restored }), [])
})

test('what is called destroyed was looked at, and was not there', async () => {
  const seen = (result: string, path = 'keyring.tenant_key') =>
    failing({ ...statement(9), verification: { ran_at: AT, paths: [{ path, result }] } })
  assert.deepEqual(await seen('destroyed'), [])
  assert.deepEqual(await seen('present'), ['observed'])
  assert.deepEqual(await seen('destroyed', 'credentials'), ['observed'])
  const unseen = { 'keyring.tenant_key': 'destroyed', credentials: 'revoked' }
  assert.deepEqual(await failing({ ...statement(9), destroyed: unseen }), ['observed'])
  const present = { 'keyring.tenant_key': 'present' }
  const paths = [{ path: 'keyring.tenant_key', result: 'present' }]
  const verification = { ran_at: AT, paths }
  assert.deepEqual(await failing({ ...statement(9), destroyed: present, verification }), [
    'observed',
  ])
})

test('a signature of another kind of record is none of this one', async () => {
  const other = { ...certificate, record_kind: 'report' }
  assert.equal((await verifyTenantErasure(other, keys)).valid, false)
  assert.equal((await verifyTenantErasure(null, keys)).valid, false)
})
