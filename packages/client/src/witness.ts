// A witness of the audit log: it stores checkpoints and detects changes of the log before them.

import { type PublishedKey, type Verdict, verifyEnvelope } from '@custos/proof'
import type { Client } from './client.ts'
import { call } from './exchange.ts'
import { gcrumbsConsistency, gcrumbsEpochs, gcrumbsPublicKey } from './generated/operations.ts'
import type { Epoch } from './generated/types.ts'
import {
  keysOf,
  type PinnedKeys,
  ProofError,
  type WitnessResult,
  type WitnessStorage,
} from './verify.ts'

export async function trustOnFirstUse(client: Client, storage: WitnessStorage) {
  const name = `custos-keys ${client.url}`
  const kept = await storage.get(name)
  if (kept) return JSON.parse(kept) as readonly PublishedKey[]
  const { keys } = await call(client, gcrumbsPublicKey)
  await storage.set(name, JSON.stringify(keys))
  return keys
}

export async function witness(
  client: Client,
  storage: WitnessStorage,
  pinned?: PinnedKeys,
): Promise<WitnessResult> {
  const keys = keysOf(pinned ?? (await trustOnFirstUse(client, storage)))
  const name = `custos-checkpoint ${client.url}`
  const kept = await storage.get(name)
  const previous = kept ? (JSON.parse(kept) as Epoch) : null
  const epoch = await newest(client, previous)
  if (!epoch) return { epoch, previous, verdict: null }
  const verdict = await compare(client, previous, epoch, keys)
  if (!verdict.valid) throw new ProofError('the audit log', verdict)
  await storage.set(name, JSON.stringify(epoch))
  return { epoch, previous, verdict }
}

/** The newest checkpoint. Throws if the service no longer has the stored one. */
async function newest(client: Client, previous: Epoch | null): Promise<Epoch | null> {
  let last: Epoch | null = null
  const offset = previous ? previous.epoch_number - 1 : 0
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = cursor === undefined ? { offset, limit: 500 } : { cursor, limit: 500 }
    const page = await call(client, gcrumbsEpochs, query)
    last = page.epochs.at(-1) ?? last
    cursor = page.next_cursor
  }
  if (previous && !last)
    throw new ProofError('the audit log', {
      valid: false,
      type: 'consistency',
      checks: [],
      not_checked: [],
      valid_with: [],
      reason: `checkpoint ${previous.epoch_number} is gone`,
    })
  return last
}

async function compare(
  client: Client,
  previous: Epoch | null,
  epoch: Epoch,
  keys: readonly PublishedKey[],
): Promise<Verdict> {
  if (!previous) return verifyEnvelope({ type: 'epoch', epoch }, { keys })
  const from = previous.epoch_number
  const { path } =
    from === epoch.epoch_number
      ? { path: [] }
      : await call(client, gcrumbsConsistency, epoch.epoch_number, { from })
  return verifyEnvelope({ type: 'consistency', from: previous, to: epoch, path }, { keys })
}
