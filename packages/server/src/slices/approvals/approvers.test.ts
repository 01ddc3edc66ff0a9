// Approvers and settings over HTTP: every change is logged, and no name is.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { rawSql } from '../../testing/raw-sql.ts'
import { ApprovingTenant, makeKey, openApprovalScene } from './testing/approval-scene.ts'

const scene = openApprovalScene()

test("'approvals.enroll' answers the approver, and the log has the digest of the key", async () => {
  const { tenant } = scene
  const { public_key } = makeKey()
  const body = { name: 'Ana Lima', role: 'release manager', public_key: public_key.toUpperCase() }
  const { status, body: made } = await tenant.ask('POST', '/hitl/approvers', body)
  assert.equal(status, 201)
  const { approver_id, created_at, updated_at, ...rest } = made
  assert.match(approver_id, /^[0-9a-f]{24}$/)
  assert.equal(created_at, updated_at)
  assert.deepEqual(rest, { name: 'Ana Lima', role: 'release manager', public_key, active: true })
  // 'approvals.approver', 'approvals.approvers'
  assert.deepEqual(await tenant.ok('GET', `/hitl/approvers/${approver_id}`), made)
  assert.deepEqual((await tenant.ok('GET', '/hitl/approvers')).approvers, [made])

  const [enrolled, ...more] = await tenant.events('approver.enrolled')
  assert.deepEqual(more, [])
  assert.equal(enrolled.subject, approver_id)
  const { key_digest, active, changed_by } = enrolled.payload
  assert.equal(key_digest, hash('sha256', Buffer.from(public_key, 'hex'), 'hex'))
  assert.equal(active, true)
  assert.match(changed_by, /^[0-9a-f]{24}$/)
})

test('names and roles are sealed: no row and no entry of the log holds them', async () => {
  const { tenant } = scene
  const word = `canary${tenant.service.kernel.ids.hex(6)}`
  const { public_key } = makeKey()
  const body = { name: word, role: `${word} too`, public_key }
  const { approver_id } = await tenant.ok('POST', '/hitl/approvers', body)
  await tenant.ok('PUT', `/hitl/approvers/${approver_id}`, { name: `${word} anew` })
  const rows = await rawSql(tenant.service, 'select sealed from approvers where approver_id = ?', [
    approver_id,
  ])
  assert.equal(rows.length, 1)
  const sealed = rows[0]?.['sealed']
  assert.ok(sealed instanceof Uint8Array && !Buffer.from(sealed).includes(word))
  assert.ok(
    !JSON.stringify(await tenant.ok('GET', '/gcrumbs/breadcrumbs?limit=1000')).includes(word),
  )
})

test('a key is enrolled once in a tenant, also in a race, and may be in another', async () => {
  const { tenant, service } = scene
  const pair = makeKey()
  const body = { name: 'Ana', public_key: pair.public_key }
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => tenant.ask('POST', '/hitl/approvers', body)),
  )
  const statuses = answers.map(({ status }) => status).toSorted()
  assert.deepEqual(statuses, [201, ...Array(9).fill(422)])
  assert.equal((await tenant.events('approver.enrolled')).length, 1)
  const other = await ApprovingTenant.create(service)
  await other.enroll('Ana', pair)
  assert.equal((await other.ok('GET', '/hitl/approvers')).count, 1)
})

test('keys that sign for anybody are refused, and change nothing', async () => {
  const { tenant } = scene
  const weak = ['00'.repeat(32), `01${'00'.repeat(31)}`, `ec${'ff'.repeat(30)}7f`, 'ff'.repeat(32)]
  for (const public_key of weak) {
    const answer = await tenant.ask('POST', '/hitl/approvers', { name: 'Eve', public_key })
    assert.equal(answer.status, 422, public_key)
    assert.equal(answer.body.error, 'rejected')
  }
  for (const public_key of ['', 'zz'.repeat(32), 'ab'.repeat(31), 'ab'.repeat(33)]) {
    const answer = await tenant.ask('POST', '/hitl/approvers', { name: 'Eve', public_key })
    assert.equal(answer.body.error, 'validation', public_key)
  }
  assert.equal((await tenant.ok('GET', '/hitl/approvers')).count, 0)
  assert.deepEqual(await tenant.events('approver.enrolled'), [])
})

test("'approvals.update_approver' changes what is given, and the log says how", async () => {
  const { tenant } = scene
  const { approver_id, public_key } = await tenant.enroll('Ana')
  const path = `/hitl/approvers/${approver_id}`
  const renamed = await tenant.ok('PUT', path, { name: 'Ana Lima', role: 'legal' })
  assert.deepEqual([renamed.name, renamed.role, renamed.active], ['Ana Lima', 'legal', true])
  assert.equal(renamed.public_key, public_key)
  assert.ok(renamed.updated_at > renamed.created_at)
  // Nothing new: no entry.
  assert.deepEqual(await tenant.ok('PUT', path, { name: 'Ana Lima', role: null }), renamed)
  const off = await tenant.ok('PUT', path, { active: false })
  assert.deepEqual([off.name, off.active], ['Ana Lima', false])
  assert.equal((await tenant.ok('PUT', path, { active: true })).active, true)
  const all = ['approver.enrolled', 'approver.updated', 'approver.revoked']
  const events = await tenant.events(...all)
  assert.deepEqual(
    events.map(({ event_type, payload }) => [event_type, payload.active]),
    [
      ['approver.enrolled', true],
      ['approver.updated', true],
      ['approver.revoked', false],
      ['approver.enrolled', true],
    ],
  )
})

