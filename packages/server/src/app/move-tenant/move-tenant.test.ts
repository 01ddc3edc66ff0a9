// A tenant moved between two clusters: nothing acknowledged is lost, one log, one writer.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { detectEnvelope, verifyConsistency, verifyEnvelope } from '@custos/proof'
import { withPostgres } from '../../platform/db/postgres/connection.ts'
import { OfflineError } from '../../platform/operator-error.ts'
import { openFrames } from '../../slices/streams/testing/frame-reader.ts'
import type { TestService } from '../../testing/harness.ts'
import { createDatabase } from '../../testing/postgres.ts'
import { casesOf } from '../../testing/sweep.ts'
import { runFsck } from '../checks/fsck.ts'
import {
  type Agent,
  answersOf,
  fill,
  store,
  tell,
} from '../migrate-engine/testing/filled-directory.ts'
import { abortTenantMove, type MoveProof, runTenantMove } from './move-tenant.ts'
import {
  fillLittle,
  moveUntil,
  openTwoClusters,
  sideOf,
  type TwoClusters,
} from './testing/two-clusters.ts'

const COPY = mkdtempSync(join(tmpdir(), 'custos-move-'))
let clusters: TwoClusters
let a: TestService
let b: TestService

before(async () => {
  clusters = await openTwoClusters(join(COPY, 'ledger.ndjson'))
  a = await clusters.a.start()
  b = await clusters.b.start()
})

after(async () => {
  await a?.stop()
  await b?.stop()
  await clusters?.stop()
  rmSync(COPY, { recursive: true, force: true })
})

const moveOf = (tenant_id: string) => ({
  from: clusters.a.config,
  to: clusters.b.config,
  tenant_id,
  address: b.url,
})

const write = (service: TestService, { api_key, store_id }: Agent, content: string) =>
  service.request('POST', store({ store_id }, '/write'), { key: api_key, body: { content } })

const roll = (service: TestService, agent: Agent) =>
  tell(service, agent, 'POST', '/v1/gcrumbs/roll', {})

