// The HTTP ceiling: a bare Fastify route that parses the same body and returns a recorded answer of
// the service, which it serialises to JSON for each request.

import Fastify from 'fastify'

const app = Fastify({ logger: false, bodyLimit: 64 * 1024 * 1024 })
app.addContentTypeParser('application/x-ndjson', { parseAs: 'string' }, (_, body, done) =>
  done(null, body),
)
let answer: unknown = {}
app.put('/answer', (request) => {
  answer = request.body
  return Promise.resolve({})
})
app.get('/answer', () => Promise.resolve(answer))
app.post('/answer', () => Promise.resolve(answer))
const url = await app.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`${url}\n`)
process.on('SIGTERM', () => void app.close().then(() => process.exit(0)))
