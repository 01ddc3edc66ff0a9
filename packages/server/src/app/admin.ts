// Commands for a stopped service: signing keys, the master key, counters of usage, secrets written
// again, the PostgreSQL schema (custos migrate) and the move into it (custos migrate-engine).

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { PublishedKey } from '@custos/proof'
import type { Config } from '../config/config.ts'
import { formatTime, systemClock } from '../platform/clock.ts'
import { listTenantIds } from '../platform/db/control.sql.ts'
import { PLATFORM } from '../platform/db/database.ts'
import type { Tx } from '../platform/db/tenant-db.ts'
import type { Kernel } from '../platform/kernel/kernel.ts'
import { runIfDue } from '../platform/kernel/leases.ts'
import {
  type RewriteResult,
  SIGNING_PURPOSES,
  type SigningPurpose,
} from '../platform/keys/keyring.ts'
import { OfflineError } from '../platform/operator-error.ts'
import { openLogger } from '../platform/telemetry/logger.ts'
import { appendCrumb, findHead } from '../slices/gcrumbs/index.ts'
import { type CorrectedCount, correctUsage, GovernedLog } from '../slices/tenants/index.ts'
import { parseRecord } from './checks/check-log.ts'
import { listKeyEvents, listRecords } from './checks/fsck.sql.ts'
import type { MigrateEngineOptions, MigrationResult } from './migrate-engine/move.ts'
import { lockData } from './open/lock-data.ts'
import { readKeyFile, replaceKeyFile, writeNextKey } from './open/next-master-key.ts'
import { openKernel } from './open/open-kernel.ts'
import { requireData } from './open/open-read-only.ts'

export { SIGNING_PURPOSES, type SigningPurpose }

export interface KeyChange {
  readonly purpose: SigningPurpose
  /** Null if there is no current key now. */
  readonly key: PublishedKey | null
  readonly previous_key_id: string | null
}

/** Creates a new key for each purpose; the old ones stay published. */
export async function rotateSigningKeys(
  kernel: Kernel,
  purposes: readonly SigningPurpose[],
): Promise<KeyChange[]> {
  const changes: KeyChange[] = []
  for (const purpose of purposes) {
    const previous_key_id = currentKeyId(kernel, purpose)
    const key = await kernel.keyring.rotateSigningKey(purpose, formatTime(kernel.clock.now()))
    changes.push({ purpose, key, previous_key_id })
  }
  await announceKeys(kernel)
  return changes
}

/** Leaves the purpose without a key: operations that sign with it are refused until a rotation. */
export async function retireSigningKey(
  kernel: Kernel,
  purpose: SigningPurpose,
): Promise<KeyChange> {
  const previous_key_id = currentKeyId(kernel, purpose)
  await kernel.keyring.retireSigningKey(purpose, formatTime(kernel.clock.now()))
  await announceKeys(kernel)
  return { purpose, key: null, previous_key_id }
}

const currentKeyId = (kernel: Kernel, purpose: SigningPurpose): string | null =>
  kernel.keyring.publishedKeys().find((key) => key.purpose === purpose && key.retired_at === null)
    ?.key_id ?? null

/**
 * Appends to every log the changes of the key list that it lacks. After a crash, or on a restored
 * log, the next change adds what is missing.
 */
async function announceKeys(kernel: Kernel): Promise<void> {
  for (const tenant_id of await kernel.keyring.listTenants())
    await announceTo(kernel, tenant_id, kernel.keyring.publishedKeys())
}

async function announceTo(
  kernel: Kernel,
  tenant_id: string,
  published: readonly PublishedKey[],
): Promise<void> {
  await kernel.db.transact(tenant_id, async (tx) => {
    // A tenant without a log is not fully created; its first entry will name the keys of that time.
    if (!(await findHead(tx))) return
    const { named, retired } = namedKeys((await listKeyEvents(tx)).map(({ record }) => record))
    for (const [i, key] of published.entries()) {
      const { key_id, purpose } = key
      if (named.has(key_id)) continue
      const before = published.slice(0, i).findLast((known) => known.purpose === purpose)
      await appendCrumb(tx, {
        event_type: 'signing_key.rotated',
        subject: key_id,
        payload: { purpose, key_id, previous_key_id: before?.key_id ?? null },
      })
    }
    for (const { key_id, purpose } of withoutSuccessor(published))
      if (!retired.has(key_id))
        await appendCrumb(tx, {
          event_type: 'signing_key.retired',
          subject: key_id,
          payload: { purpose, key_id },
        })
  })
}

/** The last key of each purpose that has no current key. A rotation retires by naming a new key. */
function withoutSuccessor(published: readonly PublishedKey[]): PublishedKey[] {
  const last = new Map(published.map((key) => [key.purpose, key]))
  return [...last.values()].filter(({ retired_at }) => retired_at !== null)
}

function namedKeys(records: readonly string[]) {
  const named = new Set<string>()
  const retired = new Set<string>()
  for (const record of records) {
    // `appendCrumb` has written it under a closed schema, and it is verified with the log.
    const { event_type, subject, payload } = JSON.parse(record) as {
      event_type: string
      subject: string
      payload: { signing_keys?: { key_id: string }[] }
    }
    if (event_type === 'signing_key.rotated') named.add(subject)
    if (event_type === 'signing_key.retired') retired.add(subject)
    for (const { key_id } of payload.signing_keys ?? []) named.add(key_id)
  }
  return { named, retired }
}

const CHUNK = 1_000

