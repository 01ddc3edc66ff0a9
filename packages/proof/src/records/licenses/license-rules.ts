// Which licences are incompatible in one composition: a table of rules with their sources.

/** The traits of licences that rules use. A licence without any of them conflicts with nothing. */
const TRAITS = [
  'no-derivatives',
  'non-commercial',
  'commercial',
  'apache-2',
  'gpl-1',
  'gpl-2',
  'gpl-3',
  'agpl-3',
  'lgpl-3',
  'not-gpl',
  'by-sa-1',
  'by-sa',
  'by-sa-4',
  'by-nc-sa-1',
  'by-nc-sa',
  'odbl',
  // The following traits matter only for pairs without a rule: see license-verdict.ts.
  'lgpl-2',
  'mpl-2',
  'by-nc',
  'other-nc',
  'by-old',
  'copyleft',
] as const
export type LicenseTrait = (typeof TRAITS)[number]

/** One reading of a licence; a licence `or later` has several. */
type LicenseReading = readonly LicenseTrait[]

export type LicenseRule = {
  readonly rule: string
  /** Traits of the first and the second licence; a rule on a single licence has no second list. */
  readonly one: readonly LicenseTrait[]
  readonly other?: readonly LicenseTrait[]
  readonly detail: string
  readonly source: string
}

const GPL_FAQ = 'https://www.gnu.org/licenses/gpl-faq.html#AllCompatibility'
const GPL_LIST = 'https://www.gnu.org/licenses/license-list.html'
const CC_COMPATIBLE =
  'https://creativecommons.org/share-your-work/licensing-considerations/compatible-licenses'
const CC_COMBINING =
  'https://creativecommons.org/faq/#can-i-combine-material-under-different-creative-commons-licenses-in-my-work'

const GPL = ['gpl-1', 'gpl-2', 'gpl-3', 'agpl-3'] as const
const BY_SA = ['by-sa-1', 'by-sa', 'by-sa-4'] as const

export const LICENSE_RULES: readonly LicenseRule[] = [
  {
    rule: 'no_derivatives',
    one: ['no-derivatives'],
    detail: 'the licence does not let adapted material be shared, and a composition is that',
    source: 'https://creativecommons.org/licenses/by-nd/4.0/legalcode#s2a1B',
  },
  {
    rule: 'non_commercial',
    one: ['non-commercial'],
    other: ['commercial'],
    detail: 'the one licence forbids commercial use, the other is for it',
    source: 'https://creativecommons.org/licenses/by-nc/4.0/legalcode#s2a1',
  },
  {
    rule: 'gpl_versions',
    one: ['gpl-1', 'gpl-2'],
    other: ['gpl-3', 'agpl-3', 'lgpl-3'],
    detail: 'each of the two versions wants the whole under itself alone',
    source: GPL_FAQ,
  },
  {
    rule: 'gpl_versions',
    one: ['gpl-1'],
    other: ['gpl-2'],
    detail: 'each of the two versions wants the whole under itself alone',
    source: GPL_FAQ,
  },
  {
    rule: 'apache_gpl',
    one: ['apache-2'],
    other: ['gpl-1', 'gpl-2'],
    detail: 'the patent terms of Apache-2.0 are further restrictions to the GPL before version 3',
    source: `${GPL_LIST}#apache2`,
  },
  {
    rule: 'not_gpl_compatible',
    one: ['not-gpl'],
    other: GPL,
    detail: 'the licence makes conditions that the GPL does not let be added',
    source: `${GPL_LIST}#GPLIncompatibleLicenses`,
  },
  {
    rule: 'gpl_non_commercial',
    one: ['non-commercial'],
    other: GPL,
    detail: 'the GPL does not let commercial use be forbidden',
    source: `${GPL_LIST}#CC-BY-NC`,
  },
  {
    rule: 'sharealike_gpl',
    one: ['by-sa-1', 'by-sa'],
    other: GPL,
    detail: 'ShareAlike before version 4.0 does not let an adaptation be under the GPL',
    source: CC_COMPATIBLE,
  },
  {
    rule: 'sharealike_gpl',
    one: ['by-sa-4'],
    other: ['gpl-1', 'gpl-2'],
    detail: 'ShareAlike 4.0 lets an adaptation be under version 3 of the GPL only',
    source: CC_COMPATIBLE,
  },
  {
    rule: 'sharealike_non_commercial',
    one: BY_SA,
    other: ['non-commercial'],
    detail: 'ShareAlike wants the whole under itself, which allows commercial use',
    source: CC_COMBINING,
  },
  {
    rule: 'sharealike_versions',
    one: ['by-sa-1'],
    other: ['by-sa', 'by-sa-4'],
    detail: 'ShareAlike 1.0 does not let an adaptation be under a later version',
    source: CC_COMPATIBLE,
  },
  {
    rule: 'sharealike_versions',
    one: ['by-nc-sa-1'],
    other: ['by-nc-sa'],
    detail: 'ShareAlike 1.0 does not let an adaptation be under a later version',
    source: CC_COMPATIBLE,
  },
  {
    rule: 'odbl_derivatives',
    one: ['odbl'],
    other: [...BY_SA, 'non-commercial'],
    detail: 'a database derived from one under ODbL must be under ODbL or what it names compatible',
    source: 'https://opendatacommons.org/licenses/odbl/1-0/#4.4',
  },
]

