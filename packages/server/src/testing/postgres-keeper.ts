// A process that keeps a PostgreSQL for another: it prints the URL as its first line, and stops and
// removes everything when its standard input ends, however the other process has ended.

import { startCluster } from './postgres-cluster.ts'

const cluster = await startCluster()
console.log(cluster.url)
process.stdin.resume()
process.stdin.on('end', async () => {
  await cluster.stop()
  process.exit(0)
})
