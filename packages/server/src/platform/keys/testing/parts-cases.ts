// Cases on plans in parts and renewed record secrets.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Keyring, LedgerPart, NewLedgerEntry } from '../keyring.ts'
import { sealRenewed } from '../ledger/renewals.ts'
import type { KeyringCase, KeyringLocation, OpenOptions } from './keyring-suite.ts'
import { linesOf } from './ledger-cases.ts'
import { tempDirectory } from './temp-keyring.ts'

export const PARTS = 'a'.repeat(32)

export const claimOf = (parts_id: string, count: number): NewLedgerEntry => ({
  tenant_id: 'acme',
  subject_kind: 'scrub',
  subject: parts_id,
  store_id: null,
  requested_us: 1,
  plan: { kind: 'scrub' },
  parts: { parts_id, count },
})

export const partOf = (
  parts_id: string,
  part: number,
  renewals: LedgerPart['renewals'] = [],
): LedgerPart => ({ tenant_id: 'acme', parts_id, part, plan: { documents: [part] }, renewals })

/** A keyring with a tenant and its record secrets 1 … 10. */
export async function withSecrets(
  location: KeyringLocation,
  opening: OpenOptions = {},
): Promise<Keyring> {
  const keyring = await location.open(opening)
  await keyring.createTenant('acme')
  await keyring.reserve('acme', 'decision', { at_least: 1, count: 10 })
  return keyring
}

export async function secretsOf(
  keyring: Keyring,
  ...numbers: number[]
): Promise<(string | null)[]> {
  const held = await keyring.secrets('acme', 'decision', numbers)
  return numbers.map((number) => held.get(number)?.toString('hex') ?? null)
}

export async function renewal(keyring: Keyring, number: number, renewed_as: number) {
  const held = await keyring.secrets('acme', 'decision', [number, renewed_as])
  const [old, next] = [held.get(number), held.get(renewed_as)]
  assert.ok(old && next)
  return sealRenewed({ tenant_id: 'acme', number, renewed_as }, old, next)
}

export const partsCases: readonly KeyringCase[] = [
  {
    title: 'an entry claims its parts as a whole, and they are read back as written',
    run: async (location) => {
      const { ledger } = await withSecrets(location)
      await ledger.addPart(partOf(PARTS, 0))
      await ledger.addPart({ ...partOf(PARTS, 0), plan: 'a second time' })
      const early = ledger.request([claimOf(PARTS, 2)])
      await assert.rejects(early, { code: 'ledger_parts_missing' })
      assert.equal(await ledger.find('acme', 'scrub', PARTS), null)
      await assert.rejects(ledger.destroyRenewed(PARTS), { code: 'ledger_parts_missing' })
      await ledger.addPart(partOf(PARTS, 1))
      const [entry] = await ledger.request([claimOf(PARTS, 2)])
      assert.deepEqual(entry?.parts, { parts_id: PARTS, count: 2 })
      assert.deepEqual(await ledger.loadPart(PARTS, 1), partOf(PARTS, 1))
      await assert.rejects(ledger.loadPart(PARTS, 2), { code: 'ledger_parts_missing' })
      await ledger.dropParts(PARTS)
      assert.deepEqual(await ledger.loadPart(PARTS, 0), partOf(PARTS, 0), 'claimed parts stay')
    },
  },
  {
    title: 'parts nobody claimed are gone at the next start, with the secrets they took',
    run: async (location, t) => {
      const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
      const first = await withSecrets(location, { ledger_copy })
      const [kept] = await secretsOf(first, 1)
      await first.ledger.addPart(partOf(PARTS, 0, [await renewal(first, 1, 7)]))
      await location.close(first)
      for (let starts = 0; starts < 2; starts += 1) {
        const again = await location.open({ ledger_copy })
        await assert.rejects(again.ledger.loadPart(PARTS, 0), { code: 'ledger_parts_missing' })
        assert.deepEqual(await secretsOf(again, 1, 7), [kept, null])
        await location.close(again)
      }
    },
  },
  {
    title: 'parts dropped before a claim take their new secrets with them',
    run: async (location) => {
      const keyring = await withSecrets(location)
      const [kept] = await secretsOf(keyring, 1)
      await keyring.ledger.addPart(partOf(PARTS, 0, [await renewal(keyring, 1, 7)]))
      await keyring.ledger.dropParts(PARTS)
      assert.deepEqual(await secretsOf(keyring, 1, 7), [kept, null])
      const late = keyring.ledger.request([claimOf(PARTS, 1)])
      await assert.rejects(late, { code: 'ledger_parts_missing' })
    },
  },
  {
    title: 'a start after the claim destroys the old secrets and keeps the new ones',
    run: async (location) => {
      const first = await withSecrets(location)
      const [old, next] = await secretsOf(first, 1, 7)
      await first.ledger.addPart(partOf(PARTS, 0, [await renewal(first, 1, 7)]))
      await first.ledger.request([claimOf(PARTS, 1)])
      assert.deepEqual(await secretsOf(first, 1), [old], 'not before it is asked for')
      await location.close(first)
      assert.deepEqual(await secretsOf(await location.open(), 1, 7), [null, next])
    },
  },
  {
    title: 'an older keyring gets the renewed secrets from the ledger copy, step by step',
    run: async (location, t) => {
      const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
      await location.close(await withSecrets(location, { ledger_copy }))
      const older = await location.copy()

      const live = await location.open({ ledger_copy })
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
      await location.close(live)

      const restored = await older.open({ ledger_copy })
      assert.deepEqual(await secretsOf(restored, ...numbers), expected)
      const block = await restored.reserve('acme', 'decision', { at_least: 1, count: 4 })
      assert.ok(block.first > fresh + 2, 'numbers the ledger names are not made again')
    },
  },
  {
    title: 'a keyring that meets an empty copy writes out parts before their entry',
    run: async (location, t) => {
      const first = await withSecrets(location)
      await first.ledger.addPart(partOf(PARTS, 0, [await renewal(first, 1, 7)]))
      await first.ledger.addPart(partOf(PARTS, 1))
      await first.ledger.request([claimOf(PARTS, 2)])
      await location.close(first)
      const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
      await location.close(await location.open({ ledger_copy }))
      const members = linesOf(ledger_copy).map((line) => JSON.parse(line))
      assert.deepEqual(
        members.map(({ part, parts }) => part ?? parts),
        [0, 1, { parts_id: PARTS, count: 2 }],
      )
      await location.close(await location.open({ ledger_copy }))
      assert.equal(linesOf(ledger_copy).length, 3)
    },
  },
  {
    title: 'a box opens with the old secret only, for the numbers it was made for',
    run: async (location) => {
      const keyring = await withSecrets(location)
      const { box } = await renewal(keyring, 1, 7)
      const wrong = { number: 2, renewed_as: 40, box }
      const numbers = { tenant_id: 'acme', number: 1, renewed_as: 41 }
      const forged = sealRenewed(numbers, randomBytes(32), randomBytes(32))
      await keyring.ledger.addPart(partOf(PARTS, 0, [wrong, forged]))
      await keyring.ledger.request([claimOf(PARTS, 1)])
      await location.close(keyring)
      assert.deepEqual(await secretsOf(await location.open(), 40, 41), [null, null])
    },
  },
]
