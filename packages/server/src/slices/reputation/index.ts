// The face of reputation: handlers, scores for other slices, and recomputing from the log.

import type { reputation } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { outcome, outcomes } from './apply-outcomes.ts'
import { attest, attestation, attestations, issuer } from './attest.ts'
import { decide, verifyBatch } from './decide.ts'
import { changeSettings, settings } from './evidence.ts'
import { review, reviews } from './reviews.ts'
import { rotate, rotations } from './rotate.ts'
import { score, scores } from './scores.ts'

export { nameAll, scoreOf, showAll } from './agent-score.ts'
export { checkReceipts } from './receipts/execution-receipt.ts'
export { type RecomputeResult, recompute } from './recompute.ts'
export { listAgents } from './rows/agents.sql.ts'
export { listWeighed } from './rows/aggregates.sql.ts'
export { dimensionLabel } from './rows/labels.ts'
export { openPayload, reputationTextSources } from './rows/sealed-payload.ts'

export const reputationHandlers = {
  decide,
  verify_batch: verifyBatch,
  outcome,
  outcomes,
  review,
  reviews,
  scores,
  score,
  issuer,
  attest,
  attestations,
  attestation,
  rotate,
  rotations,
  settings,
  change_settings: changeSettings,
} satisfies HandlersOf<typeof reputation>
