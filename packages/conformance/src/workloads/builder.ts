// Builds a trace turn by turn; its clock advances by one second with each turn.

import { type RandomDraws, seededDraws } from './random.ts'
import type { Session, Trace, TraceFact, Turn } from './trace.ts'
import { type Predicate, question, sentence } from './vocabulary.ts'

// Well in the past, so that everything written is valid at the time of any run.
const DAY = '2024-03-01'
const SECONDS_MAX = 86_400

export type NewFact = {
  readonly predicate: Predicate
  readonly subject: string
  readonly object: string
  readonly tenant_id?: string
  readonly importance?: number
}

/** A fact whose predicate is in the vocabulary. */
export type PhrasedFact = TraceFact & { readonly predicate: Predicate }

export type TraceBuilder = {
  readonly draws: RandomDraws
  /** Begins a new session for the following turns. */
  session(tenant_id?: string): void
  /** Adds a fact that is valid from now on, as the next version of `replaces`. */
  say(fact: NewFact, options?: { replaces?: TraceFact; txn_id?: string }): PhrasedFact
  forget(fact: TraceFact, txn_id?: string): void
  ask(slot: { predicate: Predicate; subject: string }, as_of?: string | null): void
  /** The second of the next turn. */
  next_s(): number
  /** Formats the time of a second, with optional milliseconds. */
  time(second: number, ms?: number): string
  /** Gives all turns that `turns` adds the same time. */
  atOnce(turns: () => void): void
  done(): Trace
}

const two = (n: number): string => String(n).padStart(2, '0')

function timeOf(second: number, ms = 0): string {
  if (second < 0 || second >= SECONDS_MAX) throw new RangeError('a trace lasts a day at most')
  const [h, m, s] = [Math.floor(second / 3600), Math.floor(second / 60) % 60, second % 60]
  return `${DAY}T${two(h)}:${two(m)}:${two(s)}.${String(ms).padStart(3, '0')}000+00:00`
}

type TraceDraft = {
  readonly name: string
  readonly facts: TraceFact[]
  readonly sessions: (Session & { turns: Turn[] })[]
  second: number
  held: boolean
}

/** @param name the name of the workload, part of its ids and of its random seed */
export function buildTrace(name: string, seed: number): TraceBuilder {
  const growing: TraceDraft = { name, facts: [], sessions: [], second: 1, held: false }
  const { facts, sessions } = growing
  return {
    draws: seededDraws(`custos-conformance/1|${name}|${seed}`),
    session(tenant_id) {
      const session_id = `${name}/s${sessions.length + 1}`
      sessions.push({ session_id, tenant_id: tenant_id ?? null, turns: [] })
    },
    say: (fact, options = {}) => writeSentence(growing, fact, options),
    forget: (fact, txn_id) => {
      const content = `Forget that ${fact.subject} ${fact.predicate} ${fact.object}.`
      addTurn(growing, { content, deletes: [fact.fact_id], txn_id: txn_id ?? null })
    },
    ask: (slot, as_of = null) =>
      addTurn(growing, {
        role: 'agent_query',
        content: question(slot.predicate, slot.subject),
        asks: { subject: slot.subject, predicate: slot.predicate },
        as_of,
      }),
    next_s: () => growing.second,
    time: timeOf,
    atOnce(turns) {
      growing.held = true
      turns()
      growing.held = false
      growing.second += 1
    },
    done: () => ({ workload: name, seed, facts, sessions }),
  }
}

function addTurn(growing: TraceDraft, turn: Partial<Turn> & Pick<Turn, 'content'>): void {
  const session = growing.sessions.at(-1)
  if (!session) throw new Error('a turn needs a session')
  const plain = { role: 'user', introduces: [], deletes: [], asks: null, as_of: null } as const
  session.turns.push({
    turn_id: `${session.session_id}/t${session.turns.length + 1}`,
    timestamp: timeOf(growing.second),
    ...plain,
    txn_id: null,
    ...turn,
  })
  if (!growing.held) growing.second += 1
}

function writeSentence(
  growing: TraceDraft,
  { predicate, subject, object, tenant_id = undefined, importance = 1 }: NewFact,
  { replaces, txn_id }: { replaces?: TraceFact; txn_id?: string },
): PhrasedFact {
  const { facts, name } = growing
  const fact: PhrasedFact = {
    fact_id: `${name}/f${facts.length + 1}`,
    subject,
    predicate,
    object,
    importance,
    tenant_id: tenant_id ?? null,
    valid_from: timeOf(growing.second),
    valid_until: null,
    superseded_by: null,
  }
  facts.push(fact)
  const old = facts.findIndex(({ fact_id }) => fact_id === replaces?.fact_id)
  const before = facts[old]
  if (before) facts[old] = { ...before, valid_until: fact.valid_from, superseded_by: fact.fact_id }
  const content = sentence(predicate, subject, object)
  addTurn(growing, { content, introduces: [fact.fact_id], txn_id: txn_id ?? null })
  return fact
}
