// Base backups of a PostgreSQL of a test, and a standby that acknowledges each of its commits.

import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { withPostgres } from '../../../packages/server/src/platform/db/postgres/connection.ts'
import {
  type Cluster,
  startCluster,
} from '../../../packages/server/src/testing/postgres-cluster.ts'

const STANDBY = 'custos_standby'
const LOOKS_MAX = 600

/** What pg_basebackup does: the files between the two calls, on one connection. */
export const backUpFiles = (cluster: Cluster, base: string): Promise<void> =>
  withPostgres(cluster.url, async (connection) => {
    await connection.query({ sql: `select pg_backup_start('base', true)` }, [])
    cpSync(cluster.data_dir, base, { recursive: true, verbatimSymlinks: true })
    for (const name of ['postmaster.pid', 'postmaster.opts', 'pg_wal'])
      rmSync(join(base, name), { recursive: true, force: true })
    for (const name of ['pg_wal', 'pg_wal/archive_status']) mkdirSync(join(base, name))
    const stopping = 'select labelfile from pg_backup_stop(wait_for_archive => true)'
    const { rows } = await connection.query({ sql: stopping }, [])
    writeFileSync(join(base, 'backup_label'), String(rows[0].labelfile))
  })

/**
 * `synchronous`: from now on the primary acknowledges a commit only when the standby has it on its
 * disk.
 */
export async function startStandby(
  primary: Cluster,
  mode: 'synchronous' | 'asynchronous',
): Promise<Cluster> {
  const dir = mkdtempSync(join(tmpdir(), 'custos-base-'))
  try {
    const base = join(dir, 'base')
    await backUpFiles(primary, base)
    const { hostname, port, username, password } = new URL(primary.url)
    const primary_conninfo = [
      `host=${hostname} port=${port} user=${username} password=${password}`,
      `application_name=${STANDBY}`,
    ].join(' ')
    const standby = await startCluster({
      durable: true,
      settings: { primary_conninfo },
      recovered: { base, url: primary.url },
      standby: true,
    })
    await waitForStandby(primary, mode).catch(async (error: unknown) => {
      await standby.stop()
      throw error
    })
    return standby
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

const waitForStandby = (primary: Cluster, mode: string): Promise<void> =>
  withPostgres(primary.url, async (connection) => {
    const state = mode === 'synchronous' ? 'sync' : 'async'
    if (state === 'sync') {
      await connection.step(`alter system set synchronous_standby_names = '${STANDBY}'`)
      await connection.step('select pg_reload_conf()')
    }
    const sql = `select 1 from pg_stat_replication
      where state = 'streaming' and sync_state = '${state}' and replay_lsn = pg_current_wal_lsn()`
    for (let look = 0; look < LOOKS_MAX; look += 1) {
      const { rowCount } = await connection.query({ sql }, [])
      if (rowCount === 1) return
      await delay(50)
    }
    throw new Error('the standby never follows the primary')
  })

/** It takes writes when this resolves. */
export const promote = (standby: Cluster): Promise<void> =>
  withPostgres(standby.url, async (connection) => {
    const { rows } = await connection.query({ sql: 'select pg_promote() as promoted' }, [])
    if (rows[0].promoted !== 1) throw new Error('the standby was not promoted')
  })
