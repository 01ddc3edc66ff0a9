// Turns at the erasures of a tenant, in a keyring of any engine.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Case } from './keyring-suite.ts'
import { erasureOf, linesOf } from './ledger-cases.ts'
import { tempDirectory } from './temp-keyring.ts'

const OVER = { code: 'turn_over' }

export const turnCases: readonly Case[] = [
  {
    title: 'the tenant’s last turn may request, and every one before it is refused',
    run: async (place, t) => {
      const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
      const { ledger } = await place.open({ ledger_copy })
      const first = await ledger.takeTurn('acme')
      const [row] = await ledger.request([erasureOf('1')], first)
      assert.equal(row?.state, 'requested')
      const second = await ledger.takeTurn('acme')
      assert.ok(second.number > first.number)
      await assert.rejects(ledger.request([erasureOf('2')], first), OVER)
      await assert.rejects(ledger.request([erasureOf('1')], first), OVER)
      assert.equal(await ledger.find('acme', 'fact', '2'), null)
      assert.equal(existsSync(ledger_copy) && linesOf(ledger_copy).length, 1)
      await ledger.request([erasureOf('2')], second)
      assert.equal((await ledger.listRequested()).length, 2)
    },
  },
  {
    title: 'a turn is one tenant’s: it ends no other’s and requests for no other',
    run: async (place) => {
      const { ledger } = await place.open()
      const [acme, other] = [await ledger.takeTurn('acme'), await ledger.takeTurn('b')]
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
    title: 'a number that nobody was given is refused',
    run: async (place) => {
      const { ledger } = await place.open()
      const made_up = { tenant_id: 'acme', number: 1 }
      await assert.rejects(ledger.request([erasureOf('1')], made_up), OVER)
      const { number } = await ledger.takeTurn('acme')
      const ahead = { tenant_id: 'acme', number: number + 1 }
      await assert.rejects(ledger.request([erasureOf('1')], ahead), OVER)
    },
  },
]