const bitOf = (trait: LicenseTrait): number => 1 << TRAITS.indexOf(trait)

/** The traits as a bit mask. */
export const bitsOf = (traits: Iterable<LicenseTrait>): number =>
  [...traits].reduce((bits, trait) => bits | bitOf(trait), 0)

/** The traits that conflict with each trait, as bit masks in the order of the traits. */
const APART: readonly number[] = TRAITS.map((trait) =>
  LICENSE_RULES.reduce((bits, { one, other = [] }) => {
    const theirs = one.includes(trait) ? bitsOf(other) : 0
    return bits | theirs | (other.includes(trait) ? bitsOf(one) : 0)
  }, 0),
)

/** The traits that conflict with any of these traits. */
export const apartFrom = (bits: number): number =>
  APART.reduce((apart, theirs, i) => (bits & (1 << i) ? apart | theirs : apart), 0)

/** GNU licences; `-or-later` may be read as this version or any later one. */
const GNU: Readonly<Record<string, readonly LicenseReading[]>> = {
  'GPL-1.0-only': [['gpl-1']],
  'GPL-1.0-or-later': [['gpl-1'], ['gpl-2'], ['gpl-3']],
  'GPL-2.0-only': [['gpl-2']],
  'GPL-2.0-or-later': [['gpl-2'], ['gpl-3']],
  'GPL-3.0-only': [['gpl-3']],
  'GPL-3.0-or-later': [['gpl-3']],
  'AGPL-1.0-only': [['not-gpl', 'copyleft']],
  'AGPL-1.0-or-later': [['not-gpl', 'copyleft'], ['agpl-3']],
  'AGPL-3.0-only': [['agpl-3']],
  'AGPL-3.0-or-later': [['agpl-3']],
  // Both allow the work to be relicensed under the GPL, version 2 or later.
  'LGPL-2.0-only': [['lgpl-2']],
  'LGPL-2.0-or-later': [['lgpl-2']],
  'LGPL-2.1-only': [['lgpl-2']],
  'LGPL-2.1-or-later': [['lgpl-2']],
  'LGPL-3.0-only': [['lgpl-3']],
  'LGPL-3.0-or-later': [['lgpl-3']],
}

const words = (text: string): readonly string[] => text.split(/\s+/).filter(Boolean)

/** Licences on the FSF's list of free licences that are incompatible with the GPL. */
const NOT_GPL: ReadonlySet<string> = new Set(
  words(`AFL-1.1 AFL-1.2 AFL-2.0 AFL-2.1 AFL-3.0 Apache-1.0 Apache-1.1 BSD-4-Clause JSON LPPL-1.2
    LPPL-1.3a OpenSSL PHP-3.0 PHP-3.01`),
)

/** Licences on the same list that are copyleft themselves. */
const NOT_GPL_COPYLEFT: ReadonlySet<string> = new Set(
  words(`CDDL-1.0 CDDL-1.1 CPAL-1.0 CPL-1.0 EPL-1.0 EPL-2.0 IPL-1.0 MPL-1.0 MPL-1.1
    MPL-2.0-no-copyleft-exception MS-PL MS-RL NPL-1.0 NPL-1.1 OSL-1.0 OSL-1.1 OSL-2.0 OSL-2.1
    OSL-3.0 QPL-1.0`),
)

const NON_COMMERCIAL: ReadonlySet<string> = new Set(
  words('Aladdin NCGL-UK-2.0 PolyForm-Noncommercial-1.0.0'),
)

/** Permissive licences and public domain, which no rule conflicts with. */
const FREE_TO_COMPOSE: ReadonlySet<string> = new Set(
  words(`0BSD Artistic-2.0 BSD-1-Clause BSD-2-Clause BSD-2-Clause-Patent BSD-3-Clause
    BSD-3-Clause-Clear BSL-1.0 BlueOak-1.0.0 CC-PDDC CC-PDM-1.0 CC0-1.0 CDLA-Permissive-1.0
    CDLA-Permissive-2.0 ISC Libpng MIT MIT-0 NCSA ODC-By-1.0 OGL-UK-3.0 OpenMDW-1.0
    PDDL-1.0 PSF-2.0 PostgreSQL Python-2.0 UPL-1.0 Unicode-3.0 Unlicense WTFPL X11 Zlib curl`),
)

