// The erasure ledger and its copy: asked once, kept twice, never forgotten by a restore.

import assert from 'node:assert/strict'
import { appendFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { NewLedgerEntry } from './keyring.ts'
import { restoreFileKeyring } from './keyring-backup.ts'
import { countNeedles, openKeyring, tempDirectory } from './testing/temp-keyring.ts'

function erasureOf(subject: string, more: Partial<NewLedgerEntry> = {}): NewLedgerEntry {
  return {
    tenant_id: 'acme',
    subject_kind: 'fact',
    subject,
    store_id: 'default',
    requested_us: 1_700_000_000_000_000,
    plan: { decisions: [1, 2] },
    ...more,
  }
}

function linesOf(path: string): string[] {
  return readFileSync(path, 'utf8').split('\n').filter(Boolean)
}

test('a subject asked for twice, even in one call, has one row: the first', async (t) => {
  const { ledger } = await openKeyring(t, { dir: tempDirectory(t) })
  const [first, twin] = await ledger.request([erasureOf('7'), erasureOf('7', { plan: 'other' })])
  assert.deepEqual(twin, first)
  assert.deepEqual(await ledger.request([erasureOf('7', { plan: null })]), [first])
  assert.deepEqual(first, {
    ...erasureOf('7'),
    ledger_id: 1,
    destroys: [{ kind: 'fact', number: 7 }],
    state: 'requested',
    completed_us: null,
    certificate: null,
    parts: null,
  })
  assert.deepEqual(await ledger.find('acme', 'fact', '7'), first)
  assert.equal(await ledger.find('acme', 'decision', '7'), null)
  assert.equal(await ledger.find('other', 'fact', '7'), null)
})

test('a completed row keeps its first certificate and is no longer requested', async (t) => {
  const { ledger } = await openKeyring(t, { dir: tempDirectory(t) })
  await ledger.request([erasureOf('1'), erasureOf('2'), erasureOf('3', { tenant_id: 'b' })])
  assert.equal(await ledger.countCompleted('acme'), 0)
  await ledger.complete([{ ledger_id: 1, certificate: { id: 'c' }, completed_us: 5 }])
  await ledger.complete([{ ledger_id: 1, certificate: { id: 'd' }, completed_us: 6 }])
  const row = await ledger.find('acme', 'fact', '1')
  assert.deepEqual([row?.state, row?.certificate, row?.completed_us], ['completed', { id: 'c' }, 5])
  assert.deepEqual(
    (await ledger.listRequested()).map((one) => one.subject),
    ['2', '3'],
  )
  assert.equal(await ledger.countCompleted('acme'), 1)
  const page = await ledger.list('acme', { after: 1, limit: 10 })
  assert.deepEqual(
    page.map((one) => one.subject),
    ['2'],
  )
  const unknown = { ledger_id: 99, certificate: null, completed_us: 1 }
  const both = [{ ledger_id: 2, certificate: 1, completed_us: 1 }, unknown]
  await assert.rejects(ledger.complete(both), { code: 'unknown_ledger_entry' })
  assert.equal(await ledger.countCompleted('acme'), 1)
})

test('each change is one line of the copy before it is acknowledged', async (t) => {
  const dir = tempDirectory(t)
  const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
  const { ledger, instance_id } = await openKeyring(t, { dir, ledger_copy })
  await ledger.request([erasureOf('1'), erasureOf('2')])
  await ledger.request([erasureOf('1')])
  await ledger.complete([{ ledger_id: 2, certificate: 'c', completed_us: 9 }])
  const lines = linesOf(ledger_copy).map((line) => JSON.parse(line))
  assert.deepEqual(
    lines.map(({ subject, state }) => [subject, state]),
    [
      ['1', 'requested'],
      ['2', 'requested'],
      ['2', 'completed'],
    ],
  )
  assert.ok(lines.every((line) => line.instance_id === instance_id && !('ledger_id' in line)))
})

test('a copy that cannot be written means nothing was requested', async (t) => {
  const dir = tempDirectory(t)
  const folder = join(tempDirectory(t), 'copies')
  mkdirSync(folder)
  const missing = join(folder, 'no', 'ledger.ndjson')
  await assert.rejects(openKeyring(t, { dir, ledger_copy: missing }), {
    code: 'ledger_copy_failed',
  })
  const full = await openKeyring(t, { dir, ledger_copy: '/dev/full' }).catch(() => null)
  if (!full) return t.diagnostic('no /dev/full here: a full disk was not tried')
  await assert.rejects(full.ledger.request([erasureOf('1')]), { code: 'ledger_copy_failed' })
  assert.equal(await full.ledger.find('acme', 'fact', '1'), null)
})

test('a keyring restored from before an erasure erases again from the copy', async (t) => {
  const [dir, old] = [join(tempDirectory(t), 'keyring'), join(tempDirectory(t), 'old')]
  const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
  const keyring = await openKeyring(t, { dir, ledger_copy })
  await keyring.createTenant('acme')
  const block = await keyring.reserve('acme', 'fact', { at_least: 1, count: 20 })
  const decisions = await keyring.reserve('acme', 'decision', { at_least: 1, count: 20 })
  const needles = [block.secretAt(3), block.secretAt(4), decisions.secretAt(9)]
  await keyring.backupTo(old)
  const destroys = [
    { kind: 'fact', number: 3 },
    { kind: 'decision', number: 9 },
  ] as const
  await keyring.ledger.request([erasureOf('3', { destroys }), erasureOf('4')])
  await keyring.destroySecrets('acme', 'fact', [3, 4])
  await keyring.destroySecrets('acme', 'decision', [9])
  await keyring.ledger.complete([{ ledger_id: 1, certificate: { n: 1 }, completed_us: 8 }])
  keyring.close()

  rmSync(dir, { recursive: true })
  await restoreFileKeyring({ from: old, dir })
  assert.equal(countNeedles(dir, needles), 3)
  const again = await openKeyring(t, { dir, ledger_copy })
  assert.equal(again.merged_from_copy, 2)
  assert.equal(countNeedles(dir, needles), 0)
  assert.deepEqual((await again.ledger.find('acme', 'fact', '3'))?.certificate, { n: 1 })
  assert.deepEqual(
    (await again.ledger.listRequested()).map((row) => row.subject),
    ['4'],
  )
  assert.ok((await again.secrets('acme', 'fact', [5])).get(5))
  again.close()
  assert.equal((await openKeyring(t, { dir, ledger_copy })).merged_from_copy, 0)
})

test('a number the ledger names is never handed out again', async (t) => {
  const dir = tempDirectory(t)
  const keyring = await openKeyring(t, { dir })
  await keyring.ledger.request([erasureOf('3'), erasureOf('12'), erasureOf('100')])
  await keyring.createTenant('acme')
  const block = await keyring.reserve('acme', 'fact', { at_least: 1, count: 10 })
  assert.equal(block.first, 13)
  assert.equal((await keyring.reserve('acme', 'fact', { at_least: 1, count: 10 })).first, 23)
})

test('a row whose secret survived a crash is destroyed at the next open', async (t) => {
  const dir = tempDirectory(t)
  const keyring = await openKeyring(t, { dir })
  await keyring.createTenant('acme')
  const block = await keyring.reserve('acme', 'fact', { at_least: 1, count: 4 })
  const needle = block.secretAt(2)
  await keyring.ledger.request([erasureOf('2')])
  keyring.close()
  assert.equal(countNeedles(dir, [needle]), 1)
  const again = await openKeyring(t, { dir })
  assert.equal(countNeedles(dir, [needle]), 0)
  assert.equal((await again.ledger.listRequested()).length, 1)
})

test('a torn last line is ended by the next; another unreadable one stops the start', async (t) => {
  const dir = tempDirectory(t)
  const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
  const open = () => openKeyring(t, { dir, ledger_copy })
  const keyring = await open()
  await keyring.ledger.request([erasureOf('1')])
  keyring.close()
  const whole = readFileSync(ledger_copy)
  appendFileSync(ledger_copy, whole.subarray(0, 60))
  const torn = await open()
  assert.equal(torn.merged_from_copy, 0)
  assert.deepEqual(readFileSync(ledger_copy), Buffer.concat([whole, whole.subarray(0, 60)]))
  await torn.ledger.request([erasureOf('2')])
  torn.close()
  const marked = readFileSync(ledger_copy, 'utf8')
  assert.match(linesOf(ledger_copy)[1] ?? '', /^\{"v":2,.*#torn [0-9a-f]{64}$/)

  // A line that only lost its newline still counts.
  writeFileSync(ledger_copy, readFileSync(ledger_copy).subarray(0, -1))
  const unended = await open()
  assert.equal(unended.merged_from_copy, 0)
  await unended.ledger.request([erasureOf('3')])
  unended.close()
  assert.equal(linesOf(ledger_copy).length, 4)

  const unreadable = `${whole.subarray(0, 60)}\n`
  const changed = marked.replace('{"v":2,"i', '{"v":2,"j').replace('{"v":2,"i', '{"v":2,"j')
  for (const damaged of [`${unreadable}${marked}`, `${marked}${unreadable}`, changed]) {
    writeFileSync(ledger_copy, damaged)
    await assert.rejects(open(), { code: 'ledger_copy_damaged' })
  }
})

test('a new copy gets what the ledger holds; another keyring’s lines change nothing', async (t) => {
  const [dir, other] = [tempDirectory(t), tempDirectory(t)]
  const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
  const foreign = await openKeyring(t, { dir: other, ledger_copy })
  await foreign.ledger.request([erasureOf('5')])
  foreign.close()
  const keyring = await openKeyring(t, { dir })
  await keyring.ledger.request([erasureOf('1'), erasureOf('2')])
  await keyring.ledger.complete([{ ledger_id: 1, certificate: 'c', completed_us: 3 }])
  keyring.close()
  const copied = await openKeyring(t, { dir, ledger_copy })
  assert.equal(copied.merged_from_copy, 0)
  assert.equal(await copied.ledger.find('acme', 'fact', '5'), null)
  const lines = linesOf(ledger_copy).map((line) => JSON.parse(line))
  assert.deepEqual(
    lines.map(({ subject, state }) => `${subject} ${state}`),
    ['5 requested', '1 completed', '2 requested'],
  )
  copied.close()
  const fresh = join(tempDirectory(t), 'fresh.ndjson')
  cpSync(ledger_copy, fresh)
  await openKeyring(t, { dir, ledger_copy: fresh })
  assert.equal(linesOf(fresh).length, 3)
})

test('two keyrings that append to one copy keep each other’s lines', async (t) => {
  const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
  const one = await openKeyring(t, { dir: tempDirectory(t), ledger_copy })
  const two = await openKeyring(t, { dir: tempDirectory(t), ledger_copy })
  for (const subject of ['1', '2']) {
    await one.ledger.request([erasureOf(subject)])
    await two.ledger.request([erasureOf(subject)])
  }
  const lines = linesOf(ledger_copy).map((line) => JSON.parse(line))
  assert.deepEqual(
    lines.map((line) => [line.instance_id === one.instance_id, line.subject]),
    [
      [true, '1'],
      [false, '1'],
      [true, '2'],
      [false, '2'],
    ],
  )
})
