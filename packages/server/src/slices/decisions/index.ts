// The face of the decision trail: handlers, and what an erasure needs of it.

import type { decisions } from '@custos/contract'
import type { HandlersOf } from '../../platform/call.ts'
import { exportDecisions } from './export.ts'
import { log } from './log.ts'
import { get, list, stats } from './reads.ts'
import { replay } from './replay.ts'
import { scrub } from './scrub.ts'

export {
  checkDecisions,
  checkSomeDecisions,
  type DecisionFault,
  type DecisionsChecked,
} from './check.ts'
export { type DecisionFilter, listDecisions } from './decisions.sql.ts'
export { digestDocuments } from './document-digests.ts'
export { composed, fold } from './folding.ts'
export { refuseHeldDecision, refuseHeldUses } from './holds.ts'
export { finishScrub, isLacking, lacksScrub, scrubNow } from './ledger-scrub.ts'
export { occurrences } from './occurrences.ts'
export { openRows, whenSettled } from './open.ts'
export { ownTexts, textsIn } from './own-texts.ts'
export { readBackScrubbed } from './plan-scrub.ts'
export { type Probed, probeDecisions } from './probe.ts'
export { probeRedaction } from './probe-redaction.ts'
export {
  applyRedaction,
  type DecisionRedaction,
  type PlannedRedaction,
  planRedaction,
} from './redact.ts'
export { MARKER } from './redaction.ts'
export {
  applyScrubParts,
  dropScrubParts,
  partLimits,
  type Redaction,
  untilCurrent,
  type WrittenScrub,
  writeScrubParts,
} from './scrub-parts.ts'
export { showBySeqs } from './show-by-seqs.ts'

export const decisionsHandlers = {
  log,
  list,
  stats,
  export: exportDecisions,
  get,
  replay,
  scrub,
} satisfies HandlersOf<typeof decisions>
