// Two processes that both believe to have a tenant's erasure lease: one has lost it unnoticed.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Answer, OPERATOR_KEY } from '../../testing/harness.ts'
import { createDatabase } from '../../testing/postgres.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { type Service, startShared } from '../../testing/services-on-one-database.ts'
import { skewedClock } from '../../testing/skewed-clock.ts'
import { finishScrub, MARKER, writeScrubParts } from '../decisions/index.ts'
import { parseCertificate } from './certificate.ts'
import { storeCertificate } from './certify.ts'
import { findStandingCertificate } from './erasure.sql.ts'

const HOUR_US = 3_600_000_000
const CONTENTS = ['Anton Frei owes the bank', 'Anton Frei lives in Bern']
const [FIRST = '', SECOND = ''] = CONTENTS

/** One of the two processes, and where its erasures stand still. */
interface Process {
  readonly service: Service
  ask(method: string, path: string, body?: unknown): Promise<Pick<Answer, 'status' | 'body'>>
  /** From now on its next erasure stands still there, until `go`; resolves when it does. */
  stopAt(step: string): Promise<void>
  go(): void
}

interface Stage {
  readonly tenant_id: string
  readonly store_id: string
  readonly one: Process
  readonly two: Process
  /** Two memories, and a decision that used and repeats both. */
  readonly refs: readonly [number, number]
  readonly decision_id: string
  /** The lease of the process that has it expires, and the process does not know. */
  loseTurn(): Promise<void>
}

async function startProcess(t: TestContext, url: string, ahead_us: number): Promise<Process> {
  let stop: { step: string; reached: () => void; held: Promise<void> } | undefined
  let go = () => {}
  const service = await startShared(url, {
    clock: skewedClock(ahead_us),
    step: async (name) => {
      if (stop?.step !== name) return
      const { reached, held } = stop
      stop = undefined
      reached()
      await held
    },
  })
  t.after(async () => {
    go()
    await service.stop()
  })
  const stopAt = (step: string) => {
    const { promise: held, resolve: let_go } = Promise.withResolvers<void>()
    const { promise: arrived, resolve: reached } = Promise.withResolvers<void>()
    go = let_go
    stop = { step, reached, held }
    return arrived
  }
  return { service, ask: askerOf(service, OPERATOR_KEY), stopAt, go: () => go() }
}

const askerOf =
  ({ url }: Service, key: string): Process['ask'] =>
  async (method, path, body) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: JSON.parse(await response.text()) }
  }

/** @param ahead_us the clock of the second */
async function openStage(t: TestContext, ahead_us = 0): Promise<Stage> {
  const database = await createDatabase()
  t.after(() => database.drop())
  const operators = [
    await startProcess(t, database.url, 0),
    await startProcess(t, database.url, ahead_us),
  ] as const
  const { body: tenant } = await operators[0].ask('POST', '/v1/cloud/tenants', { name: 'test' })
  const [one, two] = operators.map((process) => ({
    ...process,
    ask: askerOf(process.service, tenant.api_key),
  }))
  assert.ok(one && two)
  const { store_id } = (await one.ask('POST', '/v1/stores', {})).body
  const write = async (content: string): Promise<number> =>
    (await one.ask('POST', `/v1/stores/${store_id}/write`, { content })).body.ref
  const refs = [await write(FIRST), await write(SECOND)] as const
  const { decision_id } = (
    await one.ask('POST', '/v1/decisions/log', {
      store_id,
      model_id: 'm',
      query: `${FIRST}; ${SECOND}?`,
      output: 'no',
      retrieved_refs: refs,
      retrieved_contents: CONTENTS,
    })
  ).body
  const loseTurn = async () => {
    await rawSql(one.service, `delete from leases where name = 'erasure/${tenant.tenant_id}'`)
  }
  return { tenant_id: tenant.tenant_id, store_id, one, two, refs, decision_id, loseTurn }
}

const erase = ({ ask }: Process, fact_ref: number) => ask('POST', '/v1/erasure/issue', { fact_ref })

/** The decision as both processes show it, which must be one. */
async function shown({ one, two, decision_id }: Stage) {
  const path = `/v1/decisions/${decision_id}`
  const [first, second] = [await one.ask('GET', path), await two.ask('GET', path)]
  assert.equal(first.status, 200, JSON.stringify(first.body))
  assert.deepEqual(first.body, second.body)
  return first.body
}

