// Verification of answers of the service, with keys that the caller pinned.

import {
  detectEnvelope,
  isObject,
  type PublishedKey,
  type Verdict,
  verifyEnvelope,
} from '@custos/proof'
import { CustosError } from './errors.ts'
import type { Epoch } from './generated/types.ts'

export { detectEnvelope, type PublishedKey, type Verdict } from '@custos/proof'

/** A list of keys, or the answer of `gcrumbs.publicKey`, which contains one. */
export type PinnedKeys = readonly PublishedKey[] | { readonly keys: readonly PublishedKey[] }

/** Keeps texts between runs by name; `localStorage` fits with two arrow functions. */
export interface WitnessStorage {
  get(name: string): string | null | undefined | Promise<string | null | undefined>
  set(name: string, value: string): void | Promise<void>
}

/** The result of comparing the newest checkpoint with the stored one. */
export interface WitnessResult {
  /** The newest checkpoint; null if the log has none yet. */
  readonly epoch: Epoch | null
  /** The checkpoint that was stored before; null at the first run. */
  readonly previous: Epoch | null
  readonly verdict: Verdict | null
}

/** A signed record did not verify. */
export class ProofError extends CustosError {
  readonly verdict: Verdict

  override get name(): string {
    return 'ProofError'
  }

  constructor(what: string, verdict: Verdict) {
    super(`${what} does not verify: ${verdict.reason ?? verdict.type}`)
    this.verdict = verdict
  }
}

export const keysOf = (pinned: PinnedKeys): readonly PublishedKey[] =>
  'length' in pinned ? pinned : pinned.keys

/** Verifies a record, an answer of the service or an envelope. Never throws for bad input. */
export async function verify(
  value: unknown,
  { keys }: { readonly keys: PinnedKeys },
): Promise<Verdict> {
  return verifyEnvelope(detectEnvelope(value) ?? value, { keys: keysOf(keys) })
}

const CERTIFICATES = ['certificate', 'erasure_manifest']

/** Throws ProofError when the answer is a signed record that does not verify. */
export async function inspectAnswer(
  data: unknown,
  operation: string,
  keys: PinnedKeys,
  on: 'certificates' | 'all',
): Promise<void> {
  const envelope = detectEnvelope(data)
  if (!envelope) return
  const types = envelope.type === 'list' ? envelope.items.map(typeOf) : [envelope.type]
  if (on === 'certificates' && !types.some((type) => CERTIFICATES.includes(type))) return
  const verdict = await verifyEnvelope(envelope, { keys: keysOf(keys) })
  if (!verdict.valid) throw new ProofError(operation, verdict)
}

const typeOf = (item: unknown): string => (isObject(item) ? `${item['type']}` : '')
