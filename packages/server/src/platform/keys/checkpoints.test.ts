// Each tenant's newest checkpoint, in the keyring and in the copy a restored keyring learns from.

import assert from 'node:assert/strict'
import { cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Keyring, StoredCheckpoint } from './keyring.ts'
import { openKeyring, tempDirectory } from './testing/temp-keyring.ts'

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

const OTHER_ROOT = 'f'.repeat(64)

function place(t: TestContext) {
  const dir = join(tempDirectory(t), 'keyring')
  const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
  return { dir, ledger_copy, open: () => openKeyring(t, { dir, ledger_copy }) }
}

async function saveAndClose(keyring: Keyring, ...checkpoints: StoredCheckpoint[]): Promise<void> {
  for (const one of checkpoints) await keyring.checkpoints.save('acme', one)
  keyring.close()
}

function linesOf(path: string): Record<string, unknown>[] {
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean)
  return lines.map((line) => JSON.parse(line))
}

// A row has no prototype: spread for comparing.
const lastOf = async ({ checkpoints }: Keyring, tenant_id = 'acme') => ({
  ...(await checkpoints.last(tenant_id)),
})

const sizesOf = (path: string) => linesOf(path).map((line) => line['tree_size'])

test('a saved checkpoint is in the copy; the same one again is no new line', async (t) => {
  const { ledger_copy, open } = place(t)
  const keyring = await open()
  await keyring.checkpoints.save('acme', checkpointAt(3))
  await keyring.checkpoints.save('acme', checkpointAt(3))
  const { v: _, instance_id, ...line } = linesOf(ledger_copy)[0] ?? {}
  assert.equal(instance_id, keyring.instance_id)
  assert.deepEqual(line, { tenant_id: 'acme', ...checkpointAt(3) })
  await keyring.checkpoints.save('acme', checkpointAt(5))
  assert.deepEqual(sizesOf(ledger_copy), [3, 5])
  const fork = checkpointAt(5, { root_hash: OTHER_ROOT })
  await assert.rejects(keyring.checkpoints.save('acme', fork), { code: 'checkpoint_conflict' })
  await assert.rejects(keyring.checkpoints.save('acme', checkpointAt(4)), {
    code: 'checkpoint_conflict',
  })
  assert.deepEqual(sizesOf(ledger_copy), [3, 5], 'what was refused is in no file')
})

test('a checkpoint the copy cannot take is not saved', async (t) => {
  const dir = tempDirectory(t)
  const full = await openKeyring(t, { dir, ledger_copy: '/dev/full' }).catch(() => null)
  if (!full) return t.diagnostic('no /dev/full here: a full disk was not tried')
  const saving = full.checkpoints.save('acme', checkpointAt(3))
  await assert.rejects(saving, { code: 'ledger_copy_failed' })
  assert.equal(await full.checkpoints.last('acme'), null)
})

test('an older keyring takes the newest checkpoint of each tenant from the copy', async (t) => {
  const { dir, ledger_copy, open } = place(t)
  await saveAndClose(await open(), checkpointAt(3))
  const old = join(tempDirectory(t), 'old')
  cpSync(dir, old, { recursive: true })
  const newer = await open()
  await newer.checkpoints.save('other', checkpointAt(9))
  const next = checkpointAt(6, { generation: 1 })
  await saveAndClose(newer, checkpointAt(8), next)
  rmSync(dir, { recursive: true })
  cpSync(old, dir, { recursive: true })

  const restored = await open()
  assert.deepEqual(await lastOf(restored), next)
  assert.deepEqual(await lastOf(restored, 'other'), checkpointAt(9))
  await assert.rejects(restored.checkpoints.save('acme', checkpointAt(9)), {
    code: 'checkpoint_conflict',
  })
  assert.equal(linesOf(ledger_copy).length, 4, 'what was read is not written again')
})

test('another root in the copy for the size the keyring knows comes in', async (t) => {
  const { ledger_copy, open } = place(t)
  await saveAndClose(await open(), checkpointAt(3))
  const [line] = linesOf(ledger_copy)
  writeFileSync(ledger_copy, `${JSON.stringify({ ...line, root_hash: OTHER_ROOT })}\n`)
  const again = await open()
  assert.equal((await lastOf(again)).root_hash, OTHER_ROOT)
})

test('an empty copy, or one that stops early, gets the newest checkpoints', async (t) => {
  const { dir, ledger_copy, open } = place(t)
  const alone = await openKeyring(t, { dir })
  await saveAndClose(alone, checkpointAt(3), checkpointAt(4))
  await saveAndClose(await open())
  assert.deepEqual(sizesOf(ledger_copy), [4])
  await saveAndClose(await open())
  assert.deepEqual(sizesOf(ledger_copy), [4])
  await saveAndClose(await openKeyring(t, { dir }), checkpointAt(7))
  await saveAndClose(await open())
  assert.deepEqual(sizesOf(ledger_copy), [4, 7])
  truncateSync(ledger_copy)
  const last = await open()
  assert.deepEqual(await lastOf(last), checkpointAt(7))
  assert.deepEqual(sizesOf(ledger_copy), [7])
})

test('a torn checkpoint line is passed over; a damaged one stops the start', async (t) => {
  const { ledger_copy, open } = place(t)
  await saveAndClose(await open(), checkpointAt(3))
  const whole = readFileSync(ledger_copy, 'utf8')
  const torn = whole + whole.slice(0, -30)
  writeFileSync(ledger_copy, torn)
  await saveAndClose(await open())
  assert.equal(readFileSync(ledger_copy, 'utf8'), torn)
  await saveAndClose(await open(), checkpointAt(4))
  const again = await open()
  assert.deepEqual(await lastOf(again), checkpointAt(4))
  again.close()
  for (const [from, to] of [
    ['"tree_size":3', '"tree_size":3.5'],
    ['"root_hash":"', '"root_hash":"x'],
    ['"checkpoint":"', '"checkpoint":1,"x":"'],
  ] as const) {
    assert.ok(whole.includes(from))
    writeFileSync(ledger_copy, whole.replace(from, to))
    await assert.rejects(open(), { code: 'ledger_copy_damaged' })
  }
})

test('checkpoints of another keyring in the same copy change nothing', async (t) => {
  const { ledger_copy, open } = place(t)
  const foreign = await openKeyring(t, { dir: tempDirectory(t), ledger_copy })
  await saveAndClose(foreign, checkpointAt(50))
  await saveAndClose(await open(), checkpointAt(3))
  const again = await open()
  assert.deepEqual(await lastOf(again), checkpointAt(3))
})
