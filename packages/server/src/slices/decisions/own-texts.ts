// Pure: the texts that are a decision's own, and go when it is redacted.

import type { OpenedDecision } from './open.ts'
import { MARKER } from './redaction.ts'

/**
 * Query, output, session, every text, number and key of the parameters, and contents given with it
 * that are of no memory its key depends on; what has been removed already is not among them.
 */
export function ownTexts({ document, head }: Pick<OpenedDecision, 'document' | 'head'>): string[] {
  const { query, output, session_id, parameters, contents, refs } = document
  const bound = new Set(head.bound)
  const texts = [query, output, session_id ?? '', ...textsIn(parameters)]
  for (const [i, content] of contents.entries())
    if (typeof content === 'string' && !bound.has(refs[i] ?? -1)) texts.push(content)
  return texts.filter((text) => text !== '' && text !== MARKER)
}

/** Every text, number and key in a JSON value. */
export function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  else if (typeof value === 'number') yield String(value)
  else if (Array.isArray(value)) for (const item of value) yield* textsIn(item)
  else if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value)) {
      yield key
      yield* textsIn(item)
    }
}
