// Pure rules: how judgments, outcomes and reviews count in a score.

import type { Outcome, reputation } from '@custos/contract'
import type { Handler } from '../../platform/kernel/call.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { meter } from '../tenants/index.ts'
import { findSettings, saveSettings } from './rows/agents.sql.ts'
import { sameLabel } from './rows/labels.ts'

/** The decision that counts for an agent and a referent. */
export interface Judgment {
  readonly seq: number
  readonly agent_no: number
  readonly decision: string
  readonly tag: string
  readonly handle: Uint8Array
  readonly anchor: Uint8Array | null
  readonly recorded_by: string
}

/** A review with its reviewer. */
export interface Review {
  readonly reviewer_no: number
  readonly name: Uint8Array
  readonly anchor: Uint8Array | null
  readonly rating_e6: number
  /** The agent whose decision the review is limited to. Both `null` if it covers every agent. */
  readonly agent_no: number | null
  readonly handle: Uint8Array | null
}

/** The effect of an outcome on a judgment-certify. */
export type Effect = 'success' | 'failure' | 'unscored' | 'none'

const PAID: Outcome = 'paid'
const DEFAULTED: Outcome = 'default'

export function effectOf(outcome: string | undefined): Effect {
  if (outcome === undefined) return 'none'
  if (outcome === PAID) return 'success'
  return outcome === DEFAULTED ? 'failure' : 'unscored'
}

export const resolves = (effect: Effect): effect is 'success' | 'failure' =>
  effect === 'success' || effect === 'failure'

/** Whether the judgment affects the score. Others neither earn nor lose anything. */
export const isScored = ({ decision, tag }: Pick<Judgment, 'decision' | 'tag'>): boolean =>
  decision === 'certify' && tag === 'judgment'

/** Whether the reviewer is the agent that made the judgment. */
export const isOwn = (
  { name, anchor }: Pick<Review, 'name' | 'anchor'>,
  judgment: Pick<Judgment, 'handle' | 'anchor'>,
): boolean => sameLabel(name, judgment.handle) || sameLabel(anchor, judgment.anchor)

/** Whether the review covers this judgment, by name or by naming none. */
export function isAbout(
  { agent_no, handle }: Pick<Review, 'agent_no' | 'handle'>,
  judgment: Pick<Judgment, 'agent_no' | 'handle'>,
): boolean {
  if (agent_no !== null) return agent_no === judgment.agent_no
  return handle === null || sameLabel(handle, judgment.handle)
}

/** Whether the review affects the agent's score while the outcome is unknown. */
export const weighs = (review: Review, judgment: Judgment): boolean =>
  isScored(judgment) && isAbout(review, judgment) && !isOwn(review, judgment)

const UNIT_E6 = 1_000_000

/** The squared error of a rating in 1e-12. */
export function squaredError(rating_e6: number, effect: 'success' | 'failure'): bigint {
  const error = rating_e6 - (effect === 'success' ? UNIT_E6 : 0)
  return BigInt(error * error)
}

export const settings: Handler<typeof reputation.settings> = async (call) => ({
  ...(await call.read(findSettings)),
})

export const changeSettings: Handler<typeof reputation.change_settings> = (call, { body }) =>
  // Units of work of a tenant run one after another, so nothing changes between read and write.
  call.transact(async (tx) => {
    const before = await findSettings(tx)
    const wanted = {
      compare_credentials: body.compare_credentials ?? before.compare_credentials,
      judgments_final: body.judgments_final ?? before.judgments_final,
    }
    const changed_by = call.principal.key_id
    await saveSettings(tx, {
      compare_credentials: wanted.compare_credentials ? 1 : 0,
      judgments_final: wanted.judgments_final ? 1 : 0,
      changed_us: tx.now(),
      changed_by,
    })
    meter(tx, call.operation.id)
    await appendCrumb(tx, {
      event_type: 'cgr.settings_changed',
      subject: tx.tenant_id,
      payload: { ...wanted, changed_by },
    })
    return wanted
  })
