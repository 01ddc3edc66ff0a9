// The face of reputation: handlers, scores for other slices, and recomputing from the log.

import type { reputation } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { attest, attestation, attestations, issuer } from './attest.ts'
import { decide } from './decide.ts'
import { changeSettings, settings } from './evidence.ts'
import { outcome, outcomes } from './outcomes.ts'
import { review, reviews } from './reviews.ts'
import { rotate, rotations } from './rotate.ts'
import { score, scores } from './scores.ts'

export { nameAll, scoreOf, showAll } from './agent-score.ts'
export { listAgents } from './agents.sql.ts'
export { listWeighed } from './aggregates.sql.ts'
export { dimensionLabel } from './labels.ts'
export { type RecomputeResult, recompute } from './recompute.ts'
export { openPayload, reputationTextSources } from './sealed-payload.ts'

export const reputationHandlers = {
  decide,
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
