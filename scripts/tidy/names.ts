// Checks names: types are nouns, and exports and files avoid words that have a plainer one.

import type { Code, Declaration, Finding, Project } from './project.ts'

/** Nouns that end like participles. */
const NOUNS = wordSet(`Billing Binding Building Ceiling Children Eigen Embed Embedding Encoding Feed
  Finding Grouping Heading Keyring Landing Listing Mapping Meaning Monitoring Need Offboarding
  Padding Ping Ranking Rating Reading Reembed Ring Scoring Screen Seed Setting Sibling Spelling
  String Thing Thread Timing Token Training Warning`)
/** Irregular participles, adjectives and question words, which do not name a thing. */
const BARE =
  wordSet(`About After Alike Any Around At Bad Bare Begun Born Both Built Busy Came Caught
  Dead Done Drawn Due Elsewhere Found Free Fresh Full Gone Good Got How Kept Known Laid Late Later
  Led Left Likely Live Lost Made Met New Next Old Once One Open Other Own Paid Put Ran Random Ready
  Recent Said Same Sent Shown Since Slow Sold Spent Stale Still Such Sure Then Told Torn What When
  Where Which Who Whoever Whole Whose Why Won Worn Wrong Held`)

function wordSet(list: string): ReadonlySet<string> {
  return new Set(list.split(/\s+/))
}

/** Whether the name is a single participle, adjective or question word. */
export function isBare(name: string): boolean {
  if (!/^[A-Z][a-z]+$/.test(name) || NOUNS.has(name)) return false
  return BARE.has(name) || /(ed|en|ing)$/.test(name)
}

/** Banned parts of names, with a hyphen between words, and their replacements. */
const BANNED: readonly (readonly [RegExp, string])[] = [
  [/\blook(s|ed|er|ing)?\b(?!-ahead)/, 'query, find, load or check'],
  [/\bwish(es|ed)?\b/, 'options'],
  [/\basked\b/, 'request or query'],
  [/\bwanted\b/, 'query or filter'],
  [/(?<!\bnot-)\bfound\b/, 'result or match'],
  [/\bgiven\b/, 'input'],
  [/\bshown\b/, 'view or reply'],
  [/\bmade\b/, 'created or built'],
  [/(?<!\bstop-)\bwords\b/, 'text, payload or tokens'],
  [/\bturns?\b/, 'lock, lease or batch; Turn is one of a conversation'],
  [/\bsettl(e|es|ed|ing|ement)\b/, 'record, complete or resolve'],
  [/\banew\b/, 'again'],
  [/\bwhoever\b/, 'caller, person or owner'],
  [/\bremembered\b/, 'cache'],
  [/\bgo-on\b/, 'resume'],
  [/\blet-go\b/, 'release'],
  [/\bcarry-out\b/, 'execute'],
  [/\b(burial|entomb)\b/, 'tombstone'],
  [/\bcrowds\b/, 'limits'],
  [/^until\b/, 'retryOnConflict or waitFor…'],
]

/** The replacement for a name in camelCase, SNAKE_CASE or kebab-case; undefined if it is fine. */
export function plainer(name: string): string | undefined {
  const parts = name.replaceAll(/([a-z0-9])(?=[A-Z])|_/g, '$1-').toLowerCase()
  return BANNED.find(([word]) => word.test(parts))?.[1]
}

/** Finds types that are not nouns, and banned words in exported names and file names. */
export function checkTerms({ code }: Project): Finding[] {
  return [...code.values()].flatMap((file) => [
    ...file.declarations.flatMap((declaration) => judge(file, declaration)),
    ...fileName(file),
  ])
}

function judge({ path, text }: Code, { name, line, kind, exported }: Declaration): Finding[] {
  const findings: Finding[] = []
  if (kind === 'type' && isBare(name)) {
    const rule = exported ? 'type-name' : 'local-type-name'
    findings.push({ path, line, rule, message: `${name} is no noun`, use: 'a noun phrase' })
  }
  const use = exported ? plainer(name) : undefined
  if (use !== undefined && !isTurn(name, text))
    findings.push({ path, line, rule: 'banned-word', message: `the name ${name}`, use })
  return findings
}

/** Whether `turn` is that of a conversation: the text names conversations or the type `Turn`. */
function isTurn(name: string, text: string): boolean {
  return /turn/i.test(name) && /\bconversations?\b|\bTurn\b/.test(text)
}

function fileName({ path }: Code): Finding[] {
  const [name = ''] = (path.split('/').at(-1) ?? '').split('.')
  const bare = name !== 'open' && isBare(`${name.charAt(0).toUpperCase()}${name.slice(1)}`)
  const use = plainer(name) ?? (bare ? 'what the file holds' : undefined)
  if (use === undefined) return []
  return [{ path, line: 1, rule: 'banned-word', message: `the file name ${name}`, use }]
}
