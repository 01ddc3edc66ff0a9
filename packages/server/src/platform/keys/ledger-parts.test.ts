// Plans in parts: claimed as a whole or gone, and record secrets renewed without losing a record.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import type { Keyring, LedgerPart, NewLedgerEntry } from './keyring.ts'
import { restoreFileKeyring } from './keyring-backup.ts'
import { sealRenewed } from './renewals.ts'
import { MASTER, openKeyring, tempDirectory } from './testing/temp-keyring.ts'

const PARTS = 'a'.repeat(32)

const claimOf = (parts_id: string, count: number): NewLedgerEntry => ({
  tenant_id: 'acme',
  subject_kind: 'scrub',
  subject: parts_id,
  store_id: null,
  requested_us: 1,
  plan: { kind: 'scrub' },
  parts: { parts_id, count },
})

const partOf = (parts_id: string, part: number, renewals: LedgerPart['renewals'] = []) => ({
  ...{ tenant_id: 'acme', parts_id, part, plan: { documents: [part] }, renewals },
})

/** A keyring with a tenant and its record secrets 1 … 10. */
async function withSecrets(t: TestContext, dir: string, ledger_copy?: string): Promise<Keyring> {
  const keyring = await openKeyring(t, { dir, ...(ledger_copy ? { ledger_copy } : {}) })
  await keyring.createTenant('acme')
  await keyring.reserve('acme', 'decision', { at_least: 1, count: 10 })
  return keyring
}

async function secretsOf(keyring: Keyring, ...numbers: number[]): Promise<(string | null)[]> {
  const held = await keyring.secrets('acme', 'decision', numbers)
  return numbers.map((number) => held.get(number)?.toString('hex') ?? null)
}

async function renewal(keyring: Keyring, number: number, renewed_as: number) {
  const held = await keyring.secrets('acme', 'decision', [number, renewed_as])
  const [old, next] = [held.get(number), held.get(renewed_as)]
  assert.ok(old && next)
  return sealRenewed({ tenant_id: 'acme', number, renewed_as }, old, next)
}

test('an entry claims its parts as a whole, and they are read back as written', async (t) => {
  const { ledger } = await withSecrets(t, tempDirectory(t))
  await ledger.addPart(partOf(PARTS, 0))
  await assert.rejects(ledger.request([claimOf(PARTS, 2)]), { code: 'ledger_parts_missing' })
  assert.equal(await ledger.find('acme', 'scrub', PARTS), null)
  await assert.rejects(ledger.destroyRenewed(PARTS), { code: 'ledger_parts_missing' })
  await ledger.addPart(partOf(PARTS, 1))
  const [entry] = await ledger.request([claimOf(PARTS, 2)])
  assert.deepEqual(entry?.parts, { parts_id: PARTS, count: 2 })
  assert.deepEqual(await ledger.loadPart(PARTS, 1), partOf(PARTS, 1))
  await assert.rejects(ledger.loadPart(PARTS, 2), { code: 'ledger_parts_missing' })
  await ledger.dropParts(PARTS)
  assert.deepEqual(await ledger.loadPart(PARTS, 0), partOf(PARTS, 0), 'claimed parts stay')
})

test('parts nobody claimed are gone at the next start, with the secrets they took', async (t) => {
  const dir = tempDirectory(t)
  const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
  const first = await withSecrets(t, dir, ledger_copy)
  const [kept] = await secretsOf(first, 1)
  await first.ledger.addPart(partOf(PARTS, 0, [await renewal(first, 1, 7)]))
  first.close()
  for (let starts = 0; starts < 2; starts += 1) {
    const again = await openKeyring(t, { dir, ledger_copy })
    await assert.rejects(again.ledger.loadPart(PARTS, 0), { code: 'ledger_parts_missing' })
    assert.deepEqual(await secretsOf(again, 1, 7), [kept, null])
    again.close()
  }
})

test('a start after the claim destroys the old secrets and keeps the new ones', async (t) => {
  const dir = tempDirectory(t)
  const first = await withSecrets(t, dir)
  const [old, next] = await secretsOf(first, 1, 7)
  await first.ledger.addPart(partOf(PARTS, 0, [await renewal(first, 1, 7)]))
  await first.ledger.request([claimOf(PARTS, 1)])
  assert.deepEqual(await secretsOf(first, 1), [old], 'not before it is asked for')
  first.close()
  const again = await openKeyring(t, { dir })
  assert.deepEqual(await secretsOf(again, 1, 7), [null, next])
  assert.ok(!readFileSync(join(dir, 'secrets.slots')).includes(Buffer.from(old ?? '', 'hex')))
})