const withoutUse = (text: string): string =>
  text
    .replaceAll(/"last_used_at":(null|"[^"]*")/g, '"last_used_at":null')
    .replaceAll(/"(keys|public_keys|data)":\[.*?"key_id".*?\]/gs, '')

/** Paths whose answers name the keys of the cluster. */
const OF_CLUSTER = /\/(keys|public_key|verify.*)$/

test('a tenant is moved while it is written to, and no acknowledged write is lost', async () => {
  const agent = await fill(a, 'Ada')
  const other = await fill(a, 'Grace')
  const before = await roll(a, agent)
  const answers = await answersOf(a, [agent])
  const acknowledged: string[] = []
  const refused = new Set<string>()
  let going = true
  const writer = (async () => {
    for (let i = 0; going; i += 1) {
      const { status, body } = await write(a, agent, `While it moves, ${i}`)
      if (status < 300) acknowledged.push(`While it moves, ${i}`)
      else refused.add(`${status} ${body.error}`)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  })()
  const proof = await runTenantMove(moveOf(agent.tenant_id)).finally(() => {
    going = false
  })
  await writer
  for (const one of refused) assert.ok(['503 tenant_moving', '421 tenant_moved'].includes(one), one)

  const rows = new Map(proof.tables.map((table) => [table.name, table.rows]))
  assert.equal(rows.get('decisions'), agent.decisions.length)
  assert.equal(rows.get('breadcrumbs'), proof.tenant.tree_size)
  assert.ok(proof.keys.secrets > 0 && proof.keys.ledger > 0)
  for (const { url } of [clusters.a, clusters.b]) {
    const sql = 'select proof from tenant_moves where tenant_id = $1'
    const kept = await withPostgres(url, (c) => c.query({ sql }, [agent.tenant_id]))
    assert.deepEqual(JSON.parse(kept.rows[0].proof), proof)
  }

  await verifyProof(proof, before.tree_size)
  const gone = await write(a, agent, 'At the old address')
  assert.deepEqual([gone.status, gone.body.error, gone.body.address], [421, 'tenant_moved', b.url])
  const read = await a.request('GET', store(agent, '/memories'), { key: agent.api_key })
  assert.equal(read.status, 421)
  const shown = await a.request('GET', '/v1/cloud/tenants', { key: a.operator_key })
  const listed = shown.body.find((one: Agent) => one.tenant_id === agent.tenant_id)
  assert.equal(listed?.status, 'moved')

  const exported = await b.request('GET', store(agent, '/export'), { key: agent.api_key })
  for (const content of acknowledged)
    assert.equal(exported.text.split(JSON.stringify(content)).length, 2, content)
  const now = await answersOf(b, [agent])
  for (const [path, text] of answers) {
    if (!/memories\/|decisions|erasure|proof|consistency/.test(path)) continue
    if (OF_CLUSTER.test(path)) continue
    assert.equal(withoutUse(now.get(path) ?? ''), withoutUse(text), path)
  }

  await goOn(agent, before)

  // An erasure there, and the other tenant here, work as before.
  const erased = { fact_ref: agent.refs[0] }
  await tell(b, agent, 'POST', '/v1/erasure/issue', erased)
  await tell(a, other, 'POST', '/v1/erasure/issue', { fact_ref: other.refs[0] })
  for (const side of [clusters.a, clusters.b])
    for (const report of await runFsck(side.config)) assert.deepEqual(report.findings, [])
})

/** At the source, also where the keys of the tenant are looked for before its rows. */
async function refuseOperator({ tenant_id }: Agent): Promise<void> {
  const person = { email: 'a@b.example', roles: ['auditor'] }
  for (const [path, body] of [
    [`/v1/cloud/tenants/${tenant_id}/users`, person],
    [`/v1/cloud/tenants/${tenant_id}/rotate-key`, {}],
    [`/v1/admin/tenants/${tenant_id}/destruction`, null],
  ] as const) {
    const options = { key: a.operator_key, ...(body && { body }) }
    const refused = await a.request(body ? 'POST' : 'GET', path, options)
    assert.deepEqual([refused.status, refused.body.address], [421, b.url], path)
  }
}

/** With the keys that either cluster publishes; its checkpoint is at least of this size. */
async function verifyProof(proof: MoveProof, size: number): Promise<void> {
  assert.ok(proof.last_checkpoint && proof.last_checkpoint.tree_size >= size)
  for (const service of [a, b]) {
    const { keys } = (await service.request('GET', '/v1/gcrumbs/public_key')).body
    const { valid, reason, type } = await verifyEnvelope(detectEnvelope(proof), { keys })
    assert.deepEqual([valid, type], [true, 'tenant_move'], reason)
    const forged = { ...proof, address: 'https://another.example' }
    assert.equal((await verifyEnvelope(detectEnvelope(forged), { keys })).valid, false)
  }
}

/** The log goes on at B: the same origin, and the new tree extends the one that A signed. */
async function goOn(agent: Agent, before: Awaited<ReturnType<typeof roll>>): Promise<void> {
  await write(b, agent, 'At the new address')
  const later = await roll(b, agent)
  assert.equal(later.origin, before.origin)
  const path = `/v1/gcrumbs/epochs/${later.epoch_number}/consistency?from=${before.epoch_number}`
  const given = await tell(b, agent, 'GET', path)
  assert.equal(given.from_root, before.root_hash, 'the tree that the source signed')
  const bytes = (hex: string) => Buffer.from(hex, 'hex')
  const holds = verifyConsistency({
    from: given.from_size,
    fromRoot: bytes(given.from_root),
    to: given.to_size,
    toRoot: bytes(given.to_root),
    path: given.path.map(bytes),
  })
  assert.ok(holds, 'the new tree is no extension of the one that the source signed')
  const verified = await tell(b, agent, 'GET', '/v1/gcrumbs/verify?full=true')
  assert.equal(verified.status, 'intact', JSON.stringify(verified))
  assert.equal(verified.tree_size, later.tree_size)
}

const STEPS = [
  'begun',
  'copied',
  'paused',
  'keys',
  'proved',
  'left',
  'copy',
  'arrived',
  'destroyed',
]
/** From here on the source never writes again. */
const GONE = STEPS.slice(STEPS.indexOf('left'))

for (const step of casesOf(STEPS, 4))
  test(`a move killed at ${step} has one writer, and the same command ends it`, async () => {
    const agent = await fillLittle(a, step)
    await moveUntil(step, moveOf(agent.tenant_id))
    const tries = [await write(a, agent, 'between'), await write(b, agent, 'between')]
    const accepted = tries.filter(({ status }) => status < 300).length
    assert.ok(accepted <= 1, 'two clusters accept writes of one tenant')
    for (const { status, body } of tries)
      assert.ok(status < 300 || [401, 421, 503].includes(status), `${status} ${body.error}`)
    if (GONE.includes(step)) {
      assert.equal(tries[0]?.status, 421)
      await assert.rejects(abortTenantMove(moveOf(agent.tenant_id)), /has left/)
    }
    await runTenantMove(moveOf(agent.tenant_id))
    assert.equal((await write(a, agent, 'after')).status, 421)
    await refuseOperator(agent)
    assert.equal((await write(b, agent, 'after')).status, 200)
    const exported = await b.request('GET', store(agent, '/export'), { key: agent.api_key })
    assert.equal(exported.text.split('"between"').length - 1, accepted)
    assert.equal(await a.kernel.keyring.hasRemains(agent.tenant_id), false)
  })

for (const step of casesOf(['begun', 'copied', 'paused', 'proved'], 1))
  test(`a move killed at ${step} can be taken back, and the source writes`, async () => {
    const agent = await fillLittle(a, step)
    await moveUntil(step, moveOf(agent.tenant_id))
    await abortTenantMove(moveOf(agent.tenant_id))
    assert.equal((await write(a, agent, 'still here')).status, 200)
    assert.equal((await write(b, agent, 'not there')).status, 401)
    assert.equal(await b.kernel.keyring.hasTenant(agent.tenant_id), false)
    await runTenantMove(moveOf(agent.tenant_id))
    assert.equal((await write(b, agent, 'there now')).status, 200)
  })

const lost = ({ to, ...move }: ReturnType<typeof moveOf>) => {
  assert.ok(to.postgres)
  const database_url = 'postgres://127.0.0.1:1/lost'
  return { ...move, to: { ...to, postgres: { ...to.postgres, database_url } } }
}

test('a move killed in the pause is taken back without its destination', async () => {
  const agent = await fillLittle(a, 'lost')
  const move = moveOf(agent.tenant_id)
  await moveUntil('paused', move)
  assert.equal((await write(a, agent, 'paused')).status, 503)
  await assert.rejects(abortTenantMove(lost(move)), /source serves the tenant again, but/)
  assert.equal((await write(a, agent, 'still here')).status, 200)
  await runTenantMove(move)
  assert.equal((await write(b, agent, 'there now')).status, 200)
})

/** Reserves secrets at the source, as a process may in advance, each time that keys were copied. */
const reserving = ({ tenant_id }: Agent, times: number) => {
  let left = times
  return async (step: string) => {
    if (step !== 'keys' || left === 0) return
    left -= 1
    await a.kernel.keyring.reserve(tenant_id, 'fact', { at_least: 0 })
  }
}

test('a destination that fails while it is made ready is told in one line', async () => {
  const agent = await fillLittle(a, 'unready')
  const move = moveOf(agent.tenant_id)
  assert.ok(move.to.postgres)
  // Nothing can be written, as when a connection ends before the first write.
  const database_url = `${clusters.b.url}?options=-c%20default_transaction_read_only%3Don`
  const to = { ...move.to, postgres: { ...move.to.postgres, database_url } }
  await assert.rejects(runTenantMove({ ...move, to }), (error) => {
    assert.ok(error instanceof OfflineError)
    assert.match(error.message, /^a database of the move: PostgreSQL error 25006/)
    return true
  })
  assert.equal((await write(a, agent, 'goes on')).status, 200)
})

test('secrets that are reserved while keys are copied do not fail the move', async () => {
  const agent = await fillLittle(a, 'reserves')
  await runTenantMove(moveOf(agent.tenant_id), { step: reserving(agent, 2) })
  assert.equal((await write(b, agent, 'there now')).status, 200)
})

test('keys that differ after each copy fail the move, and the source writes', async () => {
  const agent = await fillLittle(a, 'reserves on')
  const step = reserving(agent, Number.POSITIVE_INFINITY)
  await assert.rejects(runTenantMove(moveOf(agent.tenant_id), { step }), /blocks .* differ/)
  assert.equal((await write(a, agent, 'still here')).status, 200)
  await abortTenantMove(moveOf(agent.tenant_id))
})

test('a move that fails again after a kill in the pause leaves no fence', async () => {
  const agent = await fillLittle(a, 'fails again')
  const move = moveOf(agent.tenant_id)
  await moveUntil('paused', move)
  const back = { ...move, from: move.to, to: move.from }
  await assert.rejects(runTenantMove(back), /not served by the cluster/)
  const sql = 'select fence from tenant_locks where tenant_id = $1'
  const there = await withPostgres(clusters.b.url, (c) => c.query({ sql }, [agent.tenant_id]))
  assert.equal(there.rows[0].fence, 'moving', 'the destination is out of use')
  await assert.rejects(runTenantMove({ ...move, address: 'https://another.example' }), /--abort/)
  assert.equal((await write(a, agent, 'served')).status, 200)
})

test('a restored source with its ledger copy does not serve the tenant', async () => {
  const agent = await fillLittle(a, 'restored')
  await a.stop({ keep: true })
  const older = await createDatabase()
  const restored = new URL(older.url)
  restored.pathname = `/custos_restored_${randomBytes(4).toString('hex')}`
  const name = restored.pathname.slice(1)
  const was = new URL(clusters.a.url).pathname.slice(1)
  await withPostgres(older.url, (c) => c.step(`create database ${name} template ${was}`))
  a = await clusters.a.start()
  await runTenantMove(moveOf(agent.tenant_id))
  const copy = join(COPY, 'ledger.ndjson')
  const late = await sideOf(restored.href, '5a'.repeat(32), copy).start()
  try {
    const { status, body } = await write(late, agent, 'twice')
    assert.deepEqual([status, body.address], [421, b.url])
  } finally {
    await late.stop()
    await withPostgres(older.url, (c) => c.step(`drop database ${name} with (force)`))
    await older.drop()
  }
})

test('what cannot be moved is refused with one line, and goes on as before', async () => {
  const agent = await fillLittle(a, 'refused')
  const move = moveOf(agent.tenant_id)
  const refuse = (given: Partial<typeof move>, why: RegExp) =>
    assert.rejects(runTenantMove({ ...move, ...given }), why)
  await refuse({ tenant_id: 'nobody' }, /not served by the cluster/)
  await refuse({ to: move.from }, /same keyring/)
  await refuse({ to: { ...move.to, origin: 'another' } }, /same CUSTOS_ORIGIN/)
  await refuse({ from: { ...move.from, postgres: null } }, /migrate-engine/)
  await refuse({ from: { ...move.from, master_key: '11'.repeat(32) } }, /master key/)
  await assert.rejects(abortTenantMove(move), /no move of the tenant was begun/)
  assert.equal((await write(a, agent, 'as before')).status, 200)

  await runTenantMove(move)
  const back = { ...move, from: move.to, to: move.from, address: a.url }
  await assert.rejects(runTenantMove(back), /served there before/)
  assert.equal((await write(b, agent, 'as before')).status, 200)
})

test('the stream of a tenant that has left ends', { timeout: 60_000 }, async () => {
  const agent = await fillLittle(a, 'stream')
  const reader = await openFrames(`${a.url}/v1/events/stream`, { key: agent.api_key })
  assert.equal(reader.status, 200)
  await runTenantMove(moveOf(agent.tenant_id))
  // As at a heartbeat: another credential that changes has all of them looked at.
  const other = await fillLittle(a, 'beside')
  await tell(a, other, 'POST', '/v1/keys', { name: 'one', scopes: ['memory:read'] })
  await reader.rest()
})

test('of two processes that move the same tenant one is refused', async () => {
  const agent = await fillLittle(a, 'twice')
  const both = await Promise.allSettled([
    runTenantMove(moveOf(agent.tenant_id)),
    runTenantMove(moveOf(agent.tenant_id)),
  ])
  assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  assert.equal((await write(b, agent, 'there')).status, 200)
})
