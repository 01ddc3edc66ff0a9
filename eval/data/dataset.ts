// The shape of an evaluation set: what is remembered, what is asked, and what must come back.

import { createHash } from 'node:crypto'

/** One memory to write. Facts are written in the order of their list. */
export interface Fact {
  /** Names the fact within its conversation; never sent to the service. */
  readonly key: string
  /** What questions name as evidence, shared by the pieces of one message; absent: the key. */
  readonly evidence_id?: string
  readonly content: string
  /** Sent with the content. The date is ISO 8601; parts of one message share `message_id`. */
  readonly metadata: {
    readonly session_id: string
    readonly date: string
    readonly speaker?: string
    readonly role?: string
    readonly message_id?: string
  }
  /** The key of the version this one supersedes; written before. */
  readonly replaces?: string
  /** Erased once everything is written. */
  readonly erased?: true
}

export interface Question {
  readonly question_id: string
  readonly category: number
  readonly text: string
  /** Evidence ids of the facts that hold the answer, as the set gives them; empty: none known. */
  readonly gold: readonly string[]
  /** The same after the published corrections of the set, where it has any. */
  readonly gold_corrected?: readonly string[]
}

/** What one store holds, and the questions put to it. */
export interface Conversation {
  readonly name: string
  readonly facts: readonly Fact[]
  readonly questions: readonly Question[]
}

/** Categories reported together under one name. */
export interface Group {
  readonly name: string
  readonly categories: readonly number[]
}

export interface Dataset {
  readonly name: string
  /** Of the file, or of the generated conversations as JSON. */
  readonly sha256: string
  readonly bytes: number
  readonly licence: string
  /** The languages its stores name; absent: the default of the service. */
  readonly languages?: readonly string[] | undefined
  readonly category_names: Readonly<Record<number, string>>
  readonly groups: readonly Group[]
  /** Categories whose evidence must be found within the default budget. */
  readonly certain: readonly number[]
  /** Categories whose questions have no answer; absent: the questions without evidence. */
  readonly unanswerable?: readonly number[]
  readonly conversations: readonly Conversation[]
  /** What a reader of the figures must know about the data set. */
  readonly notes: readonly string[]
}

export const sha256 = (data: string | Uint8Array): string =>
  createHash('sha256').update(data).digest('hex')

/** Keys of facts no answer may show: erased ones, and versions that another one replaced. */
export function hiddenKeys({ facts }: Conversation): Set<string> {
  return new Set(
    facts.flatMap(({ key, replaces, erased }) => [
      ...(replaces === undefined ? [] : [replaces]),
      ...(erased ? [key] : []),
    ]),
  )
}

/** The evidence id of each fact, by its key. */
export function evidenceIds(facts: readonly Fact[]): Map<string, string> {
  return new Map(facts.map(({ key, evidence_id = key }) => [key, evidence_id]))
}

/** Each fact with its date in front, `[date] speaker: text`, where it is not there yet. */
export function withDatesInContent(dataset: Dataset): Dataset {
  const conversations = dataset.conversations.map((conversation) => ({
    ...conversation,
    facts: conversation.facts.map((fact) => ({ ...fact, content: datedContent(fact) })),
  }))
  return { ...dataset, conversations }
}

export function datedContent({ content, metadata }: Fact): string {
  const prefix = `[${metadata.date}] `
  return content.startsWith(prefix) ? content : `${prefix}${content}`
}

/** The first `count` questions of each conversation: a quick look, not a result. */
export function limitQuestions(dataset: Dataset, count: number): Dataset {
  const conversations = dataset.conversations.map((conversation) => ({
    ...conversation,
    questions: conversation.questions.slice(0, count),
  }))
  return { ...dataset, conversations }
}
