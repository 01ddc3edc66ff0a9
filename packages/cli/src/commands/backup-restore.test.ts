// custos backup and restore: erased memories stay erased, and no log is ever forked.

import assert from 'node:assert/strict'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { searchFiles } from '../demo/story.ts'
import { type CommandResult, runCustos, spawnCustos, tempDirectory } from '../testing/run.ts'
import {
  type LocalService,
  OPERATOR_KEY,
  serveLocally,
  writeSampleData,
} from '../testing/serve-locally.ts'

interface Pair {
  readonly data: string
  readonly keyring: string
}

async function backUp(data_dir: string, run = runCustos): Promise<Pair> {
  const dir = join(tempDirectory(), 'backups')
  const ran = await run(['backup', dir, '--data-dir', data_dir])
  assert.equal(ran.status, 0, ran.stderr)
  const find = (end: string) =>
    join(dir, readdirSync(dir).find((name) => name.endsWith(end)) ?? 'missing')
  return { data: find('.data'), keyring: find('.keyring') }
}

/** A directory with only the master key, as after the loss of a machine. */
function freshDirectory(of: LocalService): string {
  const dir = join(tempDirectory(), 'restored')
  mkdirSync(dir)
  copyFileSync(join(of.data_dir, 'master.key'), join(dir, 'master.key'))
  return dir
}

const restore = (dir: string, ...args: readonly string[]): Promise<CommandResult> =>
  runCustos(['restore', '--data-dir', dir, ...args])

async function assertSound(data_dir: string): Promise<void> {
  const ran = await runCustos(['fsck', '--data-dir', data_dir])
  assert.equal(ran.status, 0, ran.stdout + ran.stderr)
}

/** Root hashes by origin and size. */
type Trees = Map<string, Set<string>>

async function collectTrees({ call }: LocalService, trees: Trees): Promise<void> {
  const { epochs } = await call('GET', '/v1/gcrumbs/epochs?limit=1000')
  for (const { origin, tree_size, root_hash } of epochs) {
    const tree = `${origin} ${tree_size}`
    trees.set(tree, (trees.get(tree) ?? new Set()).add(root_hash))
  }
}

function assertNoFork(trees: Trees): void {
  for (const [tree, roots] of trees) assert.equal(roots.size, 1, `two trees for ${tree}`)
}

const assertErased = async ({ call }: LocalService, ref: number, certificate_id: string) => {
  await assert.rejects(call('GET', `/v1/stores/default/memories/${ref}`), /404/)
  const found = await call('POST', '/v1/stores/default/retrieve', { query: 'Elsa keeps bees' })
  assert.ok(!JSON.stringify(found).includes('Elsa'))
  const stands = await call('GET', `/v1/erasure/fact/${ref}`)
  assert.deepEqual([stands.certificate_id, stands.verified], [certificate_id, true])
}

test('a backup taken while the service writes restores elsewhere, whole and sound', async (t) => {
  const live = await serveLocally(t)
  const before = await writeSampleData(live)
  const acknowledged = new Set<number>()
  const earlierRefs: number[] = []
  let running = true
  const load = async () => {
    for (let i = 0; running; i += 1) {
      const { ref } = await live.call('POST', '/v1/stores/default/write', { content: `note ${i}` })
      acknowledged.add(ref)
      if (i % 10 === 0) await live.call('POST', '/v1/gcrumbs/roll', {})
      if (i % 7 === 0) await live.call('POST', '/v1/erasure/issue', { fact_ref: ref })
      // Written before the backup began, perhaps, and erased while it is made.
      const earlier = earlierRefs.shift()
      if (i % 3 === 0 && earlier !== undefined)
        await live.call('POST', '/v1/erasure/issue', { fact_ref: earlier })
      if (i % 7 !== 0) earlierRefs.push(ref)
    }
  }
  const loads = [load(), load(), load()]
  while (acknowledged.size < 20) await new Promise((resolve) => setTimeout(resolve, 5))
  const expected = [...acknowledged].slice(0, 20)
  const pair = await backUp(live.data_dir, spawnCustos)
  running = false
  await Promise.all(loads)
  for (const file of [pair.data, pair.keyring]) assert.equal(statSync(file).mode & 0o777, 0o600)

  const dir = freshDirectory(live)
  const ran = await restore(dir, '--data', pair.data, '--keyring', pair.keyring)
  assert.equal(ran.status, 0, ran.stderr)
  assert.deepEqual(
    readdirSync(dir).filter((name) => name.startsWith('restore-')),
    [],
  )
  await assertSound(dir)
  const again = await serveLocally(t, { data_dir: dir })
  await assertErased(again, before.erased, before.certificate.certificate_id)
  const { memories } = await again.call('GET', '/v1/stores/default/audit')
  const refs = new Set(memories.map(({ ref }) => ref))
  for (const ref of expected) {
    const erased = await again.call('GET', `/v1/erasure/fact/${ref}`).catch(() => null)
    assert.ok(refs.has(ref) !== (erased !== null), `ref ${ref}`)
  }
  const trees: Trees = new Map()
  await live.call('POST', '/v1/gcrumbs/roll', {})
  await collectTrees(live, trees)
  await again.call('POST', '/v1/stores/default/write', { content: 'after' })
  await again.call('POST', '/v1/gcrumbs/roll', {})
  await collectTrees(again, trees)
  assertNoFork(trees)
})

