// Decides whether the licences of a composition's members are compatible, and lists conflicts.

import {
  apartFrom,
  bitsOf,
  LICENSE_RULES,
  type LicenseRule,
  type LicenseTrait,
  licenseReadings,
  NOT_SPDX,
  unknownLicenseReason,
} from './license-rules.ts'

/** The licence text of a source with a lawful basis and no licence; it is never cleared. */
export const NO_LICENSE = 'no licence is stated'

/**
 * A licence in disjunctive form: any one of the lists may be chosen; all terms of that list apply.
 * A term is an SPDX id (`-only` and `-or-later` spelt out), with `+` or ` WITH <exception>`, or
 * a LicenseRef, or `not SPDX: ` and the caller's words.
 */
export type LicenseTerms = readonly (readonly string[])[]

export type LicensedMember = { readonly ref_id: string; readonly license_terms: LicenseTerms }

export type LicenseConflict = {
  readonly rule: string
  /** Ids of members, sorted. */
  readonly members: readonly string[]
  readonly licenses: readonly string[]
  readonly detail: string
  readonly source: string | null
}

export type ReportedLicense = {
  readonly license: string
  readonly members: readonly string[]
  readonly why: string
}

export type LicenseVerdict = {
  readonly compatible: boolean
  readonly detail: string
  /** The chosen terms as one SPDX expression; null if there are none or one is not SPDX. */
  readonly expression: string | null
  /** The terms chosen among the alternatives, sorted. All of them apply to the whole. */
  readonly terms: readonly string[]
  readonly reasons: readonly LicenseConflict[]
  /**
   * Licences and pairs of licences (`A with B`) that no rule covers. They do not make the verdict
   * incompatible, but they are not cleared.
   */
  readonly reported: readonly ReportedLicense[]
}

/** The most combinations that are tried before the search gives up. */
const STEPS_MAX = 100_000
const REASONS_MAX = 20

/** One alternative of a licence: its terms in one reading. */
type Option = {
  readonly terms: readonly string[]
  readonly traits: ReadonlySet<LicenseTrait>
  /** The traits as a bit mask; `apart` are the traits that conflict with them. */
  readonly bits: number
  readonly apart: number
  /** The traits for which no rule says whether they are compatible with these. */
  readonly unjudged: number
  /** Number of terms that the rules do not know. */
  readonly unknown: number
}

/** A licence with all members that have it. */
type Form = {
  readonly members: readonly string[]
  readonly options: readonly Option[]
  /** The options that no rule forbids by themselves, without needlessly strict ones; best first. */
  readonly viable: readonly Option[]
}

/** The verdict on the licences of the members. Their order does not matter. */
export function licenseVerdict(members: readonly LicensedMember[]): LicenseVerdict {
  const forms = formsOf(members)
  const judged = choose(forms, { judged_only: true })
  const chosen = Array.isArray(judged) ? judged : choose(forms, { judged_only: false })
  if (chosen === null || chosen === 'too_many') return incompatible(forms, chosen)
  const terms = [...new Set(chosen.flatMap((option) => option.terms))].sort()
  const reported = [...reportedOf(terms, forms), ...pairsOf(terms, forms)]
  const spdx = terms.length > 0 && !terms.some((term) => term.startsWith(NOT_SPDX))
  const named = reported.map(({ license }) => license).join(', ')
  return {
    compatible: true,
    detail: reported.length === 0 ? 'compatible' : `no conflict is known; not judged: ${named}`,
    expression: spdx ? terms.join(' AND ') : null,
    terms,
    reasons: [],
    reported,
  }
}

function incompatible(forms: readonly Form[], why: 'too_many' | null): LicenseVerdict {
  const found = why === null ? conflictsOf(forms) : []
  const reasons = found.length > 0 ? found : [together(forms, why)]
  const [first] = reasons
  const terms = forms.flatMap((form) => form.options.flatMap((option) => option.terms))
  return {
    compatible: false,
    detail: first === undefined ? 'incompatible' : conflictText(first),
    expression: null,
    terms: [],
    reasons,
    reported: reportedOf([...new Set(terms)].sort(), forms),
  }
}

