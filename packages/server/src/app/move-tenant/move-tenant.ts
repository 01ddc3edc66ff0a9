// custos tenant move: moves a tenant from one PostgreSQL to another while it is served, with proof.
//
// The mark in the source's database decides who may write. `leaving`: the source serves the tenant,
// and everything at the destination may be discarded. `left`: the source never writes the tenant
// again, and only the destination may continue. The mark changes once, in one transaction, after
// everything is proved. Whatever fails before or after that, the same command continues.

import { setTimeout as sleep } from 'node:timers/promises'
import {
  TENANT_MOVE_KIND,
  type TenantMoveStatement,
  tenantMoveBytes,
  verifyTenantMove,
} from '@custos/proof'
import type { Config, PostgresConfig } from '../../config/config.ts'
import { formatTime, systemClock } from '../../platform/clock.ts'
import type { MoveRow } from '../../platform/db/moves.sql.ts'
import {
  MOVED,
  MOVING,
  type PostgresConnection,
  withPostgres,
} from '../../platform/db/postgres/connection.ts'
import { PostgresError } from '../../platform/db/postgres/error.ts'
import { MoveError, requireWhole } from '../../platform/db/postgres/moving.ts'
import {
  asTenant,
  copyAll,
  copyChanges,
  copyControlRows,
  digestTenant,
  type RowsOnTheirWay,
  removeArrived,
  removeLeft,
  requireEqual,
  type TenantTableDigest,
} from '../../platform/db/postgres/tenant-rows.ts'
import { systemIds } from '../../platform/ids.ts'
import { type ImportTarget, openImportTarget } from '../../platform/keys/import/import-keyring.ts'
import {
  copyProvedKeys,
  countOpenErasures,
  findKeysOf,
  outdateErasures,
  removeTenantKeys,
  requireTwoKeyrings,
} from '../../platform/keys/import/move-tenant-keys.ts'
import { OfflineError, OperatorError } from '../../platform/operator-error.ts'
import { openLogger } from '../../platform/telemetry/logger.ts'
import type { MovePlan } from '../../slices/offboarding/index.ts'
import { proveTenants } from '../migrate-engine/prove-tenants.ts'
import { masterKeysOf, migrateShared, openSharedKeyring } from '../open/open-postgres.ts'

type Cluster = Config & { readonly postgres: PostgresConfig }

export interface TenantMove {
  readonly from: Config
  readonly to: Config
  readonly tenant_id: string
  /** Base URL of the destination, which callers of the source are told. */
  readonly address: string
  /** Base URL of the source, if known, so that callers are never sent back there. */
  readonly served_at?: string
}

interface MoveOptions {
  progress?(text: string): void
  /** Called at named points, where crash tests stop the process. */
  step?(name: string): void | Promise<void>
  /** How long jobs of the tenant may take to end before writes are paused. */
  readonly jobs_ms?: number
}

/** The proof that the source signs when it gives up the tenant. */
export type MoveProof = TenantMoveStatement & {
  readonly signature: string
  readonly public_key: string
  readonly key_id: string
}

interface Task extends RowsOnTheirWay {
  readonly move: TenantMove & { readonly from: Cluster; readonly to: Cluster }
  readonly keys: { readonly from: ImportTarget; readonly to: ImportTarget }
  readonly options: Required<MoveOptions>
}

const JOBS_MS = 60_000
const POLL_MS = 200
const ELSEWHERE = 'the tenant is not served by the cluster of CUSTOS_DATABASE_URL'

/**
 * Moves the tenant, or continues an interrupted move to the same address. Throws OperatorError with
 * one line; the source continues to serve the tenant unless it has already given it up.
 */
export const runTenantMove = (move: TenantMove, options: MoveOptions = {}): Promise<MoveProof> =>
  withBoth(move, options, async (task) => {
    await requireAlone(task.from, task.tenant_id)
    const mark = await findMark(task.from, task.tenant_id)
    if (mark?.state === 'left') return finish(task, requireAddress(mark, move.address))
    return finish(task, await giveUp(task, mark))
  })