test('a keyring that is older than the data is refused, and nothing is changed', async (t) => {
  const live = await serveLocally(t)
  await writeSampleData(live)
  const older = await backUp(live.data_dir)
  const items = Array.from({ length: 100 }, (_, i) => ({ content: `written since, ${i}` }))
  await live.call('POST', '/v1/stores/default/write_batch', { items })
  const newer = await backUp(live.data_dir)
  const dir = freshDirectory(live)
  const ran = await restore(dir, '--data', newer.data, '--keyring', older.keyring)
  assert.equal(ran.status, 1)
  assert.match(ran.stderr, /^custos restore: the keyring is older than the data: [^\n]*\n$/)
  assert.deepEqual(
    readdirSync(dir).filter((name) => !name.startsWith('custos.lock')),
    ['master.key'],
  )
  const right = await restore(dir, '--data', newer.data, '--keyring', newer.keyring)
  assert.equal(right.status, 0, right.stderr)
  await assertSound(dir)
})

test('an old database beside the live keyring: erased stays erased, nothing forks', async (t) => {
  const first = await serveLocally(t)
  const { refs, certificate: earlier } = await writeSampleData(first)
  const pair = await backUp(first.data_dir)
  const [ref = 0] = refs
  const certificate = await first.call('POST', '/v1/erasure/issue', { fact_ref: ref })
  await first.call('POST', '/v1/stores/default/write', { content: 'lost with the disk' })
  await first.call('POST', '/v1/gcrumbs/roll', {})
  const trees: Trees = new Map()
  await collectTrees(first, trees)
  const busy = await spawnCustos([
    ...['restore', '--data-dir', first.data_dir, '--data', pair.data, '--force'],
  ])
  assert.equal(busy.status, 1)
  assert.match(busy.stderr, /^custos restore: [^\n]* in use by another process\n$/)
  await first.stop()

  const taken = await restore(first.data_dir, '--data', pair.data)
  assert.equal(taken.status, 1)
  assert.match(taken.stderr, /^custos restore: [^\n]* holds custos.db: --force [^\n]*\n$/)
  const ran = await restore(first.data_dir, '--data', pair.data, '--force')
  assert.equal(ran.status, 0, ran.stderr)
  assert.match(
    ran.stdout,
    /^local: 1 facts erased again, 1 certificates returned, log continues as generation 1\n/,
  )
  await assertSound(first.data_dir)

  const second = await serveLocally(t, { data_dir: first.data_dir })
  await assert.rejects(second.call('GET', `/v1/stores/default/memories/${ref}`), /404/)
  for (const { certificate_id, signature } of [certificate, earlier]) {
    const shown = await second.call('GET', `/v1/erasure/${certificate_id}`)
    assert.deepEqual([shown.signature, shown.verified], [signature, true])
  }
  const { breadcrumbs } = await second.call('GET', '/v1/gcrumbs/breadcrumbs?limit=1000')
  const restored = breadcrumbs.filter(({ event_type }) => event_type === 'log.restored')
  assert.deepEqual(
    restored.map(({ payload }) => payload.generation),
    [1],
  )
  await second.call('POST', '/v1/stores/default/write', { content: 'a new one' })
  await second.call('POST', '/v1/gcrumbs/roll', {})
  await collectTrees(second, trees)
  assertNoFork(trees)
  assert.equal((await second.call('GET', '/v1/gcrumbs/verify?full=true')).status, 'intact')
})

