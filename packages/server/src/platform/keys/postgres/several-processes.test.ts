// Several processes on one keyring: each opening represents a process.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { requireInstance, shareInstance } from '../core/instance.sql.ts'
import { SIGNING_PURPOSES } from '../keyring.ts'
import { erasureOf, linesOf } from '../testing/ledger-cases.ts'
import { postgresLocation } from '../testing/locations.ts'
import { claimOf, PARTS, partOf, renewal, secretsOf, withSecrets } from '../testing/parts-cases.ts'
import { MASTER, tempDirectory } from '../testing/temp-keyring.ts'
import { masterHolder, masterKeyObject } from '../wrap.ts'
import { KeyringPg } from './keyring-pg.ts'
import { SCHEMA } from './open-postgres-keyring.ts'

const LATER = '2027-01-01T00:00:00.000000Z'
const BODY = Buffer.from('body')

/** What another process sees in its own time; a test that waits in vain is ended by the runner. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(20)
}

function throws(act: () => unknown, code: string): boolean {
  try {
    act()
    return false
  } catch (error) {
    assert.equal((error as { code?: string }).code, code)
    return true
  }
}

test('processes that open an empty database at once have one keyring', async (t) => {
  const location = await postgresLocation(t)
  const keyrings = await Promise.all(Array.from({ length: 4 }, () => location.open()))
  assert.equal(new Set(keyrings.map((keyring) => keyring.instance_id)).size, 1)
  const [published] = keyrings.map((keyring) => keyring.publishedKeys())
  assert.equal(published?.length, SIGNING_PURPOSES.length)
  for (const keyring of keyrings) assert.deepEqual(keyring.publishedKeys(), published)
  await Promise.all(keyrings.map((keyring) => keyring.createTenant('acme')))
  const labels = keyrings.map(async (keyring) => (await keyring.tenant('acme')).label('x'))
  assert.equal(new Set(await Promise.all(labels)).size, 1)
})

test('two processes that reserve at once never get the same number', async (t) => {
  const location = await postgresLocation(t)
  const keyrings = [await location.open(), await location.open()]
  await keyrings[0]?.createTenant('acme')
  const given = new Map<number, Buffer>()
  const reserveMany = async (keyring: (typeof keyrings)[number]) => {
    for (let round = 0; round < 20; round += 1) {
      const block = await keyring.reserve('acme', 'fact', { at_least: 1, count: 1 + (round % 7) })
      for (let number = block.first; number < block.first + block.count; number += 1) {
        assert.ok(!given.has(number), `number ${number} was given twice`)
        given.set(number, block.secretAt(number))
      }
    }
  }
  await Promise.all([...keyrings, ...keyrings].map(reserveMany))
  for (const keyring of keyrings)
    assert.deepEqual(await keyring.secrets('acme', 'fact', [...given.keys()]), given)
})

test('what one process destroys is soon in no memory of another', async (t) => {
  const location = await postgresLocation(t)
  const [one, other] = [await location.open(), await location.open()]
  await one.createTenant('acme')
  const block = await other.reserve('acme', 'fact', { at_least: 1, count: 4 })
  assert.ok((await other.secrets('acme', 'fact', [2])).get(2))
  await one.destroySecrets('acme', 'fact', [2])
  assert.ok(block.secretAt(1))
  await until(() => throws(() => block.secretAt(2), 'secret_destroyed'))
  await until(async () => (await other.secrets('acme', 'fact', [2])).get(2) === null)
  assert.ok(block.secretAt(3))
})

test('a process that missed what the list no longer holds compares its memory', async (t) => {
  const location = await postgresLocation(t)
  const [one, other] = [await location.open(), await location.open()]
  await one.createTenant('acme')
  const block = await other.reserve('acme', 'fact', { at_least: 1, count: 4 })
  // As 100,000 destructions would leave it.
  await location.query(`WITH gone AS (DELETE FROM custos_keyring.secrets WHERE number = 2)
    UPDATE custos_keyring.counters SET value = value + 100001 WHERE name = 'destroyed'`)
  await until(() => throws(() => block.secretAt(2), 'secret_destroyed'))
  assert.ok(block.secretAt(1) && block.secretAt(3))
})

test('a number without a row among others with one makes it compare as well', async (t) => {
  const location = await postgresLocation(t)
  const [one, other] = [await location.open(), await location.open()]
  await one.createTenant('acme')
  const block = await other.reserve('acme', 'fact', { at_least: 1, count: 4 })
  // As an erasure and an off-boarding leave it that come between two looks.
  await location.query(`WITH gone AS (DELETE FROM custos_keyring.secrets WHERE number IN (1, 2)),
    counted AS (UPDATE custos_keyring.counters SET value = value + 2 WHERE name = 'destroyed'
      RETURNING value)
    INSERT INTO custos_keyring.destroyed_secrets (seq, tenant_id, kind, number)
    SELECT value - 1, 'acme', 'fact', 1 FROM counted`)
  await until(() => throws(() => block.secretAt(1), 'secret_destroyed'))
  assert.ok(throws(() => block.secretAt(2), 'secret_destroyed'))
  assert.ok(block.secretAt(3))
})

test('a key rotated or retired by one process soon signs nowhere', async (t) => {
  const location = await postgresLocation(t)
  const [one, other] = [await location.open(), await location.open()]
  const [held, erasing] = [other.signer('decision'), other.signer('erasure')]
  const fresh = await one.rotateSigningKey('decision', LATER)
  await one.retireSigningKey('erasure', LATER)
  await until(() => other.signer('decision').key_id === fresh.key_id)
  await until(() => throws(() => other.signer('erasure'), 'no_signing_key'))
  for (const signer of [held, erasing])
    assert.throws(() => signer.sign(BODY), { code: 'signing_key_retired' })
  assert.deepEqual(other.publishedKeys(), one.publishedKeys())
})

test('old and new key are both valid when they change: other processes see it later', async (t) => {
  const location = await postgresLocation(t)
  const keyring = await location.open()
  const old = keyring.signer('decision')
  for (const at of [LATER, '2027-01-01T00:00:00.000001Z']) {
    const fresh = await keyring.rotateSigningKey('decision', at)
    const before = keyring.publishedKeys().filter((key) => key.purpose === 'decision')
    assert.ok(fresh.valid_from <= '2026-12-31T23:59:30.000000Z')
    assert.ok((before[0]?.retired_at ?? '') >= '2027-01-01T00:00:30.000000Z')
    assert.equal(before[0]?.key_id, old.key_id)
    assert.equal(before.at(-1)?.key_id, fresh.key_id)
  }
})

test('two rotations at once leave one current key', async (t) => {
  const location = await postgresLocation(t)
  const [one, other] = [await location.open(), await location.open()]
  await Promise.all([one, other].map((keyring) => keyring.rotateSigningKey('checkpoint', LATER)))
  const again = await location.open()
  const keys = again.publishedKeys().filter((key) => key.purpose === 'checkpoint')
  assert.equal(keys.length, 3)
  assert.equal(keys.filter((key) => key.retired_at === null).length, 1)
})

test('a day has one key in every process, and none once any has dropped it', async (t) => {
  const location = await postgresLocation(t)
  const keyrings = [await location.open(), await location.open()]
  const macs = await Promise.all(keyrings.map((keyring) => keyring.bodyMac(BODY, 7)))
  assert.deepEqual(macs[0], macs[1])
  const [one, other] = keyrings
  assert.equal(await one?.dropDayKeys(8), 1)
  await until(async () => !(await other?.verifyBodyMac(BODY, 7, macs[0]?.mac ?? '')))
  await assert.rejects(other?.bodyMac(BODY, 7) ?? Promise.resolve(), { code: 'day_key_dropped' })
})

test('processes that share a ledger copy write one row and one line for a subject', async (t) => {
  const location = await postgresLocation(t)
  const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
  const keyrings = await Promise.all(
    Array.from({ length: 3 }, () => location.open({ ledger_copy })),
  )
  const subjects = Array.from({ length: 10 }, (_, i) => String(i + 1))
  const asked = keyrings.flatMap(({ ledger }) =>
    subjects.map((subject) => ledger.request([erasureOf(subject)])),
  )
  const rows = (await Promise.all(asked)).flat()
  assert.equal(new Set(rows.map((row) => row.ledger_id)).size, subjects.length)
  const completions = rows.map(({ ledger_id }) => ({ ledger_id, certificate: 1, completed_us: 1 }))
  await Promise.all(keyrings.map(({ ledger }) => ledger.complete(completions)))
  const lines = linesOf(ledger_copy).map((line) => JSON.parse(line))
  const counts = (state: string) => lines.filter((line) => line.state === state).length
  assert.deepEqual([counts('requested'), counts('completed')], [10, 10])
  const late = await location.open({ ledger_copy })
  assert.equal(late.merged_from_copy, 0)
  assert.equal(linesOf(ledger_copy).length, 20)
})

test('a token issued to one process outdates that of another, also after a start', async (t) => {
  const location = await postgresLocation(t)
  const [one, other] = [await location.open(), await location.open()]
  const stale = await one.ledger.issueFencingToken('acme')
  const [early] = await one.ledger.request([erasureOf('1')], stale)
  const turn = await other.ledger.issueFencingToken('acme')
  assert.deepEqual(await other.ledger.listRequested(), [early], 'what came before it is seen')
  const over = { code: 'stale_fencing_token' }
  await assert.rejects(one.ledger.request([erasureOf('2')], stale), over)
  await other.ledger.request([erasureOf('3')], turn)
  await location.close(other)
  const again = await location.open()
  await assert.rejects(again.ledger.request([erasureOf('2')], stale), over)
  assert.ok((await again.ledger.issueFencingToken('acme')).number > turn.number)
  await assert.rejects(one.ledger.request([erasureOf('2')], turn), over)
})

test('no token is issued between the check and the end of a request', async (t) => {
  const location = await postgresLocation(t)
  const [one, other] = [await location.open(), await location.open()]
  const first = await one.ledger.issueFencingToken('acme')
  // As they may come: each request is in before a later turn begins, or not at all.
  const asked = Array.from({ length: 40 }, (_, i) =>
    one.ledger.request([erasureOf(String(i + 1))], first).then(
      () => true,
      (error: { code?: string }) => {
        assert.equal(error.code, 'stale_fencing_token')
        return false
      },
    ),
  )
  await other.ledger.issueFencingToken('acme')
  const seen = (await other.ledger.listRequested()).length
  const kept = (await Promise.all(asked)).filter(Boolean).length
  assert.equal(kept, seen)
  assert.equal((await other.ledger.listRequested()).length, seen)
})

test('a process that agrees with its copy opens while another has locked the ledger', async (t) => {
  const location = await postgresLocation(t)
  const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
  const first = await location.open({ ledger_copy })
  const [entry] = await first.ledger.request([erasureOf('1')])
  const { ledger_id = 0 } = entry ?? {}
  await first.ledger.complete([{ ledger_id, certificate: 1, completed_us: 1 }])
  await first.close()
  const holder = new pg.Client({ connectionString: location.url })
  await holder.connect()
  try {
    await holder.query('begin')
    await holder.query(`SELECT value FROM custos_keyring.counters WHERE name = 'ledger' FOR UPDATE`)
    const opened = await location.open({ ledger_copy })
    assert.equal(opened.merged_from_copy, 0)
  } finally {
    await holder.end()
  }
})

test('a plan that a live process is still making is not dropped by one that opens', async (t) => {
  const location = await postgresLocation(t)
  const planning = await withSecrets(location)
  const [old, next] = await secretsOf(planning, 1, 7)
  await planning.ledger.addPart(partOf(PARTS, 0, [await renewal(planning, 1, 7)]))
  const opening = await location.open()
  assert.deepEqual(await secretsOf(opening, 1, 7), [old, next])
  const [entry] = await planning.ledger.request([claimOf(PARTS, 1)])
  assert.equal(entry?.state, 'requested')
})

test('a plan of a process that died is dropped once it has been silent for long', async (t) => {
  const location = await postgresLocation(t)
  const planning = await withSecrets(location)
  const [old] = await secretsOf(planning, 1)
  await planning.ledger.addPart(partOf(PARTS, 0, [await renewal(planning, 1, 7)]))
  await location.query(`UPDATE custos_keyring.processes SET seen_at = now() - interval '2 minutes'`)
  assert.deepEqual(await secretsOf(await location.open(), 1, 7), [old, null])
})

test('processes that have both master keys go on while one rotates them', async (t) => {
  const location = await postgresLocation(t)
  const next = randomBytes(32)
  const one = await location.open()
  const both = { next_master_key: next }
  const [reading, writing, signing, wrong] = [
    await location.open(both),
    await location.open(both),
    await location.open(both),
    await location.open({ next_master_key: randomBytes(32) }),
  ]
  await one.createTenant('acme')
  const { first, secretAt } = await one.reserve('acme', 'fact', { at_least: 1, count: 1 })
  const { day, mac } = await one.bodyMac(BODY, 1)
  await one.rotateMasterKey(next)

  // Before it has looked which key is in use.
  assert.deepEqual((await reading.secrets('acme', 'fact', [first])).get(first), secretAt(first))
  assert.equal(
    (await reading.tenant('acme')).label('x'),
    (await (await location.open({ master_key: next })).tenant('acme')).label('x'),
  )
  assert.ok(await reading.verifyBodyMac(BODY, day, mac))
  await writing.createTenant('late')
  await writing.reserve('late', 'fact', { at_least: 1, count: 1 })
  await writing.bodyMac(BODY, 2)
  const { key_id } = await signing.rotateSigningKey('decision', LATER)
  const follows = (keyring: typeof one) => keyring.signer('decision').key_id === key_id
  await until(() => follows(reading) && follows(writing))
  await assert.rejects(wrong.createTenant('later'), { code: 'wrong_master_key' })

  // What they have made opens under the new key alone, and so it does with the keys swapped.
  const swapped = { master_key: next, next_master_key: randomBytes(32) }
  for (const opening of [{ master_key: next }, both, swapped]) {
    const keyring = await location.open(opening)
    assert.ok((await keyring.secrets('late', 'fact', [1])).get(1))
    assert.ok(await keyring.tenant('late'))
    assert.ok(follows(keyring))
  }
  await assert.rejects(location.open(), { code: 'wrong_master_key' })
})

test('an old row that is read late changes nothing about the key that wraps', async (t) => {
  const location = await postgresLocation(t)
  const [old, next] = [masterKeyObject(MASTER), randomBytes(32)]
  const one = await location.open()
  const { url } = location
  const db = new KeyringPg({ url, schema: SCHEMA, read_only: false })
  t.after(() => db.close())
  const row = await requireInstance(db, { key: old })
  const before = { tables: db.tables, first: async () => row } as unknown as KeyringPg
  await one.rotateMasterKey(next)
  const master = masterHolder(MASTER, next)
  await db.transact(async (tx) => {
    await shareInstance(tx, master)
    assert.equal((await requireInstance(before, master)).instance_id, row.instance_id)
    assert.ok(master.key.equals(masterKeyObject(next)), 'it wraps under the new key')
  })
})

test('a process with the old master key makes nothing that the new one cannot open', async (t) => {
  const location = await postgresLocation(t)
  const [one, other] = [await location.open(), await location.open()]
  await one.createTenant('acme')
  await other.reserve('acme', 'fact', { at_least: 1, count: 1 })
  await one.rotateMasterKey(randomBytes(32))
  const refused = { code: 'wrong_master_key' }
  await assert.rejects(other.createTenant('late'), refused)
  await assert.rejects(other.tenant('acme'), refused)
  await assert.rejects(other.reserve('acme', 'fact', { at_least: 1 }), refused)
  await assert.rejects(other.secrets('acme', 'fact', [1]), refused)
  await assert.rejects(other.bodyMac(BODY, 1), refused)
  await assert.rejects(other.rotateSigningKey('decision', LATER), refused)
  await assert.rejects(other.rewriteSecrets(), refused)
  await one.createTenant('late')
})