/**
 * Recounts each tenant in one unit of work, during which its writes wait. Throws OfflineError for
 * an unknown tenant, and on the embedded engine while a service is running.
 */
export async function recountUsage(config: Config, wanted: string | undefined) {
  const open = await openKernel({ ...config, log_level: 'error' })
  try {
    const { db } = open.kernel
    const all = await db.read(PLATFORM, listTenantIds)
    if (wanted !== undefined && !all.includes(wanted))
      throw new OfflineError(`there is no tenant ${wanted} here`)
    const recounted: { tenant_id: string; corrected: readonly CorrectedCount[] }[] = []
    for (const tenant_id of wanted === undefined ? all : [wanted]) {
      const corrected = await db.transact(tenant_id, async (tx) =>
        correctUsage(tx, await readLog(tx)),
      )
      recounted.push({ tenant_id, corrected })
    }
    return recounted
  } finally {
    await open.close()
  }
}

async function readLog(tx: Tx): Promise<GovernedLog> {
  const log = new GovernedLog()
  for (let first = 0; ; first += CHUNK) {
    const rows = await listRecords(tx, first, first + CHUNK)
    for (const { record } of rows) log.add(parseRecord(record))
    if (rows.length < CHUNK) return log
  }
}

const HOUR_US = 3_600_000_000

/** For the operator, while services run. Throws OfflineError on the embedded engine. */
export async function rewriteSecrets(config: Config): Promise<RewriteResult> {
  if (config.postgres === null)
    throw new OfflineError(
      'CUSTOS_DATABASE_URL is not set: the embedded keyring overwrites in place',
    )
  const open = await openKernel({ ...config, log_level: 'error' })
  try {
    const done = await open.kernel.keyring.rewriteSecrets?.()
    if (!done) throw new OfflineError('this keyring does not rewrite')
    return done
  } finally {
    await open.close()
  }
}

/** For the timer: rewrites every `hours`, in one of the processes. */
export async function rewriteWhenDue(kernel: Kernel, hours: number): Promise<void> {
  const { keyring, logger } = kernel
  if (!keyring.rewriteSecrets) return
  const act = async () => {
    const done = await keyring.rewriteSecrets?.()
    logger.info('keyring.rewritten', { ...done })
  }
  await runIfDue(kernel, 'rewrite', { period_us: hours * HOUR_US, act })
}

interface MasterRotation {
  /** The file that now has the key of the keyring. */
  readonly key_file: string
  /** True if the old key is from the environment, which the operator has to change. */
  readonly from_environment: boolean
}

/**
 * Wraps the keyring under a new key: that of `new_key_file` (64 hex digits), else a random one. A
 * key file in the data directory is replaced there. If the old key is from the environment,
 * `new_key_file` is required.
 */
export async function rotateMasterKey(
  config: Config,
  new_key_file?: string,
): Promise<MasterRotation> {
  const { data_dir } = config
  if (config.postgres === null) requireData(data_dir)
  const from_environment = config.master_key !== null
  if (from_environment && new_key_file === undefined)
    throw new OfflineError('the master key is given by CUSTOS_MASTER_KEY: name a --new-key-file')
  const next = new_key_file === undefined ? randomBytes(32) : readKey(new_key_file)
  const announced = config.next_master_key
  if (announced !== null && announced.toLowerCase() !== next.toString('hex'))
    throw new OfflineError(
      `the key in ${new_key_file} is not CUSTOS_NEXT_MASTER_KEY, which the processes wait for`,
    )
  // Opening completes a rotation that was interrupted.
  const open = await openKernel({ ...config, log_level: 'error' })
  try {
    if (!from_environment) writeNextKey(data_dir, next)
    await open.kernel.keyring.rotateMasterKey(next)
    if (!from_environment) replaceKeyFile(data_dir)
  } finally {
    await open.close()
  }
  return {
    key_file: from_environment ? String(new_key_file) : join(data_dir, 'master.key'),
    from_environment,
  }
}

function readKey(path: string): Buffer {
  const key = readKeyFile(path)
  if (key === null) throw new OfflineError(`${path} does not hold 64 hex digits`)
  return key
}

/**
 * Returns the names of the migrations that it ran. Throws OfflineError on the embedded engine,
 * which migrates when it starts, and the errors of `openPostgres`.
 */
export async function runMigrate(
  config: Config,
  options: { readonly accept_empty_data?: boolean } = {},
): Promise<string[]> {
  if (config.postgres === null)
    throw new OfflineError('CUSTOS_DATABASE_URL is not set: the embedded engine migrates itself')
  const { migrateShared } = await import('./open/open-postgres.ts')
  const logger = openLogger('error')
  return migrateShared(config, config.postgres, { clock: systemClock(), logger, ...options })
}

/**
 * Requires that the service of the directory is stopped. The directory is locked meanwhile, and
 * nothing in it is changed except for the mark at the end. Throws OfflineError, MoveError,
 * KeyringError, DataError or DataDirHeld, each with one line; `serve` then refuses the database
 * until the last step is done.
 */
export async function runMigrateEngine(
  config: Config,
  options: MigrateEngineOptions,
): Promise<MigrationResult> {
  const { postgres, data_dir } = config
  if (postgres === null)
    throw new OfflineError('CUSTOS_DATABASE_URL is not set: it names the database to move into')
  requireData(data_dir)
  const lock = await lockData(config)
  try {
    // Imported on use, so that the embedded service starts without it.
    const { moveFrom } = await import('./migrate-engine/move.ts')
    return await moveFrom({ ...config, postgres }, options)
  } finally {
    lock.unlock()
  }
}
