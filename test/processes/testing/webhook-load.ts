// Entries appended through several processes, and what their endpoints were sent.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import {
  bodyOf,
  poll,
  type Receiver,
  startReceiver,
  writeTestCertificate,
} from '../../../packages/server/src/slices/webhooks/testing/scene.ts'
import { Client, Interrupted } from '../../crash/testing/client.ts'
import type { ServerProcess } from '../../crash/testing/server-process.ts'
import { tempDirectory } from '../../crash/testing/temp-directory.ts'
import { at, type Fleet, openFleet } from './fleet.ts'
import { openTenant } from './mixed-load.ts'

export interface WebhookLoad {
  readonly processes: number
  readonly tenants: number
  readonly endpoints_each: number
  /** Deliveries to all endpoints together. */
  readonly events_per_s: number
  readonly seconds: number
  readonly kills: number
  /** How late a delivery may be while no process dies, for all but the slowest hundredth. */
  readonly late_ms: number
}

const LEASE_MS = 5_000
const SENT_AT_ONCE = 8

interface LoadedTenant {
  readonly key: string
  readonly store_id: string
  /** Those that answer. */
  readonly receivers: readonly Receiver[]
  /** When each delivery came, by receiver and position. */
  readonly came: Map<string, number>
  /** When the entry of each position was acknowledged. */
  readonly appended: Map<number, number>
}

/** Its receivers are on loopback, with a certificate that it trusts. */
export async function spawnDelivering(fleet: Fleet, certificate: string): Promise<ServerProcess> {
  const env = { CUSTOS_EGRESS_ALLOW: '127.0.0.1', NODE_EXTRA_CA_CERTS: certificate }
  return fleet.spawnStepped({ lease_ms: LEASE_MS, env }).listening()
}

/** `silent`: there is one more endpoint, which never answers. */
async function openLoaded(
  t: TestContext,
  server: ServerProcess,
  { endpoints_each, silent }: { endpoints_each: number; silent: boolean },
): Promise<LoadedTenant> {
  const { tenant, store_id } = await openTenant(server)
  const client = new Client(server.url, tenant.api_key)
  const came = new Map<string, number>()
  const receivers: Receiver[] = []
  const listen = async (answer: Receiver['answer']) => {
    const receiver = await startReceiver(t)
    receiver.answer = answer
    const body = { url: receiver.url, events: ['memory.written'] }
    await client.ok('POST', '/v1/webhooks', { body })
    return receiver
  }
  if (silent) await listen(() => undefined)
  for (let i = 0; i < endpoints_each; i += 1)
    receivers.push(
      await listen((delivery) => {
        const key = `${i} ${bodyOf(delivery).seq}`
        if (!came.has(key)) came.set(key, performance.now())
        return 204
      }),
    )
  return { key: tenant.api_key, store_id, receivers, came, appended: new Map() }
}

/** Writes at a steady pace through one process after another; one that is gone is left out. */
async function write(
  servers: readonly ServerProcess[],
  tenant: LoadedTenant,
  { per_s, seconds }: { per_s: number; seconds: number },
): Promise<void> {
  const began = performance.now()
  for (let i = 0; i < per_s * seconds; i += 1) {
    await delay(Math.max(0, began + (i * 1_000) / per_s - performance.now()))
    const client = new Client(at(servers, i % servers.length).url, tenant.key)
    try {
      const body = { content: `entry ${i}` }
      const path = `/v1/stores/${tenant.store_id}/write`
      const { log_seq } = await client.ok('POST', path, { body })
      tenant.appended.set(Number(log_seq), performance.now())
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error
    }
  }
}

export async function deliverFromProcesses(t: TestContext, load: WebhookLoad): Promise<void> {
  const fleet = await openFleet(t)
  const certificate = writeTestCertificate(join(tempDirectory(t), 'receiver.pem'))
  const servers: ServerProcess[] = []
  for (let i = 0; i < load.processes; i += 1)
    servers.push(await spawnDelivering(fleet, certificate))
  const tenants: LoadedTenant[] = []
  for (let i = 0; i < load.tenants; i += 1)
    tenants.push(await openLoaded(t, at(servers, i % servers.length), { ...load, silent: i === 0 }))

  const pace = {
    per_s: load.events_per_s / (load.tenants * load.endpoints_each),
    seconds: load.seconds,
  }
  await Promise.all(tenants.map((tenant) => write(servers, tenant, pace)))
  await Promise.all(tenants.map(untilDelivered))
  const waits = tenants.flatMap(waitsOf).toSorted((a, b) => a - b)
  const p99 = waits[Math.floor(waits.length * 0.99)] ?? 0
  t.diagnostic(`${waits.length} deliveries, p99 ${Math.round(p99)} ms`)
  assert.ok(p99 <= load.late_ms, `p99 is ${p99} ms`)
  assert.equal(duplicatesOf(tenants), 0, 'sent twice although no process died')

  for (let kill = 0; kill < load.kills; kill += 1) {
    const writing = tenants.map((tenant) => write(servers, tenant, { ...pace, seconds: 2 }))
    await delay(1_000)
    await at(servers, kill % servers.length).killed()
    await Promise.all(writing)
    servers.splice(kill % servers.length, 1, await spawnDelivering(fleet, certificate))
  }
  await Promise.all(tenants.map(untilDelivered))
  const twice = duplicatesOf(tenants)
  t.diagnostic(`${twice} came twice after ${load.kills} kills`)
  // What a process had sent and not noted when it died: at most what it had under way.
  const under_way = load.tenants * load.endpoints_each * SENT_AT_ONCE
  assert.ok(twice <= load.kills * under_way, `${twice} came twice`)
}

async function untilDelivered({ receivers, appended, came }: LoadedTenant): Promise<void> {
  const missing = () =>
    [...appended.keys()].flatMap((seq) =>
      receivers.map((_, i) => `${i} ${seq}`).filter((key) => !came.has(key)),
    )
  await poll(() => missing().length === 0, 60_000).catch(() => assert.deepEqual(missing(), []))
}

const waitsOf = ({ receivers, came, appended }: LoadedTenant): number[] =>
  [...appended].flatMap(([seq, at_ms]) =>
    receivers.map((_, i) => Math.max(0, (came.get(`${i} ${seq}`) ?? Infinity) - at_ms)),
  )

/** Deliveries beyond the first, of receivers that answer. */
const duplicatesOf = (tenants: readonly LoadedTenant[]): number =>
  tenants
    .flatMap(({ receivers }) => receivers)
    .reduce((sum, { received }) => {
      const distinct = new Set(received.map(({ headers }) => headers['webhook-id']))
      return sum + received.length - distinct.size
    }, 0)
