// Pure: removes memories from a decision's document, both in its contents and where text repeats
// them.

import type { JsonObject } from '@custos/contract'
import type { DecisionDocument } from './document.ts'
import { MARKER, redactJson, redactText } from './redact-text.ts'

/** A memory to remove. If `content` is null, only what the document itself contains is known. */
export interface ScrubSubject {
  readonly ref: number
  readonly content: string | null
}

export interface FieldCount {
  readonly field: string
  readonly count: number
}

/**
 * Returns `null` if none of the subjects is in the document, or nothing of them is left. A subject
 * that was removed before is searched for again, because its content may be known only now.
 * @returns one redaction for each field changed
 */
export function scrubDocument(
  document: DecisionDocument,
  subjects: readonly ScrubSubject[],
): { document: DecisionDocument; redactions: readonly FieldCount[] } | null {
  let scrubbed = document
  for (const subject of subjects)
    if (document.refs.includes(subject.ref)) scrubbed = removeSubject(scrubbed, subject)
  if (scrubbed === document) return null
  const notes = scrubbed.redactions.slice(document.redactions.length)
  return { document: { ...scrubbed, commitment_salt: null }, redactions: countsByField(notes) }
}

function removeSubject(document: DecisionDocument, subject: ScrubSubject): DecisionDocument {
  const counts = new Map<string, number>()
  const count = (field: string, more: number) => counts.set(field, (counts.get(field) ?? 0) + more)
  const texts = listSubjectTexts(document, subject)
  let { query, output, session_id, parameters } = document
  const contents = document.contents.map((content, i) => {
    if (document.refs[i] !== subject.ref || content === MARKER) return content
    count('retrieved_contents', 1)
    return MARKER
  })
  const cleaned = (field: string, text: string, content: string): string => {
    const done = redactText(text, content)
    count(field, done.count)
    return done.text
  }
  for (const content of texts) {
    query = cleaned('query', query, content)
    output = cleaned('output', output, content)
    if (session_id !== null) session_id = cleaned('session_id', session_id, content)
    for (const [i, text] of contents.entries())
      if (typeof text === 'string') contents[i] = cleaned('retrieved_contents', text, content)
    const done = redactJson(parameters, content)
    count('parameters', done.count)
    // Redaction keeps the shape of a JSON value.
    parameters = done.value as JsonObject | null
  }
  const notes = [...counts]
    .filter(([, times]) => times > 0)
    .map(([field, times]) => ({ field, count: times, ref: subject.ref }))
  const before = wasRemoved(document, subject.ref)
  if (before && notes.length === 0) return document
  return {
    ...document,
    query,
    output,
    session_id,
    parameters,
    contents,
    scrubbed: before ? document.scrubbed : [...document.scrubbed, subject.ref],
    redactions: [...document.redactions, ...notes],
  }
}

// The content that the caller logged may differ from the stored one; both are removed.
function listSubjectTexts(document: DecisionDocument, { ref, content }: ScrubSubject): string[] {
  const texts = new Set<string>()
  if (content !== null) texts.add(content)
  for (const [i, logged] of document.contents.entries())
    if (document.refs[i] === ref && typeof logged === 'string' && logged !== MARKER)
      texts.add(logged)
  return [...texts]
}

function countsByField(notes: DecisionDocument['redactions']): FieldCount[] {
  const counts = new Map<string, number>()
  for (const { field, count } of notes) counts.set(field, (counts.get(field) ?? 0) + count)
  return [...counts].map(([field, count]) => ({ field, count }))
}

// A memory erased before the decision was logged never had content in the document.
const wasRemoved = (
  { scrubbed, gone }: Pick<DecisionDocument, 'scrubbed' | 'gone'>,
  ref: number,
): boolean => scrubbed.includes(ref) || gone.includes(ref)

/** Whether the document and the contents it shows no longer contain anything of the ref. */
export const isScrubbed = (
  document: Pick<DecisionDocument, 'refs' | 'scrubbed' | 'gone'>,
  contents: readonly string[],
  ref: number,
): boolean =>
  wasRemoved(document, ref) &&
  contents.every((text, i) => document.refs[i] !== ref || text === MARKER)
