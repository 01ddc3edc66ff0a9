// Pure: builds the question to a model about a conversation, and parses its answer strictly.

import { limits } from '@custos/contract'
import { isObject } from '@custos/proof'
import type { FactCandidate } from '../../memory/index.ts'
import { fence, RULE } from '../managed/conversation.ts'

const FACTS_MAX = 64

export const INSTRUCTIONS = `You find lasting facts in a conversation: who somebody is, what they
prefer, own, plan, decided or asked to be remembered. Write each as one short sentence that is
understood without the conversation, with names in place of pronouns. Leave out greetings,
questions and what a memory says already. Where a fact makes a memory untrue, name that memory in
"supersedes". Take no fact from a memory.
Answer with one JSON object and nothing else:
{"facts": [{"content": "…", "sources": [1], "supersedes": null}]}
"sources": numbers of the turns that say it, at least one. "supersedes": the number of a memory,
or null. At most ${FACTS_MAX} facts; none is {"facts": []}.
${RULE}`

export interface NearMemory {
  readonly ref: number
  readonly content: string
}

/** Numbers the turns from 1; memories are named by their refs. */
export function buildQuestion(
  turns: readonly { readonly content: string; readonly said_by: string }[],
  memories: readonly NearMemory[],
  mark: string,
): string {
  const known = memories.map(({ ref, content }) => fence(`memory ${ref}`, content, mark))
  const said = turns.map(({ content, said_by }, i) =>
    fence(`turn ${i + 1}`, said_by === '' ? content : `${said_by}: ${content}`, mark),
  )
  return [...known, ...said].join('\n\n')
}

/** Models often wrap JSON in a Markdown code fence. */
const FENCED = /^```(?:json)?\n([\s\S]*)\n```$/
const MEMBERS = ['content', 'sources', 'supersedes']

type ReadFact = Pick<FactCandidate, 'content' | 'sources' | 'supersedes'>

/** Parses the answer; `sources` become positions from 0. Returns `null` if the form is wrong. */
export function readFacts(answer: string, turns: number): readonly ReadFact[] | null {
  if (!answer.isWellFormed()) return null
  const text = answer.trim()
  const parsed = parse(FENCED.exec(text)?.[1] ?? text)
  if (!isObject(parsed) || Object.keys(parsed).join() !== 'facts') return null
  const { facts } = parsed
  if (!Array.isArray(facts) || facts.length > FACTS_MAX) return null
  const read = facts.map((one) => readFact(one, turns))
  return read.every((one) => one !== null) ? read : null
}

function readFact(value: unknown, turns: number): ReadFact | null {
  if (!isObject(value) || !Object.keys(value).every((name) => MEMBERS.includes(name))) return null
  const { content, sources, supersedes = null } = value
  // A JSON escape can encode a lone surrogate.
  if (typeof content !== 'string' || content.trim() === '' || !content.isWellFormed()) return null
  if (!Array.isArray(sources) || sources.length === 0) return null
  const isTurn = (one: unknown): one is number =>
    typeof one === 'number' && Number.isInteger(one) && one >= 1 && one <= turns
  if (!sources.every(isTurn)) return null
  if (supersedes !== null && !isRef(supersedes)) return null
  const positions = [...new Set(sources.map((one) => one - 1))].sort((a, b) => a - b)
  return { content: content.trim(), sources: positions, supersedes }
}

const isRef = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 1

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The share of common words from which two texts count as the same. */
const SIMILARITY = 0.9

/** Compares with the memories the model was shown; exact duplicates are found on write. */
export function compareFacts(
  facts: readonly ReadFact[],
  shown: readonly NearMemory[],
): readonly FactCandidate[] {
  const known = shown.map(({ ref, content }) => ({ ref, words: wordsOf(content) }))
  return facts.map((fact) => {
    const words = wordsOf(fact.content)
    const same_as = known.find((one) => isSimilar(one.words, words))?.ref ?? null
    const unseen = fact.supersedes !== null && !known.some(({ ref }) => ref === fact.supersedes)
    const isLong = Buffer.byteLength(fact.content) > limits.content_bytes
    return { ...fact, same_as, reason: isLong ? 'too_long' : unseen ? 'not_shown' : null }
  })
}

const wordsOf = (text: string): ReadonlySet<string> =>
  new Set(text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [])

function isSimilar(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  const shared = [...a].filter((word) => b.has(word)).length
  const all = a.size + b.size - shared
  return all > 0 && shared / all >= SIMILARITY
}
