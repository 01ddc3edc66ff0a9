// Cases on fencing tokens for the erasures of a tenant.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { KeyringCase } from './keyring-suite.ts'
import { erasureOf, linesOf } from './ledger-cases.ts'
import { tempDirectory } from './temp-keyring.ts'

const STALE = { code: 'stale_fencing_token' }

export const fencingCases: readonly KeyringCase[] = [
  {
    title: 'the tenant’s last token may request, and every earlier one is refused',
    run: async (location, t) => {
      const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
      const { ledger } = await location.open({ ledger_copy })
      const first = await ledger.issueFencingToken('acme')
      const [row] = await ledger.request([erasureOf('1')], first)
      assert.equal(row?.state, 'requested')
      const second = await ledger.issueFencingToken('acme')
      assert.ok(second.number > first.number)
      await assert.rejects(ledger.request([erasureOf('2')], first), STALE)
      await assert.rejects(ledger.request([erasureOf('1')], first), STALE)
      assert.equal(await ledger.find('acme', 'fact', '2'), null)
      assert.equal(existsSync(ledger_copy) && linesOf(ledger_copy).length, 1)
      await ledger.request([erasureOf('2')], second)
      assert.equal((await ledger.listRequested()).length, 2)
    },
  },
  {
    title: 'a token is one tenant’s: it outdates no other’s and requests for no other',
    run: async (location) => {
      const { ledger } = await location.open()
      const [acme, other] = [
        await ledger.issueFencingToken('acme'),
        await ledger.issueFencingToken('b'),
      ]
      const foreign = erasureOf('1', { tenant_id: 'b' })
      await assert.rejects(ledger.request([erasureOf('1'), foreign], acme), {
        code: 'bad_argument',
      })
      assert.deepEqual(await ledger.listRequested(), [])
      await ledger.request([erasureOf('1')], acme)
      await ledger.request([foreign], other)
      assert.equal((await ledger.listRequested()).length, 2)
    },
  },
  {
    title: 'a token that was never issued is refused',
    run: async (location) => {
      const { ledger } = await location.open()
      const made_up = { tenant_id: 'acme', number: 1 }
      await assert.rejects(ledger.request([erasureOf('1')], made_up), STALE)
      const { number } = await ledger.issueFencingToken('acme')
      const ahead = { tenant_id: 'acme', number: number + 1 }
      await assert.rejects(ledger.request([erasureOf('1')], ahead), STALE)
    },
  },
]
