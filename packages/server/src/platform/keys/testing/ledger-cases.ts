// Cases on the erasure ledger and its copy.

import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { NewLedgerEntry } from '../keyring.ts'
import type { KeyringCase } from './keyring-suite.ts'
import { tempDirectory } from './temp-keyring.ts'

export function erasureOf(subject: string, more: Partial<NewLedgerEntry> = {}): NewLedgerEntry {
  return {
    tenant_id: 'acme',
    subject_kind: 'fact',
    subject,
    store_id: 'default',
    requested_us: 1_700_000_000_000_000,
    plan: { decisions: [1, 2], text: 'Zoë \u0000' },
    ...more,
  }
}

export function linesOf(path: string): string[] {
  return readFileSync(path, 'utf8').split('\n').filter(Boolean)
}

export const ledgerCases: readonly KeyringCase[] = [
  {
    title: 'a subject requested twice, even in one call, has one row: the first',
    run: async (location) => {
      const { ledger } = await location.open()
      const twice = [erasureOf('7'), erasureOf('7', { plan: 'other' })]
      const [first, twin] = await ledger.request(twice)
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
    },
  },
  {
    title: 'a completed row keeps its first certificate and is no longer requested',
    run: async (location) => {
      const { ledger } = await location.open()
      const store = erasureOf('main', { subject_kind: 'store' })
      const entries = [erasureOf('1'), erasureOf('2'), erasureOf('3', { tenant_id: 'b' }), store]
      const ids = (await ledger.request(entries)).map(({ ledger_id }) => ledger_id)
      assert.deepEqual(ids, [1, 2, 3, 4])
      await ledger.complete([
        { ledger_id: 1, certificate: { id: 'c' }, completed_us: 5 },
        { ledger_id: 1, certificate: { id: 'd' }, completed_us: 6 },
        { ledger_id: 4, certificate: null, completed_us: 7 },
      ])
      await ledger.complete([{ ledger_id: 1, certificate: { id: 'd' }, completed_us: 6 }])
      const row = await ledger.find('acme', 'fact', '1')
      assert.deepEqual(
        [row?.state, row?.certificate, row?.completed_us],
        ['completed', { id: 'c' }, 5],
      )
      const subjects = (rows: readonly NewLedgerEntry[]) => rows.map((one) => one.subject)
      assert.deepEqual(subjects(await ledger.listRequested()), ['2', '3'])
      assert.equal(await ledger.countCompleted('acme'), 1, 'a store has no certificate')
      assert.deepEqual(subjects(await ledger.list('acme', { after: 1, limit: 1 })), ['2'])
      const newest = await ledger.listNewest('acme', 'fact', { before: 9, limit: 9 })
      assert.deepEqual(subjects(newest), ['2', '1'])
      const unknown = { ledger_id: 99, certificate: null, completed_us: 1 }
      const both = [{ ledger_id: 2, certificate: 1, completed_us: 1 }, unknown]
      await assert.rejects(ledger.complete(both), { code: 'unknown_ledger_entry' })
      assert.equal(await ledger.countCompleted('acme'), 1)
    },
  },
  {
    title: 'each change is one line of the copy before it is acknowledged',
    run: async (location, t) => {
      const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
      const { ledger, instance_id } = await location.open({ ledger_copy })
      await ledger.request([erasureOf('1'), erasureOf('2')])
      await ledger.request([erasureOf('1')])
      await ledger.complete([{ ledger_id: 2, certificate: 'c', completed_us: 9 }])
      const lines = linesOf(ledger_copy).map((line) => JSON.parse(line))
      assert.deepEqual(
        lines.map(({ subject, state }) => `${subject} ${state}`),
        ['1 requested', '2 requested', '2 completed'],
      )
      assert.ok(lines.every((line) => line.instance_id === instance_id && !('ledger_id' in line)))
    },
  },
  {
    title: 'a copy that cannot be written means nothing was requested',
    run: async (location, t) => {
      const folder = join(tempDirectory(t), 'copies')
      mkdirSync(folder)
      const missing = location.open({ ledger_copy: join(folder, 'no', 'ledger.ndjson') })
      await assert.rejects(missing, { code: 'ledger_copy_failed' })
      const full = await location.open({ ledger_copy: '/dev/full' }).catch(() => null)
      if (!full) return t.diagnostic('no /dev/full here: a full disk was not tried')
      await assert.rejects(full.ledger.request([erasureOf('1')]), { code: 'ledger_copy_failed' })
      assert.equal(await full.ledger.find('acme', 'fact', '1'), null)
    },
  },
  {
    title: 'a keyring restored from before an erasure erases again from the copy',
    run: async (location, t) => {
      const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
      const before = await location.open({ ledger_copy })
      await before.createTenant('acme')
      await before.reserve('acme', 'fact', { at_least: 1, count: 20 })
      await before.reserve('acme', 'decision', { at_least: 1, count: 20 })
      await location.close(before)
      const older = await location.copy()

      const live = await location.open({ ledger_copy })
      const destroys = [
        { kind: 'fact', number: 3 },
        { kind: 'decision', number: 9 },
      ] as const
      await live.ledger.request([erasureOf('3', { destroys }), erasureOf('4')])
      await live.destroySecrets('acme', 'fact', [3, 4])
      await live.destroySecrets('acme', 'decision', [9])
      await live.ledger.complete([{ ledger_id: 1, certificate: { n: 1 }, completed_us: 8 }])
      const checkpoint = {
        ...{ generation: 1, epoch_number: 1, tree_size: 5, root_hash: 'ab'.repeat(32) },
        checkpoint: 'x\n',
      }
      await live.checkpoints.save('acme', checkpoint)
      await location.close(live)

      const again = await older.open({ ledger_copy })
      assert.equal(again.merged_from_copy, 2)
      const facts = await again.secrets('acme', 'fact', [3, 4, 5])
      assert.deepEqual([...facts.values()].map(Boolean), [false, false, true])
      assert.equal((await again.secrets('acme', 'decision', [9])).get(9), null)
      assert.deepEqual((await again.ledger.find('acme', 'fact', '3'))?.certificate, { n: 1 })
      const requested = await again.ledger.listRequested()
      assert.deepEqual(
        requested.map((row) => row.subject),
        ['4'],
      )
      assert.deepEqual({ ...(await again.checkpoints.last('acme')) }, checkpoint)
      await older.close(again)
      assert.equal((await older.open({ ledger_copy })).merged_from_copy, 0)
    },
  },
  {
    title: 'a number the ledger names is never handed out again',
    run: async (location) => {
      const keyring = await location.open()
      await keyring.ledger.request([erasureOf('3'), erasureOf('12'), erasureOf('100')])
      await keyring.createTenant('acme')
      const block = await keyring.reserve('acme', 'fact', { at_least: 1, count: 10 })
      assert.equal(block.first, 13)
      const next = await keyring.reserve('acme', 'fact', { at_least: 1, count: 10 })
      assert.equal(next.first, 23)
    },
  },
  {
    title: 'a row whose secret survived a crash is destroyed at the next open',
    run: async (location) => {
      const keyring = await location.open()
      await keyring.createTenant('acme')
      await keyring.reserve('acme', 'fact', { at_least: 1, count: 4 })
      await keyring.ledger.request([erasureOf('2')])
      assert.ok((await keyring.secrets('acme', 'fact', [2])).get(2))
      await location.close(keyring)
      const again = await location.open()
      assert.equal((await again.secrets('acme', 'fact', [2])).get(2), null)
      assert.equal((await again.ledger.listRequested()).length, 1)
    },
  },
  {
    title: 'a torn last line is ended by the next one; any other unreadable line stops the start',
    run: async (location, t) => {
      const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
      const keyring = await location.open({ ledger_copy })
      await keyring.ledger.request([erasureOf('1')])
      await location.close(keyring)
      const whole = readFileSync(ledger_copy)
      appendFileSync(ledger_copy, whole.subarray(0, 60))
      const torn = await location.open({ ledger_copy })
      assert.equal(torn.merged_from_copy, 0)
      assert.deepEqual(readFileSync(ledger_copy), Buffer.concat([whole, whole.subarray(0, 60)]))
      await torn.ledger.request([erasureOf('2')])
      await location.close(torn)
      const marked = readFileSync(ledger_copy, 'utf8')
      assert.match(linesOf(ledger_copy)[1] ?? '', /^\{"v":2,.*#torn [0-9a-f]{64}$/)

      // A line that only lost its newline still counts.
      writeFileSync(ledger_copy, readFileSync(ledger_copy).subarray(0, -1))
      const unended = await location.open({ ledger_copy })
      assert.equal(unended.merged_from_copy, 0)
      await unended.ledger.request([erasureOf('3')])
      await location.close(unended)
      assert.equal(linesOf(ledger_copy).length, 4)

      const unreadable = `${whole.subarray(0, 60)}\n`
      const changed = marked.replace('{"v":2,"i', '{"v":2,"j').replace('{"v":2,"i', '{"v":2,"j')
      for (const damaged of [`${unreadable}${marked}`, `${marked}${unreadable}`, changed]) {
        writeFileSync(ledger_copy, damaged)
        await assert.rejects(location.open({ ledger_copy }), { code: 'ledger_copy_damaged' })
      }
    },
  },
  {
    title: 'a new copy gets what the ledger holds; another keyring’s lines change nothing',
    run: async (location, t) => {
      const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
      const other = await location.another()
      await (await other.open({ ledger_copy })).ledger.request([erasureOf('5')])
      const keyring = await location.open()
      await keyring.ledger.request([erasureOf('1'), erasureOf('2')])
      await keyring.ledger.complete([{ ledger_id: 1, certificate: 'c', completed_us: 3 }])
      await location.close(keyring)
      const copied = await location.open({ ledger_copy })
      assert.equal(copied.merged_from_copy, 0)
      assert.equal(await copied.ledger.find('acme', 'fact', '5'), null)
      const lines = linesOf(ledger_copy).map((line) => JSON.parse(line))
      assert.deepEqual(
        lines.map(({ subject, state }) => `${subject} ${state}`),
        ['5 requested', '1 completed', '2 requested'],
      )
      await location.close(copied)
      await location.close(await location.open({ ledger_copy }))
      assert.equal(linesOf(ledger_copy).length, 3)
    },
  },
  {
    title: 'two keyrings that append to one copy keep each other’s lines',
    run: async (location, t) => {
      const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
      const one = await location.open({ ledger_copy })
      const two = await (await location.another()).open({ ledger_copy })
      for (const subject of ['1', '2'])
        for (const { ledger } of [one, two]) await ledger.request([erasureOf(subject)])
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
    },
  },
]
