// Key rotation of agents: links signed by the previous key, chains of links, and their problems.
import { canonicalBytes, canonicalize, type JsonObject } from '../core/canonical.ts'
import { readHex } from '../core/encoding.ts'
import { toMicroseconds } from '../core/keys.ts'
import { findMismatch, isCount, isObject, isText, optional } from '../core/shape.ts'
import { verifyEd25519 } from '../core/signature.ts'
import { didKeyOf, isAgentKey } from './identity.ts'

/**
 * A link in which `prev_key` names its successor. Only the first four members are signed, by
 * `prev_key` and, if `new_sig` is present, by the successor too. Keys and signatures are hex. The
 * message has no domain because a public format fixes it; it begins with `{`, which no domain does.
 */
export type RotationLink = {
  readonly prev_key: string
  readonly new_key: string
  /** Position in the chain: 1 for the link of the first key. */
  readonly seq: number
  /** RFC 3339 time at which the successor becomes valid; empty means immediately. */
  readonly not_before: string
  readonly sig: string
  readonly new_sig?: string | null
}

export type RotationProblem =
  /** Not a link at all. */
  | 'malformed'
  /** Not signed by the previous key, or `new_sig` is not by the successor. */
  | 'signature'
  /** `seq` is not the next of its chain, or no chain leads to the previous key. */
  | 'order'
  /** `not_before` is earlier than that of the previous link. */
  | 'date'
  /** Becomes valid only after the queried time. */
  | 'not_yet'
  /** Leads back to a key of its own chain. */
  | 'cycle'
  /** One key names two successors. */
  | 'fork'
  /** The key belongs to another chain, or two chains claim it, and it has not agreed. */
  | 'merge'

/** A chain of keys: the first key, the current one and the links between them. */
export type KeyChain = {
  readonly anchor: string
  readonly current: string
  /** The did:key of the anchor. It stays the same when keys change. */
  readonly subject_did: string
  readonly links: readonly RotationLink[]
  /** The problem that froze the chain; null if it may grow. */
  readonly frozen: 'cycle' | 'fork' | 'merge' | null
}

export type RefusedLink = { readonly link: unknown; readonly problem: RotationProblem }

export type Rotations = {
  /** The chain of each key that is part of a chain. */
  readonly chains: ReadonlyMap<string, KeyChain>
  readonly refused: readonly RefusedLink[]
}

/** A time before every date. */
const AT_ONCE = Number.NEGATIVE_INFINITY

const SHAPE = {
  prev_key: isAgentKey,
  new_key: isAgentKey,
  seq: (value: unknown) => isCount(value) && value >= 1,
  not_before: (value: unknown) =>
    value === '' || (isText(value) && !Number.isNaN(toMicroseconds(value))),
  sig: isText,
  new_sig: optional(isText),
}

/** The signed message: RFC 8785 bytes of four members; an absent `not_before` is empty text. */
export function rotationBytes(link: Omit<RotationLink, 'sig' | 'new_sig'>): Uint8Array {
  return canonicalBytes(bodyOf(link))
}

function bodyOf({ prev_key, new_key, seq, not_before }: Omit<RotationLink, 'sig'>): JsonObject {
  return { prev_key, new_key, seq, not_before }
}

/** Parses and verifies a link. Returns the problem if it is invalid by itself. Never throws. */
export async function readRotation(value: unknown): Promise<RotationLink | RotationProblem> {
  const given = isObject(value) ? { ...value, not_before: value['not_before'] ?? '' } : {}
  if (!isLink(given)) return 'malformed'
  const message = rotationBytes(given)
  const genuine = await isSigned(given.prev_key, message, given.sig)
  const agreed = !given.new_sig || (await isSigned(given.new_key, message, given.new_sig))
  return genuine && agreed ? given : 'signature'
}

function isLink(value: JsonObject): value is JsonObject & RotationLink {
  return findMismatch(value, SHAPE) === null
}

async function isSigned(key: string, message: Uint8Array, signature: string): Promise<boolean> {
  const [keyBytes, signed] = [readHex(key), readHex(signature)]
  return keyBytes !== null && signed !== null && verifyEd25519(keyBytes, message, signed)
}

