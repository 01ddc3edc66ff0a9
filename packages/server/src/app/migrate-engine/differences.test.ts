// A copy that is not the directory: the proof says so, and nobody can serve it.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { withPostgres } from '../../platform/db/postgres/connection.ts'
import { runMigrateEngine } from '../admin.ts'
import { type Filled, fillDirectory } from './testing/filled-directory.ts'
import { inPlace, startOn } from './testing/place.ts'

let filled: Filled

/** Each change is looked for in all of the copy: it has few rows. */
const MANY = 3

before(async () => {
  filled = await fillDirectory(MANY)
})

after(() => filled?.remove())

const FLIPPED = 'set_byte(sealed, 20, get_byte(sealed, 20) # 1)'

/** What is changed in the copy once every row was read back, and what the proof then says. */
const CHANGES: readonly (readonly [what: string, sql: string, says: RegExp])[] = [
  [
    'a secret is missing',
    'delete from custos_keyring.secrets where number = 3',
    /differ: secrets of tenant/,
  ],
  [
    'two secrets stand for each other',
    `update custos_keyring.secrets s set secret = o.secret from custos_keyring.secrets o
       where s.number = 3 and o.number = 4 and s.kind = o.kind and s.tenant_id = o.tenant_id`,
    /the secret of \w+ 3 does not open/,
  ],
  ['a tenant is missing', 'delete from custos_keyring.tenants', /differ: tenants/],
  [
    'an entry is missing',
    'delete from custos_keyring.ledger where ledger_id = 2',
    /differ: ledger/,
  ],
  [
    'an entry is made up',
    `insert into custos_keyring.ledger_secrets values ('z', 'fact', 1)`,
    /differ: ledger_secrets/,
  ],
  [
    'a signing key was retired at another time',
    'update custos_keyring.signing_keys set retired_at = valid_from where ordinal = 1',
    /differ: signing keys/,
  ],
  [
    'a key of a day is missing',
    `delete from custos_keyring.secrets where kind = 'day'`,
    /: keys of days/,
  ],
  [
    'an entry of the log is missing',
    'delete from breadcrumbs where seq = 5',
    /log of tenant \w+ does/,
  ],
  ['a fact is altered', `update facts set sealed = ${FLIPPED}`, /does not open \(facts\)/],
  ['a fact is missing', 'delete from facts where ref = 1', /differs on the two engines: facts/],
  ['a store is altered', `update stores set sealed = ${FLIPPED}`, /does not open \(stores\)/],
  [
    'a decision is missing',
    'delete from decisions where seq = (select max(seq) from decisions)',
    /differs on the two engines: decisions/,
  ],
  [
    'a tombstone is missing',
    'delete from tombstones where ref = 2',
    /the copy on PostgreSQL is not sound/,
  ],
]

test('what differs in the copy is told, and the copy stays refused', () =>
  inPlace(filled, async ({ url, data_dir, config }) => {
    for (const [what, sql, says] of CHANGES) {
      const step = async (name: string) => {
        if (name === 'copied') await withPostgres(url, (c) => c.step(sql))
      }
      await assert.rejects(runMigrateEngine(config, { force: true, step }), says, what)
    }
    await assert.rejects(startOn(config), /did not finish/)
    assert.equal(existsSync(join(data_dir, 'moved-to-postgresql')), false)
  }))
