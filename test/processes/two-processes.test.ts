// Two processes on one database, used at once: one log per tenant, one truth.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findPgbouncer, startPgbouncer } from '../../packages/server/src/testing/pgbouncer.ts'
import { createTenant } from '../crash/testing/client.ts'
import { at, clientsOf, openFleet } from './testing/fleet.ts'
import { loadAndCheck } from './testing/mixed-load.ts'

const RIVALS = 24

test('two processes under load give every acknowledged write, one log and no erased fact', (t) =>
  loadAndCheck(t, { processes: 2, load_ms: 6_000 }))

test('of many supersedes of one memory through two processes exactly one wins', async (t) => {
  const fleet = await openFleet(t)
  const servers = await fleet.start(2)
  const { api_key } = await createTenant(at(servers, 0))
  const clients = clientsOf(servers, api_key)
  const one = at(clients, 0)
  const { store_id } = await one.ok('POST', '/v1/stores', { body: {} })
  const path = `/v1/stores/${store_id}`
  let head = (await one.ok('POST', `${path}/write`, { body: { content: 'first' } })).ref
  for (let round = 0; round < 3; round += 1) {
    const old_ref = head
    const answers = await Promise.all(
      Array.from({ length: RIVALS }, (_, i) =>
        at(clients, i % 2).ask('POST', `${path}/supersede`, {
          body: { old_ref, content: `round ${round}, rival ${i}` },
        }),
      ),
    )
    const won = answers.filter(({ status }) => status === 200)
    assert.equal(won.length, 1)
    assert.equal(answers.filter(({ status }) => status === 409).length, RIVALS - 1)
    head = won[0]?.body.ref
    for (const client of clients)
      assert.equal((await client.ok('GET', `${path}/memories/${old_ref}`)).superseded_by, head)
  }
})

test('two processes behind PgBouncer in transaction mode keep every promise', async (t) => {
  const program = findPgbouncer()
  if (program === undefined) {
    t.diagnostic('PgBouncer is not installed here: the service was not run through it')
    return
  }
  // The keyring's connections are its own.
  const settings = async (url: string) => {
    const pooler = await startPgbouncer(program, url)
    t.after(() => pooler.stop())
    return { CUSTOS_DATABASE_URL: pooler.url, CUSTOS_KEYRING_URL: url }
  }
  await loadAndCheck(t, { processes: 2, load_ms: 4_000, settings })
})
