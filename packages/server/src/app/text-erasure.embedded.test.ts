// Redactions of records that are interrupted, or followed by older data: each is finished, once.

import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseConfig } from '../config/config.ts'
import { fillReasons, redactText } from '../slices/erasure/index.ts'
import { sceneOf, subjectScene } from '../slices/subjects/testing/scene.ts'
import { startTestService, type TestService } from '../testing/harness.ts'
import { rawSql } from '../testing/raw-sql.ts'
import { runFsck } from './checks/fsck.ts'

const NAME = 'Jana Novak'
const MARKER = '[REDACTED — GDPR Article 17]'

type Scene = ReturnType<typeof sceneOf>

const register = async ({ ok }: Scene): Promise<string> => {
  const layers = [{ digest: 'a'.repeat(64) }]
  const body = { artifact_ref: `models/${NAME}`, base_model_ref: 'base', layers }
  return (await ok('POST', '/v1/artifacts/register', body)).artifact_id
}

async function assertRedacted(service: TestService, scene: Scene, id: string) {
  const { ok, tenant_id } = scene
  const shown = await ok('GET', `/v1/artifacts/${id}`)
  assert.deepEqual([shown.redacted, shown.artifact_ref, shown.document], [true, MARKER, null])
  const { certificates } = await ok('GET', '/v1/erasure')
  assert.deepEqual(
    certificates.map((one: { subject_id: string; verified: boolean }) => [
      one.subject_id,
      one.verified,
    ]),
    [[id, true]],
  )
  assert.equal((await scene.events('text.redacted')).length, 1)
  assert.equal((await ok('GET', '/v1/gcrumbs/verify?full=true')).status, 'intact')
  assert.deepEqual(await service.kernel.keyring.ledger.listRequested(), [])
  const config = parseConfig({ CUSTOS_DATA_DIR: service.data_dir })
  const reports = await runFsck(config, { tenant_id })
  assert.deepEqual(
    reports.flatMap(({ findings }) => findings),
    [],
  )
  return certificates[0].certificate_id
}

const STEPS = [
  'ledger_recorded',
  'key_destroyed',
  'applied',
  'caches_dropped',
  'verified',
  'certified',
  'completed',
]

for (const at of STEPS)
  test(`a redaction interrupted after step ${at} is finished by the next start`, async () => {
    let armed = false
    let gone = false
    const first = await startTestService({
      step(name) {
        if (armed && name === `erasure:${at}`) gone = true
        if (gone) throw new Error('cut off')
      },
    })
    const scene = await subjectScene(first)
    const id = await register(scene)
    const { kernel } = first
    armed = true
    const request = { kind: 'artifact', id, reasons: fillReasons({}) } as const
    await assert.rejects(redactText(kernel, scene.tenant_id, request), /cut off/)
    await first.stop({ keep: true })
    const again = await startTestService({ data_dir: first.data_dir })
    try {
      await assertRedacted(again, sceneOf(again, scene), id)
    } finally {
      await again.stop()
    }
  })

const FILES = ['custos.db', 'custos.db-wal', 'custos.db-shm']

function copyData(from: string, to: string): void {
  for (const file of FILES) {
    rmSync(join(to, file), { force: true })
    if (existsSync(join(from, file))) cpSync(join(from, file), join(to, file))
  }
}

test('a redacted record stays redacted in data from before, under its certificate', async () => {
  const first = await startTestService()
  const scene = await subjectScene(first)
  const id = await register(scene)
  await first.stop({ keep: true })
  const backup = mkdtempSync(join(tmpdir(), 'custos-backup-'))
  copyData(first.data_dir, backup)

  const second = await startTestService({ data_dir: first.data_dir })
  const later = sceneOf(second, scene)
  assert.equal((await later.erase({ text: NAME })).status, 'done')
  const certificate_id = await assertRedacted(second, later, id)
  await second.kernel.jobs.idle()
  await second.stop({ keep: true })
  copyData(backup, first.data_dir)
  rmSync(backup, { recursive: true })

  const third = await startTestService({ data_dir: first.data_dir })
  try {
    assert.equal(await assertRedacted(third, sceneOf(third, scene), id), certificate_id)
  } finally {
    await third.stop()
  }
})

test('a token of an erased namespace does nothing in data from before', async () => {
  const first = await startTestService()
  const scene = await subjectScene(first)
  const { store_id } = scene
  const scopes = ['memory:read']
  const body = { store_id, namespace: 'jana', scopes }
  const { token } = await scene.ok('POST', '/v1/keys/tokens', body)
  const read = async ({ ask }: Scene) =>
    (await ask('GET', `/v1/stores/${store_id}/memories`, undefined, token)).status
  assert.equal(await read(scene), 200)
  await first.stop({ keep: true })
  const backup = mkdtempSync(join(tmpdir(), 'custos-backup-'))
  copyData(first.data_dir, backup)

  const second = await startTestService({ data_dir: first.data_dir })
  const later = sceneOf(second, scene)
  await later.erase(undefined, { namespace: 'jana' })
  assert.equal(await read(later), 401)
  await second.kernel.jobs.idle()
  await second.stop({ keep: true })
  copyData(backup, first.data_dir)
  rmSync(backup, { recursive: true })

  const third = await startTestService({ data_dir: first.data_dir })
  try {
    const restored = sceneOf(third, scene)
    assert.equal(await read(restored), 401)
    assert.equal((await restored.events('tenant.key_revoked')).length, 1)
    const { found } = await restored.preview(undefined, { namespace: 'jana' })
    assert.equal(found.texts, 0)
  } finally {
    await third.stop()
  }
})

test('the check accepts redacted records, and finds one that only looks redacted', async () => {
  const service = await startTestService()
  try {
    const scene = await subjectScene(service)
    const { ok, ask, erase, tenant_id } = scene
    const config = { operations: ['artifact.register'] }
    await ok('POST', '/v1/governance/policies', { name: 'n', policy_type: 'hitl_required', config })
    const layers = [{ digest: 'a'.repeat(64) }]
    const body = { artifact_ref: 'models/one', base_model_ref: 'base', layers }
    const { detail } = (await ask('POST', '/v1/artifacts/register', body)).body
    await ok('POST', `/v1/artifacts/${detail.artifact_id}/approve`, { approver: NAME })
    assert.equal((await erase({ text: NAME })).found.texts, 2)
    const check = async () => {
      const parsed = parseConfig({ CUSTOS_DATA_DIR: service.data_dir })
      const reports = await runFsck(parsed, { tenant_id })
      return reports.flatMap(({ findings }) => findings.map(({ kind, what }) => [kind, what]))
    }
    assert.deepEqual(await check(), [])
    const next = { ...body, artifact_ref: 'models/two', layers: [{ digest: 'b'.repeat(64) }] }
    const other = (await ask('POST', '/v1/artifacts/register', next)).body.detail
    const sql = 'update records set secret_no = 0 where record_id = ?'
    await rawSql(service, sql, [other.artifact_id])
    const found = await check()
    assert.deepEqual(found, [
      ['record', 'the seal does not open'],
      ['record', 'is redacted, and not by the log'],
    ])
  } finally {
    await service.stop()
  }
})
