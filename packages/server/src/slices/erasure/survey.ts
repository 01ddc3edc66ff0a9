// Which tenants a start or a timer has anything to do for: looked up for all of them together.
//
// Outside their turns: what another process is at looks unfinished, and is looked at again in the
// turn. What looks finished was so at that moment, and stays so unless somebody begins anew.

import { PLATFORM } from '../../platform/db/database.ts'
import { listDestroyedIds } from '../../platform/db/destructions.sql.ts'
import type { Kernel } from '../../platform/kernel.ts'
import type { LedgerCount, StoredCheckpoint } from '../../platform/keys/keyring.ts'
import { lacksScrub } from '../decisions/index.ts'
import { fitsHead, fitsLog } from '../gcrumbs/index.ts'
import { listStoreSecrets } from './subjects.sql.ts'
import { countStandingOf, findMarks } from './survey.sql.ts'

/** A number no epoch has. */
const NO_EPOCH = 0

interface Surveyed {
  readonly tenants: readonly string[]
  readonly counts: ReadonlyMap<string, LedgerCount>
  readonly checkpoints: ReadonlyMap<string, StoredCheckpoint>
  readonly marks: Awaited<ReturnType<typeof findMarks>>
}

/** Tenants whose data may be from before what the keyring knows, or in which erasures are open. */
export async function listInNeed(kernel: Kernel): Promise<string[]> {
  const seen = await survey(kernel)
  const unfinished = await unfinishedOf(kernel, seen)
  const rest = seen.tenants.filter((tenant_id) => !unfinished.has(tenant_id))
  const behind = await behindOf(kernel, seen, rest)
  return seen.tenants.filter((tenant_id) => unfinished.has(tenant_id) || behind.has(tenant_id))
}

/** Tenants in which erasures are open. */
export async function listUnfinished(kernel: Kernel): Promise<string[]> {
  return [...(await unfinishedOf(kernel, await survey(kernel)))]
}

/** Tenants with keys, but for those about to be off-boarded: their log takes nothing more. */
export async function listStanding({
  db,
  keyring,
}: Pick<Kernel, 'db' | 'keyring'>): Promise<string[]> {
  const leaving = new Set(await db.read(PLATFORM, listDestroyedIds))
  return (await keyring.listTenants()).filter((tenant_id) => !leaving.has(tenant_id))
}

async function survey({ db, keyring }: Kernel): Promise<Surveyed> {
  const tenants = await listStanding({ db, keyring })
  const listed = await keyring.checkpoints.listLast()
  const checkpoints = new Map(listed.map((row) => [row.tenant_id, row]))
  const marks = await findMarks(
    db,
    tenants.map((tenant_id) => {
      const epoch_number = checkpoints.get(tenant_id)?.epoch_number ?? NO_EPOCH
      return { tenant_id, params: { epoch_number } }
    }),
  )
  // After the data: what is completed meanwhile has its certificate there, or is looked at again.
  const counted = await keyring.ledger.countAll()
  const counts = new Map(counted.map((row) => [row.tenant_id, row]))
  return { tenants, counts, checkpoints, marks }
}

async function unfinishedOf(
  kernel: Kernel,
  { tenants, counts, marks }: Surveyed,
): Promise<Set<string>> {
  const unfinished = new Set<string>()
  for (const tenant_id of tenants) {
    const { requested = 0, stores = 0 } = counts.get(tenant_id) ?? {}
    const { erasing = null, held = null } = marks.get(tenant_id) ?? {}
    if (
      requested > 0 ||
      erasing !== null ||
      held !== null ||
      (stores > 0 && (await hasStoreWithoutSecret(kernel, tenant_id)))
    )
      unfinished.add(tenant_id)
  }
  return unfinished
}

// The row of a store that was deleted came back with older data.
async function hasStoreWithoutSecret(kernel: Kernel, tenant_id: string): Promise<boolean> {
  const stores = await kernel.db.read(tenant_id, listStoreSecrets)
  const numbers = stores.map(({ secret_no }) => secret_no)
  const secrets = await kernel.keyring.secrets(tenant_id, 'decision', numbers)
  return numbers.some((number) => (secrets.get(number) ?? null) === null)
}

async function behindOf(
  kernel: Kernel,
  { counts, checkpoints, marks }: Surveyed,
  tenants: readonly string[],
): Promise<Set<string>> {
  const certified = tenants.filter((tenant_id) => (counts.get(tenant_id)?.completed ?? 0) > 0)
  const standing = await countStandingOf(kernel.db, certified)
  const behind = new Set<string>()
  for (const tenant_id of tenants) {
    const { completed = 0, scrubs = 0 } = counts.get(tenant_id) ?? {}
    if (
      (standing.get(tenant_id) ?? 0) < completed ||
      (scrubs > 0 && (await lacksScrub(kernel, tenant_id))) ||
      !(await stands(kernel, tenant_id, { checkpoints, marks }))
    )
      behind.add(tenant_id)
  }
  return behind
}

/** Whether the log extends the last checkpoint, and shows it. */
async function stands(
  { db }: Kernel,
  tenant_id: string,
  { checkpoints, marks }: Pick<Surveyed, 'checkpoints' | 'marks'>,
): Promise<boolean> {
  const stored = checkpoints.get(tenant_id)
  if (!stored) return true
  const mark = marks.get(tenant_id)
  const fits = fitsHead(mark, stored)
  if (fits === null && !(await db.read(tenant_id, (one) => fitsLog(one, stored)))) return false
  return fits !== false && (mark?.epoch ?? null) !== null
}
