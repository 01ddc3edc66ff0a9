// SQL of the slots that requests under a rate limit are counted in.

import { statement } from '../db/statement.ts'
import { deleteFrom, from, type TenantDb, type Tx } from '../db/tenant-db.ts'

/** `limit_id` is the id of a policy, or the name of a limit of the plan. */
export interface SlotRow {
  readonly limit_id: string
  readonly slot_us: number
  readonly count: number
}

// The column is called `policy_id` because it is older than the limits of plans.
const COLUMNS = ['policy_id as limit_id', 'slot_us', 'count'] as const

const saveStatement = statement<SlotRow>()((k, p) =>
  k
    .insertInto('rate_slots')
    .values({
      tenant_id: p.tenant_id,
      policy_id: p.limit_id,
      slot_us: p.slot_us,
      count: p.count,
    })
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'policy_id', 'slot_us']).doUpdateSet({ count: p.count }),
    ),
)

/** Writes the count of a slot, whatever it was before. */
export const saveSlot = (tx: Tx, row: SlotRow) => tx.runOf(saveStatement, row)

/** Every slot that begins after the time. */
export const listSlots = (db: TenantDb, after_us: number): Promise<SlotRow[]> =>
  db.all(from(db, 'rate_slots').select(COLUMNS).where('slot_us', '>', after_us))

const slotsStatement = statement<{ limit_id: string; after_us: number }>()((k, p) =>
  k
    .selectFrom('rate_slots')
    .select(COLUMNS)
    .where('tenant_id', '=', p.tenant_id)
    .where('policy_id', '=', p.limit_id)
    .where('slot_us', '>', p.after_us),
)

export const listSlotsOf = (db: TenantDb, limit_id: string, after_us: number) =>
  db.allOf(slotsStatement, { limit_id, after_us })

export const deleteSlots = (tx: Tx, limit_id: string, until_us: number) =>
  tx.run(
    deleteFrom(tx, 'rate_slots').where('policy_id', '=', limit_id).where('slot_us', '<=', until_us),
  )
