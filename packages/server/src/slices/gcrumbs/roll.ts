// POST /v1/gcrumbs/roll: a checkpoint over what the log holds when it is asked for.

import type { Epoch, gcrumbs } from '@custos/contract'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../platform/kernel/call.ts'
import { Refusal } from '../../platform/refusal.ts'
import { loadHead } from './append.ts'
import { type EpochRow, findEpochs, findLastEpoch } from './chain.sql.ts'
import { rollEpoch, showEpoch } from './epochs.ts'

type RollCall = Call<typeof gcrumbs.roll>

/** The log as a keyed request first found it; which epoch answers it follows from that. */
interface Asked {
  readonly generation: number
  readonly size: number
  /** There was something new to sign. */
  readonly rolled: boolean
}

// Signing waits for the disk, which a unit of work must not: the unit only claims the key.
export const roll: Handler<typeof gcrumbs.roll> = async (call) => {
  const repeated = await call.once<Asked | null>({
    run: async (tx) => ({ reply: null, ids: { ...(await findAsked(tx)) } }),
    replay: async (_tx, { generation, size, rolled }) => ({
      generation: Number(generation),
      size: Number(size),
      rolled: rolled === true,
    }),
  })
  if (repeated === null) return rollEpoch(call.kernel, call.tenant_id)
  return (await findAnswer(call, repeated)) ?? rollFor(call, repeated)
}

async function findAsked(tx: Tx): Promise<Asked> {
  const { generation, frontier } = await loadHead(tx)
  if (frontier.size === 0) throw new Refusal('chain_empty')
  const last = await findLastEpoch(tx)
  const rolled = last?.generation !== generation || last.tree_size !== frontier.size
  return { generation, size: frontier.size, rolled }
}

const findAnswer = (call: RollCall, asked: Asked): Promise<Epoch | undefined> =>
  call.read(async (db) => {
    const row = await findCovering(db, asked)
    return row && { ...(await showEpoch(call.kernel, db, row)), rolled: asked.rolled }
  })

async function findCovering(db: TenantDb, asked: Asked): Promise<EpochRow | undefined> {
  const epochs = await findEpochs(db, asked.size)
  return epochs.find(({ generation }) => generation === asked.generation)
}

// The first request has not signed yet, or was cut off before it could.
async function rollFor(call: RollCall, asked: Asked): Promise<Epoch> {
  const epoch = await rollEpoch(call.kernel, call.tenant_id)
  return (await findAnswer(call, asked)) ?? epoch
}
