// What a tenant's URL can reach: the receiver it names, and nothing inside.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { before, type TestContext, test } from 'node:test'
import { parseTarget } from './addresses.ts'
import { Egress, type HostLookup } from './egress.ts'
import { startDnsServer } from './testing/dns-server.ts'
import { startTlsServer, trustTestCertificate } from './testing/tls-server.ts'

const POST = { method: 'POST', headers: {}, body: '{}' } as const
const PUBLIC = { address: '93.184.215.14', family: 4 }
const LOOPBACK = { address: '127.0.0.1', family: 4 }

const strict = (lookup?: HostLookup) => new Egress({ allow: [], proxy: null, local: false, lookup })
const allowing = (...allow: string[]) => new Egress({ allow, proxy: null, local: false })

/** A listener that nobody may reach, and how many connections it has seen. */
async function startListener(t: TestContext): Promise<{ port: number; connections(): number }> {
  let connections = 0
  const server = createTcpServer((socket) => {
    connections += 1
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, resolve))
  t.after(() => server.close())
  return { port: (server.address() as AddressInfo).port, connections: () => connections }
}

before(() => trustTestCertificate())

/** Each names this machine, a private network or something that is no receiver of webhooks. */
const SPELLINGS = (port: number): readonly string[] => [
  `https://127.0.0.1:${port}/`,
  `https://127.1:${port}/`,
  `https://127.0.1:${port}/`,
  `https://2130706433:${port}/`,
  `https://0x7f000001:${port}/`,
  `https://0x7f.1:${port}/`,
  `https://0177.0.0.1:${port}/`,
  `https://017700000001:${port}/`,
  `https://①②⑦.⓪.⓪.①:${port}/`,
  `https://１２７.０.０.１:${port}/`,
  `https://127。0。0。1:${port}/`,
  `https://%31%32%37.0.0.1:${port}/`,
  `https://127.0.0.1.:${port}/`,
  `https://0:${port}/`,
  `https://0.0.0.0:${port}/`,
  `https://localhost:${port}/`,
  `https://LOCALHOST:${port}/`,
  `https://localhost.:${port}/`,
  `https://[::1]:${port}/`,
  `https://[0:0:0:0:0:0:0:1]:${port}/`,
  `https://[::]:${port}/`,
  `https://[::ffff:127.0.0.1]:${port}/`,
  `https://[::ffff:7f00:1]:${port}/`,
  `https://[::127.0.0.1]:${port}/`,
  `https://[64:ff9b::7f00:1]:${port}/`,
  `https://[2002:7f00:1::]:${port}/`,
  `https://[::ffff:0:7f00:1]:${port}/`,
  `https://[3fff:fff::1]:${port}/`,
  `https://[5f00::1]:${port}/`,
  `https://[fe80::1]:${port}/`,
  `https://[fd00::1]:${port}/`,
  'https://169.254.169.254/latest/meta-data/',
  'https://[fd00:ec2::254]/latest/meta-data/',
  'https://10.0.0.1/',
  'https://172.31.255.255/',
  'https://192.168.1.1/',
  'https://100.64.0.1/',
  'https://198.18.0.1/',
  'https://255.255.255.255/',
  'https://224.0.0.1/',
  `http://127.0.0.1:${port}/`,
  `http://example.com:${port}/`,
  `https://user:secret@127.0.0.1:${port}/`,
  `https://example.com@127.0.0.1:${port}/`,
  `https://127.0.0.1:${port}/#@example.com/`,
  `https://127.0.0.1:${port}\\@example.com/`,
  `https://exa\tmple.com\n@127.0.0.1:${port}/`,
  `ftp://127.0.0.1:${port}/`,
  `file:///etc/passwd`,
  `gopher://127.0.0.1:${port}/_POST`,
  `unix:/var/run/docker.sock`,
  'https://example.com:22/',
  'https://example.com:80/',
  `https://example.com/${'a'.repeat(2_048)}`,
  '//127.0.0.1/',
  '',
]

