// Reads the public traces of the GMP workloads as traces of the suite, beside their own answers.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Slot, Trace, TraceFact, Turn } from '@custos/conformance'

/** What a public trace has that is not needed to replay it: the answers it expects. */
export interface PublicAnswers {
  readonly recall_targets: Readonly<Record<string, readonly string[]>>
  readonly superseded_chains: Readonly<Record<string, readonly string[]>>
  readonly tenant_partitions: Readonly<Record<string, readonly string[]>>
  readonly deleted_facts: Readonly<Record<string, string>>
}

export interface PublicTrace {
  readonly trace: Trace
  readonly answers: PublicAnswers
  readonly requires: ReadonlyMap<string, readonly string[]>
  readonly groups: readonly { readonly anomaly: string; readonly turns: readonly Turn[] }[]
}

type WrittenTurn = Omit<Turn, 'asks' | 'txn_id'> & {
  readonly requires: readonly string[]
  readonly txn_id?: string
}

interface WrittenTrace {
  readonly workload: string
  readonly seed: number
  readonly facts: readonly TraceFact[]
  readonly sessions: readonly {
    readonly session_id: string
    readonly tenant_id: string | null
    readonly turns: readonly WrittenTurn[]
  }[]
  readonly ground_truth: PublicAnswers
  readonly concurrency_groups?: readonly {
    readonly anomaly: string
    readonly transactions: readonly { readonly txn_id: string }[]
  }[]
}

const folder = join(import.meta.dirname, '../../../../shared/data/gmp-traces')

/** Names of the traces there are, none where the data sets are not present. */
export function traceNames(): string[] {
  const workloads = Array.from({ length: 10 }, (_, i) => `w${String(i + 1).padStart(2, '0')}`)
  return workloads
    .flatMap((w) =>
      ['easy', 'medium'].flatMap((d) => [0, 1].map((seed) => `${w}-${d}-seed${seed}`)),
    )
    .filter((name) => existsSync(join(folder, `${name}.json`)))
}

/** The trace, or null where the data sets are not present. */
export function loadTrace(name: string): PublicTrace | null {
  const path = join(folder, `${name}.json`)
  if (!existsSync(path)) return null
  // Public data in the documented format.
  const written = JSON.parse(readFileSync(path, 'utf8')) as WrittenTrace
  const { workload, seed, facts } = written
  const subjects = new Set(facts.map(({ subject }) => subject))
  const sessions = written.sessions.map(({ session_id, tenant_id, turns }) => ({
    session_id,
    tenant_id,
    turns: turns.map((turn) => asTurn(turn, subjects)),
  }))
  const all = sessions.flatMap(({ turns }) => turns)
  return {
    trace: { workload, seed, facts, sessions },
    answers: written.ground_truth,
    requires: new Map(
      written.sessions.flatMap(({ turns }) => turns.map((t) => [t.turn_id, t.requires] as const)),
    ),
    groups: (written.concurrency_groups ?? []).map(({ anomaly, transactions }) => ({
      anomaly,
      turns: all.filter(({ txn_id }) => transactions.some((txn) => txn.txn_id === txn_id)),
    })),
  }
}

function asTurn(turn: WrittenTurn, subjects: ReadonlySet<string>): Turn {
  const asks = turn.role === 'agent_query' ? slotOf(turn.content, subjects) : null
  return { ...turn, asks, txn_id: turn.txn_id ?? null }
}

// The questions of the public workloads, `_` where the subject stands.
const QUESTIONS: Readonly<Record<string, string>> = {
  'Who is _ married to?': 'married_to',
  'What is _ allergic to?': 'allergic_to',
  'What does _ dislike?': 'dislikes',
  'Where is _ located?': 'located_at',
  'Where does _ live?': 'lives_in',
  'Where does _ visit?': 'visits',
  'What is _ a member of?': 'member_of',
  'What does _ own?': 'owns',
  'Where was _ born?': 'born_in',
  'What language does _ speak?': 'speaks',
  'What does _ recommend?': 'recommends',
  'Who does _ know?': 'knows',
  'What does _ manage?': 'manages',
  'Who does _ employ?': 'employs',
  'What does _ prefer?': 'prefers',
  'Where does _ work?': 'works_at',
  'Who is _ the parent of?': 'parent_of',
  'What does _ avoid?': 'avoids',
}

/** Throws for a question that is not known: none may be left out of a check. */
function slotOf(question: string, subjects: ReadonlySet<string>): Slot {
  const asked = question.replace(/ \((previously|read|read [12])\)$/, '')
  for (const [pattern, predicate] of Object.entries(QUESTIONS)) {
    const [before = '', after = ''] = pattern.split('_')
    if (!asked.startsWith(before) || !asked.endsWith(after)) continue
    const subject = asked.slice(before.length, asked.length - after.length)
    if (subjects.has(subject)) return { subject, predicate }
  }
  throw new Error(`no question of the public workloads: ${question}`)
}
