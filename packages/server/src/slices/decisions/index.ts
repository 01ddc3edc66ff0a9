// The decision trail: handlers, and what an erasure needs of it.

import type { decisions } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { scrub } from './scrub/scrub.ts'
import { log } from './trail/log.ts'
import { exportDecisions, get, list, stats } from './trail/reads.ts'
import { replay } from './trail/replay.ts'

export {
  boundTextSource,
  countTextsUsing,
  destroyTextsUsing,
  isTextStored,
  openText,
  openTextsOfRun,
  type PreparedText,
  prepareText,
  storeText,
} from './bound/bound-texts.ts'
export { describeDisclosures, noteDisclosure } from './bound/disclosures.ts'
export { refuseHeldDecision, refuseHeldUses } from './scrub/holds.ts'
export { probeDecisions, probeRedaction, readBackScrubbed } from './scrub/probe.ts'
export {
  applyRedaction,
  type PlannedRedaction,
  planRedaction,
} from './scrub/redact-decision.ts'
export { finishScrub, isScrubMissing, lacksScrub, scrubDecisions } from './scrub/scrub.ts'
export {
  applyScrubParts,
  dropScrubParts,
  partLimits,
  type Redaction,
  retryPlanning,
  type WrittenScrub,
  writeScrubParts,
} from './scrub/scrub-parts.ts'
export {
  checkDecisions,
  checkSomeDecisions,
  digestDocuments,
} from './trail/check.ts'
export { type DecisionFilter, listDecisions } from './trail/decisions.sql.ts'
export { logDecision, prepareDecision } from './trail/log.ts'
export { openRows, ownTexts, retryWhileErasing, textsIn } from './trail/open.ts'
export { showBySeqs } from './trail/reads.ts'
export { findOccurrences, foldText, MARKER, toNfc } from './trail/redact-text.ts'

export const decisionsHandlers = {
  log,
  list,
  stats,
  export: exportDecisions,
  get,
  replay,
  scrub,
} satisfies HandlersOf<typeof decisions>