test('no spelling of an inner address gets a packet to it', async (t) => {
  const { port, connections } = await startListener(t)
  const lookup: HostLookup = async (host) => [host.startsWith('localhost') ? LOOPBACK : PUBLIC]
  const egress = strict(lookup)
  const spellings = SPELLINGS(port)
  assert.ok(spellings.length >= 40)
  for (const url of spellings) {
    assert.equal(await egress.isRefused(url), true, url)
    assert.deepEqual(await egress.send(url, POST), { fault: 'refused_address' }, url)
  }
  assert.equal(connections(), 0)
})

test('in local mode loopback is reachable without TLS, and nothing else inside is', async (t) => {
  const { port, connections } = await startListener(t)
  const egress = new Egress({ allow: ['10.0.0.0/8'], proxy: null, local: true })
  assert.equal(await egress.isRefused(`http://127.0.0.1:${port}/`), false)
  assert.equal(await egress.isRefused(`http://localhost:${port}/`), false)
  for (const url of ['http://10.0.0.1/', 'https://192.168.1.1/', 'http://example.com/'])
    assert.equal(await egress.isRefused(url), true, url)
  // A name that an inner resolver maps to another machine is not this one.
  const elsewhere = new Egress({
    allow: [],
    proxy: null,
    local: true,
    lookup: async () => [PUBLIC],
  })
  assert.deepEqual(await elsewhere.send(`http://localhost:${port}/`, POST), {
    fault: 'refused_address',
  })
  assert.equal(connections(), 0)
})

test('the service itself is refused even where loopback is allowed', async () => {
  const egress = new Egress({ allow: ['127.0.0.0/8', '::1'], proxy: null, local: true })
  egress.listensAt('http://127.0.0.1:8420')
  for (const url of ['http://127.0.0.1:8420/', 'http://localhost:8420/', 'https://[::1]:8420/'])
    assert.equal(await egress.isRefused(url), true, url)
  assert.equal(await egress.isRefused('http://127.0.0.1:8421/'), false)
})

test('a name of this machine is refused although no name server knows it', async () => {
  for (const lookup of [async () => [], () => Promise.reject(new Error('ENOTFOUND'))])
    for (const host of ['localhost', 'localhost.', 'LOCALHOST', 'a.localhost', 'a.localhost.'])
      assert.ok(await strict(lookup).isRefused(`https://${host}/`), host)
  assert.equal(await strict(async () => [PUBLIC]).isRefused('https://notlocalhost.example/'), false)
})

test('a name that resolves to one inner address beside public ones is refused', async () => {
  const egress = strict(async () => [PUBLIC, { address: '::1', family: 6 }])
  assert.equal(await egress.isRefused('https://hooks.example/'), true)
  assert.deepEqual(await egress.send('https://hooks.example/', POST), { fault: 'refused_address' })
})

test('a name that turns private after it was checked is not reached', async (t) => {
  const { port, connections } = await startListener(t)
  let lookups = 0
  const egress = strict(async () => (++lookups === 1 ? [PUBLIC] : [LOOPBACK]))
  const url = `https://rebind.example:${port}/`
  assert.equal(await egress.isRefused(url), false)
  assert.deepEqual(await egress.send(url, POST), { fault: 'refused_address' })
  assert.equal(connections(), 0)
})

test('a real DNS server that changes its answer is asked once for each request', async (t) => {
  const { port, connections } = await startListener(t)
  const dns = await startDnsServer(t, [PUBLIC.address, LOOPBACK.address])
  const egress = strict(dns.lookup)
  const url = `https://rebind.example:${port}/`
  assert.equal(await egress.isRefused(url), false)
  for (const asked of [2, 3]) {
    assert.deepEqual(await egress.send(url, POST), { fault: 'refused_address' })
    assert.equal(dns.asked(), asked)
  }
  assert.equal(connections(), 0)
})

test('a connection goes to the address that was checked, not to a later answer', async (t) => {
  const { port } = await startTlsServer(t, (_, reply) => reply.end())
  let lookups = 0
  const lookup: HostLookup = async () => (++lookups === 1 ? [LOOPBACK] : [PUBLIC])
  const egress = new Egress({ allow: ['127.0.0.1'], proxy: null, local: false, lookup })
  const reply = await egress.send(`https://hooks.test:${port}/`, POST)
  assert.deepEqual(reply, { status: 200, retry_after_s: null })
  assert.equal(lookups, 1)
})

