// The HTTP ceiling: a bare Fastify route that parses the same body and answers it.

import Fastify from 'fastify'

const app = Fastify({ logger: false, bodyLimit: 8 * 1024 * 1024 })
app.post('/echo', (request) => Promise.resolve(request.body))
const url = await app.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`${url}\n`)
process.on('SIGTERM', () => void app.close().then(() => process.exit(0)))
