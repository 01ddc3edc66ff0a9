// The client in a real browser: operations, broken connections, streams and verification behave as
// they do in Node. Pages are of the origin that they call; cors.test.ts has those of others.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { Custos } from '@custos/client'
import type { Browser } from 'playwright-core'
import { startTestService, type TestService } from '../../packages/server/src/testing/harness.ts'
import { bundleForPage, launchBrowser } from './testing/browser.ts'
import { startProxy } from './testing/proxy.ts'

const ROUNDS = 30

/** Functions of the page; each returns what JSON can say. */
const PROGRAM = `
import * as client from '@custos/client'
import { verify } from '@custos/client/verify'

const told = (error) => ({
  name: error?.name,
  code: error?.code,
  text: String(error),
  is: Object.keys(client).filter((name) =>
    /Error$/.test(name) && error instanceof client[name]).sort(),
})
const outcome = (promise) => Promise.resolve(promise).then(() => null, told)
const collect = async (source) => {
  const found = []
  for await (const one of source) found.push(one)
  return found
}

globalThis.suite = {
  async write(options, contents) {
    const custos = new client.Custos(options)
    const written = await Promise.all(contents.map((content) =>
      custos.memory.write('default', { content })))
    return written.map(({ ref }) => ref)
  },

  async follow(options, count) {
    const custos = new client.Custos(options)
    const stop = new AbortController()
    const reason = new Error('enough')
    const seqs = []
    try {
      for await (const { id, event } of
        custos.streams.events({ from: 'start', signal: stop.signal })) {
        if (event === 'memory.written') seqs.push(Number(id.split('.')[1]))
        if (seqs.length === count) stop.abort(reason)
      }
    } catch (error) {
      return { seqs, stopped: error === reason }
    }
  },

  async sources(options) {
    const custos = new client.Custos(options)
    async function* lines() {
      for (let i = 0; i < 3; i += 1) yield { content: 'line ' + i }
    }
    function* many() {
      for (let i = 0; i < 9; i += 1) yield { content: String(i).repeat(1_000_000) }
    }
    const bytes = () => new Blob(['{"content":"from a file"}\\n']).stream()
    const counts = []
    for (const source of [lines(), bytes(), [{ content: 'of a list' }], '{"content":"text"}\\n'])
      counts.push((await custos.memory.import('default', source)).imported)
    const exported = await collect(custos.memory.export('default'))
    return { counts, exported: exported.length, many: await outcome(
      custos.memory.import('default', many())) }
  },

  async fail(options) {
    const custos = new client.Custos(options)
    const wrong = new client.Custos({ ...options, apiKey: 'no-such-key' })
    const reason = new Error('enough')
    const stop = new AbortController()
    const aborted = custos.memory.stats('default', { signal: stop.signal })
    stop.abort(reason)
    return {
      missing: await outcome(custos.memory.stats('absent')),
      invalid: await outcome(custos.memory.write('default', { content: 1 })),
      wrong: await outcome(wrong.memory.stats('default')),
      nobody: await outcome(new client.Custos({ url: 'http://127.0.0.1:9', retries: 0 })
        .memory.listStores()),
      reason: await aborted.then(() => false, (error) => error === reason),
    }
  },

  late: (url) => outcome(new client.Custos({ url, retries: 0 })
    .memory.stats('default', { timeoutMs: 50 })),

  async prove(options, keys, ref) {
    const custos = new client.Custos({ ...options, verify: { keys } })
    const certificate = await custos.memory.delete('default', { ref })
    const found = await custos.erasure.get(certificate.erasure_certificate_id)
    const altered = { ...found, fact_ref: found.fact_ref + 1 }
    const verdicts = [await verify(found, { keys }), await verify(altered, { keys })]
    return verdicts.map(({ valid }) => valid)
  },

  async beside(options, session) {
    document.cookie = session
    return (await new client.Custos(options).memory.stats('default')).store_id
  },

  read: (options, keys, id) =>
    outcome(new client.Custos({ ...options, verify: { keys } }).erasure.get(id)),
}`

let browser: Browser | null
let service: TestService
let script: string

before(async () => {
  service = await startTestService()
  browser = await launchBrowser()
  script = await bundleForPage(PROGRAM)
})
after(async () => {
  await browser?.close()
  await service?.stop()
})

interface ShownError {
  readonly name: string
  readonly code?: string
  readonly text: string
  /** Names of the classes that it is an instance of. */
  readonly is: readonly string[]
}

interface ImportCounts {
  readonly counts: readonly number[]
  readonly exported: number
  readonly many: ShownError
}

type Failures = Readonly<Record<'missing' | 'invalid' | 'wrong' | 'nobody', ShownError>> & {
  readonly reason: boolean
}

/** What a function of the program returns on a page of this origin. */
async function onPage<T>(origin: string, name: string, ...args: readonly unknown[]): Promise<T> {
  assert.ok(browser)
  const page = await browser.newPage()
  try {
    await page.route(`${origin}/page`, (route) =>
      route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>client</title>' }),
    )
    await page.goto(`${origin}/page`)
    await page.addScriptTag({ content: script })
    const given = args.map((value) => JSON.stringify(value)).join()
    return await page.evaluate(`suite[${JSON.stringify(name)}](${given})`)
  } finally {
    await page.close()
  }
}

async function newKey(): Promise<string> {
  return (await service.createTenant('in a browser')).api_key
}

