// Makes the data of this folder: to be run in a checkout of the commit it is of, see README.md.

import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { record } from './testing/answers.ts'
import { custosOk, type Place, ROOT, Service } from './testing/command-line.ts'
import { COMMIT, dataDirOf, embeddedPlace, type Kept, postgresPlace, save } from './testing/data.ts'
import { fill, fillAfterRotation } from './testing/fill.ts'
import { dropUnusedRows, dropUnusedSlots } from './testing/unused-secrets.ts'

const head = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' })
assert.ok(head.startsWith(COMMIT), `this is not a checkout of ${COMMIT}`)

await inDirectory(async (dir) => {
  const place = embeddedPlace(dir)
  const kept = await make(place, async () => {})
  dropUnusedSlots(dataDirOf(dir))
  await settle(place)
  await save(dir, null, kept)
})

await inDirectory((dir) =>
  onDatabase(async (url) => {
    const place = postgresPlace(dir, url)
    const kept = await make(place, () => custosOk(place, ['key', 'rewrite']))
    await dropUnusedRows(url)
    await settle(place)
    await save(dir, url, kept)
  }),
)

/** Everything a user of the service does, and what is answered afterwards. */
async function make(place: Place, between: () => Promise<unknown>): Promise<Kept> {
  const known = await served(place, fill)
  await custosOk(place, ['key', 'rotate', 'all'])
  await between()
  const recorded = await served(place, async (service) => {
    await fillAfterRotation(service, known)
    return record(service, known)
  })
  return { known, made_at: new Date().toISOString(), recorded }
}

/** The data is sound as it is saved. */
async function settle(place: Place): Promise<void> {
  console.log(await custosOk(place, ['fsck']))
}

/** The service is stopped cleanly afterwards. */
async function served<T>(place: Place, work: (service: Service) => Promise<T>): Promise<T> {
  const service = await Service.start(place)
  try {
    return await work(service)
  } finally {
    await service.stop()
  }
}

async function inDirectory(work: (dir: string) => Promise<void>): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'custos-upgrade-'))
  try {
    await work(dir)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** A PostgreSQL of its own, which the process that keeps it removes at its end. */
async function onDatabase(work: (database_url: string) => Promise<void>): Promise<void> {
  const path = join(ROOT, 'packages/server/src/testing/postgres-keeper.ts')
  const keeper = spawn(process.execPath, [path], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(keeper, 'exit')
  const [url] = await once(createInterface(keeper.stdout), 'line')
  try {
    await work(String(url))
  } finally {
    keeper.stdin.end()
    await ended
  }
}
