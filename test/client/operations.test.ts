// Every operation of the contract through the client, against a running service.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Custos } from '@custos/client'
import type { OperationSpec } from '@custos/contract'
import type { Browser, Page } from 'playwright-core'
import type { TestService } from '../../packages/server/src/testing/harness.ts'
import { casesOf } from '../../packages/server/src/testing/sweep.ts'
import { exampleOf, needsOf } from '../conformance/contract/examples.ts'
import { CONSUMING } from '../conformance/contract/testing/consuming.ts'
import { startContractService } from '../conformance/contract/testing/payments.ts'
import { operations, type Sent } from '../conformance/contract/testing/table.ts'
import { buildWorld, type World } from '../conformance/contract/testing/world.ts'
import { bundleForPage, launchBrowser, runOnWebGlobals } from './testing/browser.ts'

let service: TestService
let shared: World

before(async () => {
  service = await startContractService()
  shared = await buildWorld(service)
})

after(() => service.stop())

const camel = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

/** The arguments of the method, in the order that the client documents. */
function argumentsOf(operation: OperationSpec, { params = {}, query, body, raw, headers }: Sent) {
  const path = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => params[name])
  const sends = operation.body !== undefined || operation.raw_body === true
  const asks = Object.keys(Object(Object(operation.query).properties)).length > 0
  return [
    ...path,
    ...(sends ? [raw ?? body] : []),
    ...(asks ? [query] : []),
    { headers: { ...headers } },
  ]
}

/** Calls a method of a client; returns the data, or what could be read of a stream. */
type Call = (
  options: { readonly url: string; readonly apiKey: string },
  operation: OperationSpec,
  args: readonly unknown[],
) => Promise<unknown>

const namesOf = ({ id }: OperationSpec): [group: string, method: string] => {
  const [group = '', verb = ''] = id.split('.')
  return [camel(group), camel(verb)]
}

/** With a client of this process, made by `open`. */
const callHere =
  (open: (options: { url: string; apiKey: string }) => Custos): Call =>
  async (options, operation, args) => {
    const [group, name] = namesOf(operation)
    const method: unknown = Reflect.get(Object(Reflect.get(open(options), group)), name)
    assert.ok(typeof method === 'function', `${operation.id} has no method`)
    return readResult(method(...args), operation)
  }

async function readResult(result: unknown, operation: OperationSpec): Promise<unknown> {
  if (!isStream(result)) return result
  const read: unknown[] = []
  for await (const item of result) {
    read.push(item)
    if (operation.reply_type === 'text/event-stream') break
  }
  return read
}

const isStream = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value

async function callExample(operation: OperationSpec, call: Call): Promise<void> {
  const consumes = CONSUMING.has(operation.id)
  const own = consumes ? await buildWorld(service, needsOf(operation.id)) : shared
  const { tenant, ids } = own
  const apiKey = operation.access.startsWith('operator') ? service.operator_key : tenant.api_key
  const args = argumentsOf(operation, exampleOf(operation.id, ids))
  const result = await call({ url: service.url, apiKey }, operation, args)
  assert.ok(result !== undefined && result !== null, operation.id)
  if (Array.isArray(result) && operation.reply_type !== undefined)
    assert.ok(result.length > 0, `${operation.id} streamed nothing`)
}

const callInNode = callHere((options) => new Custos(options))

// The others lead a browser elsewhere.
const called = operations.filter(({ status }) => status !== 302)

describe('every operation can be called by its method', () => {
  for (const operation of called) test(operation.id, () => callExample(operation, callInNode))
})

describe('bundled, with web globals alone, operations can be called by their methods', () => {
  let bundled: Call
  before(async () => {
    // The calls above have used up what the first one had.
    shared = await buildWorld(service)
    const program = `import { Custos } from '@custos/client'
      globalThis.newCustos = (options) => new Custos(options)`
    bundled = callHere((await runOnWebGlobals(program))['newCustos'])
  })
  for (const operation of casesOf(called, 24))
    test(operation.id, () => callExample(operation, bundled))
})

/** Calls a method on the page; answers that are files, and what JSON cannot say, are described. */
const PAGE_PROGRAM = `import { Custos } from '@custos/client'
  globalThis.run = async (options, group, method, args, isEvents) => {
    // JSON has made null of what is not given.
    const given = args.map((one) => one ?? undefined)
    const result = new Custos(options)[group][method](...given)
    if (!(Symbol.asyncIterator in result)) {
      const data = await result
      return typeof data?.blob === 'function' ? { file: data.filename } : data
    }
    const read = []
    for await (const item of result) {
      read.push(item)
      if (isEvents) break
    }
    return read
  }`

describe('in a browser, operations can be called by their methods', () => {
  let browser: Browser | null
  let page: Page | undefined
  before(async () => {
    shared = await buildWorld(service)
    browser = await launchBrowser()
    page = await browser?.newPage()
    // A page of the service's origin, so that its calls need no permission of another origin.
    await page?.route(`${service.url}/page`, (route) =>
      route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>client</title>' }),
    )
    await page?.goto(`${service.url}/page`)
    await page?.addScriptTag({ content: await bundleForPage(PAGE_PROGRAM) })
  })
  after(() => browser?.close())

  const onPage: Call = (options, operation, args) => {
    assert.ok(page)
    const isEvents = operation.reply_type === 'text/event-stream'
    const given = [options, ...namesOf(operation), args, isEvents]
    return page.evaluate(`run(${given.map((value) => JSON.stringify(value)).join()})`)
  }
  for (const operation of casesOf(called, 24))
    test(operation.id, async (t) => {
      if (page) return callExample(operation, onPage)
      return t.diagnostic('no Chromium on this machine: the client did not run in a browser')
    })
})