/** A test that needs a browser. Continuous integration has one: there its absence is a failure. */
function inBrowser(title: string, run: () => Promise<void>): void {
  test(title, async (t) => {
    if (browser) return run()
    return t.diagnostic('no Chromium on this machine: the client did not run in a browser')
  })
}

describe('in a browser', () => {
  inBrowser('a write whose connection breaks before or after the commit exists once', async () => {
    const apiKey = await newKey()
    const proxy = await startProxy(() => service.url, { breaks: everyOther() })
    const contents = Array.from({ length: ROUNDS }, (_, i) => `round ${i}`)
    try {
      const refs = await onPage<number[]>(proxy.url, 'write', { url: proxy.url, apiKey }, contents)
      assert.equal(new Set(refs).size, ROUNDS)
    } finally {
      await proxy.stop()
    }
    const stored: string[] = []
    const direct = new Custos({ url: service.url, apiKey })
    for await (const { content } of direct.memory.memories.all('default')) stored.push(content)
    assert.deepEqual(stored.sort(), [...contents].sort())
  })

  inBrowser('events continue after the last frame, and stop with the reason', async () => {
    const apiKey = await newKey()
    const writer = new Custos({ url: service.url, apiKey })
    const written: number[] = []
    for (let i = 0; i < 6; i += 1)
      written.push(Number((await writer.memory.write('default', { content: `${i}` })).log_seq))
    const proxy = await startProxy(() => service.url, {
      cut: (request, sent) =>
        request <= 2 && sent.split('event: memory.written').length > request + 1,
    })
    try {
      const { seqs, stopped } = await onPage<{ seqs: number[]; stopped: boolean }>(
        proxy.url,
        'follow',
        { url: proxy.url, apiKey },
        6,
      )
      assert.deepEqual([seqs, stopped], [written, true])
      assert.equal(proxy.seen.length, 3)
    } finally {
      await proxy.stop()
    }
  })

  inBrowser('imports from iterables, streams and texts; what is too long is told', async () => {
    const options = { url: service.url, apiKey: await newKey() }
    const { counts, exported, many } = await onPage<ImportCounts>(service.url, 'sources', options)
    assert.deepEqual(counts, [3, 1, 1, 1])
    // The first line of an export is its header.
    assert.equal(exported, 7)
    assert.equal(many.name, 'CustosError')
    assert.match(many.text, /cannot stream a body: import at most 8 MiB at a time/)
  })

  inBrowser('errors have their class, name and code in a minified program', async () => {
    const silent = createServer(() => undefined)
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    // A TCP server has an address object, never a path.
    const { port } = silent.address() as AddressInfo
    try {
      const apiKey = await newKey()
      const url = `http://127.0.0.1:${port}`
      const seen = await onPage<Failures>(service.url, 'fail', { url: service.url, apiKey })
      const shown = (name: 'missing' | 'invalid' | 'wrong') => [
        seen[name].name,
        seen[name].code,
        seen[name].is,
      ]
      const refused = (kind: string) => ['ApiError', 'CustosError', kind].sort()
      assert.deepEqual(shown('missing'), [
        ...['NotFoundError', 'store_not_found'],
        refused('NotFoundError'),
      ])
      assert.deepEqual(shown('invalid'), [
        ...['ValidationError', 'validation'],
        refused('ValidationError'),
      ])
      assert.deepEqual(shown('wrong'), [
        ...['AuthenticationError', 'unauthenticated'],
        refused('AuthenticationError'),
      ])
      assert.ok(!JSON.stringify(seen).includes(apiKey))
      assert.match(seen.missing.text, /^NotFoundError: memory\.stats: 404 store_not_found/)
      assert.equal((await onPage<ShownError>(url, 'late', url)).name, 'TimeoutError')
      assert.equal(seen.nobody.name, 'ConnectionError')
      assert.equal(seen.reason, true)
    } finally {
      silent.closeAllConnections()
      silent.close()
    }
  })

  inBrowser('a key works on a page of a person who is signed in to the console', async () => {
    const options = { url: service.url, apiKey: await newKey() }
    const session = `custos_session=${'x'.repeat(43)}`
    assert.equal(await onPage(service.url, 'beside', options, session), 'default')
  })

  inBrowser('a certificate verifies, and an altered one is not returned', async () => {
    const apiKey = await newKey()
    const direct = new Custos({ url: service.url, apiKey })
    const { keys } = await direct.gcrumbs.publicKey()
    const { ref } = await direct.memory.write('default', { content: 'Ines lives in Faro' })
    const options = { url: service.url, apiKey }
    assert.deepEqual(await onPage(service.url, 'prove', options, keys, ref), [true, false])

    const other = await direct.memory.write('default', { content: 'Rui lives in Braga' })
    const issued = await direct.erasure.issue({ fact_ref: other.ref })
    const proxy = await startProxy(() => service.url, {
      alter: (text) => text.replace(`"fact_ref":${other.ref}`, `"fact_ref":${other.ref + 1}`),
    })
    try {
      const given = [{ url: proxy.url, apiKey }, keys, issued.certificate_id] as const
      const refused = await onPage<ShownError>(proxy.url, 'read', ...given)
      assert.equal(refused.name, 'ProofError')
    } finally {
      await proxy.stop()
    }
  })
})

/** Breaks the first attempt of each write, before and after its commit by turns. */
function everyOther() {
  let count = 0
  const seen = new Set<string>()
  return (key: string): 'before' | 'after' | undefined => {
    if (key === '' || seen.has(key)) return undefined
    seen.add(key)
    count += 1
    return count % 2 === 0 ? 'before' : 'after'
  }
}
