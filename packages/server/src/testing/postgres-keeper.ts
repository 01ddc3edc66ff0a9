// Runs a PostgreSQL server for another process: prints the URL as the first line, and removes the
// server when standard input ends, even if the other process crashed. `--durable`: it keeps what it
// commits.

import { createTemplate } from './postgres.ts'
import { startCluster } from './postgres-cluster.ts'

const cluster = await startCluster({ durable: process.argv.includes('--durable') })
await createTemplate(cluster.url)
console.log(cluster.url)
process.stdin.resume()
process.stdin.on('end', async () => {
  await cluster.stop()
  process.exit(0)
})
