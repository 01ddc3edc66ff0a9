// Erasure certificates: signed, verified before they are shown, shown with their signed bytes; and
// the limits of what they claim.

import assert from 'node:assert/strict'
import type { Certificate } from '@custos/contract'
import {
  certificateBytes,
  type ErasureStatement,
  type PublishedKey,
  verifyCertificate,
} from '@custos/proof'
import { sha256, toHex } from '../../platform/bytes.ts'
import type { DatabaseStats } from '../../platform/db/database.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import type { Signer } from '../../platform/keys/keyring.ts'
import { KeyringError } from '../../platform/keys/keyring-error.ts'
import { Refusal } from '../../platform/refusal.ts'

/** Requester and reason of an erasure, as stated in the certificate. */
export interface ErasureReasons {
  readonly legal_basis: string
  readonly requested_by: string | null
}

const DEFAULTS: ErasureReasons = {
  legal_basis: 'GDPR Article 17 — Right to Erasure',
  requested_by: 'data_subject',
}

/** Reasons for memories in a store of a self-test, whatever the request says. */
export const SELF_TEST: ErasureReasons = {
  legal_basis: 'none: synthetic data of a self-test',
  requested_by: 'self_test',
}

export const isSelfTest = ({ legal_basis, requested_by }: ErasureReasons): boolean =>
  legal_basis === SELF_TEST.legal_basis && requested_by === SELF_TEST.requested_by

export const fillReasons = (given: {
  readonly legal_basis?: string | null
  readonly requested_by?: string | null
}): ErasureReasons => ({
  legal_basis: given.legal_basis ?? DEFAULTS.legal_basis,
  requested_by: given.requested_by ?? DEFAULTS.requested_by,
})

/** The stored form: the statement and its signature, from which the signed bytes follow. */
export type StoredCertificate = ErasureStatement & {
  readonly signature: string
  readonly public_key: string
  readonly key_id: string
}

/** Returns the current erasure key. Nothing may be deleted without one, so call this first. */
export function erasureSigner(kernel: Kernel): Signer {
  try {
    return kernel.keyring.signer('erasure')
  } catch (error) {
    if (error instanceof KeyringError && error.code === 'no_signing_key')
      throw new Refusal('no_signing_key')
    throw error
  }
}

export async function signStatement(
  kernel: Kernel,
  statement: ErasureStatement,
): Promise<StoredCertificate> {
  const signer = erasureSigner(kernel)
  const stored: StoredCertificate = {
    ...statement,
    signature: signer.sign(certificateBytes(statement)).toString('base64'),
    public_key: signer.public_key.toString('base64'),
    key_id: signer.key_id,
  }
  const verdict = await verifyCertificate(stored, kernel.keyring.publishedKeys())
  assert(verdict.valid, `a new certificate does not verify: ${verdict.reason}`)
  return stored
}

/** Lower-case hex SHA-256 of the signed bytes, which the log carries for a certificate. */
export function certificateDigest(stored: StoredCertificate): string {
  const { signature: _, public_key: _key, key_id: _id, ...statement } = stored
  return toHex(sha256(certificateBytes(statement)))
}

/** Only this slice writes the column, and only certificates that were verified. */
export const parseCertificate = (record: string): StoredCertificate =>
  JSON.parse(record) as StoredCertificate

/** Shows the certificate; `verified` is checked now, against the currently published keys. */
export async function showCertificate(
  stored: StoredCertificate,
  keys: readonly PublishedKey[],
): Promise<Certificate> {
  const verdict = await verifyCertificate(stored, keys)
  const { signature, public_key, key_id, ...statement } = stored
  return {
    ...statement,
    coverage: { ...statement.coverage },
    scrubbed_decision_ids: [...statement.scrubbed_decision_ids],
    redactions: statement.redactions.map((redaction) => ({ ...redaction })),
    verification: {
      ran_at: statement.verification.ran_at,
      paths: statement.verification.paths.map((path) => ({ ...path })),
    },
    limits: [...statement.limits],
    signed_bytes: Buffer.from(certificateBytes(statement)).toString('base64'),
    signature,
    public_key,
    key_id,
    verified: verdict.valid,
  }
}

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
const DISCLOSED =
  'Runs of agents had sent this memory, or what was made from it, to the model providers and ' +
  'tools that `coverage` names by id and first time; what they keep is not covered.'
const DECISION_ONLY = 'Only this decision was redacted; the memories it used are erased one by one.'
const RECORD_STAYS =
  'Only the texts of this record were erased: its id, digests, status, times and log entries are ' +
  'kept, and texts of other records that repeat them are erased one by one.'
const STORE_SECRET =
  'These texts were sealed under the secret of their store, which stays: copies of the data made ' +
  'before this erasure can be read until the store is deleted.'
const CLEAR_NAME =
  'This name was given before names of keys were sealed: copies of the data made before this ' +
  'erasure show it.'

/**
 * The reported result for a destroyed secret. The embedded engine overwrites it in place;
 * PostgreSQL deletes the row, which it keeps for a while.
 */
export const destroyedKeyResult = (
  engine: DatabaseStats['engine'],
): 'key_destroyed' | 'key_deleted' => (engine === 'postgres' ? 'key_deleted' : 'key_destroyed')

/** @param shared_secret the record has no secret of its own */
export function listTextLimits(
  engine: DatabaseStats['engine'],
  { text_kind, secret_no }: { readonly text_kind: string; readonly secret_no: number | null },
): string[] {
  const keys = engine === 'postgres' ? [KEYRING_COPIES, PG_LOG] : [KEYRING_COPIES]
  const limits = [HEAPS, OUTSIDE, CALLER_LABELS, ...keys, RECORD_STAYS]
  if (secret_no !== null) return limits
  return [...limits, text_kind === 'key' ? CLEAR_NAME : STORE_SECRET]
}

interface LimitInputs {
  readonly engine: DatabaseStats['engine']
  readonly kind: 'fact' | 'decision'
  readonly outcome: 'erased' | 'already_absent' | 'nothing_found'
  /** True if the erased text was known while the read paths were checked. */
  readonly with_words: boolean
  /** True if texts of its store were sent to an external embedding service. */
  readonly sent_out?: boolean
  /** True if runs sent it, or text derived from it, to providers or tools. */
  readonly disclosed?: boolean
}

export function listLimits(inputs: LimitInputs): string[] {
  const { engine, kind, outcome, with_words, sent_out = false, disclosed = false } = inputs
  const always = [HEAPS, OUTSIDE, CALLER_LABELS, DECISION_IDS]
  if (outcome === 'nothing_found') return [NUMBER_ONLY, OUTSIDE]
  const keys = engine === 'postgres' ? [KEYRING_COPIES, PG_LOG] : [KEYRING_COPIES]
  if (kind === 'decision') return [...always, ...keys, DECISION_ONLY]
  if (outcome === 'already_absent') return [...always, ...keys, NO_TEXT]
  const sent = [...(sent_out ? [SENT_OUT] : []), ...(disclosed ? [DISCLOSED] : [])]
  return [...always, ...sent, ...keys, PARAPHRASE, ...(with_words ? [] : [WITHOUT_WORDS])]
}
