// What a decision's refs are when it is logged: facts to bind to, erased ones, or mere labels.

import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { factStates, knownContents } from '../memory/index.ts'
import type { NewDecision } from './log-request.ts'
import { BeingErased } from './open.ts'
import { MARKER } from './redaction.ts'

type Named = Pick<NewDecision, 'refs' | 'contents'>

/** What the unit of work cannot wait for. */
export interface PreparedFacts {
  /** Distinct refs of the record, ascending. */
  readonly refs: readonly number[]
  readonly secrets: ReadonlyMap<number, Buffer | null>
  /** What is stored under the refs; null when the request gave no contents to compare. */
  readonly stored: ReadonlyMap<number, string> | null
}

export interface FactsAtLog {
  /** Distinct refs of the record, ascending. */
  readonly refs: readonly number[]
  /** Refs of live facts, ascending; their secrets, in this order, are part of the key. */
  readonly bound: readonly number[]
  readonly secrets: readonly Buffer[]
  readonly gone: readonly number[]
}

export async function prepareFacts(
  kernel: Kernel,
  tenant_id: string,
  { refs, contents }: Named,
): Promise<PreparedFacts> {
  if (refs.length === 0) return { refs, secrets: new Map(), stored: null }
  const distinct = [...new Set(refs)].sort((a, b) => a - b)
  const stored = contents.length === 0 ? null : await knownContents(kernel, tenant_id, distinct)
  const secrets = await kernel.keyring.secrets(tenant_id, 'fact', distinct)
  return { refs: distinct, secrets, stored }
}

/**
 * The facts as the unit of work finds them. Throws BeingErased when one is being erased, or
 * appeared since they were prepared: then prepare again.
 */
export async function settleFacts(db: TenantDb, prepared: PreparedFacts): Promise<FactsAtLog> {
  const { refs, stored } = prepared
  if (refs.length === 0) return { refs, bound: [], secrets: [], gone: [] }
  const states = await factStates(db, refs)
  const [bound, secrets, gone] = [[] as number[], [] as Buffer[], [] as number[]]
  for (const ref of refs) {
    const state = states.get(ref)
    if (state === 'erasing') throw new BeingErased()
    if (state === 'erased') gone.push(ref)
    const secret = prepared.secrets.get(ref)
    // A live fact whose secret was lost with a keyring can no longer be read: a label like others.
    if (state !== 'live' || !secret) continue
    if (stored !== null && !stored.has(ref)) throw new BeingErased()
    bound.push(ref)
    secrets.push(secret)
  }
  return { refs, bound, secrets, gone }
}

/** Contents as the record shows them: what arrives for an erased ref is the marker. */
export function contentsToShow({ refs, contents }: Named, { gone }: FactsAtLog): string[] {
  if (gone.length === 0) return [...contents]
  return contents.map((content, i) => (gone.includes(refs[i] ?? -1) ? MARKER : content))
}

/** Contents as they are kept: a reference where they equal the stored fact they are bound to. */
export function contentsToKeep(
  shown: readonly string[],
  refs: readonly number[],
  { stored }: PreparedFacts,
): (string | true)[] {
  return shown.map((content, i) => (stored?.get(refs[i] ?? -1) === content ? true : content))
}