/**
 * Aborts a move before the source has given up the tenant. Starts at the source, which needs no
 * destination to serve the tenant again.
 */
export async function abortTenantMove(move: TenantMove): Promise<void> {
  const { tenant_id } = move
  const { postgres } = requireShared(move.from)
  const takeBack = async (from: PostgresConnection) => {
    await requireWhole(from)
    await requireAlone(from, tenant_id)
    const mark = await findMark(from, tenant_id)
    if (mark?.state === 'left')
      throw new MoveError(`the tenant has left for ${mark.address}: run the move again to end it`)
    if (mark?.state !== 'leaving') throw new MoveError('no move of the tenant was begun')
    await removeMark(from, mark)
    await withBoth(move, {}, emptyDestination).catch(({ message }: Error) => {
      throw new MoveError(
        'the source serves the tenant again, but the destination was not emptied; what is there ' +
          `stays out of use until the move is run, or run and taken back, again: ${message}`,
      )
    })
  }
  await namingDatabases(() => withPostgres(postgres.database_url, takeBack))
}

async function emptyDestination({ to, keys, tenant_id }: Task): Promise<void> {
  const arriving = await findMark(to, tenant_id)
  if (arriving?.state !== 'arriving') return
  await removeArrived(to, tenant_id)
  await removeTenantKeys(keys.to, tenant_id)
  await removeMark(to, arriving)
}

/** Removes the mark and the fence. */
const removeMark = (connection: PostgresConnection, { tenant_id, state }: MoveRow): Promise<void> =>
  asTenant(connection, tenant_id, async () => {
    await setFence(connection, tenant_id, null)
    const sql = 'delete from tenant_moves where tenant_id = $1 and state = $2'
    await connection.query({ sql }, [tenant_id, state])
  })

async function namingDatabases<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    // An error on opening a database names a setting, which a move may not have.
    const reason = error instanceof OperatorError ? error.cause : error
    if (!(reason instanceof PostgresError)) throw error
    throw new OfflineError(`a database of the move: ${reason.message}`)
  }
}

async function withBoth<T>(
  given: TenantMove,
  options: MoveOptions,
  work: (task: Task) => Promise<T>,
): Promise<T> {
  const move = { ...given, from: requireShared(given.from), to: requireShared(given.to) }
  const { origin } = move.from
  if (origin === null || origin !== move.to.origin)
    throw new OfflineError(
      'the clusters must have the same CUSTOS_ORIGIN: the log of the tenant goes on under it',
    )
  const logger = openLogger('error')
  await namingDatabases(() =>
    migrateShared(move.to, move.to.postgres, { clock: systemClock(), logger }),
  )
  const keys = { from: openKeys(move.from), to: openKeys(move.to) }
  const quiet = { progress: () => {}, step: () => {}, jobs_ms: JOBS_MS }
  const { tenant_id } = move
  try {
    return await namingDatabases(() =>
      withPostgres(move.from.postgres.database_url, (from) =>
        withPostgres(move.to.postgres.database_url, async (to) => {
          await requireWhole(from)
          await requireTwoKeyrings(keys.from, keys.to)
          return work({ move, from, to, tenant_id, keys, options: { ...quiet, ...options } })
        }),
      ),
    )
  } finally {
    await Promise.all([keys.from.close(), keys.to.close()])
  }
}

function requireShared(config: Config): Cluster {
  const { postgres } = config
  if (postgres !== null) return { ...config, postgres }
  throw new OfflineError(
    'a tenant is moved between databases on PostgreSQL: set CUSTOS_DATABASE_URL and ' +
      'CUSTOS_TO_DATABASE_URL; custos migrate-engine moves a data directory there',
  )
}

const openKeys = (cluster: Cluster): ImportTarget => {
  const { keyring_url, database_url } = cluster.postgres
  return openImportTarget({ url: keyring_url ?? database_url, ...masterKeysOf(cluster) })
}

/** Takes a lock of the session, which is released however this process ends. */
async function requireAlone(from: PostgresConnection, tenant_id: string): Promise<void> {
  const sql = `select pg_try_advisory_lock(hashtextextended('custos/move/' || $1, 0)) as alone`
  if ((await from.query({ sql }, [tenant_id])).rows[0].alone) return
  throw new MoveError('another process is moving this tenant')
}

