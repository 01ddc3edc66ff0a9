// Parses conversation details of a fact: its speaker, message, session and dates, and the names
// that it introduces.

import { hash } from 'node:crypto'
import { formatTime, TIME_MAX_US, TIME_MIN_US } from '../../../platform/clock.ts'

type Metadata = Readonly<Record<string, unknown>>

/** Metadata keys that name the speaker. A leading `name:` takes precedence over the role. */
const SPEAKER_KEYS = ['speaker', 'author', 'name'] as const
const ROLE_KEYS = ['role'] as const
/** Metadata keys of the time a fact was said: text, or seconds or milliseconds since 1970. */
const DATE_KEYS = ['date', 'timestamp', 'time', 'created_at'] as const
/** Longest text (UTF-16 units) that is accepted as a name or a date. */
const NAME_UNITS_MAX = 80
/** Names are searched for in this many leading UTF-16 units of a content. */
const SCANNED_UNITS = 16 * 1024
const NAMES_MAX = 4

const WORD = String.raw`\p{Lu}[\p{L}\p{M}\p{N}'’.-]{0,30}`
const ROLE = 'user|assistant|system|human|agent|tool|bot'
/** Matches `[date] name: text`; the date and the name are both optional. */
const OPENING = new RegExp(
  String.raw`^\s*(?:\[([^\][\n]{4,40})\]\s*)?(?:(${ROLE}|${WORD}(?: ${WORD}){0,2}):\s)?`,
  'u',
)
/** Labels, in lower case, that texts begin with and that are not names. */
const LABELS = new Set(
  (
    'note notes todo error warning info re fwd fw subject ps fyi example question answer q ' +
    'a update reminder task tasks summary title tip bug fix status date name topic action ' +
    'decision result'
  ).split(' '),
)
/** Matches a date as people write it before a message: ISO 8601, dd.mm.yyyy, or a month's name. */
const DATE = new RegExp(
  [
    String.raw`^(?:\d{1,2}:\d{2}(?: ?[ap]m)? on )?(?:`,
    String.raw`\d{4}-\d{2}(?:-\d{2})?(?:[T ][\d:.Z+-]{1,24})?|\d{1,2}[./]\d{1,2}[./]\d{4}|`,
    String.raw`\d{1,2}\.? \p{L}{3,10},? \d{4}|\p{L}{3,10} \d{1,2},? \d{4})$`,
  ].join(''),
  'u',
)

/** Relations by which a speaker introduces a person or an animal (`my sister Ana`). */
const KIN =
  'sister|brother|mother|mom|mum|father|dad|wife|husband|partner|girlfriend|boyfriend|fiancée?|' +
  'daughter|son|aunt|uncle|cousin|grandma|grandmother|grandpa|grandfather|niece|nephew|friend|' +
  'boss|manager|colleague|roommate|flatmate|neighbou?r|teacher|doctor|dog|cat'
/** Matches a capital letter with lower-case letters after it, which excludes abbreviations. */
const NAME = String.raw`(\p{Lu}(?=[\p{L}\p{M}'’-]*\p{Ll})[\p{L}\p{M}'’-]{1,30})`
const OWN_NAME = new RegExp(
  String.raw`\b(?:[Cc]all me|[Mm]y name is|I go by|[Mm]y nickname is) ${NAME}`,
  'u',
)
const KIN_NAMED = new RegExp(String.raw`\b[Mm]y (?:\p{Ll}{1,20} )?(${KIN}),? ${NAME}`, 'gu')
const NAMED_KIN = new RegExp(String.raw`${NAME}, my (?:\p{Ll}{1,20} )?(${KIN})\b`, 'gu')
/** Capitalised words that are not names. */
export const NO_NAMES = new Set(
  (
    "I'm I’m The This That And But So Yes Yeah No Not Oh Well We He She They It You If When " +
    'Later Today Tomorrow Tonight Back Soon Maybe Crazy Old Anytime Monday Tuesday ' +
    'Wednesday Thursday Friday Saturday Sunday'
  ).split(' '),
)

