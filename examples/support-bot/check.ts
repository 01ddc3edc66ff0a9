// Checks the certificates of a folder without the service: `node check.ts certificates`.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { verify } from '@custos/client/verify'

const folder = process.argv[2] ?? 'certificates'
const read = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8'))
const keys = read('keys.json')

for (const name of readdirSync(folder).sort()) {
  if (name === 'keys.json') continue
  const { valid, reason } = await verify(read(name), { keys })
  console.log(`${name}: ${valid ? 'VALID' : `NOT VALID, ${reason}`}`)
  if (!valid) process.exitCode = 1
}
