// What a decision's refs are when it is logged: facts to bind to, erased ones, or mere labels.

import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { factStates, openFacts } from '../memory/index.ts'
import { BeingErased, present, whenSettled } from './open.ts'
import { MARKER } from './redaction.ts'

export interface FactsAtLog {
  /** Distinct refs of the record, ascending. */
  readonly refs: readonly number[]
  /** Refs of live facts, ascending; their secrets, in this order, are part of the key. */
  readonly bound: readonly number[]
  readonly secrets: readonly Buffer[]
  readonly gone: readonly number[]
  /** What is stored under the refs, where the request gave contents to compare. */
  readonly stored: ReadonlyMap<number, string>
}

const NONE: FactsAtLog = { refs: [], bound: [], secrets: [], gone: [], stored: new Map() }

/** Waits, at most 5 s, until no fact among the refs is being erased. */
export async function loadFactsAtLog(
  kernel: Kernel,
  tenant_id: string,
  { refs, contents }: { refs: readonly number[]; contents: readonly string[] },
): Promise<FactsAtLog> {
  if (refs.length === 0) return NONE
  const distinct = [...new Set(refs)].sort((a, b) => a - b)
  return whenSettled(async () => {
    const found = await kernel.db.read(tenant_id, async (db) => {
      const states = await settledStates(db, distinct)
      const bound = distinct.filter((ref) => states.get(ref) === 'live')
      const opened =
        contents.length === 0 || bound.length === 0
          ? new Map<number, { content: string }>()
          : await openFacts(kernel, db, bound)
      const gone = distinct.filter((ref) => states.get(ref) === 'erased')
      return { bound, gone, opened }
    })
    const { bound, gone, opened } = found
    const secrets = await kernel.keyring.secrets(tenant_id, 'fact', bound)
    const stored = new Map([...opened].map(([ref, fact]) => [ref, fact.content] as const))
    return {
      refs: distinct,
      bound,
      secrets: bound.map((ref) => present(secrets.get(ref))),
      gone,
      stored,
    }
  })
}

async function settledStates(db: TenantDb, refs: readonly number[]) {
  const states = await factStates(db, refs)
  for (const state of states.values()) if (state === 'erasing') throw new BeingErased()
  return states
}

/** Whether the unit of work still sees what was prepared for. */
export async function isUnchanged(db: TenantDb, facts: FactsAtLog): Promise<boolean> {
  if (facts.refs.length === 0) return true
  const states = await factStates(db, facts.refs)
  if (states.size !== facts.bound.length + facts.gone.length) return false
  const are = (refs: readonly number[], state: string) =>
    refs.every((ref) => states.get(ref) === state)
  return are(facts.bound, 'live') && are(facts.gone, 'erased')
}

/** Contents as kept: a reference where they equal the stored fact, the marker where it is gone. */
export function contentsToKeep(
  { refs, contents }: { refs: readonly number[]; contents: readonly string[] },
  facts: FactsAtLog,
): (string | true)[] {
  const gone = new Set(facts.gone)
  return contents.map((content, i) => {
    const ref = refs[i] ?? -1
    if (gone.has(ref)) return MARKER
    return facts.stored.get(ref) === content ? true : content
  })
}