const QUESTION = /[?？][\s"'”’)\]]*$/u

/** Returns the first of these metadata values that is text short enough for a name. */
function findName(metadata: Metadata, keys: readonly string[]): string | null {
  for (const key of keys) {
    const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined
    if (typeof value === 'string' && value !== '' && value.length <= NAME_UNITS_MAX) return value
  }
  return null
}

/** The speaker as written in the metadata or a leading `name:`; `null` if unknown. */
export function findSpeaker(content: string, metadata: Metadata): string | null {
  const leading = OPENING.exec(content)?.[2] ?? null
  const isLabel = leading !== null && LABELS.has(leading.toLowerCase())
  return (
    findName(metadata, SPEAKER_KEYS) ?? (isLabel ? null : leading) ?? findName(metadata, ROLE_KEYS)
  )
}

/**
 * Finds names that a content gives to its speaker (`call me Bea`) or to others (`my sister Ana`).
 * Returns pairs of texts that name the same person or animal. A role (`user`) has no other name.
 */
export function findNames(content: string, speaker: string | null): [string, string][] {
  const text = content.slice(0, SCANNED_UNITS)
  if (!/[mM][ey] /.test(text)) return []
  const own = OWN_NAME.exec(text)?.[1]
  const isPerson = speaker !== null && !new RegExp(`^(?:${ROLE})$`, 'i').test(speaker)
  const pairs: [string, string][] = own && isPerson ? [[speaker, own]] : []
  for (const [, kin = '', name = ''] of text.matchAll(KIN_NAMED).take(NAMES_MAX))
    pairs.push([kin, name])
  for (const [, name = '', kin = ''] of text.matchAll(NAMED_KIN).take(NAMES_MAX))
    pairs.push([kin, name])
  return pairs.filter(([, name]) => !NO_NAMES.has(name)).slice(0, NAMES_MAX)
}

/** The dates stated by the metadata of a fact and a leading `[date]`, most reliable first. */
export function listStatedDates(content: string, metadata: Metadata): string[] {
  const dates = DATE_KEYS.flatMap((key) => {
    const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined
    if (typeof value === 'number') return toDates(value)
    return typeof value === 'string' && value.length <= NAME_UNITS_MAX ? [value] : []
  })
  const leading = OPENING.exec(content)?.[1]
  return leading === undefined ? dates : [...dates, leading]
}

/** A number of at most eleven digits is in seconds since 1970, a longer one in milliseconds. */
function toDates(number: number): string[] {
  const us = Math.round(number * (Math.abs(number) < 1e11 ? 1_000_000 : 1_000))
  return TIME_MIN_US <= us && us < TIME_MAX_US ? [formatTime(us)] : []
}

/** Removes the leading `[date]`, which would make all texts of a day look alike to an embedder. */
export function withoutLeadingDate(content: string): string {
  const [opening, date, name] = OPENING.exec(content) ?? []
  if (opening === undefined || date === undefined || !DATE.test(date)) return content
  const text = content.slice(opening.length)
  return name === undefined ? text : `${name}: ${text}`
}

export const isQuestion = (content: string): boolean => QUESTION.test(content.slice(-16))

/** Hashes a speaker or a message to 32 bits. Equal texts have equal marks; 0 means none. */
export function computeMark(text: string | number | null): number {
  if (text === null) return 0
  return hash('sha256', `${typeof text}:${text}`, 'buffer').readUInt32LE(0) || 1
}

/** The id of the message that a fact is a piece of; `null` if the metadata has none. */
export const findMessage = (metadata: Metadata): string | number | null =>
  findId(metadata, 'message_id')

/** The id of the session that a fact belongs to; `null` if the metadata has none. */
export const findSession = (metadata: Metadata): string | number | null =>
  findId(metadata, 'session_id')

function findId(metadata: Metadata, key: 'message_id' | 'session_id'): string | number | null {
  const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined
  return typeof value === 'string' || typeof value === 'number' ? value : null
}
