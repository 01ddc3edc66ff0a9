// A move of a tenant forgets no table: each is in exactly one of the lists that it works by.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finalTables } from '../migrations/ddl.ts'
import { migrationsOf } from '../migrations/migrations.ts'
import { isTenantTable } from '../migrations/tenant-tables.sql.ts'
import { CONTROL_TABLES, LEFT_BEHIND } from './tenant-rows.ts'

/**
 * Rows of the cluster, which a move reads or writes by name or not at all. A table that is added
 * here has to be none that the tenant misses at the destination.
 */
const OF_CLUSTER = ['instance', 'leases', 'tenant_locks', 'destructions', 'tenant_moves']

for (const engine of ['postgres', 'sqlite'] as const)
  test(`every table of ${engine} is in exactly one list of a move`, () => {
    const tables = finalTables(migrationsOf(engine))
    const names = tables.map(({ name }) => name)
    assert.equal(new Set(names).size, names.length)
    for (const { name, columns, primary_key } of tables) {
      const lists = [
        isTenantTable(name),
        CONTROL_TABLES.includes(name),
        LEFT_BEHIND.includes(name),
        OF_CLUSTER.includes(name),
      ]
      assert.equal(lists.filter(Boolean).length, 1, `${name} is in ${lists}`)
      // Its rows are found by the tenant, in whichever list it is.
      if (!OF_CLUSTER.includes(name)) assert.ok(Object.hasOwn(columns, 'tenant_id'), name)
      if (isTenantTable(name)) assert.equal(primary_key[0], 'tenant_id', name)
    }
    if (engine === 'sqlite') return
    for (const name of [...CONTROL_TABLES, ...LEFT_BEHIND, ...OF_CLUSTER])
      assert.ok(names.includes(name), `${name} is no table any more`)
  })