/** Describes a conflict in one line of text. */
export function conflictText({ licenses, members, detail, source }: LicenseConflict): string {
  const where = members.length > 4 ? `${members.slice(0, 4).join(', ')}, …` : members.join(', ')
  const from = source === null ? '' : ` (${source})`
  return `${licenses.join(' with ')} [${where}]: ${detail}${from}`
}

function formsOf(members: readonly LicensedMember[]): Form[] {
  const forms = new Map<string, { ids: Set<string>; terms: LicenseTerms }>()
  for (const { ref_id, license_terms } of members) {
    const key = JSON.stringify(license_terms)
    const form = forms.get(key) ?? { ids: new Set(), terms: license_terms }
    form.ids.add(ref_id)
    forms.set(key, form)
  }
  return [...forms.entries()]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { ids, terms }]) => {
      const options = terms.flatMap(optionsOf)
      return { members: [...ids].sort(), options, viable: strictestLeftOut(options) }
    })
}

/** The options of a list of terms: one for each combination of their readings. */
function optionsOf(terms: readonly string[]): Option[] {
  let readings: (readonly LicenseTrait[])[] = [[]]
  for (const term of new Set(terms))
    readings = distinct(
      readings.flatMap((read) => licenseReadings(term).map((more) => [...read, ...more])),
    )
  const unknown = terms.filter((term) => unknownLicenseReason(term) !== undefined).length
  return readings.map((traits) => {
    const bits = bitsOf(traits)
    const [apart, unjudged] = [apartFrom(bits), unjudgedBy(bits)]
    return { terms, traits: new Set(traits), bits, apart, unjudged, unknown }
  })
}

function distinct(readings: readonly (readonly LicenseTrait[])[]): (readonly LicenseTrait[])[] {
  const seen = new Map(readings.map((traits) => [[...new Set(traits)].sort().join(), traits]))
  return [...seen.values()]
}

// Drops options that have all traits of another: they conflict wherever that one does. Known
// licences come first.
function strictestLeftOut(options: readonly Option[]): Option[] {
  const possible = options
    .filter((option) => firstRule(option, option) === undefined)
    .sort((a, b) => a.unknown - b.unknown || a.traits.size - b.traits.size)
  return possible.filter((option, i) => !possible.slice(0, i).some((o) => isMilder(o, option)))
}

const isMilder = (a: Option, b: Option): boolean =>
  a.unknown <= b.unknown && (a.bits & b.bits) === a.bits

/** The first rule that two options violate. With `a === b`, rules on one licence count too. */
function firstRule(a: Option, b: Option): LicenseRule | undefined {
  return LICENSE_RULES.find(({ one, other }) => {
    if (other === undefined) return a === b && has(a, one)
    return (has(a, one) && has(b, other)) || (has(b, one) && has(a, other))
  })
}

const has = ({ traits }: Option, any: readonly LicenseTrait[]): boolean =>
  any.some((trait) => traits.has(trait))

/** Chooses an option of each form so that none conflict. Returns null if that is impossible. */
function choose(
  forms: readonly Form[],
  { judged_only }: { judged_only: boolean },
): readonly Option[] | 'too_many' | null {
  const against = ({ apart, unjudged }: Option) => (judged_only ? apart | unjudged : apart)
  const ordered = [...forms].sort((a, b) => a.viable.length - b.viable.length)
  const chosen: Option[] = []
  // Dead ends of the search: for each form, the traits chosen before it that allow no solution.
  const failed = ordered.map(() => new Set<number>())
  let steps = 0
  const search = (at: number, taken: number, apart: number): boolean => {
    const form = ordered[at]
    if (form === undefined) return true
    if (failed[at]?.has(taken)) return false
    for (const option of form.viable) {
      if (steps++ >= STEPS_MAX) return false
      const theirs = apart | against(option)
      if ((option.bits & theirs) !== 0) continue
      chosen.push(option)
      if (search(at + 1, taken | option.bits, theirs)) return true
      chosen.pop()
    }
    failed[at]?.add(taken)
    return false
  }
  if (search(0, 0, 0)) return chosen
  return steps >= STEPS_MAX ? 'too_many' : null
}

