// npm run bench:streams: the cost of a thousand idle event streams. Prints their memory and the
// processor time of their heartbeats.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { startTestService } from '../../packages/server/src/testing/harness.ts'

const STREAMS = 1_000
/** Streams opened before the first measurement, because the first run of code takes memory too. */
const WARM_UP = 24
const TENANTS = 16
const KEYS_PER_TENANT = 8
/** The idle time, with two heartbeats. */
const IDLE_MS = 32_000

interface ServerCost {
  readonly rss: number
  readonly cpu_us: number
}

interface TestedServer {
  readonly url: string
  readonly keys: readonly string[]
}

if (process.argv[2] === 'serve') await serve()
else await measure()

async function serve(): Promise<void> {
  const service = await startTestService()
  const keys: string[] = []
  for (let tenant = 0; tenant < TENANTS; tenant += 1) {
    const { api_key: key } = await service.createTenant()
    keys.push(key)
    const body = { name: 'reader', class: 'read_only' }
    for (let i = 1; i < KEYS_PER_TENANT; i += 1)
      keys.push((await service.request('POST', '/v1/keys', { key, body })).body.api_key)
  }
  process.on('message', () => {
    globalThis.gc?.()
    const { user, system } = process.cpuUsage()
    process.send?.({ rss: process.memoryUsage.rss(), cpu_us: user + system })
  })
  process.on('disconnect', () => void service.stop().then(() => process.exit()))
  process.send?.({ url: service.url, keys })
}

async function measure(): Promise<void> {
  const execArgv = ['--expose-gc', '--disable-warning=ExperimentalWarning']
  const server = fork(import.meta.filename, ['serve'], { execArgv })
  // Only `serve` sends this message.
  const [served] = (await once(server, 'message')) as [TestedServer]
  const ask = async () => {
    server.send('measure')
    const [measured] = (await once(server, 'message')) as [ServerCost]
    return measured
  }
  await open(served, 0, WARM_UP)
  const before = await ask()
  await open(served, WARM_UP, STREAMS)
  const idle = await ask()
  await delay(IDLE_MS)
  const after = await ask()
  const mb = ((idle.rss - before.rss) / 2 ** 20 / (STREAMS - WARM_UP)) * 1_000
  const share = (after.cpu_us - idle.cpu_us) / 1_000 / IDLE_MS
  console.log(`1,000 idle streams: ${mb.toFixed(1)} MB, ${(share * 100).toFixed(2)} % of a core`)
  server.disconnect()
  process.exit()
}

/** Resolves when each of the streams has sent its first frames. */
async function open({ url, keys }: TestedServer, first: number, end: number): Promise<void> {
  const { hostname, port } = new URL(url)
  const opened = Array.from({ length: end - first }, async (_, i) => {
    const socket = connect(Number(port), hostname)
    const key = keys[(first + i) % keys.length]
    const head = ['GET /v1/events/stream HTTP/1.1', `host: ${hostname}`, `x-api-key: ${key}`]
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    for (let text = ''; !text.includes('event: position'); ) {
      const [chunk] = await once(socket, 'data')
      text += chunk
      if (text.startsWith('HTTP') && !text.startsWith('HTTP/1.1 200'))
        throw new Error(text.slice(0, 200))
    }
  })
  await Promise.all(opened)
}
