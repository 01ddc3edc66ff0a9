// The callers' words of a policy, sealed under a secret of their own for each version.

import assert from 'node:assert/strict'
import { POLICY_ACTIONS, POLICY_TYPES, type PolicyAction, type PolicyType } from '@custos/contract'
import type { Kernel } from '../../platform/kernel.ts'
import { open, SealError, seal } from '../../platform/keys/seal.ts'
import { recordSecrets } from '../../platform/record-secrets.ts'
import type { PolicyRow } from './policies.sql.ts'

/** What a caller wrote: a name or a pattern may be a person's. */
export interface PolicyWords {
  readonly name: string
  readonly description: string
  readonly config: Readonly<Record<string, unknown>>
}

interface Owner {
  readonly tenant_id: string
  readonly policy_id: string
  readonly version: number
}

export const associatedData = ({ tenant_id, policy_id, version }: Owner): Buffer =>
  Buffer.from(JSON.stringify(['policy', tenant_id, policy_id, version]))

export async function sealPolicy(
  kernel: Kernel,
  owner: Owner,
  words: PolicyWords,
): Promise<{ secret_no: number; sealed: Buffer }> {
  const keys = await kernel.keyring.tenant(owner.tenant_id)
  const { secret_no, secret } = await recordSecrets(kernel).take(owner.tenant_id)
  const key = keys.factKey(secret)
  secret.fill(0)
  return { secret_no, sealed: seal(key, associatedData(owner), Buffer.from(JSON.stringify(words))) }
}

export interface OpenedPolicy {
  readonly row: PolicyRow
  /** Null: it cannot be opened. */
  readonly words: PolicyWords | null
}

/** In the order of `rows`. */
export async function openPolicies(
  kernel: Pick<Kernel, 'keyring'>,
  tenant_id: string,
  rows: readonly PolicyRow[],
): Promise<OpenedPolicy[]> {
  if (rows.length === 0) return []
  const keys = await kernel.keyring.tenant(tenant_id)
  const numbers = rows.map(({ secret_no }) => secret_no)
  const secrets = await kernel.keyring.secrets(tenant_id, 'decision', numbers)
  return rows.map((row) => {
    const secret = secrets.get(row.secret_no)
    if (!secret) return { row, words: null }
    const aad = associatedData({ tenant_id, ...row })
    return { row, words: openWords(keys.factKey(secret), aad, row.sealed) }
  })
}

function openWords(key: Parameters<typeof open>[0], aad: Buffer, sealed: Uint8Array) {
  try {
    // Authenticated, and written by sealPolicy.
    const words: PolicyWords = JSON.parse(open(key, aad, sealed).toString())
    return words
  } catch (error) {
    if (error instanceof SealError) return null
    throw error
  }
}

export const UNREADABLE: PolicyWords = { name: '', description: '', config: {} }

// Written from the contract's enums: anything else was not written by us.
function oneOf<T extends string>(words: readonly T[], word: string): T {
  const found = words.find((known) => known === word)
  assert(found !== undefined, 'a policy has a type and an action of the contract')
  return found
}

export const typeOf = (row: PolicyRow): PolicyType => oneOf(POLICY_TYPES, row.policy_type)
export const actionOf = (row: PolicyRow): PolicyAction => oneOf(POLICY_ACTIONS, row.action)
