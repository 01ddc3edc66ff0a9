// The quick start of the client's README runs as written, with another address and key.

import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Custos } from '@custos/client'
import { startTestService } from '../../packages/server/src/testing/harness.ts'

const PACKAGE = join(import.meta.dirname, '../../packages/client')

test('the quick start remembers, corrects and forgets', async () => {
  const service = await startTestService()
  const folder = mkdtempSync(join(tmpdir(), 'custos-quick-start-'))
  try {
    const { api_key } = await service.createTenant('quick')
    const readme = readFileSync(join(PACKAGE, 'README.md'), 'utf8')
    const [, code = ''] = /```ts\n([\s\S]*?)```/.exec(readme) ?? []
    const face = pathToFileURL(join(PACKAGE, 'src/index.ts')).href
    const file = join(folder, 'quick-start.ts')
    const run = code
      .replace('@custos/client', face)
      .replace('http://127.0.0.1:8420', service.url)
      .replace('your key', api_key)
    assert.ok(run.includes(face) && run.includes(service.url) && run.includes(api_key))
    writeFileSync(file, run)
    await import(pathToFileURL(file).href)
    const custos = new Custos({ url: service.url, apiKey: api_key })
    const { memories } = await custos.memory.memories('default', { namespace: 'ana' })
    assert.deepEqual(
      memories.map(({ content }) => content),
      ['Ana moved to Lisbon'],
    )
    assert.equal((await custos.erasure.stats()).erased, 1)
  } finally {
    rmSync(folder, { recursive: true })
    await service.stop()
  }
})

test('a client reads how a memory changed, and that a version was erased', async () => {
  const service = await startTestService()
  try {
    const { api_key } = await service.createTenant()
    const custos = new Custos({ url: service.url, apiKey: api_key })
    const ana = custos.memoryOf({ store: 'default', namespace: 'ana' })
    const { ref } = await ana.remember('Ana lives in Porto')
    const next = await ana.correct(ref, 'Ana lives in Lisbon')
    const { certificate_id } = await custos.erasure.issue({ fact_ref: ref })
    const { versions } = await ana.history(next.ref)
    assert.deepEqual(
      versions.map((one) => [one.ref, one.memory?.content, one.erasure_certificate_id]),
      [
        [ref, undefined, certificate_id],
        [next.ref, 'Ana lives in Lisbon', null],
      ],
    )
    const [first] = (await ana.history(ref, { limit: 1 })).versions
    assert.equal(first?.ref, ref)
  } finally {
    await service.stop()
  }
})