test('an old backup over newer data keeps the newer ledger and checkpoints', async (t) => {
  const first = await serveLocally(t)
  const { refs } = await writeSampleData(first)
  const pair = await backUp(first.data_dir)
  const [ref = 0] = refs
  const { certificate_id } = await first.call('POST', '/v1/erasure/issue', { fact_ref: ref })
  await first.call('POST', '/v1/gcrumbs/roll', {})
  const trees: Trees = new Map()
  await collectTrees(first, trees)
  await first.stop()
  const ran = await restore(
    first.data_dir,
    ...['--data', pair.data, '--keyring', pair.keyring, '--force'],
  )
  assert.equal(ran.status, 0, ran.stderr)
  assert.match(ran.stdout, /^local: 1 facts erased again/)
  assert.doesNotMatch(ran.stdout, /only the ledger in the backup/)
  await assertSound(first.data_dir)
  const second = await serveLocally(t, { data_dir: first.data_dir })
  await assert.rejects(second.call('GET', `/v1/stores/default/memories/${ref}`), /404/)
  const stands = await second.call('GET', `/v1/erasure/fact/${ref}`)
  assert.equal(stands.certificate_id, certificate_id)
  await second.call('POST', '/v1/gcrumbs/roll', {})
  await collectTrees(second, trees)
  assertNoFork(trees)
})

test('the ledger copy alone erases again after a restore on a new machine', async (t) => {
  const ledger = join(tempDirectory(), 'ledger.ndjson')
  const first = await serveLocally(t, { env: { CUSTOS_LEDGER_COPY: ledger } })
  const { refs } = await writeSampleData(first)
  const pair = await backUp(first.data_dir)
  const [ref = 0] = refs
  const { certificate_id } = await first.call('POST', '/v1/erasure/issue', { fact_ref: ref })
  await first.call('POST', '/v1/gcrumbs/roll', {})
  const trees: Trees = new Map()
  await collectTrees(first, trees)
  const dir = freshDirectory(first)
  await first.stop()

  const files = ['--data', pair.data, '--keyring', pair.keyring]
  for (const more of [[], ['--rehearse', '--scratch', tempDirectory()]]) {
    const mistyped = await restore(dir, ...files, '--ledger-copy', `${ledger}x`, ...more)
    assert.equal(mistyped.status, 1, mistyped.stdout)
    assert.match(mistyped.stderr, /^custos restore: there is no ledger copy at .*ndjsonx, .*\n$/)
    assert.ok(!existsSync(`${ledger}x`))
  }
  const ran = await restore(dir, ...files, '--ledger-copy', ledger)
  assert.equal(ran.status, 0, ran.stderr)
  assert.match(ran.stdout, /^local: 1 facts erased again, 1 certificates returned/)
  await assertSound(dir)
  const second = await serveLocally(t, { data_dir: dir, env: { CUSTOS_LEDGER_COPY: ledger } })
  await assertErased(second, ref, certificate_id)
  await second.call('POST', '/v1/gcrumbs/roll', {})
  await collectTrees(second, trees)
  assertNoFork(trees)
})

test('a backup restored twice makes two logs that never sign under the same origin', async (t) => {
  const first = await serveLocally(t)
  await writeSampleData(first)
  const pair = await backUp(first.data_dir)
  const trees: Trees = new Map()
  await collectTrees(first, trees)
  for (const content of ['in one copy', 'in the other']) {
    const dir = freshDirectory(first)
    const ran = await restore(dir, '--data', pair.data, '--keyring', pair.keyring)
    assert.equal(ran.status, 0, ran.stderr)
    assert.match(ran.stdout, /log continues as generation \d{16}\n/)
    const copy = await serveLocally(t, { data_dir: dir })
    await copy.call('POST', '/v1/stores/default/write', { content })
    await copy.call('POST', '/v1/gcrumbs/roll', {})
    await collectTrees(copy, trees)
    const { status } = await copy.call('GET', '/v1/gcrumbs/verify?full=true')
    assert.equal(status, 'intact')
    await assertSound(dir)
  }
  assertNoFork(trees)
})