/**
 * Verifies each link and returns the chains that `links`, in any order, form at the time `at`
 * (RFC 3339). Never throws.
 */
export async function resolveRotations(links: readonly unknown[], at: string): Promise<Rotations> {
  const refused: RefusedLink[] = []
  const valid: RotationLink[] = []
  for (const given of links) {
    const link = await readRotation(given)
    if (isText(link)) refused.push({ link: given, problem: link })
    else valid.push(link)
  }
  const { chains, refused: unfit } = chainRotations(valid, at)
  return { chains, refused: [...refused, ...unfit] }
}

/** `Map.groupBy`, which Node 20 lacks. */
function groupBy<T, K>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
}

/**
 * Like `resolveRotations`, for links that `readRotation` has already verified. Order and dates are
 * checked along each chain. A fork, a cycle or a disputed key freezes the chain before it, because
 * the owner of the key is unknown.
 */
export function chainRotations(verified: readonly RotationLink[], at: string): Rotations {
  const links = distinct(verified)
  const bySigner = groupBy(links, ({ prev_key }) => prev_key)
  const moment = toMicroseconds(at)
  const walks = anchorsOf(links, bySigner).map((anchor) => walk(anchor, bySigner, moment))
  const claims = groupBy(new Set(walks.flatMap((one) => one.links)), (link) => link.new_key)
  const settled = walks.map((one) => settle(one, claims, bySigner))
  const used = new Set(settled.flatMap((one) => one.links))
  const problems = new Map(settled.flatMap((one) => one.problems))
  const unused = links.filter((link) => !used.has(link))
  return {
    chains: new Map(settled.flatMap(keysOf)),
    refused: unused.map((link) => ({ link, problem: problems.get(link) ?? 'order' })),
  }
}

type Links = ReadonlyMap<string, readonly RotationLink[]>

// Removes duplicates, keeping a copy that the successor signed, and sorts links by their bytes.
function distinct(links: readonly RotationLink[]): readonly RotationLink[] {
  const byName = new Map<string, RotationLink>()
  for (const link of links) {
    const name = canonicalize(bodyOf(link))
    if (!byName.get(name)?.new_sig) byName.set(name, link)
  }
  return [...byName.keys()].sort().flatMap((name) => byName.get(name) ?? [])
}

/** The keys that signed a first link and have not agreed to follow another key. */
function anchorsOf(links: readonly RotationLink[], bySigner: Links): readonly string[] {
  const first = new Set(links.filter(({ seq }) => seq === 1).map(({ prev_key }) => prev_key))
  for (const link of links)
    if (link.new_key !== link.prev_key && isAcknowledged(link, bySigner)) first.delete(link.new_key)
  return [...first].sort()
}

// A successor agrees by signing the link, or by signing the next link of the chain.
function isAcknowledged(link: RotationLink, bySigner: Links): boolean {
  return Boolean(link.new_sig) || hasSigned(link.new_key, link.seq + 1, bySigner)
}

function hasSigned(key: string, place: number, bySigner: Links): boolean {
  return (bySigner.get(key) ?? []).some(({ seq }) => seq === place)
}

type Walk = {
  readonly anchor: string
  readonly links: readonly RotationLink[]
  readonly frozen: KeyChain['frozen']
  readonly problems: readonly (readonly [RotationLink, RotationProblem])[]
}

function walk(anchor: string, bySigner: Links, at: number): Walk {
  const links: RotationLink[] = []
  const keys = new Set([anchor])
  for (let key = anchor; ; ) {
    const next = (bySigner.get(key) ?? []).filter(({ seq }) => seq === links.length + 1)
    const { link, problem } = chooseNext(next, links.at(-1), at)
    const stop = problem ?? (link === undefined ? null : targetProblem(link, keys, bySigner))
    if (link === undefined || stop !== null) {
      const frozen = stop === 'fork' || stop === 'cycle' || stop === 'merge' ? stop : null
      return { anchor, links, frozen, problems: next.map((one) => [one, stop ?? 'order']) }
    }
    links.push(link)
    key = link.new_key
    keys.add(key)
  }
}