test('changes at the same time are all made', async () => {
  const { tenant } = scene
  const { approver_id } = await tenant.enroll('Ana')
  const path = `/hitl/approvers/${approver_id}`
  const changes = [{ name: 'Ana Lima' }, { role: 'legal' }, { active: false }]
  await Promise.all(changes.map((change) => tenant.ok('PUT', path, change)))
  const { name, role, active } = await tenant.ok('GET', path)
  assert.deepEqual([name, role, active], ['Ana Lima', 'legal', false])
})

test("'approvals.revoke' keeps the approver listed, and says whether it was active", async () => {
  const { tenant } = scene
  const { approver_id } = await tenant.enroll()
  const path = `/hitl/approvers/${approver_id}`
  assert.deepEqual(await tenant.ok('DELETE', path), { approver_id, revoked: true })
  assert.deepEqual(await tenant.ok('DELETE', path), { approver_id, revoked: false })
  const [listed] = (await tenant.ok('GET', '/hitl/approvers')).approvers
  assert.deepEqual([listed.approver_id, listed.active], [approver_id, false])
  assert.equal((await tenant.events('approver.revoked')).length, 1)
})

test('approvers of another tenant do not exist', async () => {
  const { tenant, service } = scene
  const { approver_id } = await tenant.enroll()
  const other = await ApprovingTenant.create(service)
  for (const [method, body] of [['GET'], ['PUT', { name: 'Eve' }], ['DELETE']] as const) {
    const answer = await other.ask(method, `/hitl/approvers/${approver_id}`, body)
    assert.equal(answer.body.error, 'approver_not_found')
  }
  assert.equal((await other.ok('GET', '/hitl/approvers')).count, 0)
  assert.equal((await tenant.ok('GET', `/hitl/approvers/${approver_id}`)).active, true)
})

test('a page of approvers continues the one before', async () => {
  const { tenant } = scene
  const made: string[] = []
  for (let i = 0; i < 3; i++) made.push((await tenant.enroll(`A${i}`)).approver_id)
  const first = await tenant.ok('GET', '/hitl/approvers?limit=2')
  const next = await tenant.ok('GET', `/hitl/approvers?limit=2&cursor=${first.next_cursor}`)
  const ids = [...first.approvers, ...next.approvers].map(({ approver_id }) => approver_id)
  assert.deepEqual(ids, made.toReversed())
})

test('a cursor continues the list that gave it, and no other', async () => {
  const { tenant } = scene
  for (let i = 0; i < 2; i++) await tenant.enroll(`B${i}`)
  const path = '/hitl/approvers?limit=1'
  const { next_cursor } = await tenant.ok('GET', path)
  for (const other of ['/hitl/requests', '/artifacts', '/gcrumbs/breadcrumbs', '/stores']) {
    const { status, body } = await tenant.ask('GET', `${other}?cursor=${next_cursor}`)
    assert.deepEqual([status, body.error], [422, 'rejected'], other)
  }
  const [earlier] = Buffer.from(next_cursor, 'base64url').toString().split('~')
  const unnamed = Buffer.from(String(earlier)).toString('base64url')
  const second = await tenant.ok('GET', `${path}&cursor=${next_cursor}`)
  assert.equal(second.count, 1)
  assert.deepEqual(await tenant.ok('GET', `${path}&cursor=${unnamed}`), second)
})

test('an enrolment that is repeated under its Idempotency-Key is made once', async () => {
  const { tenant, service } = scene
  const body = { name: 'Ana', public_key: makeKey().public_key }
  const send = () =>
    service.request('POST', '/v1/hitl/approvers', {
      key: tenant.api_key,
      headers: { 'idempotency-key': 'once' },
      body,
    })
  const [first, again] = [await send(), await send()]
  assert.deepEqual([first.status, again.status], [201, 201])
  assert.deepEqual(again.body, first.body)
  assert.equal((await tenant.events('approver.enrolled')).length, 1)
})

test("'approvals.settings' have defaults; 'approvals.change_settings' changes some", async () => {
  const { tenant } = scene
  const defaults = {
    different_credential: false,
    attestation_required: false,
    expires_after_seconds: 86_400,
  }
  assert.deepEqual(await tenant.ok('GET', '/hitl/settings'), defaults)
  await tenant.ok('PUT', '/hitl/settings', { different_credential: true })
  const wanted = { ...defaults, different_credential: true, expires_after_seconds: 60 }
  assert.deepEqual(await tenant.ok('PUT', '/hitl/settings', { expires_after_seconds: 60 }), wanted)
  assert.deepEqual(await tenant.ok('GET', '/hitl/settings'), wanted)
  const [, second] = await tenant.events('approval.settings_changed')
  const { changed_by, ...payload } = second.payload
  assert.deepEqual(payload, wanted)
  assert.match(changed_by, /^[0-9a-f]{24}$/)
  for (const expires_after_seconds of [59, 2_592_001, 60.5, 'soon']) {
    const answer = await tenant.ask('PUT', '/hitl/settings', { expires_after_seconds })
    assert.equal(answer.body.error, 'validation')
  }
  assert.deepEqual(await tenant.ok('GET', '/hitl/settings'), wanted)
})

test('settings changed at the same time are all changed', async () => {
  const { tenant } = scene
  const changes = [
    { different_credential: true },
    { attestation_required: true },
    { expires_after_seconds: 3_600 },
  ]
  await Promise.all(changes.map((change) => tenant.ok('PUT', '/hitl/settings', change)))
  assert.deepEqual(await tenant.ok('GET', '/hitl/settings'), Object.assign({}, ...changes))
})