async function findMark(
  connection: PostgresConnection,
  tenant_id: string,
): Promise<MoveRow | null> {
  const sql = 'select * from tenant_moves where tenant_id = $1'
  return (await connection.query({ sql }, [tenant_id])).rows[0] ?? null
}

function requireAddress(mark: MoveRow, address: string): MoveRow {
  if (mark.address === address) return mark
  throw new MoveError(`a move of the tenant to ${mark.address} was begun: end it, or --abort it`)
}

/** Marks the tenant on both sides, unless an interrupted run has done so. */
async function begin(task: Task, known: MoveRow | null): Promise<MoveRow> {
  const { from, to, tenant_id, move, keys } = task
  if (move.address === move.served_at)
    throw new MoveError(`the tenant is served at ${move.address} already: nothing was changed`)
  await requireServed(task)
  const arriving = await findMark(to, tenant_id)
  const there = await findKeysOf(keys.to, tenant_id)
  if (arriving?.state === 'left' || there === 'destroyed')
    throw new MoveError(
      'the tenant was served there before and its keys were destroyed when it left: move it to a ' +
        'cluster that never had it',
    )
  if (there === 'keys' && arriving?.state !== 'arriving')
    throw new MoveError('the destination has keys of a tenant with this id: nothing was changed')
  const mark: MoveRow =
    known?.state === 'leaving'
      ? requireAddress(known, move.address)
      : {
          tenant_id,
          move_id: systemIds.hex(16),
          state: 'leaving',
          address: move.address,
          started_us: systemClock().now(),
          proof: null,
        }
  // The destination first, so that remains of an earlier attempt are never served.
  await asTenant(to, tenant_id, async () => {
    await saveMark(to, { ...mark, state: 'arriving' })
    await setFence(to, tenant_id, MOVING)
  })
  await asTenant(from, tenant_id, () => saveMark(from, mark))
  await task.options.step('begun')
  return mark
}

async function requireServed({ from, tenant_id, keys }: Task): Promise<void> {
  const sql = `select d.tenant_id is not null as destroyed from tenants as t
    left join destructions as d on d.tenant_id = t.tenant_id where t.tenant_id = $1`
  const [row] = (await from.query({ sql }, [tenant_id])).rows
  if (!row) throw new MoveError(ELSEWHERE)
  if (row.destroyed) throw new MoveError('the tenant has been off-boarded: it stays where it is')
  if ((await findKeysOf(keys.from, tenant_id)) !== 'keys') throw new MoveError(ELSEWHERE)
}

async function saveMark(connection: PostgresConnection, mark: MoveRow): Promise<void> {
  const { tenant_id, move_id, state, address, started_us, proof } = mark
  const sql = `insert into tenant_moves (tenant_id, move_id, state, address, started_us, proof)
    values ($1, $2, $3, $4, $5, $6) on conflict (tenant_id) do update set
    move_id = $2, state = $3, address = $4, started_us = $5, proof = $6`
  await connection.query({ sql }, [tenant_id, move_id, state, address, started_us, proof])
}

/** Waits for the running unit of work. Call it in a transaction of `asTenant`. */
async function setFence(
  connection: PostgresConnection,
  tenant_id: string,
  fence: string | null,
): Promise<void> {
  const sql = `insert into tenant_locks (tenant_id, fence) values ($1, $2)
    on conflict (tenant_id) do update set fence = $2`
  await connection.query({ sql }, [tenant_id, fence])
}

/** Marks, copies, pauses, copies the rest and proves it; then the source gives up the tenant. */
async function giveUp(task: Task, known: MoveRow | null): Promise<MoveRow> {
  const { from, tenant_id, options } = task
  try {
    const mark = await begin(task, known)
    const state = await copyAll(task, options.progress)
    await options.step('copied')
    await requireIdleJobs(task)
    const paused_ms = performance.now()
    await asTenant(from, tenant_id, () => setFence(from, tenant_id, MOVING))
    await options.step('paused')
    const proof = await proveCopy(task, { mark, state, paused_ms })
    await options.step('proved')
    const left: MoveRow = { ...mark, state: 'left', proof: JSON.stringify(proof) }
    await asTenant(from, tenant_id, async () => {
      await requireFence(from, tenant_id)
      await saveMark(from, left)
      await setFence(from, tenant_id, MOVED)
    })
    await options.step('left')
    return left
  } catch (error) {
    await resumeUnlessLeft(task)
    throw error
  }
}

