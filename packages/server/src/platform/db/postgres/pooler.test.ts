// The scale engine behind PgBouncer in transaction mode, where a session belongs to nobody.

import { test } from 'node:test'
import { findPgbouncer, startPgbouncer } from '../../../testing/pgbouncer.ts'
import { openPostgres } from '../../../testing/postgres.ts'
import type { Storage } from '../../../testing/storage-rows.ts'
import { storageSuite } from '../../../testing/storage-suite.ts'
import { systemClock } from '../../clock.ts'
import { APP_ROLE } from './access.ts'
import { PostgresEngine } from './engine.ts'

const program = findPgbouncer()

async function openPooled(program: string): Promise<Storage> {
  const direct = await openPostgres()
  const pooler = await startPgbouncer(program, direct.url)
  const open = () =>
    new PostgresEngine({ url: pooler.url, clock: systemClock(), role: APP_ROLE, connections: 6 })
  const [db, second] = [open(), open()]
  const close = async () => {
    await Promise.all([db.close(), second.close()])
    await pooler.stop()
    await direct.close()
  }
  return { db, second, close }
}

if (program !== undefined) storageSuite('pgbouncer', () => openPooled(program))
else
  test('pgbouncer', (t) => {
    t.diagnostic('PgBouncer is not installed here: the engine was not run through it')
  })