test('nothing is signed under another origin: not by a restore, and not by a start', async (t) => {
  const first = await serveLocally(t)
  await writeSampleData(first)
  await first.call('POST', '/v1/gcrumbs/roll', {})
  const pair = await backUp(first.data_dir)
  const dir = freshDirectory(first)
  const given = ['--data', pair.data, '--keyring', pair.keyring]
  const other = await restore(dir, ...given, '--origin', 'harbour.example')
  assert.equal(other.status, 1)
  assert.match(
    other.stderr,
    /signed as custos\/[0-9a-f]{32}: set CUSTOS_ORIGIN, or --origin, to it/,
  )
  assert.equal((await restore(dir, ...given)).status, 0)
  const env = { CUSTOS_ORIGIN: 'harbour.example' }
  await assert.rejects(serveLocally(t, { data_dir: dir, env }), /signed as custos\//)
  await assertSound(dir)
})

test('an origin that is no URL without scheme is refused before anything is signed', async (t) => {
  for (const CUSTOS_ORIGIN of ['https://harbour.example', 'harbour.example/', 'u@harbour.example'])
    await assert.rejects(
      serveLocally(t, { env: { CUSTOS_ORIGIN } }),
      /CUSTOS_ORIGIN must be a URL without its scheme/,
    )
})

test('options of a rehearsal are refused without one', async () => {
  for (const args of [
    ['backup', 'x', '--report', 'report.json'],
    ['restore', '--data', 'x', '--scratch', 'y'],
  ]) {
    const { status, stderr } = await runCustos(args)
    assert.equal(status, 2)
    assert.match(stderr, /--(report needs --verify|scratch needs --rehearse)\n/)
  }
})

test('neither file of a backup contains stored text in clear', async (t) => {
  const live = await serveLocally(t)
  await writeSampleData(live)
  const { data } = await backUp(live.data_dir)
  const { files, hits } = searchFiles(join(data, '..'), ['harbour', 'ferry', 'bees', 'Elsa'])
  assert.deepEqual([files, hits], [2, []])
})

test('files that do not belong together or are not a backup change nothing', async (t) => {
  const [one, other] = [await serveLocally(t), await serveLocally(t)]
  for (const service of [one, other]) await writeSampleData(service)
  const [pair, foreign] = [await backUp(one.data_dir), await backUp(other.data_dir)]
  const dir = freshDirectory(one)
  const refused = async (args: readonly string[], says: RegExp) => {
    const ran = await restore(dir, ...args)
    assert.equal(ran.status, 1, ran.stdout)
    assert.match(ran.stderr, says)
    assert.deepEqual(
      readdirSync(dir).filter((name) => !name.startsWith('custos.lock')),
      ['master.key'],
    )
  }
  await refused(['--data', foreign.data, '--keyring', pair.keyring], /do not belong together/)
  await refused(
    ['--data', pair.data, '--keyring', foreign.keyring],
    /the master key is not the one/,
  )
  await refused(
    ['--data', pair.keyring, '--keyring', pair.keyring],
    /not the data file of a backup/,
  )
  await refused(['--data', pair.data, '--keyring', pair.data], /not a backup of a keyring/)
  await refused(['--data', join(dir, 'none'), '--keyring', pair.keyring], /is missing/)
  await refused(['--data', pair.data], /has no keyring/)
  const keyless = await restore(
    join(tempDirectory(), 'x'),
    '--data',
    pair.data,
    '--keyring',
    pair.keyring,
  )
  assert.match(keyless.stderr, /^custos restore: the master key of the backup is needed: [^\n]*\n$/)
  const unnamed = await restore(dir)
  assert.deepEqual(
    [unnamed.status, unnamed.stderr],
    [2, 'custos restore: --data FILE is missing\n'],
  )
})

test('other files in the data directory are not touched', async (t) => {
  const live = await serveLocally(t)
  await writeSampleData(live)
  const pair = await backUp(live.data_dir)
  await live.stop()
  cpSync(pair.data, join(live.data_dir, 'notes.txt'))
  const ran = await restore(live.data_dir, '--data', pair.data, '--force')
  assert.equal(ran.status, 0, ran.stderr)
  assert.ok(readdirSync(live.data_dir).includes('notes.txt'))
})

const namesOf = (dir: string): string[] => readdirSync(dir).sort()

test('backup --verify restores aside, checks, and leaves only the two files', async (t) => {
  const ledger = join(tempDirectory(), 'ledger.ndjson')
  const live = await serveLocally(t, { env: { CUSTOS_LEDGER_COPY: ledger } })
  const { refs } = await writeSampleData(live)
  const dir = join(tempDirectory(), 'backups')
  const report = join(tempDirectory(), 'report.json')
  const before = readFileSync(ledger, 'utf8')
  const verifying = ['backup', dir, '--data-dir', live.data_dir, '--ledger-copy', ledger]
  const ran = await runCustos([...verifying, '--verify', '--report', report])
  assert.equal(ran.status, 0, ran.stdout + ran.stderr)
  assert.match(
    ran.stdout,
    /\nlocal: 0 facts erased again, .*\n[\s\S]*nothing found\nthe backup restores\n$/,
  )
  const names = namesOf(dir)
  assert.deepEqual(
    names.map((name) => name.split('.').at(-1)),
    ['data', 'keyring'],
  )
  const { sound, tenants } = JSON.parse(readFileSync(report, 'utf8'))
  const [{ counts, findings }] = tenants
  assert.deepEqual([sound, tenants.length, findings], [true, 1, []])
  assert.deepEqual([counts.facts, counts.tombstones, counts.certificates], [3, 1, 1])
  // The rehearsal signs under an origin of its own, which must not reach the service's copy.
  assert.equal(readFileSync(ledger, 'utf8'), before)

  const { certificate_id } = await live.call('POST', '/v1/erasure/issue', { fact_ref: refs[0] })
  const [data = '', keyring = ''] = names.map((name) => join(dir, name))
  const files = ['--data', data, '--keyring', keyring, '--data-dir', live.data_dir]
  const scratch = tempDirectory()
  const rehearsed = await runCustos([
    ...['restore', '--rehearse', '--scratch', scratch, '--ledger-copy', ledger],
    ...files,
  ])
  assert.equal(rehearsed.status, 0, rehearsed.stdout + rehearsed.stderr)
  assert.match(rehearsed.stdout, /^local: 1 facts erased again, 1 certificates returned, /)
  assert.deepEqual(namesOf(scratch), [])
  const stands = await live.call('GET', `/v1/erasure/fact/${refs[0]}`)
  assert.equal(stands.certificate_id, certificate_id)
})

test('a rehearsal of a damaged backup fails and leaves nothing behind', async (t) => {
  const live = await serveLocally(t)
  await writeSampleData(live)
  const pair = await backUp(live.data_dir)
  const scratch = tempDirectory()
  const rehearse = (room = scratch) =>
    runCustos([
      ...['restore', '--rehearse', '--data', pair.data, '--keyring', pair.keyring],
      ...['--scratch', room, '--data-dir', live.data_dir],
    ])
  const absent = join(scratch, 'absent')
  const misspelled = await rehearse(absent)
  assert.match(misspelled.stderr, /^custos restore: \S+absent is no directory[^\n]*\n$/)
  assert.ok(!existsSync(absent))
  const whole = readFileSync(pair.data)
  const database = new DatabaseSync(pair.data)
  database.exec('delete from facts where ref = (select min(ref) from facts)')
  database.close()
  const lost = await rehearse()
  assert.equal(lost.status, 1, lost.stdout + lost.stderr)
  assert.match(
    lost.stdout,
    /\n\d+ findings\nthe backup restores, and what is restored is unsound\n$/,
  )
  assert.deepEqual(namesOf(scratch), [])

  writeFileSync(pair.data, whole.subarray(0, whole.length / 2))
  const cut = await rehearse()
  assert.equal(cut.status, 1, cut.stdout + cut.stderr)
  assert.match(cut.stderr, /^custos restore: [^\n]*\n$/)
  assert.deepEqual(namesOf(scratch), [])
  const unnamed = await runCustos(['restore', '--rehearse', '--data', pair.data])
  assert.deepEqual(
    [unnamed.status, unnamed.stderr],
    [2, 'custos restore: --rehearse needs --keyring FILE\n'],
  )
})

test('a rehearsal checks the log of an off-boarded tenant too', async (t) => {
  const live = await serveLocally(t)
  const made = await live.call('POST', '/v1/cloud/tenants', { name: 'one' }, OPERATOR_KEY)
  const destroy = `/v1/admin/tenants/${made.tenant_id}/destroy-key`
  await live.call('POST', destroy, { confirm: `destroy ${made.tenant_id}` }, OPERATOR_KEY)
  const { data, keyring } = await backUp(live.data_dir)
  const database = new DatabaseSync(data)
  const forge = `update breadcrumbs set record = replace(record, '"20', '"19') where tenant_id = ?`
  database.prepare(forge).run(made.tenant_id)
  database.close()
  const ran = await restore(live.data_dir, '--rehearse', '--data', data, '--keyring', keyring)
  assert.equal(ran.status, 1, ran.stdout + ran.stderr)
  assert.match(ran.stdout, new RegExp(`^${made.tenant_id}: log entry \\d+: `, 'm'))
})

test('a backup where no directory can be made is refused and ends', async (t) => {
  const { data_dir } = await serveLocally(t)
  const ran = await spawnCustos(['backup', '/proc/custos/backup', '--data-dir', data_dir])
  assert.equal(ran.status, 1)
  assert.match(ran.stderr, /^custos backup: [^\n]*\/proc\/custos[^\n]*\n$/)
})