// The move may have been aborted meanwhile, so that the source accepts writes again.
async function requireFence(from: PostgresConnection, tenant_id: string): Promise<void> {
  const sql = 'select fence from tenant_locks where tenant_id = $1 for update'
  if ((await from.query({ sql }, [tenant_id])).rows[0]?.fence === MOVING) return
  throw new MoveError('the move was taken back meanwhile')
}

/** Makes the source serve the tenant again after a failure, unless its mark is `left`. */
async function resumeUnlessLeft({ from, tenant_id }: Task): Promise<void> {
  // The fence of a tenant that is arriving here belongs to another move.
  const sql = `update tenant_locks set fence = null where tenant_id = $1 and fence = $2 and
    exists (select 1 from tenant_moves where tenant_id = $1 and state = 'leaving')`
  await asTenant(from, tenant_id, () => from.query({ sql }, [tenant_id, MOVING])).catch(() => {})
}

/** Waits for running jobs to end. No job starts once the tenant is leaving. */
async function requireIdleJobs({ from, tenant_id, options }: Task): Promise<void> {
  const sql = `select count(*) as running from jobs
    where tenant_id = $1 and state = 'running' and lease_until_us > $2`
  const ends = performance.now() + options.jobs_ms
  for (;;) {
    const { rows } = await from.query({ sql }, [tenant_id, systemClock().now()])
    if (Number(rows[0].running) === 0) return
    if (performance.now() > ends)
      throw new MoveError('a job of the tenant is still running: try again when it has ended')
    await sleep(POLL_MS)
  }
}

/** @param underway.paused_ms when the pause began */
async function proveCopy(
  task: Task,
  underway: { mark: MoveRow; state: Awaited<ReturnType<typeof copyAll>>; paused_ms: number },
): Promise<MoveProof> {
  const { mark, state, paused_ms } = underway
  const { from, to, tenant_id, keys, move, options } = task
  // Must come before anything is read: the ledger then refuses an erasure with an earlier number,
  // and an erasure with a later number finds the fence.
  await outdateErasures(keys.from, tenant_id)
  if ((await countOpenErasures(keys.from, tenant_id)) > 0)
    throw new MoveError('an erasure of the tenant is not finished: try again when it is')
  await copyChanges(task, state, options.progress)
  // Writes are paused, and the proof is about this time. The destination keeps the signing keys of
  // the source valid until then.
  const at = formatTime(systemClock().now())
  const way = { ...keys, tenant_id, at }
  const keysProof = await copyProvedKeys(way, () => options.step('keys'))
  const [sent, kept] = await Promise.all([
    digestTenant(from, tenant_id),
    digestTenant(to, tenant_id),
  ])
  for (const [i, table] of kept.entries()) requireEqual(sent[i] ?? table, table)
  const counts = Object.fromEntries(kept.map(({ name, rows }) => [name, rows]))
  const [proved] = await proveTenants({
    ...move,
    reports: [{ tenant_id, counts: { ...NO_COUNTS, ...counts }, findings: [] }],
    progress: options.progress,
  })
  if (!proved) throw new MoveError(ELSEWHERE)
  const { tenant_id: _, ...tenant } = proved
  return signProof(task, {
    record_kind: TENANT_MOVE_KIND,
    move_id: mark.move_id,
    tenant_id,
    origin: move.to.origin ?? '',
    address: mark.address,
    started_at: formatTime(mark.started_us),
    proved_at: at,
    tables: kept.filter(({ rows }) => rows > 0),
    control: await rehearseControl(task),
    keys: keysProof,
    tenant,
    paused_ms: Math.round(performance.now() - paused_ms),
  })
}

