// Cases on checkpoints, in the keyring and in the ledger copy.

import assert from 'node:assert/strict'
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Keyring, StoredCheckpoint } from '../keyring.ts'
import type { KeyringCase } from './keyring-suite.ts'
import { linesOf } from './ledger-cases.ts'
import { tempDirectory } from './temp-keyring.ts'

const OTHER_ROOT = 'f'.repeat(64)
const CONFLICT = { code: 'checkpoint_conflict' }

function checkpointAt(tree_size: number, more: Partial<StoredCheckpoint> = {}): StoredCheckpoint {
  return {
    generation: 0,
    epoch_number: tree_size,
    tree_size,
    root_hash: tree_size.toString(16).padStart(64, '0'),
    checkpoint: `custos/test/acme\n${tree_size}\nroot\n\n— signature\n`,
    ...more,
  }
}

const copyIn = (t: TestContext): string => join(tempDirectory(t), 'ledger.ndjson')

const sizesOf = (path: string) => linesOf(path).map((line) => JSON.parse(line).tree_size)

// A row of SQLite has no prototype: spread for comparing.
const lastOf = async ({ checkpoints }: Keyring, tenant_id = 'acme') => ({
  ...(await checkpoints.last(tenant_id)),
})

export const checkpointCases: readonly KeyringCase[] = [
  {
    title: 'the last checkpoint of a tenant only ever moves forward',
    run: async (location) => {
      const keyring = await location.open()
      const { checkpoints } = keyring
      assert.equal(await checkpoints.last('acme'), null)
      const first = checkpointAt(5, { generation: 1 })
      await checkpoints.save('acme', first)
      await checkpoints.save('acme', first)
      const changes = [{ root_hash: OTHER_ROOT }, { tree_size: 4 }, { generation: 0, tree_size: 9 }]
      for (const change of changes)
        await assert.rejects(checkpoints.save('acme', { ...first, ...change }), CONFLICT)
      assert.deepEqual(await lastOf(keyring), first)
      for (const next of [checkpointAt(6, { generation: 1 }), checkpointAt(1, { generation: 2 })]) {
        await checkpoints.save('acme', next)
        assert.deepEqual(await lastOf(keyring), next)
      }
      assert.equal(await checkpoints.last('other'), null)
    },
  },
  {
    title: 'a saved checkpoint is in the copy; the same one again is no new line',
    run: async (location, t) => {
      const ledger_copy = copyIn(t)
      const { checkpoints, instance_id } = await location.open({ ledger_copy })
      for (const size of [3, 3, 5]) await checkpoints.save('acme', checkpointAt(size))
      const { v: _, ...line } = JSON.parse(linesOf(ledger_copy)[0] ?? '')
      assert.deepEqual(line, { instance_id, tenant_id: 'acme', ...checkpointAt(3) })
      const fork = checkpointAt(5, { root_hash: OTHER_ROOT })
      for (const refused of [fork, checkpointAt(4)])
        await assert.rejects(checkpoints.save('acme', refused), CONFLICT)
      assert.deepEqual(sizesOf(ledger_copy), [3, 5], 'what was refused is in no file')
    },
  },
  {
    title: 'a checkpoint the copy cannot take is not saved',
    run: async (location, t) => {
      const full = await location.open({ ledger_copy: '/dev/full' }).catch(() => null)
      if (!full) return t.diagnostic('no /dev/full here: a full disk was not tried')
      const saving = full.checkpoints.save('acme', checkpointAt(3))
      await assert.rejects(saving, { code: 'ledger_copy_failed' })
      assert.equal(await full.checkpoints.last('acme'), null)
    },
  },
  {
    title: 'an older keyring takes the newest checkpoint of each tenant from the copy',
    run: async (location, t) => {
      const ledger_copy = copyIn(t)
      const first = await location.open({ ledger_copy })
      await first.checkpoints.save('acme', checkpointAt(3))
      await location.close(first)
      const older = await location.copy()
      const newer = await location.open({ ledger_copy })
      const next = checkpointAt(6, { generation: 1 })
      await newer.checkpoints.save('other', checkpointAt(9))
      for (const one of [checkpointAt(8), next]) await newer.checkpoints.save('acme', one)
      await location.close(newer)

      const restored = await older.open({ ledger_copy })
      assert.deepEqual(await lastOf(restored), next)
      assert.deepEqual(await lastOf(restored, 'other'), checkpointAt(9))
      await assert.rejects(restored.checkpoints.save('acme', checkpointAt(9)), CONFLICT)
      assert.equal(linesOf(ledger_copy).length, 4, 'what was read is not written again')
    },
  },
  {
    title: 'another root in the copy for the size the keyring knows comes in',
    run: async (location, t) => {
      const ledger_copy = copyIn(t)
      const first = await location.open({ ledger_copy })
      await first.checkpoints.save('acme', checkpointAt(3))
      await location.close(first)
      const line = JSON.parse(linesOf(ledger_copy)[0] ?? '')
      writeFileSync(ledger_copy, `${JSON.stringify({ ...line, root_hash: OTHER_ROOT })}\n`)
      assert.equal((await lastOf(await location.open({ ledger_copy }))).root_hash, OTHER_ROOT)
    },
  },
  {
    title: 'an empty copy, or one that stops early, gets the newest checkpoints',
    run: async (location, t) => {
      const ledger_copy = copyIn(t)
      const alone = await location.open()
      for (const size of [3, 4]) await alone.checkpoints.save('acme', checkpointAt(size))
      await location.close(alone)
      for (const expected of [[4], [4]]) {
        await location.close(await location.open({ ledger_copy }))
        assert.deepEqual(sizesOf(ledger_copy), expected)
      }
      const later = await location.open()
      await later.checkpoints.save('acme', checkpointAt(7))
      await location.close(later)
      await location.close(await location.open({ ledger_copy }))
      assert.deepEqual(sizesOf(ledger_copy), [4, 7])
      truncateSync(ledger_copy)
      const last = await location.open({ ledger_copy })
      assert.deepEqual(await lastOf(last), checkpointAt(7))
      assert.deepEqual(sizesOf(ledger_copy), [7])
    },
  },
  {
    title: 'a torn checkpoint line is skipped; a damaged one stops the start',
    run: async (location, t) => {
      const ledger_copy = copyIn(t)
      const first = await location.open({ ledger_copy })
      await first.checkpoints.save('acme', checkpointAt(3))
      await location.close(first)
      const whole = readFileSync(ledger_copy, 'utf8')
      const torn = whole + whole.slice(0, -30)
      writeFileSync(ledger_copy, torn)
      const second = await location.open({ ledger_copy })
      assert.equal(readFileSync(ledger_copy, 'utf8'), torn)
      await second.checkpoints.save('acme', checkpointAt(4))
      await location.close(second)
      const third = await location.open({ ledger_copy })
      assert.deepEqual(await lastOf(third), checkpointAt(4))
      await location.close(third)
      for (const [from, to] of [
        ['"tree_size":3', '"tree_size":3.5'],
        ['"root_hash":"', '"root_hash":"x'],
        ['"checkpoint":"', '"checkpoint":1,"x":"'],
      ] as const) {
        assert.ok(whole.includes(from))
        writeFileSync(ledger_copy, whole.replace(from, to))
        await assert.rejects(location.open({ ledger_copy }), { code: 'ledger_copy_damaged' })
      }
    },
  },
  {
    title: 'checkpoints of another keyring in the same copy change nothing',
    run: async (location, t) => {
      const ledger_copy = copyIn(t)
      const other = await location.another()
      await (await other.open({ ledger_copy })).checkpoints.save('acme', checkpointAt(50))
      const keyring = await location.open({ ledger_copy })
      await keyring.checkpoints.save('acme', checkpointAt(3))
      await location.close(keyring)
      assert.deepEqual(await lastOf(await location.open({ ledger_copy })), checkpointAt(3))
    },
  },
]