function conflictsOf(forms: readonly Form[]): LicenseConflict[] {
  const found = forms.flatMap((form) => (form.viable.length > 0 ? [] : [aloneConflict(form)]))
  const possible = forms.filter((form) => form.viable.length > 0)
  for (const [i, form] of possible.entries())
    for (const other of possible.slice(i + 1)) {
      if (found.length >= REASONS_MAX) return found
      const conflict = pairConflict(form, other)
      if (conflict !== undefined) found.push(conflict)
    }
  return found.slice(0, REASONS_MAX)
}

function aloneConflict({ members, options }: Form): LicenseConflict {
  const [option] = options
  const rule = option === undefined ? undefined : firstRule(option, option)
  const { rule: name = 'no_terms', detail = 'no licence is named', source = null } = rule ?? {}
  const licenses = rule === undefined || option === undefined ? [] : termsWith(option, rule)
  return { rule: name, members, licenses, detail, source }
}

/** The terms of an option that the rule is about. */
function termsWith({ terms }: Option, { one, other = [] }: LicenseRule): readonly string[] {
  const about = (term: string) =>
    licenseReadings(term).some((traits) => traits.some((t) => one.includes(t) || other.includes(t)))
  return [...new Set(terms.filter(about))]
}

/** The conflict of two forms; undefined if an option of one is compatible with one of the other. */
function pairConflict(a: Form, b: Form): LicenseConflict | undefined {
  const stand = a.viable.some(({ apart }) => b.viable.some(({ bits }) => (bits & apart) === 0))
  const [option, other] = [a.viable[0], b.viable[0]]
  if (stand || option === undefined || other === undefined) return undefined
  const rule = firstRule(option, other)
  if (rule === undefined) return undefined
  const licenses = [...termsWith(option, rule), ...termsWith(other, rule)]
  const members = [...new Set([...a.members, ...b.members])].sort()
  return { rule: rule.rule, members, licenses, detail: rule.detail, source: rule.source }
}

function together(forms: readonly Form[], why: 'too_many' | null): LicenseConflict {
  return {
    rule: why === null ? 'no_choice' : 'too_many_alternatives',
    members: [...new Set(forms.flatMap(({ members }) => members))].sort(),
    licenses: [],
    detail:
      why === null
        ? 'no choice among the alternatives lets all of them stand together'
        : 'the licences have too many alternatives to be judged',
    source: null,
  }
}

const whyReported = (term: string): string | undefined =>
  term === NOT_SPDX + NO_LICENSE
    ? 'a lawful basis is stated, and no licence'
    : unknownLicenseReason(term)

function reportedOf(terms: readonly string[], forms: readonly Form[]): ReportedLicense[] {
  return terms.flatMap((license) => {
    const why = whyReported(license)
    if (why === undefined) return []
    const of = forms.filter((form) => isNamed(form, license))
    const members = [...new Set(of.flatMap((form) => form.members))].sort()
    return [{ license, members, why }]
  })
}

/** The pairs of chosen terms for which no rule states compatibility. */
function pairsOf(terms: readonly string[], forms: readonly Form[]): ReportedLicense[] {
  const doubtful = terms.filter((term) => licenseReadings(term).some((traits) => traits.length > 0))
  return doubtful.flatMap((one, i) =>
    doubtful.slice(i + 1).flatMap((other) => {
      if (!isUnjudged(one, other)) return []
      const of = forms.filter((form) => isNamed(form, one) || isNamed(form, other))
      const members = [...new Set(of.flatMap((form) => form.members))].sort()
      return [{ license: `${one} with ${other}`, members, why: 'no rule judges the two together' }]
    }),
  )
}

const isNamed = ({ options }: Form, term: string): boolean =>
  options.some(({ terms }) => terms.includes(term))

