// The HTTP ceilings: bare Fastify routes that parse the same body and answer it, or answer what the
// service answered.

import Fastify from 'fastify'

const app = Fastify({ logger: false, bodyLimit: 8 * 1024 * 1024 })
app.post('/echo', (request) => Promise.resolve(request.body))
let answer: unknown = {}
app.put('/answer', (request) => {
  answer = request.body
  return Promise.resolve({})
})
app.post('/answer', () => Promise.resolve(answer))
const url = await app.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`${url}\n`)
process.on('SIGTERM', () => void app.close().then(() => process.exit(0)))