test('a receiver gets the request as it was made, and its answer is only a number', async (t) => {
  const seen: unknown[] = []
  const { port } = await startTlsServer(t, (request, reply) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const { method, url, headers } = request
      seen.push([method, url, headers['host'], headers['x-id'], Buffer.concat(chunks).toString()])
      reply.writeHead(429, { 'retry-after': '7' }).end('secret words of the receiver')
    })
  })
  const body = '{"name":"Zoë"}'
  const reply = await allowing('127.0.0.1').send(`https://127.0.0.1:${port}/a?b=c`, {
    method: 'POST',
    headers: { 'x-id': '1' },
    body,
  })
  assert.deepEqual(reply, { status: 429, retry_after_s: 7 })
  assert.deepEqual(seen, [['POST', '/a?b=c', `127.0.0.1:${port}`, '1', body]])
})

test('a redirect is a failure and is not followed', async (t) => {
  const { port: inner, connections } = await startListener(t)
  const targets = ['https://169.254.169.254/', `https://127.0.0.1:${inner}/`]
  const { port } = await startTlsServer(t, (_, reply) =>
    reply.writeHead(302, { location: targets.pop() ?? '/' }).end(),
  )
  for (let i = 0; i < 2; i += 1) {
    const reply = await allowing('127.0.0.1').send(`https://127.0.0.1:${port}/`, POST)
    assert.deepEqual(reply, { fault: 'redirect' })
  }
  assert.equal(connections(), 0)
})

test('a certificate that does not fit ends it before anything is sent', async (t) => {
  let requests = 0
  const { port } = await startTlsServer(t, (_, reply) => {
    requests += 1
    reply.end()
  })
  const lookup: HostLookup = async () => [LOOPBACK]
  const egress = new Egress({ allow: ['127.0.0.1'], proxy: null, local: false, lookup })
  assert.deepEqual(await egress.send(`https://other.test:${port}/`, POST), { fault: 'tls' })
  const { port: plain } = await startListener(t)
  assert.deepEqual(await egress.send(`https://hooks.test:${plain}/`, POST), { fault: 'tls' })
  assert.equal(requests, 0)
})

test('hosts that are absent, endless or too talkative end in a known fault', async (t) => {
  const lookup: HostLookup = async () => {
    throw Object.assign(new Error('secret.internal'), { code: 'ENOTFOUND' })
  }
  const nowhere = await strict(lookup).send('https://absent.example/', POST)
  assert.deepEqual(nowhere, { fault: 'dns' })
  assert.equal(await strict(lookup).isRefused('https://absent.example/'), false)

  const egress = allowing('127.0.0.1')
  assert.deepEqual(await egress.send('https://127.0.0.1:1/', POST), { fault: 'refused_address' })
  const { port: closed } = await startListener(t)
  const gone = createTcpServer()
  await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve))
  const { port: unused } = gone.address() as AddressInfo
  await new Promise((resolve) => gone.close(resolve))
  assert.deepEqual(await egress.send(`https://127.0.0.1:${unused}/`, POST), { fault: 'connect' })
  assert.ok(closed > 0)

  const heads = await startTlsServer(t, (_, reply) => {
    reply.writeHead(200, { 'x-long': 'a'.repeat(20_000) }).end()
  })
  const long = await egress.send(`https://127.0.0.1:${heads.port}/`, POST)
  assert.deepEqual(long, { fault: 'connect' })

  const endless = await startTlsServer(t, (_, reply) => {
    reply.writeHead(200)
    const timer = setInterval(() => reply.write('x'.repeat(1_024)), 5)
    reply.on('close', () => clearInterval(timer))
  })
  const began = performance.now()
  const bounded = await egress.send(`https://127.0.0.1:${endless.port}/`, POST)
  assert.deepEqual(bounded, { status: 200, retry_after_s: null })
  assert.ok(performance.now() - began < 5_000)
})

