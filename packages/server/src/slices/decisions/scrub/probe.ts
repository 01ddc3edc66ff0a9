// Verifies erasures and redactions on every path that shows decisions: get, list, export, replay.

import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { Decision } from '@custos/contract'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { listUsedAmong } from '../trail/decisions.sql.ts'
import { type OpenedDecision, openRows, resolveContents, retryWhileErasing } from '../trail/open.ts'
import { findDecisionRow, findDecisionView, showPage } from '../trail/reads.ts'
import { MARKER, occursInText, prepareContent, redactJson } from '../trail/redact-text.ts'
import { replayRow } from '../trail/replay.ts'
import { isScrubbed, type ScrubSubject } from '../trail/scrub-document.ts'
import { listOpened } from './plan-scrub.ts'

const PATHS = {
  get: 'decisions.get',
  list: 'decisions.list',
  export: 'decisions.export',
  replay: 'decisions.replay',
} as const

type Path = keyof typeof PATHS

const ALL_PATHS = ['get', 'list', 'export', 'replay'] as const

/**
 * Checks every decision that used one of the subjects; the results of each by its ref: `absent`
 * when no decision that used the memory shows it there. Contents are compared and not kept.
 */
export async function probeDecisions(
  kernel: Kernel,
  tenant_id: string,
  subjects: readonly ScrubSubject[],
): Promise<(ref: number) => { path: string; result: 'absent' | 'present' }[]> {
  const used = await kernel.db.read(tenant_id, (db) =>
    listUsedAmong(
      db,
      subjects.map(({ ref }) => ref),
    ),
  )
  const present = new Map<number, Set<Path>>()
  for (const subject of subjects)
    if (used.has(subject.ref))
      present.set(subject.ref, await listShowing(kernel, tenant_id, subject))
  return (ref) =>
    ALL_PATHS.map((path) => ({
      path: PATHS[path],
      result: present.get(ref)?.has(path) ? 'present' : 'absent',
    }))
}

/** Lists the paths on which a decision still shows the subject. */
async function listShowing(
  kernel: Kernel,
  tenant_id: string,
  subject: ScrubSubject,
): Promise<Set<Path>> {
  const present = new Set<Path>()
  const stores = new Set<string>()
  for await (const chunk of listOpened(kernel, tenant_id, [subject.ref]))
    for (const opened of chunk) {
      const { row, document } = opened
      // Text logged after the erasure is not a copy kept by the service; contents still count.
      const later = document.gone.includes(subject.ref)
      const sought = later ? { ref: subject.ref, content: null } : subject
      // The memory path is the same for every decision of a store, so it is checked once.
      const memory = !stores.has(row.store_id)
      stores.add(row.store_id)
      const probing = { kernel, tenant_id, memory }
      for (const path of await listPathsShowing(probing, opened, sought)) present.add(path)
      // Decisions may have megabytes each, so yield to other requests.
      await yieldToOthers()
    }
  return present
}

async function listPathsShowing(
  { kernel, tenant_id, memory }: { kernel: Kernel; tenant_id: string; memory: boolean },
  { row, decision_id }: Pick<OpenedDecision, 'row' | 'decision_id'>,
  subject: ScrubSubject,
): Promise<Path[]> {
  const got = await findDecisionView(kernel, tenant_id, decision_id)
  const { listed, exported, replayed } = await retryWhileErasing(() =>
    kernel.db.read(tenant_id, async (db) => ({
      listed: await showOne(kernel, db, row.seq, 'desc'),
      exported: await showOne(kernel, db, row.seq, 'asc'),
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

/** The decision at `seq` as a page of list (desc) or export (asc) shows it. */
async function showOne(kernel: Kernel, db: TenantDb, seq: number, order: 'asc' | 'desc') {
  const range = { after_seq: seq - 1, before_seq: seq + 1 }
  const { shown } = await showPage(kernel, db, range, { order, limit: 1 })
  return shown[0]
}

// Compares contents under this ref only: another memory with the same content is not erased.
function showsSubject(decision: Decision, { ref, content }: ScrubSubject): boolean {
  const { retrieved_refs, retrieved_contents, query, output, session_id, parameters } = decision
  const held = retrieved_contents.some((text, i) => retrieved_refs[i] === ref && text !== MARKER)
  if (held || content === null) return held
  const texts = [query, output, session_id ?? '']
  const wanted = prepareContent(content)
  return (
    texts.some((text) => occursInText(text, wanted)) || redactJson(parameters, wanted).count > 0
  )
}

/** Returns `scrubbed` for each path, or `absent` if these data have no such decision. */
export async function probeRedaction(
  kernel: Kernel,
  tenant_id: string,
  decision_id: string,
): Promise<{ path: string; result: 'absent' | 'present' | 'scrubbed' }[]> {
  const got = await findDecisionView(kernel, tenant_id, decision_id)
  const read = await retryWhileErasing(() =>
    kernel.db.read(tenant_id, async (db) => {
      const row = await findDecisionRow(db, decision_id)
      if (!row) return undefined
      return {
        listed: await showOne(kernel, db, row.seq, 'desc'),
        exported: await showOne(kernel, db, row.seq, 'asc'),
        replayed: (await replayRow(kernel, db, row))?.decision,
      }
    }),
  )
  return [
    { path: 'decisions.get', result: redactionResult(got) },
    { path: 'decisions.list', result: redactionResult(read?.listed) },
    { path: 'decisions.export', result: redactionResult(read?.exported) },
    { path: 'decisions.replay', result: redactionResult(read?.replayed) },
  ]
}

function redactionResult(decision: Decision | undefined): 'absent' | 'scrubbed' | 'present' {
  if (!decision) return 'absent'
  const { query, output, parameters, session_id } = decision
  const shown = [parameters, session_id].some((value) => value !== null)
  return query === MARKER && output === MARKER && !shown ? 'scrubbed' : 'present'
}

/** Returns the decisions whose stored document, opened again, shows nothing of the ref. */
export async function readBackScrubbed(
  kernel: Kernel,
  tenant_id: string,
  decision_ids: readonly string[],
  ref: number,
): Promise<string[]> {
  const shown: string[] = []
  for (const decision_id of decision_ids) {
    const [decision] = await retryWhileErasing(() =>
      kernel.db.read(tenant_id, async (db) => {
        const row = await findDecisionRow(db, decision_id)
        const opened = row ? await openRows(kernel, tenant_id, [row]) : []
        return resolveContents(kernel, db, opened)
      }),
    )
    if (!decision || decision.head.bound.includes(ref)) continue
    if (isScrubbed(decision.document, decision.contents, ref)) shown.push(decision_id)
  }
  return shown
}