/** Chooses among the links of one key and `seq`: the earliest allowed, to a single successor. */
function chooseNext(
  next: readonly RotationLink[],
  last: RotationLink | undefined,
  at: number,
): { readonly link?: RotationLink; readonly problem?: RotationProblem } {
  if (next.length === 0) return {}
  if (next.some(({ new_key }) => new_key !== next[0]?.new_key)) return { problem: 'fork' }
  const since = last === undefined ? AT_ONCE : startOf(last)
  const fit = next.filter((link) => startOf(link) === AT_ONCE || startOf(link) >= since)
  const [link] = fit.toSorted((a, b) => (startOf(a) < startOf(b) ? -1 : 1))
  if (link === undefined) return { problem: 'date' }
  // If `at` is unreadable (NaN), no date has been reached.
  return startOf(link) === AT_ONCE || startOf(link) <= at ? { link } : { problem: 'not_yet' }
}

function targetProblem(
  link: RotationLink,
  keys: ReadonlySet<string>,
  bySigner: Links,
): 'cycle' | 'merge' | null {
  if (keys.has(link.new_key)) return 'cycle'
  // The successor began its own chain and has not agreed to follow this one.
  const taken = hasSigned(link.new_key, 1, bySigner) && !isAcknowledged(link, bySigner)
  return taken ? 'merge' : null
}

function startOf({ not_before }: RotationLink): number {
  return not_before === '' ? AT_ONCE : toMicroseconds(not_before)
}

/** Ends a chain before the first key that another chain claims too, unless the key has agreed. */
function settle(own: Walk, claims: Links, bySigner: Links): Walk {
  const lost = own.links.findIndex((link) => {
    const rivals = (claims.get(link.new_key) ?? []).filter((other) => other !== link)
    const agreed = isAcknowledged(link, bySigner)
    return rivals.length > 0 && !(agreed && rivals.every((one) => !isAcknowledged(one, bySigner)))
  })
  if (lost < 0) return own
  const problems: Walk['problems'] = own.links.slice(lost).map((link) => [link, 'merge'])
  return { ...own, links: own.links.slice(0, lost), frozen: 'merge', problems }
}

function keysOf({ anchor, links, frozen }: Walk): readonly (readonly [string, KeyChain])[] {
  const current = links.at(-1)?.new_key ?? anchor
  const chain = { anchor, current, subject_did: didKeyOf(anchor), links, frozen }
  return [anchor, ...links.map(({ new_key }) => new_key)].map((key) => [key, chain] as const)
}

/** The chain of a key; a key without links is a chain by itself. */
export function chainOf(rotations: Rotations, key: string): KeyChain {
  const alone = { anchor: key, current: key, links: [], frozen: null }
  return rotations.chains.get(key) ?? { ...alone, subject_did: didKeyOf(key) }
}

/**
 * Whether a key is valid at a time. A successor is valid from the date of its link, its predecessor
 * until then. A stolen old key can still sign, but its later signatures do not count.
 */
export function standingOf(
  chain: KeyChain,
  key: string,
  at: string,
): 'current' | 'retired' | 'not_yet' {
  const moment = toMicroseconds(at)
  const into = chain.links.find(({ new_key }) => new_key === key)
  const out = chain.links.find(({ prev_key }) => prev_key === key)
  if (out !== undefined && startOf(out) <= moment) return 'retired'
  return into !== undefined && startOf(into) > moment ? 'not_yet' : 'current'
}

/** The problem of adding `link` to the chains of `links` at `at`; null if it extends a chain. */
export async function checkRotation(
  link: unknown,
  links: readonly unknown[],
  at: string,
): Promise<RotationProblem | null> {
  const read = await readRotation(link)
  if (isText(read)) return read
  const { refused } = await resolveRotations([...links, read], at)
  const name = canonicalize(bodyOf(read))
  const found = refused.find(({ link }) => isObject(link) && isLink(link) && isNamed(link, name))
  return found?.problem ?? null
}

function isNamed(link: RotationLink, name: string): boolean {
  return canonicalize(bodyOf(link)) === name
}