test('a receiver that changes the protocol has answered, with the status 101', async (t) => {
  const heads = [
    'Connection: Upgrade\r\nUpgrade: websocket\r\n',
    'Upgrade: h2c\r\nConnection: upgrade\r\n',
    '',
  ]
  for (const head of heads) {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.write(`HTTP/1.1 101 Other\r\n${head}\r\nhello`))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.after(() => server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const egress = new Egress({ allow: [], proxy: null, local: true })
    for (const keep of [{}, { keep_bytes: 64 }]) {
      const reply = await egress.send(url, { ...POST, ...keep, total_ms: 3_000 })
      assert.deepEqual('status' in reply ? reply.status : reply, 101, JSON.stringify(head))
    }
  }
})

test('a receiver that never answers is given up', async (t) => {
  const { port } = await startTlsServer(t, () => {})
  const stopped = new AbortController()
  const sending = allowing('127.0.0.1').send(`https://127.0.0.1:${port}/`, {
    ...POST,
    signal: stopped.signal,
  })
  setTimeout(() => stopped.abort(), 50)
  await assert.rejects(sending, { name: 'AbortError' })
  // Accepts the connection and says nothing: no TLS, no answer.
  const silent = createTcpServer((socket) => socket.on('error', () => {}))
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  t.after(() => silent.close())
  const { port: mute } = silent.address() as AddressInfo
  const began = performance.now()
  const reply = await allowing('127.0.0.1').send(`https://127.0.0.1:${mute}/`, POST)
  assert.deepEqual(reply, { fault: 'timeout' })
  assert.ok(performance.now() - began < 8_000)
})

/** A proxy that answers CONNECT and notes what it was asked for. */
async function startProxy(t: TestContext, status = 200) {
  const asked: (string | undefined)[] = []
  const proxy = createServer()
  proxy.on('connect', (request, socket) => {
    asked.push(request.url)
    if (status !== 200) {
      socket.end(`HTTP/1.1 ${status} No\r\n\r\n`)
      return
    }
    const port = Number(request.url?.split(':').at(-1))
    const onward = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Established\r\n\r\n')
      onward.pipe(socket).pipe(onward)
    })
    onward.on('error', () => socket.destroy())
    socket.on('error', () => onward.destroy())
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  t.after(() => proxy.close())
  return { asked, url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` }
}

test('through a proxy names are not resolved here, TLS ends at the receiver', async (t) => {
  const { port } = await startTlsServer(t, (_, reply) => reply.writeHead(204).end())
  const proxy = await startProxy(t)
  const lookup: HostLookup = () => assert.fail('looked up')
  const egress = new Egress({ allow: [], proxy: proxy.url, local: false, lookup })
  const reply = await egress.send(`https://hooks.test:${port}/x`, POST)
  assert.deepEqual(reply, { status: 204, retry_after_s: null })
  assert.deepEqual(proxy.asked, [`hooks.test:${port}`])
  // An address is checked here, whatever the proxy would do.
  const inner = await egress.send(`https://10.0.0.1:${port}/`, POST)
  assert.deepEqual(inner, { fault: 'refused_address' })
  assert.equal(proxy.asked.length, 1)
})

test('what a proxy refuses is a refused address', async (t) => {
  const { url } = await startProxy(t, 403)
  const egress = new Egress({ allow: [], proxy: url, local: false })
  const reply = await egress.send('https://hooks.test/', POST)
  assert.deepEqual(reply, { fault: 'refused_address' })
})

test('proxies that the environment names are not used', async (t) => {
  const { port } = await startTlsServer(t, (_, reply) => reply.writeHead(204).end())
  const proxy = await startProxy(t)
  const names = ['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'HTTP_PROXY', 'NODE_USE_ENV_PROXY']
  for (const name of names) process.env[name] = name.startsWith('NODE') ? '1' : proxy.url
  t.after(() => {
    for (const name of names) delete process.env[name]
  })
  const reply = await allowing('127.0.0.1').send(`https://127.0.0.1:${port}/`, POST)
  assert.deepEqual(reply, { status: 204, retry_after_s: null })
  assert.deepEqual(proxy.asked, [])
})

test('public receivers of every common form are not refused', () => {
  const urls = [
    'https://hooks.example.com/custos',
    'https://hooks.example.com:8443/a?b=c',
    'https://93.184.215.14/',
    'https://[2606:2800:21f:cb07::1]/',
    'https://bücher.example/',
  ]
  for (const url of urls) assert.ok(parseTarget(url, { http_loopback: false }), url)
})
