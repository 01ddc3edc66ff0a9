// What the client verifies: altered answers, other keys and another history are errors.

import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Custos } from '@custos/client'
import { ProofError, verify } from '@custos/client/verify'
import { startTestService, type TestService } from '../../packages/server/src/testing/harness.ts'
import { startProxy } from './testing/proxy.ts'

let service: TestService
let apiKey: string

before(async () => {
  service = await startTestService()
  apiKey = (await service.createTenant('verified')).api_key
})

after(() => service.stop())

/** Storage as `localStorage` is. */
function memoryStorage(kept = new Map<string, string>()) {
  return {
    kept,
    get: (name: string) => kept.get(name),
    set: (name: string, value: string) => void kept.set(name, value),
  }
}

const isProofError = (error: unknown): boolean =>
  error instanceof ProofError && error.verdict.valid === false && error.message.length > 20

test('a certificate with one altered field is not returned, an unaltered one is', async () => {
  const direct = new Custos({ url: service.url, apiKey })
  const { keys } = await direct.gcrumbs.publicKey()
  const { ref } = await direct.memory.write('default', { content: 'Ines lives in Faro' })
  const issued = await direct.erasure.issue({ fact_ref: ref })
  const alterations: [string, string][] = [
    ['"outcome":"erased"', '"outcome":"nothing_found"'],
    [`"certificate_id":"${issued.certificate_id}"`, `"certificate_id":"${'0'.repeat(32)}"`],
    [`"fact_ref":${ref}`, `"fact_ref":${ref + 1}`],
    [`"log_seq":${issued.log_seq}`, `"log_seq":${Number(issued.log_seq) + 1}`],
  ]
  let change: [string, string] | undefined
  let changed = 0
  const proxy = await startProxy(() => service.url, {
    alter: (text) => {
      const altered = change ? text.replace(...change) : text
      changed += altered === text ? 0 : 1
      return altered
    },
  })
  try {
    const custos = new Custos({ url: proxy.url, apiKey, verify: { keys } })
    const found = await custos.erasure.get(issued.certificate_id)
    assert.equal(found.certificate_id, issued.certificate_id)
    assert.equal((await verify(found, { keys })).valid, true)
    for (const alteration of alterations) {
      change = alteration
      await assert.rejects(custos.erasure.get(issued.certificate_id), isProofError, alteration[0])
    }
    assert.equal(changed, alterations.length)
    // Without pinned keys nothing is verified, so that the test above shows the verification.
    await new Custos({ url: proxy.url, apiKey }).erasure.get(issued.certificate_id)
  } finally {
    await proxy.stop()
  }
})

test('a checkpoint is verified with `on: all` only; keys may come from a function', async () => {
  const direct = new Custos({ url: service.url, apiKey })
  const published = await direct.gcrumbs.publicKey()
  await direct.memory.write('default', { content: 'the ferry is blue' })
  const epoch = await direct.gcrumbs.roll({})
  const size = `"tree_size":${epoch.tree_size}`
  const proxy = await startProxy(() => service.url, {
    alter: (text) => text.replace(size, `"tree_size":${epoch.tree_size + 1}`),
  })
  const open = (on: 'all' | 'certificates') =>
    new Custos({ url: proxy.url, apiKey, verify: { keys: async () => published, on } })
  try {
    const shown = await open('certificates').gcrumbs.epoch(epoch.epoch_number)
    assert.equal(shown.tree_size, epoch.tree_size + 1)
    await assert.rejects(open('all').gcrumbs.epoch(epoch.epoch_number), isProofError)
  } finally {
    await proxy.stop()
  }
})

test('keys are trusted as they were at the first use', async () => {
  const custos = new Custos({ url: service.url, apiKey })
  const storage = memoryStorage()
  const first = await custos.trustOnFirstUse(storage)
  const { keys } = await custos.gcrumbs.publicKey()
  assert.deepEqual(first, keys)
  // A service that came in between publishes a key of its own.
  const other = await startTestService()
  const proxy = await startProxy(() => other.url)
  try {
    const otherKey = (await other.createTenant('between')).api_key
    const between = new Custos({ url: proxy.url, apiKey: otherKey })
    const renamed = [...storage.kept].map(([name, value]): [string, string] => [
      name.replace(service.url, proxy.url),
      value,
    ])
    const trusted = await between.trustOnFirstUse(memoryStorage(new Map(renamed)))
    assert.deepEqual(trusted, keys)
    const pinned = new Custos({ url: proxy.url, apiKey: otherKey, verify: { keys: trusted } })
    const { ref } = await pinned.memory.write('default', { content: 'to be erased' })
    await assert.rejects(pinned.erasure.issue({ fact_ref: ref }), isProofError)
  } finally {
    await proxy.stop()
    await other.stop()
  }
})

test('a witness follows checkpoints, and throws when the log has another history', async () => {
  const first = await startTestService()
  const data = mkdtempSync(join(tmpdir(), 'custos-fork-'))
  let url = first.url
  const proxy = await startProxy(() => url)
  try {
    const { api_key } = await first.createTenant('watched')
    const custos = new Custos({ url: proxy.url, apiKey: api_key })
    const storage = memoryStorage()
    assert.equal((await custos.witness(storage)).epoch, null)
    await custos.memory.write('default', { content: 'one' })
    await custos.gcrumbs.roll({})
    const begun = await custos.witness(storage)
    assert.equal(begun.previous, null)
    await first.stop({ keep: true })
    cpSync(first.data_dir, data, { recursive: true })

    const second = await startTestService({ data_dir: first.data_dir })
    url = second.url
    await custos.memory.write('default', { content: 'two' })
    await custos.gcrumbs.roll({})
    const grown = await custos.witness(storage)
    assert.equal(grown.previous?.epoch_number, begun.epoch?.epoch_number)
    assert.ok((grown.epoch?.tree_size ?? 0) > (begun.epoch?.tree_size ?? 0))
    assert.equal(grown.verdict?.type, 'consistency')
    assert.equal((await custos.witness(storage)).epoch?.epoch_number, grown.epoch?.epoch_number)
    await second.stop()

    await witnessFork(data, async (forked) => {
      url = forked.url
      const kept = new Map(storage.kept)
      // The kept checkpoint does not exist in the older copy, and then exists with another tree.
      await assert.rejects(custos.witness(storage), ProofError)
      for (const content of ['another', 'history'])
        await custos.memory.write('default', { content })
      await custos.gcrumbs.roll({})
      await assert.rejects(custos.witness(storage), ProofError)
      await custos.memory.write('default', { content: 'goes on' })
      await custos.gcrumbs.roll({})
      await assert.rejects(custos.witness(storage), ProofError)
      assert.deepEqual(storage.kept, kept)
    })
  } finally {
    await proxy.stop()
    rmSync(data, { recursive: true, force: true })
  }
})

async function witnessFork(
  data_dir: string,
  watch: (forked: TestService) => Promise<void>,
): Promise<void> {
  const forked = await startTestService({ data_dir })
  try {
    await watch(forked)
  } finally {
    await forked.stop()
  }
}