test('an older keyring gets the renewed secrets from the ledger copy, step by step', async (t) => {
  const [dir, older] = [tempDirectory(t), join(tempDirectory(t), 'older')]
  const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
  const first = await withSecrets(t, dir, ledger_copy)
  first.close()
  cpSync(dir, older, { recursive: true })

  const live = await openKeyring(t, { dir, ledger_copy })
  const { first: fresh } = await live.reserve('acme', 'decision', { at_least: 1, count: 4 })
  const steps = [
    [1, fresh],
    [fresh, fresh + 1],
    [2, fresh + 2],
  ] as const
  for (const [i, [number, renewed_as]] of steps.entries()) {
    const parts_id = `${i}`.repeat(32)
    await live.ledger.addPart(partOf(parts_id, 0, [await renewal(live, number, renewed_as)]))
    await live.ledger.request([claimOf(parts_id, 1)])
    await live.ledger.destroyRenewed(parts_id)
  }
  const numbers = [1, 2, fresh, fresh + 1, fresh + 2]
  const expected = await secretsOf(live, ...numbers)
  assert.deepEqual(
    expected.map((secret) => secret !== null),
    [false, false, false, true, true],
  )
  live.close()

  const restored = await openKeyring(t, { dir: older, ledger_copy })
  assert.deepEqual(await secretsOf(restored, ...numbers), expected)
  const block = await restored.reserve('acme', 'decision', { at_least: 1, count: 4 })
  assert.ok(block.first > fresh + 2, 'numbers the ledger names are not made again')
})

test('a keyring that meets an empty copy writes out parts before their entry', async (t) => {
  const dir = tempDirectory(t)
  const first = await withSecrets(t, dir)
  await first.ledger.addPart(partOf(PARTS, 0, [await renewal(first, 1, 7)]))
  await first.ledger.addPart(partOf(PARTS, 1))
  await first.ledger.request([claimOf(PARTS, 2)])
  first.close()
  const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
  const second = await openKeyring(t, { dir, ledger_copy })
  second.close()
  const lines = readFileSync(ledger_copy, 'utf8').trimEnd().split('\n')
  const members = lines.map((line) => JSON.parse(line))
  assert.deepEqual(
    members.map(({ part, parts }) => part ?? parts),
    [0, 1, { parts_id: PARTS, count: 2 }],
  )
  const third = await openKeyring(t, { dir, ledger_copy })
  third.close()
  assert.equal(readFileSync(ledger_copy, 'utf8').trimEnd().split('\n').length, 3)
})

test('a backup of a keyring holds the parts', async (t) => {
  const [dir, to] = [tempDirectory(t), tempDirectory(t)]
  const keyring = await withSecrets(t, dir)
  const part = partOf(PARTS, 0, [await renewal(keyring, 3, 8)])
  await keyring.ledger.addPart(part)
  await keyring.ledger.request([claimOf(PARTS, 1)])
  await keyring.backupTo(join(to, 'keyring.backup'))
  await restoreFileKeyring({ from: join(to, 'keyring.backup'), dir: join(to, 'restored') })
  const restored = await openKeyring(t, { dir: join(to, 'restored'), master_key: MASTER })
  assert.deepEqual(await restored.ledger.loadPart(PARTS, 0), part)
  assert.deepEqual((await secretsOf(restored, 3)).at(0), null)
})

test('a box opens with the old secret only, for the numbers it was made for', async (t) => {
  const dir = tempDirectory(t)
  const keyring = await withSecrets(t, dir)
  const { box } = await renewal(keyring, 1, 7)
  const wrong = { number: 2, renewed_as: 40, box }
  const forged = sealRenewed(
    { tenant_id: 'acme', number: 1, renewed_as: 41 },
    randomBytes(32),
    randomBytes(32),
  )
  await keyring.ledger.addPart(partOf(PARTS, 0, [wrong, forged]))
  await keyring.ledger.request([claimOf(PARTS, 1)])
  keyring.close()
  const again = await openKeyring(t, { dir })
  assert.deepEqual(await secretsOf(again, 40, 41), [null, null])
})