for (const [skew, ahead_us] of [
  ['a minute', HOUR_US / 60],
  ['an hour', HOUR_US],
] as const)
  test(`clocks ${skew} apart: erasures behind one decision run one by one`, async (t) => {
    const stage = await openStage(t, ahead_us)
    const { one, two, refs } = stage
    const waits = one.stopAt('erasure:planned')
    const first = erase(one, refs[0])
    await waits
    let done = false
    const second = erase(two, refs[1]).finally(() => {
      done = true
    })
    await new Promise((resolve) => setTimeout(resolve, 300))
    assert.equal(done, false, 'the second waits for the first')
    one.go()
    for (const { status, body } of [await first, await second])
      assert.equal(status, 200, JSON.stringify(body))
    assert.equal((await shown(stage)).query, `${MARKER}; ${MARKER}?`)
  })

test('an erasure planned under a lost lease is refused, and may be requested again', async (t) => {
  const stage = await openStage(t)
  const { one, two, refs } = stage
  const waits = one.stopAt('erasure:planned')
  const stale = erase(one, refs[0])
  await waits
  await stage.loseTurn()
  assert.equal((await erase(two, refs[1])).status, 200)
  one.go()
  const { status, body } = await stale
  assert.equal(status, 503, JSON.stringify(body))
  assert.equal((await shown(stage)).query, `${FIRST}; ${MARKER}?`)
  const again = await erase(one, refs[0])
  assert.equal(again.status, 200, JSON.stringify(again.body))
  assert.equal(again.body.deleted, true)
  assert.equal((await shown(stage)).query, `${MARKER}; ${MARKER}?`)
})

test('a process without the lease shows no memory again that another is erasing', async (t) => {
  const stage = await openStage(t)
  const { one, two, refs, store_id } = stage
  const [ref] = refs
  const waits = one.stopAt('erasure:planned')
  const stale = erase(one, ref)
  await waits
  await stage.loseTurn()
  const erasing = two.stopAt('erasure:planned')
  const certified = erase(two, ref)
  await erasing
  one.go()
  assert.equal((await stale).status, 503)
  const { status } = await one.ask('GET', `/v1/stores/${store_id}/memories/${ref}`)
  assert.equal(status, 404)
  two.go()
  assert.equal((await certified).status, 200)
  assert.equal((await shown(stage)).query, `${MARKER}; ${SECOND}?`)
})

test('an erasure finished by two at once has one certificate, the one on the log', async (t) => {
  const stage = await openStage(t)
  const { one, two, refs, tenant_id } = stage
  const waits = one.stopAt('erasure:verified')
  const stale = erase(one, refs[0])
  await waits
  await stage.loseTurn()
  const finished = await erase(two, refs[0])
  one.go()
  const late = await stale
  assert.deepEqual([finished.status, late.status], [200, 200])
  assert.equal(late.body.signature, finished.body.signature)
  // Between its last look and the unit that stores what it signed, another has stored its own.
  const { kernel } = one.service
  const find = () =>
    kernel.db.read(tenant_id, (db) => findStandingCertificate(db, 'fact', String(refs[0])))
  const standing = parseCertificate((await find())?.record ?? '')
  const signed = { ...standing, erasure_completed_at: '2100-01-01T00:00:00.000000Z' }
  const stored = await kernel.db.transact(tenant_id, (tx) =>
    storeCertificate(kernel, tx, signed, 1),
  )
  assert.deepEqual(stored, standing)
  const { breadcrumbs } = (await one.ask('GET', '/v1/gcrumbs/breadcrumbs?limit=100')).body
  const certified = breadcrumbs.filter(
    ({ event_type }: { event_type: string }) => event_type === 'erasure.certified',
  )
  assert.equal(certified.length, 1)
})

test('a plan of a decision that changed is made again before keys are destroyed', async (t) => {
  const stage = await openStage(t)
  const { one, two, refs, tenant_id } = stage
  const waits = one.stopAt('erasure:planned')
  const erasing = erase(one, refs[0])
  await waits
  // As nothing does that takes its turn: the record is another when the plan is to go on record.
  const { kernel } = two.service
  const subjects = [{ ref: refs[1], content: SECOND }]
  const parts = await writeScrubParts(kernel, tenant_id, { subjects, erased: false })
  assert.ok(parts)
  const { parts_id, count } = parts
  const [entry] = await kernel.keyring.ledger.request([
    {
      tenant_id,
      subject_kind: 'scrub',
      subject: parts_id,
      store_id: null,
      requested_us: 1,
      plan: { version: 1, kind: 'scrub' },
      parts: { parts_id, count },
    },
  ])
  assert.ok(entry)
  await finishScrub(kernel, entry)
  one.go()
  assert.equal((await erasing).status, 200)
  const decision = await shown(stage)
  assert.equal(decision.query, `${MARKER}; ${MARKER}?`)
  assert.deepEqual(decision.retrieved_contents, [MARKER, MARKER])
})
