// What a certificate does not claim: stated in the signed text, so that nobody reads more into it.

import type { DatabaseStats } from '../../platform/db/database.ts'

const HEAPS =
  'Memory of running processes: a text handled shortly before may lie in a heap, swap area or ' +
  'core dump until it is reused.'
const KEYRING_COPIES =
  'Copies of the keyring made before this erasure still hold the destroyed secret until they are ' +
  'started with the erasure ledger or deleted; copies of the data alone cannot be read.'
const OUTSIDE =
  'Copies made outside the service: exports, answers already given, logs and prompts of callers.'
const PARAPHRASE =
  'Decisions that name the memory are redacted where they repeat its text word for word; a ' +
  'paraphrase is not recognised, and decisions that do not name it are not searched.'
const CALLER_LABELS =
  'Labels callers chose (store and model ids of decisions, who asked and on what basis) are kept.'
const DECISION_IDS =
  'A decision id is a hash, fixed by the interface, over tenant, store, model, query and time: ' +
  'who guesses a redacted query exactly can confirm the guess.'
const PG_LOG =
  'The keyring is on PostgreSQL: the deleted secret stays in unused pages, the write-ahead log, ' +
  'replicas and backups of the keyring database until these are rewritten or recycled.'
const WITHOUT_WORDS =
  'Read paths were checked by number, without the text, which could no longer be read when the ' +
  'erasure was finished.'
const NUMBER_ONLY =
  'Only the number was looked for; nothing is said of memories stored under other numbers.'
const NO_TEXT =
  'No text was stored under this number at that time, so queries and outputs were not searched.'
const SENT_OUT =
  'Texts of this store were sent to an embedding service outside this one; what that service ' +
  'keeps of them is not covered.'
const DECISION_ONLY = 'Only this decision was redacted; the memories it used are erased one by one.'

/**
 * The word for a secret that is no more: overwritten where it lay on the embedded engine; a
 * deleted row, which PostgreSQL keeps for a while, on the other.
 */
export const keyGone = (engine: DatabaseStats['engine']): 'key_destroyed' | 'key_deleted' =>
  engine === 'postgres' ? 'key_deleted' : 'key_destroyed'

export interface ClaimInputs {
  readonly engine: DatabaseStats['engine']
  readonly kind: 'fact' | 'decision'
  readonly outcome: 'erased' | 'already_absent' | 'nothing_found'
  /** The erased text was at hand while the read paths were checked. */
  readonly with_words: boolean
  /** Texts of its store have been given to an embedding service outside. */
  readonly sent_out?: boolean
}

export function limitsOf(inputs: ClaimInputs): string[] {
  const { engine, kind, outcome, with_words, sent_out = false } = inputs
  const always = [HEAPS, OUTSIDE, CALLER_LABELS, DECISION_IDS]
  if (outcome === 'nothing_found') return [NUMBER_ONLY, OUTSIDE]
  const keys = engine === 'postgres' ? [KEYRING_COPIES, PG_LOG] : [KEYRING_COPIES]
  if (kind === 'decision') return [...always, ...keys, DECISION_ONLY]
  if (outcome === 'already_absent') return [...always, ...keys, NO_TEXT]
  const sent = sent_out ? [SENT_OUT] : []
  return [...always, ...sent, ...keys, PARAPHRASE, ...(with_words ? [] : [WITHOUT_WORDS])]
}