/** Signed by the source, which states that it gives up the tenant and adds its last checkpoint. */
const signProof = (
  { move, tenant_id }: Task,
  stated: Omit<TenantMoveStatement, 'last_checkpoint'>,
): Promise<MoveProof> =>
  withKeyring(move.from, async (keyring) => {
    const last = await keyring.checkpoints.last(tenant_id)
    const { epoch_number = 0, tree_size = 0, root_hash = '', checkpoint = '' } = last ?? {}
    const last_checkpoint = last && { epoch_number, tree_size, root_hash, checkpoint }
    const statement: TenantMoveStatement = { ...stated, last_checkpoint }
    const signer = keyring.signer('record')
    const proof = {
      ...statement,
      signature: signer.sign(tenantMoveBytes(statement)).toString('base64'),
      public_key: signer.public_key.toString('base64'),
      key_id: signer.key_id,
    }
    const { valid, reason } = await verifyTenantMove(proof, keyring.publishedKeys())
    if (!valid) throw new MoveError(`the proof of the move does not verify: ${reason}`)
    return proof
  })

const NO_COUNTS = {
  entries: 0,
  epochs: 0,
  witnessed: 0,
  stores: 0,
  facts: 0,
  tombstones: 0,
  decisions: 0,
  certificates: 0,
}

class RehearsalEnd extends Error {}

/** Copies the control rows in a transaction that is rolled back, to check that they fit in. */
async function rehearseControl(task: Task): Promise<TenantTableDigest[]> {
  let digests: TenantTableDigest[] = []
  const rehearse = async () => {
    digests = await copyControlRows(task)
    throw new RehearsalEnd()
  }
  await asTenant(task.to, task.tenant_id, rehearse).catch((error: unknown) => {
    if (!(error instanceof RehearsalEnd)) throw error
  })
  return digests.filter(({ rows }) => rows > 0)
}

/** The steps after the source has given up the tenant; each may be repeated. */
async function finish(task: Task, left: MoveRow): Promise<MoveProof> {
  const { from, to, tenant_id, move, options } = task
  await withKeyring(move.to, async () => {
    // Opening the keyring has brought the ledger copy of the destination up to date.
  })
  await options.step('copy')
  const there = await findMark(to, tenant_id)
  if (there?.move_id !== left.move_id)
    throw new MoveError('the destination knows nothing of this move: it is another cluster')
  if (there.state === 'arriving')
    await asTenant(to, tenant_id, async () => {
      await copyControlRows(task)
      await saveMark(to, { ...left, state: 'arrived' })
      await setFence(to, tenant_id, null)
    })
  await options.step('arrived')
  await destroyKeys(task, left)
  await options.step('destroyed')
  await removeLeft(from, tenant_id)
  return JSON.parse(left.proof ?? 'null')
}

/** Records it in the ledger too, so that the keys are also destroyed in a restored keyring. */
async function destroyKeys({ move, tenant_id }: Task, left: MoveRow): Promise<void> {
  const { move_id, address, started_us } = left
  const plan: MovePlan = { version: 1, kind: 'move', move_id, address, started_us }
  await withKeyring(move.from, async (keyring) => {
    const [entry] = await keyring.ledger.request([
      {
        tenant_id,
        subject_kind: 'tenant',
        subject: tenant_id,
        store_id: null,
        requested_us: systemClock().now(),
        plan,
        destroys: [],
      },
    ])
    await keyring.destroyTenant(tenant_id)
    if (!entry || entry.state === 'completed') return
    const completed_us = systemClock().now()
    await keyring.ledger.complete([
      { ledger_id: entry.ledger_id, certificate: JSON.parse(left.proof ?? 'null'), completed_us },
    ])
  })
}

async function withKeyring<T>(
  cluster: Cluster,
  act: (keyring: Awaited<ReturnType<typeof openSharedKeyring>>) => Promise<T>,
): Promise<T> {
  const keyring = await openSharedKeyring(cluster, cluster.postgres, { clock: systemClock() })
  try {
    return await act(keyring)
  } finally {
    await keyring.close()
  }
}
