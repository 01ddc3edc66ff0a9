// What a fact says of its place in a conversation: who speaks, in which message, on which day, and
// whether it is a question.

import { hash } from 'node:crypto'

/** Metadata that names who speaks; the first that is there counts. */
const SPEAKER_KEYS = ['speaker', 'author', 'name', 'role'] as const
/** Metadata that says when a fact was said. */
const DATE_KEYS = ['date', 'timestamp', 'time', 'created_at'] as const
/** Longer names (UTF-16 units) are no names. */
const NAME_UNITS_MAX = 80

/** `[date] name: text`, where both the date and the name may be absent. */
const OPENING = /^\s*(?:\[([^\][\n]{4,40})\]\s*)?(?:(\p{L}[\p{L}\p{M}\p{N}'’. -]{0,39}):\s)?/u
/** People and animals that are introduced by what they are to the speaker. */
const KIN =
  'sister|brother|mother|mom|mum|father|dad|wife|husband|partner|girlfriend|boyfriend|fiancée?|' +
  'daughter|son|aunt|uncle|cousin|grandma|grandmother|grandpa|grandfather|niece|nephew|friend|' +
  'boss|manager|colleague|roommate|flatmate|neighbou?r|teacher|doctor|dog|cat'
const NAME = String.raw`(\p{Lu}[\p{L}\p{M}'’-]{1,30})`
const OWN_NAME = new RegExp(
  String.raw`\b(?:call me|[Mm]y name is|I go by|[Mm]y nickname is) ${NAME}`,
  'u',
)
const KIN_NAMED = new RegExp(String.raw`\b[Mm]y (?:\p{Ll}{1,20} )?(${KIN}),? ${NAME}`, 'gu')
const NAMED_KIN = new RegExp(String.raw`${NAME}, my (?:\p{Ll}{1,20} )?(${KIN})\b`, 'gu')
/** Words that start a sentence after a relation: `my sister, Yeah`. */
const NO_NAMES =
  /^(?:I|I'm|I’m|The|This|That|And|But|So|Yes|Yeah|No|Oh|Well|We|He|She|They|It|You)$/

const QUESTION = /[?？][\s"'”’)\]]*$/u

/** Who says a fact, as written: from its metadata, else from a leading `name:`. null: unknown. */
export function findSpeaker(
  content: string,
  metadata: Readonly<Record<string, unknown>>,
): string | null {
  for (const key of SPEAKER_KEYS) {
    const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined
    if (typeof value === 'string' && value !== '' && value.length <= NAME_UNITS_MAX) return value
  }
  return OPENING.exec(content)?.[2] ?? null
}

/**
 * Names that a content gives to its speaker (`call me Bea`) or to others (`my sister Ana`): pairs
 * of texts for the same one.
 */
export function findNames(content: string, speaker: string | null): [string, string][] {
  if (!content.includes('my ') && !content.includes('me ') && !content.includes('My ')) return []
  const own = OWN_NAME.exec(content)?.[1]
  const pairs: [string, string][] = own && speaker !== null ? [[speaker, own]] : []
  for (const [, kin = '', name = ''] of content.matchAll(KIN_NAMED)) pairs.push([kin, name])
  for (const [, name = '', kin = ''] of content.matchAll(NAMED_KIN)) pairs.push([kin, name])
  return pairs.filter(([, name]) => !NO_NAMES.test(name))
}

/** The date of a fact as its metadata writes it; null: it names none. */
export function findStatedDate(metadata: Readonly<Record<string, unknown>>): string | null {
  for (const key of DATE_KEYS) {
    const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined
    if (typeof value === 'string' && value !== '' && value.length <= NAME_UNITS_MAX) return value
  }
  return null
}

/** The date in a leading `[date]`. null: there is none. */
export const findLeadingDate = (content: string): string | null =>
  OPENING.exec(content)?.[1] ?? null

/** A content without a leading `[date]`, which would make all texts of a day alike. */
export function withoutLeadingDate(content: string): string {
  const [opening, date, name] = OPENING.exec(content) ?? []
  if (opening === undefined || date === undefined || !/\d/.test(date)) return content
  const text = content.slice(opening.length)
  return name === undefined ? text : `${name}: ${text}`
}

export const isQuestion = (content: string): boolean => QUESTION.test(content.slice(-16))

/** Names a speaker or a message in 32 bits; 0: none. Equal texts have equal marks. */
export function computeMark(text: string | number | null): number {
  if (text === null) return 0
  return hash('sha256', `${typeof text}:${text}`, 'buffer').readUInt32LE(0) || 1
}

/** The message that a fact is a piece of; null: it names none. */
export function findMessage(metadata: Readonly<Record<string, unknown>>): string | number | null {
  const value = Object.hasOwn(metadata, 'message_id') ? metadata['message_id'] : undefined
  return typeof value === 'string' || typeof value === 'number' ? value : null
}
