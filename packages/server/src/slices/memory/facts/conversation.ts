// What a fact says of its place in a conversation: who speaks, in which message, on which day, and
// whether it is a question.

import { hash } from 'node:crypto'
import { formatTime, TIME_MAX_US, TIME_MIN_US } from '../../../platform/clock.ts'

type Metadata = Readonly<Record<string, unknown>>

/** Metadata that names who speaks; a leading `name:` comes before the role. */
const SPEAKER_KEYS = ['speaker', 'author', 'name'] as const
const ROLE_KEYS = ['role'] as const
/** Metadata that says when a fact was said: text, or seconds or milliseconds since 1970. */
const DATE_KEYS = ['date', 'timestamp', 'time', 'created_at'] as const
/** Longer names and dates (UTF-16 units) are none. */
const NAME_UNITS_MAX = 80
/** Names are looked for in the first units of a content. */
const SCANNED_UNITS = 16 * 1024
const NAMES_MAX = 4

const WORD = String.raw`\p{Lu}[\p{L}\p{M}\p{N}'’.-]{0,30}`
const ROLE = 'user|assistant|system|human|agent|tool|bot'
/** `[date] name: text`, where both the date and the name may be absent. */
const OPENING = new RegExp(
  String.raw`^\s*(?:\[([^\][\n]{4,40})\]\s*)?(?:(${ROLE}|${WORD}(?: ${WORD}){0,2}):\s)?`,
  'u',
)
/** Labels that texts begin with, in lower case. */
const LABELS = new Set(
  (
    'note notes todo error warning info re fwd fw subject ps fyi example question answer q ' +
    'a update reminder task tasks summary title tip bug fix status date name topic action ' +
    'decision result'
  ).split(' '),
)
/** A date as people write it before a message: ISO 8601, dd.mm.yyyy, or with the month's name. */
const DATE = new RegExp(
  [
    String.raw`^(?:\d{1,2}:\d{2}(?: ?[ap]m)? on )?(?:`,
    String.raw`\d{4}-\d{2}(?:-\d{2})?(?:[T ][\d:.Z+-]{1,24})?|\d{1,2}[./]\d{1,2}[./]\d{4}|`,
    String.raw`\d{1,2}\.? \p{L}{3,10},? \d{4}|\p{L}{3,10} \d{1,2},? \d{4})$`,
  ].join(''),
  'u',
)

/** People and animals that are introduced by what they are to the speaker. */
const KIN =
  'sister|brother|mother|mom|mum|father|dad|wife|husband|partner|girlfriend|boyfriend|fiancée?|' +
  'daughter|son|aunt|uncle|cousin|grandma|grandmother|grandpa|grandfather|niece|nephew|friend|' +
  'boss|manager|colleague|roommate|flatmate|neighbou?r|teacher|doctor|dog|cat'
/** A capital, and small letters after it: no abbreviation. */
const NAME = String.raw`(\p{Lu}(?=[\p{L}\p{M}'’-]*\p{Ll})[\p{L}\p{M}'’-]{1,30})`
const OWN_NAME = new RegExp(
  String.raw`\b(?:[Cc]all me|[Mm]y name is|I go by|[Mm]y nickname is) ${NAME}`,
  'u',
)
const KIN_NAMED = new RegExp(String.raw`\b[Mm]y (?:\p{Ll}{1,20} )?(${KIN}),? ${NAME}`, 'gu')
const NAMED_KIN = new RegExp(String.raw`${NAME}, my (?:\p{Ll}{1,20} )?(${KIN})\b`, 'gu')
/** Words with a capital that are no names. */
export const NO_NAMES = new Set(
  (
    "I'm I’m The This That And But So Yes Yeah No Not Oh Well We He She They It You If When " +
    'Later Today Tomorrow Tonight Back Soon Maybe Crazy Old Anytime Monday Tuesday ' +
    'Wednesday Thursday Friday Saturday Sunday'
  ).split(' '),
)

const QUESTION = /[?？][\s"'”’)\]]*$/u

/** The first text among these entries that is short enough for a name. */
function findName(metadata: Metadata, keys: readonly string[]): string | null {
  for (const key of keys) {
    const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined
    if (typeof value === 'string' && value !== '' && value.length <= NAME_UNITS_MAX) return value
  }
  return null
}

/** Who says a fact, as written: from its metadata, or a leading `name:`. null: unknown. */
export function findSpeaker(content: string, metadata: Metadata): string | null {
  const leading = OPENING.exec(content)?.[2] ?? null
  const isLabel = leading !== null && LABELS.has(leading.toLowerCase())
  return (
    findName(metadata, SPEAKER_KEYS) ?? (isLabel ? null : leading) ?? findName(metadata, ROLE_KEYS)
  )
}

/**
 * Names that a content gives to its speaker (`call me Bea`) or to others (`my sister Ana`): pairs
 * of texts for the same one. A role (`user`) has no other name.
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

/** The dates that the metadata of a fact and a leading `[date]` state, the surest first. */
export function listStatedDates(content: string, metadata: Metadata): string[] {
  const dates = DATE_KEYS.flatMap((key) => {
    const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined
    if (typeof value === 'number') return toDates(value)
    return typeof value === 'string' && value.length <= NAME_UNITS_MAX ? [value] : []
  })
  const leading = OPENING.exec(content)?.[1]
  return leading === undefined ? dates : [...dates, leading]
}

/** Seconds since 1970 have up to eleven digits, milliseconds more. */
function toDates(number: number): string[] {
  const us = Math.round(number * (Math.abs(number) < 1e11 ? 1_000_000 : 1_000))
  return TIME_MIN_US <= us && us < TIME_MAX_US ? [formatTime(us)] : []
}

/** A content without a leading `[date]`, which would make all texts of a day alike. */
export function withoutLeadingDate(content: string): string {
  const [opening, date, name] = OPENING.exec(content) ?? []
  if (opening === undefined || date === undefined || !DATE.test(date)) return content
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
export const findMessage = (metadata: Metadata): string | number | null =>
  findId(metadata, 'message_id')

/** The session whose facts belong together; null: the fact names none. */
export const findSession = (metadata: Metadata): string | number | null =>
  findId(metadata, 'session_id')

function findId(metadata: Metadata, key: 'message_id' | 'session_id'): string | number | null {
  const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined
  return typeof value === 'string' || typeof value === 'number' ? value : null
}
