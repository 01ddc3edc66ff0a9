// A ticket opens one stream once, for a short time, with the rights of the key that made it.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { movedClock } from '../../testing/skewed-clock.ts'
import { redeemTicket, sweepTickets } from './index.ts'
import { openFrames } from './testing/frame-reader.ts'

let service: TestService
const clock = movedClock()
const PATH = '/v1/events/stream'

before(async () => {
  service = await startTestService({ clock })
})

after(() => service.stop())

const makeTicket = async (key: string, body: object = { path: PATH }) => {
  const made = await service.request('POST', '/v1/events/tickets', { key, body })
  assert.equal(made.status, 201, made.text)
  return String(made.body.ticket)
}

const open = (ticket: string, headers = {}) =>
  openFrames(`${service.url}${PATH}?from=start&ticket=${ticket}`, { headers })

describe("'streams.ticket'", () => {
  test('opens a stream of the tenant without a credential, once', async () => {
    const { api_key, tenant_id } = await service.createTenant()
    const ticket = await makeTicket(api_key)
    const reader = await open(ticket)
    assert.equal(reader.status, 200)
    const [frame] = await reader.take(1)
    assert.equal(JSON.parse(frame?.data ?? '').tenant_id, tenant_id)
    assert.equal((await open(ticket)).status, 401)
    reader.close()
  })

  test('of many that use it at the same time one gets the stream', async () => {
    const { api_key } = await service.createTenant()
    const ticket = await makeTicket(api_key)
    const readers = await Promise.all(Array.from({ length: 6 }, () => open(ticket)))
    assert.equal(readers.filter(({ status }) => status === 200).length, 1)
    assert.equal(readers.filter(({ status }) => status === 401).length, 5)
    for (const reader of readers) reader.close()
  })

  test('is over after its time, 30 seconds at most', async () => {
    const { api_key } = await service.createTenant()
    const [late, brief] = [
      await makeTicket(api_key),
      await makeTicket(api_key, { path: PATH, ttl_s: 1 }),
    ]
    clock.forward(2_000_000)
    assert.equal((await open(brief)).status, 401)
    clock.forward(29_000_000)
    assert.equal((await open(late)).status, 401)
    for (const ttl_s of [0, 31]) {
      const body = { path: PATH, ttl_s }
      const { status } = await service.request('POST', '/v1/events/tickets', { key: api_key, body })
      assert.equal(status, 422)
    }
  })

  test('is for one path, and used up by a request for another', async () => {
    const { api_key } = await service.createTenant()
    const ticket = await makeTicket(api_key)
    assert.equal(await redeemTicket(service.kernel, ticket, '/v1/other/stream'), null)
    assert.equal((await open(ticket)).status, 401)
    const body = { path: '/v1/stores' }
    const { status } = await service.request('POST', '/v1/events/tickets', { key: api_key, body })
    assert.equal(status, 422)
    const other = await makeTicket(api_key)
    const stores = await service.request('GET', `/v1/stores?ticket=${other}`)
    assert.equal(stores.status, 401)
    const slashed = await openFrames(`${service.url}${PATH}/?ticket=${other}`)
    assert.equal(slashed.status, 200)
    slashed.close()
  })

  test('ends with the key that made it, and never has rights that key lacks', async () => {
    const { api_key: key } = await service.createTenant()
    const body = { name: 'reader', class: 'read_only' }
    const { body: made } = await service.request('POST', '/v1/keys', { key, body })
    const [used, unused] = [await makeTicket(made.api_key), await makeTicket(made.api_key)]
    const reader = await open(used)
    await reader.take(1)
    await service.request('DELETE', `/v1/keys/${made.key_id}`, { key })
    await reader.rest()
    assert.equal((await open(unused)).status, 401)
    const narrow = { name: 'writer', class: 'service', scopes: ['memory:write'] }
    const { body: writer } = await service.request('POST', '/v1/keys', { key, body: narrow })
    assert.equal((await open(await makeTicket(writer.api_key))).status, 403)
  })

  test('a key is never read from the query, and a ticket not beside a key', async () => {
    const { api_key } = await service.createTenant()
    for (const query of [`ticket=${api_key}`, `token=${api_key}`, `api_key=${api_key}`, 'ticket='])
      assert.equal((await openFrames(`${service.url}${PATH}?${query}`)).status, 401, query)
    const ticket = await makeTicket(api_key)
    const both = await open(ticket, { 'x-api-key': api_key })
    assert.equal(both.status, 401)
    const twice = await openFrames(`${service.url}${PATH}?ticket=${ticket}&ticket=${ticket}`)
    assert.equal(twice.status, 401)
  })

  test('only its hash is stored, and what nobody used is removed', async () => {
    const { api_key } = await service.createTenant()
    const ticket = await makeTicket(api_key)
    const tickets = () => rawSql(service, 'select * from stream_tickets')
    const rows = await tickets()
    assert.ok(rows.length > 0)
    for (const row of rows)
      for (const value of Object.values(row).map((held) =>
        held instanceof Uint8Array ? held : String(held),
      ))
        assert.ok(!Buffer.from(value).includes(ticket))
    clock.forward(31_000_000)
    assert.ok((await sweepTickets(service.kernel)) > 0)
    assert.deepEqual(await tickets(), [])
  })
})
