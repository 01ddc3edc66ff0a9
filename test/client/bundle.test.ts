// The client as a bundler packs it for the web: its size, and calls without Node's modules.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { startTestService, type TestService } from '../../packages/server/src/testing/harness.ts'
import { bundle, bundleForPage, launchBrowser, runOnWebGlobals } from './testing/browser.ts'

let service: TestService

before(async () => {
  service = await startTestService()
})
after(() => service.stop())

/** Bytes, compressed, of what loads before the program runs: not what it may load later. */
async function loadedBytes(contents: string): Promise<number> {
  const { outputFiles, metafile } = await bundle(contents, 'esm')
  const fileOf = (path: string) => outputFiles.find((file) => file.path.endsWith(path))
  const queue = Object.keys(metafile.outputs).filter((path) => path.endsWith('stdin.js'))
  const seen = new Set(queue)
  let bytes = 0
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    const file = fileOf(path)
    assert.ok(file)
    bytes += gzipSync(file.contents, { level: 9 }).length
    for (const imported of metafile.outputs[path]?.imports ?? [])
      if (imported.kind === 'import-statement' && !seen.has(imported.path)) {
        seen.add(imported.path)
        queue.push(imported.path)
      }
  }
  return bytes
}

const LIMITS: readonly [what: string, bytesMax: number, contents: string][] = [
  ['the whole client', 9_936, "import { Custos } from '@custos/client'; globalThis.it = Custos"],
  [
    'one operation',
    3_640,
    `import { call, Client } from '@custos/client/core'
     import { memoryWrite } from '@custos/client/operations'
     globalThis.it = [call, Client, memoryWrite]`,
  ],
  ['verification', 32_768, "export * from '@custos/client/verify'"],
]

for (const [what, bytesMax, contents] of LIMITS)
  test(`${what} loads at most ${bytesMax} bytes, compressed`, async (t) => {
    const bytes = await loadedBytes(contents)
    t.diagnostic(`${bytes} bytes`)
    assert.ok(bytes <= bytesMax, `${bytes} bytes`)
  })

const PROGRAM = `
import { Custos } from '@custos/client'
globalThis.run = async (url, apiKey) => {
  const custos = new Custos({ url, apiKey })
  const { ref } = await custos.memory.write('default', { content: 'Ana lives in Porto' })
  const { memories } = await custos.memory.retrieve('default', { query: 'Porto' })
  const listed = []
  for await (const memory of custos.memory.memories.all('default')) listed.push(memory.ref)
  return JSON.stringify([ref, memories.map(({ content }) => content), listed])
}`

function assertRan(printed: string): void {
  const [ref, found, listed] = JSON.parse(printed)
  assert.deepEqual(found, ['Ana lives in Porto'])
  assert.deepEqual(listed, [ref])
}

test('the bundled client writes, retrieves and lists with web globals alone', async () => {
  const { api_key: key } = await service.createTenant()
  const context = await runOnWebGlobals(PROGRAM)
  assertRan(await context['run'](service.url, key))
})

test('the bundled client writes, retrieves and lists in a browser', async (t) => {
  const browser = await launchBrowser()
  if (!browser)
    return t.diagnostic('no Chromium on this machine: the client did not run in a browser')
  try {
    const { api_key: key } = await service.createTenant()
    const page = await browser.newPage()
    // A page of the service's origin, so that its calls need no permission of another origin.
    await page.route(`${service.url}/page`, (route) =>
      route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>client</title>' }),
    )
    await page.goto(`${service.url}/page`)
    await page.addScriptTag({ content: await bundleForPage(PROGRAM) })
    assertRan(await page.evaluate(`run(${JSON.stringify(service.url)}, ${JSON.stringify(key)})`))
  } finally {
    await browser.close()
  }
})
