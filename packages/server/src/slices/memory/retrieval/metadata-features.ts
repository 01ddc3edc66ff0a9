// Metadata as the index sees it: one feature per key and value, and the session a fact belongs to.

type Metadata = Readonly<Record<string, unknown>>

/** Control characters never occur in a text's terms, so a feature is never taken for a word. */
const FEATURE_MARK = '\u0000'

/** One feature per top-level entry: two entries are equal when key and canonical JSON value are. */
export function metadataFeatures(metadata: Metadata): string[] {
  return Object.keys(metadata).map(
    (key) => `${FEATURE_MARK}${JSON.stringify(key)}:${canonicalJson(metadata[key])}`,
  )
}

/** Whether a term of an index stands for a metadata entry, and not for a word. */
export const isFeature = (term: string): boolean => term.startsWith(FEATURE_MARK)

/** The session whose neighbouring facts lend each other score, or null when the fact names none. */
export function sessionOf(metadata: Metadata): string | null {
  const session = Object.hasOwn(metadata, 'session_id') ? metadata['session_id'] : undefined
  return typeof session === 'string' || typeof session === 'number' ? canonicalJson(session) : null
}

/** JSON with object keys in code unit order; metadata is already plain JSON of bounded depth. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`)
  return `{${members.join(',')}}`
}
