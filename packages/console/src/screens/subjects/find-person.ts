// The identification of a person, in the form's fields and in the search's groups.

import type { SubjectsEraseBody } from '@custos/client/types'

export interface PersonFields {
  /** One name, address or number on each line. */
  readonly texts: string
  /** One `field = value` on each line. */
  readonly metadata: string
  /** One session on each line. */
  readonly sessions: string
  readonly exactCase: boolean
  /** Date of receipt; may be empty. */
  readonly received: string
}

export const NOBODY: PersonFields = {
  texts: '',
  metadata: '',
  sessions: '',
  exactCase: false,
  received: '',
}

type FindGroup = Extract<NonNullable<SubjectsEraseBody['find']>, readonly unknown[]>[number]

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** The search groups. Each line is an alternative, one of which must match. */
export function groupsOf({ texts, metadata, sessions, exactCase }: PersonFields): FindGroup[] {
  const match = exactCase ? 'exact_case' : 'ignore_case'
  return [
    ...linesOf(texts).map((text): FindGroup => ({ text, match })),
    ...linesOf(metadata).flatMap(metadataGroups),
    ...linesOf(sessions).map((session_id): FindGroup => ({ session_id })),
  ]
}

// A number may be stored as a number or as a text.
function metadataGroups(line: string): FindGroup[] {
  const at = line.indexOf('=')
  if (at < 1) return []
  const name = line.slice(0, at).trim()
  const value = line.slice(at + 1).trim()
  const asText: FindGroup = { metadata: { [name]: value } }
  return /^-?\d{1,15}$/.test(value) ? [asText, { metadata: { [name]: Number(value) } }] : [asText]
}

export const searchOf = (person: PersonFields): SubjectsEraseBody => ({
  find: groupsOf(person),
  ...(person.received === '' ? {} : { received_at: `${person.received}T00:00:00Z` }),
})