/** Traits of copyleft licences: derived works must be, wholly or partly, under the same licence. */
const COPYLEFT: readonly LicenseTrait[] = [
  ...(['gpl-1', 'gpl-2', 'gpl-3', 'agpl-3', 'lgpl-2', 'lgpl-3', 'mpl-2', 'odbl'] as const),
  ...(['by-sa-1', 'by-sa', 'by-sa-4', 'by-nc-sa-1', 'by-nc-sa', 'copyleft'] as const),
]
const NON_COMMERCIAL: readonly LicenseTrait[] = ['by-nc', 'other-nc']
const GNU: readonly LicenseTrait[] = ['gpl-1', 'gpl-2', 'gpl-3', 'agpl-3', 'lgpl-2', 'lgpl-3']

type Pairs = readonly (readonly [LicenseTrait, readonly LicenseTrait[]])[]

/**
 * Pairs that a source states to be compatible: the FSF's matrix of GNU licences, MPL-2.0 3.3
 * (secondary licences), Creative Commons' list of compatible licences and chart of combinations.
 */
const STAND: Pairs = [
  ['lgpl-2', ['gpl-2', 'gpl-3', 'agpl-3', 'lgpl-3']],
  ['lgpl-3', ['gpl-3', 'agpl-3']],
  ['agpl-3', ['gpl-3']],
  ['mpl-2', ['gpl-2', 'gpl-3', 'agpl-3', 'lgpl-2', 'lgpl-3']],
  ['by-sa', ['by-sa-4']],
  ['by-sa-4', ['gpl-3']],
  ['by-nc', ['by-nc-sa-1', 'by-nc-sa']],
]

/** Pairs without copyleft that are not on the FSF's list: attribution before version 4.0. */
const DOUBTFUL: Pairs = [['by-old', GNU]]

/** The partners of a trait in these pairs, as a bit mask. */
const besides = (pairs: Pairs, trait: LicenseTrait): number =>
  pairs.reduce((bits, [one, others]) => {
    const theirs = one === trait ? bitsOf(others) : 0
    return bits | theirs | (others.includes(trait) ? bitsOf([one]) : 0)
  }, 0)

function unjudgedBeside(trait: LicenseTrait): number {
  const copyleft = COPYLEFT.includes(trait)
  const among = copyleft ? [...COPYLEFT, ...NON_COMMERCIAL] : COPYLEFT
  const judgeable = copyleft || NON_COMMERCIAL.includes(trait)
  const own = bitsOf([trait])
  const settled = own | apartFrom(own) | besides(STAND, trait)
  return ((judgeable ? bitsOf(among) : 0) | besides(DOUBTFUL, trait)) & ~settled
}

const UNJUDGED: readonly (readonly [bit: number, beside: number])[] = [
  ...COPYLEFT,
  ...NON_COMMERCIAL,
  ...DOUBTFUL.map(([trait]) => trait),
].map((trait) => [bitsOf([trait]), unjudgedBeside(trait)])

/** All traits for which no rule says whether they are compatible with these traits. */
const unjudgedBy = (bits: number): number =>
  UNJUDGED.reduce((all, [bit, beside]) => ((bits & bit) === 0 ? all : all | beside), 0)

const OTHER_COPYLEFT = bitsOf(['copyleft'])

/** Whether no rule states that two terms are compatible in any of their readings. */
function isUnjudged(one: string, other: string): boolean {
  if (idOf(one) === idOf(other)) return false
  const theirs = licenseReadings(other).map(bitsOf)
  const pairs = licenseReadings(one).flatMap((traits) =>
    theirs.map((bits) => [bitsOf(traits), bits]),
  )
  const possible = pairs.filter(([a = 0, b = 0]) => (apartFrom(a) & b) === 0)
  return possible.length > 0 && possible.every(([a = 0, b = 0]) => isUnjudgedPair(a, b))
}

// Copyleft licences without their own trait are distinguished by their ids.
const isUnjudgedPair = (a: number, b: number): boolean =>
  (unjudgedBy(a) & b) !== 0 || (a & b & OTHER_COPYLEFT) !== 0

/** The id of a term, without its exception and `+`. */
const idOf = (term: string): string => (term.split(' WITH ')[0] ?? '').replace(/\+$/, '')