/** For each licence a later version with fewer conflicts, which `+` permits. */
const LATER: Readonly<Record<string, string>> = {
  'Apache-1.0': 'Apache-2.0',
  'Apache-1.1': 'Apache-2.0',
  'MPL-1.0': 'MPL-2.0',
  'MPL-1.1': 'MPL-2.0',
}

/**
 * Exceptions that allow a work under a GNU licence to be part of, or be called by, a work under any
 * licence.
 */
const LINKING_EXCEPTIONS: ReadonlySet<string> = new Set(
  words(`Classpath-exception-2.0 GCC-exception-2.0 GCC-exception-3.1 GNU-compiler-exception
    GPL-3.0-linking-exception LGPL-3.0-linking-exception Linux-syscall-note
    OCaml-LGPL-linking-exception WxWindows-exception-3.1 eCos-exception-2.0
    freertos-exception-2.0`),
)

/** Prefix of a term that is not an SPDX licence expression; the caller's text follows. */
export const NOT_SPDX = 'not SPDX: '

const FREE_WORDS = /^(?:not SPDX: |LicenseRef-|DocumentRef-)/

/** The possible readings of the licence; never empty. */
export function licenseReadings(term: string): readonly LicenseReading[] {
  if (FREE_WORDS.test(term)) return [wordTraits(term.replace(NOT_SPDX, ''))]
  const [licence = '', exception] = term.split(' WITH ')
  if (exception !== undefined && isWaived(licence, exception)) return [[]]
  const id = licence.replace(/\+$/, '')
  const later = id === licence ? undefined : LATER[id]
  return later === undefined ? readingsOfId(id) : [...readingsOfId(id), ...readingsOfId(later)]
}

const isGnu = (id: string): boolean => Object.hasOwn(GNU, id)

function isWaived(id: string, exception: string): boolean {
  if (exception === 'LLVM-exception') return id === 'Apache-2.0'
  return isGnu(id) && LINKING_EXCEPTIONS.has(exception)
}

function readingsOfId(id: string): readonly LicenseReading[] {
  if (isGnu(id)) return GNU[id] ?? [[]]
  if (id === 'Apache-2.0') return [['apache-2']]
  if (id === 'ODbL-1.0') return [['odbl']]
  if (id === 'MPL-2.0') return [['mpl-2']]
  if (NOT_GPL.has(id)) return [['not-gpl']]
  if (NOT_GPL_COPYLEFT.has(id)) return [['not-gpl', 'copyleft']]
  if (NON_COMMERCIAL.has(id)) return [['non-commercial', 'other-nc']]
  return [creativeCommonsTraits(id)]
}

const CREATIVE_COMMONS = /^CC-BY(-NC)?(?:-(ND|SA))?-(\d)\.\d/

function creativeCommonsTraits(id: string): LicenseReading {
  const match = CREATIVE_COMMONS.exec(id)
  if (match === null) return []
  const [, nc, kind, major = ''] = match
  const base: readonly LicenseTrait[] = nc === undefined ? [] : ['non-commercial']
  if (kind === 'ND') return [...base, 'no-derivatives']
  if (kind !== 'SA') return nc === undefined ? plainTraits(major) : [...base, 'by-nc']
  if (nc !== undefined) return [...base, major === '1' ? 'by-nc-sa-1' : 'by-nc-sa']
  if (major === '1') return ['by-sa-1']
  return [major === '4' ? 'by-sa-4' : 'by-sa']
}

const plainTraits = (major: string): LicenseReading => (Number(major) < 4 ? ['by-old'] : [])

/**
 * The traits of a text that is not an SPDX expression, which existing clients send. `nd` between
 * hyphens or spaces means no-deriv, `nc` non-commercial; otherwise the word commercial counts.
 */
function wordTraits(text: string): LicenseReading {
  const lower = text.toLowerCase()
  const tokens = lower.split(/[^a-z0-9]+/)
  const forbids = /non[-_ ]?commercial/.test(lower)
  const traits: LicenseTrait[] = []
  if (tokens.includes('nd') || /no[-_ ]?deriv/.test(lower)) traits.push('no-derivatives')
  if (tokens.includes('nc') || forbids) traits.push('non-commercial')
  if (lower.includes('commercial') && !forbids) traits.push('commercial')
  return traits
}

/** The reason why a person should check a term; undefined if the rules cover it. */
export function unknownLicenseReason(term: string): string | undefined {
  if (term.startsWith(NOT_SPDX)) return 'not SPDX: judged by its words alone'
  if (FREE_WORDS.test(term)) return 'not on the SPDX licence list: judged by its words alone'
  const [licence = '', exception] = term.split(' WITH ')
  if (exception !== undefined && !isWaived(licence, exception))
    return 'no rule knows this exception: judged as if it were not there'
  const id = licence.replace(/\+$/, '')
  const known = readingsOfId(id).some((traits) => traits.length > 0) || isGnu(id)
  return known || FREE_TO_COMPOSE.has(id) || CREATIVE_COMMONS.test(id)
    ? undefined
    : 'no rule knows this licence'
}
