// A process that keeps a durable PostgreSQL for the bench: it prints the URL as its first line, and
// stops and removes everything when its standard input ends, however the bench has ended.

import { startCluster } from '../packages/server/src/testing/postgres-cluster.ts'

const cluster = await startCluster({ durable: true })
console.log(cluster.url)
process.stdin.resume()
process.stdin.on('end', async () => {
  await cluster.stop()
  process.exit(0)
})
