// The verification pass of an erasure over every way a decision is read.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Decision } from '@custos/contract'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import type { DecisionRow } from './decisions.sql.ts'
import { whenSettled } from './open.ts'
import { listOpened } from './plan-scrub.ts'
import { findShown, showPage } from './reads.ts'
import { MARKER, occursIn, redactJson, wantedOf } from './redaction.ts'
import { replayRow } from './replay.ts'
import type { Subject } from './scrub-document.ts'

export interface Probed {
  readonly path: string
  /** `absent` when no decision that used the fact shows it there. */
  readonly result: 'absent' | 'present'
}

const PATHS = {
  get: 'decisions.get',
  list: 'decisions.list',
  export: 'decisions.export',
  replay: 'decisions.replay',
} as const

type Path = keyof typeof PATHS

const ALL_PATHS = ['get', 'list', 'export', 'replay'] as const

/** Looks at every decision that used the ref; `content` is compared and goes no further. */
export async function probeDecisions(
  kernel: Kernel,
  tenant_id: string,
  subject: Subject,
): Promise<Probed[]> {
  const present = new Set<Path>()
  const stores = new Set<string>()
  for await (const chunk of listOpened(kernel, tenant_id, [subject.ref]))
    for (const { row, decision_id, document } of chunk) {
      // What a caller says after the erasure is no copy the service kept; contents still count.
      const later = document.gone.includes(subject.ref)
      const sought = later ? { ref: subject.ref, content: null } : subject
      // The memory is the same for every decision of a store: looked at once.
      const memory = !stores.has(row.store_id)
      stores.add(row.store_id)
      const probing = { kernel, tenant_id, row, decision_id, memory }
      for (const path of await pathsShowing(probing, sought)) present.add(path)
      // Decisions may be megabytes each; other requests are answered in between.
      await nextTurn()
    }
  return ALL_PATHS.map((path) => ({
    path: PATHS[path],
    result: present.has(path) ? 'present' : 'absent',
  }))
}

interface Probing {
  readonly kernel: Kernel
  readonly tenant_id: string
  readonly row: DecisionRow
  readonly decision_id: string
  readonly memory: boolean
}

async function pathsShowing(
  { kernel, tenant_id, row, decision_id, memory }: Probing,
  subject: Subject,
): Promise<Path[]> {
  const got = await findShown(kernel, tenant_id, decision_id)
  const { listed, exported, replayed } = await whenSettled(() =>
    kernel.db.read(tenant_id, async (db) => ({
      listed: await oneOf(kernel, db, row.seq, 'desc'),
      exported: await oneOf(kernel, db, row.seq, 'asc'),
      replayed: await replayRow(kernel, db, row, { memory }),
    })),
  )
  const shows = (decision: Decision | undefined) =>
    decision !== undefined && showsSubject(decision, subject)
  const remembered = (replayed?.memory_state ?? []).some(
    ({ ref, content }) => ref === subject.ref && content !== null,
  )
  const used = (replayed?.facts_used ?? []).some(
    ({ ref, content }) => ref === subject.ref && content !== null && content !== MARKER,
  )
  const found = {
    get: shows(got),
    list: shows(listed),
    export: shows(exported),
    replay: shows(replayed?.decision) || remembered || used,
  }
  return ALL_PATHS.filter((path) => found[path])
}

/** The decision at `seq` through the page that list (desc) and export (asc) are made of. */
async function oneOf(kernel: Kernel, db: TenantDb, seq: number, order: 'asc' | 'desc') {
  const range = { after_seq: seq - 1, before_seq: seq + 1 }
  const { shown } = await showPage(kernel, db, range, { order, limit: 1 })
  return shown[0]
}

// Another fact may say the same and is not erased: contents are looked at under this ref only.
function showsSubject(decision: Decision, { ref, content }: Subject): boolean {
  const { retrieved_refs, retrieved_contents, query, output, session_id, parameters } = decision
  const held = retrieved_contents.some((text, i) => retrieved_refs[i] === ref && text !== MARKER)
  if (held || content === null) return held
  const texts = [query, output, session_id ?? '']
  const wanted = wantedOf(content)
  return texts.some((text) => occursIn(text, wanted)) || redactJson(parameters, wanted).count > 0
}
