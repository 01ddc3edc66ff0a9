// Licences together: pairs that stand and pairs that do not, choices, and what is reported.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { licenseReadings, NOT_SPDX } from './license-rules.ts'
import { type LicenseTerms, licenseVerdict, NO_LICENSE } from './license-verdict.ts'

const membersOf = (...licenses: readonly LicenseTerms[]) =>
  licenses.map((license_terms, i) => ({ ref_id: `m-${i}`, license_terms }))

/** Each licence is one text: alternatives parted by `|`, terms of one by `&`. */
const verdictOf = (...licenses: readonly string[]) =>
  licenseVerdict(
    membersOf(...licenses.map((text) => text.split(' | ').map((terms) => terms.split(' & ')))),
  )

const STANDS: readonly (readonly string[])[] = [
  ['MIT', 'Apache-2.0'],
  ['Apache-2.0', 'GPL-3.0-only'],
  ['Apache-2.0', 'GPL-2.0-or-later'],
  ['Apache-2.0', 'AGPL-3.0-or-later'],
  ['Apache-2.0 WITH LLVM-exception', 'GPL-2.0-only'],
  ['Apache-2.0', 'LGPL-2.1-only'],
  ['GPL-2.0-or-later', 'GPL-3.0-only'],
  ['GPL-2.0-only', 'GPL-2.0-or-later'],
  ['GPL-1.0-or-later', 'AGPL-3.0-only'],
  ['AGPL-1.0-or-later', 'GPL-3.0-only'],
  ['LGPL-2.1-only', 'GPL-3.0-only'],
  ['LGPL-3.0-only', 'GPL-3.0-only'],
  ['MPL-2.0', 'GPL-2.0-only'],
  ['MPL-1.1+', 'GPL-2.0-only'],
  ['Apache-1.1+', 'GPL-3.0-only'],
  ['Apache-1.1+', 'GPL-2.0-or-later'],
  ['GPL-2.0-only WITH Classpath-exception-2.0', 'Apache-2.0'],
  ['GPL-3.0-only WITH GCC-exception-3.1', 'CC-BY-NC-4.0'],
  ['GPL-2.0-only WITH Linux-syscall-note', 'Apache-2.0'],
  ['CC-BY-4.0', 'GPL-2.0-only'],
  ['CC-BY-SA-4.0', 'GPL-3.0-only'],
  ['CC-BY-SA-4.0', 'GPL-2.0-or-later'],
  ['CC-BY-SA-3.0', 'CC-BY-SA-4.0'],
  ['CC-BY-SA-2.0', 'CC-BY-SA-3.0-DE'],
  ['CC-BY-SA-1.0', 'CC-BY-SA-1.0'],
  ['CC-BY-NC-4.0', 'CC-BY-NC-SA-4.0'],
  ['CC-BY-NC-4.0', 'CC-BY-4.0'],
  ['CC-BY-NC-4.0', 'MIT'],
  ['ODbL-1.0', 'CC-BY-4.0'],
  ['GPL-2.0-only | MIT', 'Apache-2.0'],
  ['CC-BY-ND-4.0 | CC-BY-4.0', 'MIT'],
  ['not SPDX: commercial', 'MIT'],
  ['not SPDX: non-commercial', 'not SPDX: nc'],
  ['not SPDX: under standard terms', 'not SPDX: brand'],
]

/** No rule is against them, and none is for them. */
const UNJUDGED: readonly (readonly [string, string])[] = [
  ['CC-BY-SA-3.0', 'LGPL-2.1-only'],
  ['CC-BY-SA-3.0', 'LGPL-3.0-only'],
  ['CC-BY-SA-4.0', 'LGPL-3.0-or-later'],
  ['CC-BY-SA-4.0', 'AGPL-3.0-only'],
  ['CC-BY-NC-4.0', 'LGPL-2.1-or-later'],
  ['CC-BY-NC-4.0', 'LGPL-3.0-only'],
  ['CC-BY-NC-SA-4.0', 'LGPL-2.1-only'],
  ['CC-BY-NC-SA-4.0', 'MPL-2.0'],
  ['CC-BY-NC-SA-4.0', 'PolyForm-Noncommercial-1.0.0'],
  ['CC-BY-NC-4.0', 'MPL-2.0'],
  ['CC-BY-NC-4.0', 'EPL-2.0'],
  ['MPL-2.0', 'ODbL-1.0'],
  ['GPL-3.0-only', 'ODbL-1.0'],
  ['GPL-2.0-or-later', 'ODbL-1.0'],
  ['CC-BY-SA-4.0', 'OSL-3.0'],
  ['EPL-2.0', 'OSL-3.0'],
  ['EPL-1.0', 'EPL-2.0'],
  ['CC-BY-3.0', 'GPL-3.0-only'],
  ['CC-BY-2.5', 'GPL-2.0-or-later'],
  ['CC-BY-3.0', 'LGPL-2.1-only'],
  ['GPL-1.0-only', 'MPL-2.0'],
  ['GPL-1.0-only', 'LGPL-2.1-only'],
]

const CLASHES: readonly (readonly [string, string, rule: string])[] = [
  ['CC-BY-ND-4.0', 'MIT', 'no_derivatives'],
  ['CC-BY-NC-ND-3.0-IGO', 'MIT', 'no_derivatives'],
  ['not SPDX: cc-by-nd', 'MIT', 'no_derivatives'],
  ['not SPDX: No Derivatives', 'MIT', 'no_derivatives'],
  ['not SPDX: noderivs', 'MIT', 'no_derivatives'],
  ['CC-BY-NC-4.0', 'not SPDX: commercial', 'non_commercial'],
  ['CC-BY-NC-SA-4.0', 'LicenseRef-Commercial', 'non_commercial'],
  ['PolyForm-Noncommercial-1.0.0', 'not SPDX: Commercial use only', 'non_commercial'],
  ['not SPDX: cc-by-nc', 'not SPDX: commercial', 'non_commercial'],
  ['not SPDX: non-commercial', 'not SPDX: nonprofit-commercial', 'non_commercial'],
  ['GPL-2.0-only', 'Apache-2.0', 'apache_gpl'],
  ['GPL-1.0-only', 'Apache-2.0', 'apache_gpl'],
  ['GPL-2.0-only', 'Apache-2.0 WITH Swift-exception', 'apache_gpl'],
  ['GPL-2.0-only WITH Font-exception-2.0', 'Apache-2.0', 'apache_gpl'],
  ['GPL-2.0-only', 'GPL-3.0-only', 'gpl_versions'],
  ['GPL-2.0-only', 'GPL-3.0-or-later', 'gpl_versions'],
  ['GPL-2.0-only', 'AGPL-3.0-only', 'gpl_versions'],
  ['GPL-2.0-only', 'LGPL-3.0-or-later', 'gpl_versions'],
  ['GPL-1.0-only', 'GPL-2.0-only', 'gpl_versions'],
  ['GPL-1.0-only', 'GPL-2.0-or-later', 'gpl_versions'],
  ['GPL-3.0-only', 'MPL-1.1', 'not_gpl_compatible'],
  ['GPL-3.0-only', 'MPL-2.0-no-copyleft-exception', 'not_gpl_compatible'],
  ['GPL-2.0-or-later', 'CDDL-1.0', 'not_gpl_compatible'],
  ['AGPL-3.0-only', 'EPL-2.0', 'not_gpl_compatible'],
  ['GPL-3.0-only', 'AGPL-1.0-only', 'not_gpl_compatible'],
  ['GPL-3.0-only', 'Apache-1.1', 'not_gpl_compatible'],
  ['GPL-3.0-only', 'CC-BY-NC-4.0', 'gpl_non_commercial'],
  ['GPL-3.0-only', 'CC-BY-NC-SA-4.0', 'gpl_non_commercial'],
  ['AGPL-3.0-only', 'not SPDX: non-commercial', 'gpl_non_commercial'],
  ['GPL-3.0-only', 'CC-BY-SA-3.0', 'sharealike_gpl'],
  ['GPL-2.0-only', 'CC-BY-SA-3.0', 'sharealike_gpl'],
  ['GPL-2.0-only', 'CC-BY-SA-4.0', 'sharealike_gpl'],
  ['CC-BY-SA-4.0', 'CC-BY-NC-4.0', 'sharealike_non_commercial'],
  ['CC-BY-SA-3.0', 'CC-BY-NC-SA-3.0', 'sharealike_non_commercial'],
  ['CC-BY-SA-1.0', 'CC-BY-SA-4.0', 'sharealike_versions'],
  ['CC-BY-NC-SA-1.0', 'CC-BY-NC-SA-2.5', 'sharealike_versions'],
  ['ODbL-1.0', 'CC-BY-SA-4.0', 'odbl_derivatives'],
  ['ODbL-1.0', 'CC-BY-NC-4.0', 'odbl_derivatives'],
  ['MIT & GPL-2.0-only', 'Apache-2.0', 'apache_gpl'],
]

for (const pair of STANDS)
  test(`${pair.join(' stands with ')}`, () => {
    const verdict = verdictOf(...pair)
    assert.equal(verdict.compatible, true, verdict.detail)
    assert.deepEqual(verdict.reasons, [])
    assert.equal(verdictOf(...[...pair].reverse()).compatible, true)
  })

for (const pair of STANDS)
  test(`${pair.join(' with ')} is judged`, () => {
    const pairs = verdictOf(...pair).reported.filter(({ license }) => license.includes(' with '))
    assert.deepEqual(pairs, [])
  })

for (const pair of UNJUDGED)
  test(`${pair.join(' with ')} is reported as not judged`, () => {
    const license = [...pair].sort().join(' with ')
    const verdict = verdictOf(...pair)
    assert.deepEqual([verdict.compatible, verdict.reasons], [true, []])
    const why = 'no rule judges the two together'
    assert.deepEqual(verdict.reported, [{ license, members: ['m-0', 'm-1'], why }])
    assert.ok(verdict.detail.endsWith(`not judged: ${license}`))
    assert.deepEqual(verdictOf([...pair].reverse().join(' & ')).reported, [
      { license, members: ['m-0'], why },
    ])
  })

test('copyleft and non-commercial licences never stand together silently', () => {
  const known = [...['GPL-2.0-only', 'GPL-3.0-only', 'AGPL-3.0-only', 'LGPL-2.1-only'], 'MPL-2.0']
  const stand = new Set([
    ...known.flatMap((one) => known.map((other) => `${one} with ${other}`)),
    ...['CC-BY-SA-4.0 with GPL-3.0-only', 'CC-BY-NC-4.0 with CC-BY-NC-SA-4.0'],
  ])
  const more = ['ODbL-1.0', 'CC-BY-SA-4.0', 'CC-BY-NC-SA-4.0', 'OSL-3.0', 'EPL-2.0', 'CDDL-1.0']
  const all = [...known, ...more, 'QPL-1.0', 'CC-BY-NC-4.0', 'Aladdin'].sort()
  for (const [i, one] of all.entries())
    for (const other of all.slice(i + 1)) {
      const { compatible, reported } = verdictOf(one, other)
      const pair = `${one} with ${other}`
      const silent = compatible && reported.length === 0
      if (pair !== 'Aladdin with CC-BY-NC-4.0') assert.ok(!silent || stand.has(pair), pair)
    }
})

test('an alternative that is judged is taken before one that is not', () => {
  const { terms, reported } = verdictOf('LGPL-3.0-only | CC-BY-SA-3.0', 'CC-BY-SA-4.0')
  assert.deepEqual([terms, reported], [['CC-BY-SA-3.0', 'CC-BY-SA-4.0'], []])
})

test('a lawful basis without a licence is reported', () => {
  const [reported] = verdictOf(NOT_SPDX + NO_LICENSE, 'MIT').reported
  assert.deepEqual(reported?.members, ['m-0'])
  assert.match(reported?.why ?? '', /lawful basis/)
})

for (const [one, other, rule] of CLASHES)
  test(`${one} does not stand with ${other}: ${rule}`, () => {
    const verdict = verdictOf(one, other)
    assert.equal(verdict.compatible, false)
    assert.deepEqual([verdict.expression, verdict.terms], [null, []])
    const [reason, ...more] = verdict.reasons
    assert.deepEqual(more, [])
    assert.equal(reason?.rule, rule)
    assert.ok(reason?.source?.startsWith('https://'))
    assert.ok(verdict.detail.includes(reason?.detail ?? 'nothing'))
    assert.equal(verdictOf(other, one).compatible, false)
  })

test('one licence can be in conflict with itself', () => {
  assert.equal(verdictOf('GPL-2.0-only & Apache-2.0').reasons[0]?.rule, 'apache_gpl')
  assert.deepEqual(verdictOf('GPL-2.0-only & MIT & Apache-2.0').reasons[0]?.licenses, [
    'GPL-2.0-only',
    'Apache-2.0',
  ])
  assert.equal(verdictOf('CC-BY-ND-4.0').compatible, false)
})

test('`or later` is one version for the whole, not another for each neighbour', () => {
  const three = verdictOf('GPL-2.0-or-later', 'GPL-2.0-only', 'AGPL-3.0-only')
  assert.equal(three.compatible, false)
  assert.equal(verdictOf('GPL-2.0-or-later & Apache-2.0', 'GPL-2.0-only').compatible, false)
})

test('alternatives that fit pair by pair and not together are named so', () => {
  const three = [
    'GPL-2.0-only | CC-BY-NC-4.0',
    'GPL-2.0-only | CC-BY-SA-3.0',
    'CC-BY-NC-4.0 | CC-BY-SA-3.0',
  ] as const
  for (const left of three) {
    const two = three.filter((license) => license !== left)
    assert.equal(verdictOf(...two).compatible, true)
  }
  const [reason, ...more] = verdictOf(...three).reasons
  assert.deepEqual([reason?.rule, more], ['no_choice', []])
  assert.deepEqual(reason?.members, ['m-0', 'm-1', 'm-2'])
})

test('the choice among alternatives is shown as one expression', () => {
  const verdict = verdictOf('GPL-2.0-only | MIT', 'Apache-2.0', 'GPL-3.0-only | CC-BY-NC-4.0')
  assert.equal(verdict.compatible, true)
  assert.match(verdict.expression ?? '', /^Apache-2\.0 AND .*MIT/)
  assert.deepEqual(verdict.terms, verdict.expression?.split(' AND '))
  assert.equal(verdictOf('not SPDX: commercial', 'MIT').expression, null)
})

test('what no rule knows is reported, and a known alternative is taken before it', () => {
  const verdict = verdictOf('LicenseRef-acme', 'not SPDX: proprietary', 'BUSL-1.1', 'MIT')
  assert.equal(verdict.compatible, true)
  assert.deepEqual(
    verdict.reported.map(({ license, members }) => [license, members]),
    [
      ['BUSL-1.1', ['m-2']],
      ['LicenseRef-acme', ['m-0']],
      ['not SPDX: proprietary', ['m-1']],
    ],
  )
  assert.match(verdict.detail, /BUSL-1\.1, LicenseRef-acme, not SPDX: proprietary/)
  assert.deepEqual(verdictOf('LicenseRef-acme | GPL-3.0-only', 'MIT').terms, [
    'GPL-3.0-only',
    'MIT',
  ])
  const exception = verdictOf('GPL-2.0-only WITH Font-exception-2.0').reported
  assert.match(exception[0]?.why ?? '', /exception/)
})

test('a hard choice ends: it is made, or refused as too many alternatives', () => {
  const terms = [
    ...['GPL-1.0-only', 'GPL-2.0-only', 'GPL-3.0-only', 'AGPL-3.0-only', 'LGPL-3.0-only'],
    ...['CC-BY-SA-1.0', 'CC-BY-SA-3.0', 'CC-BY-SA-4.0', 'CC-BY-NC-4.0', 'CC-BY-NC-SA-1.0'],
    ...['ODbL-1.0', 'MPL-1.1', 'Apache-2.0', 'not SPDX: commercial'],
  ]
  const lists = Array.from({ length: 2 ** terms.length }, (_, bits) =>
    terms.filter((_, i) => bits & (1 << i)),
  ).filter((list) => list.length === 3)
  const many = Array.from({ length: 200 }, (_, i) =>
    Array.from({ length: 64 }, (_, j) => lists[(i * 61 + j * 37) % lists.length] ?? []),
  )
  const hard = licenseVerdict(membersOf(...many))
  assert.equal(hard.compatible, hard.reasons.length === 0)
  assert.deepEqual(licenseVerdict(membersOf(...many)), hard)
})

const TERMS = [
  ...['MIT', 'Apache-2.0', 'GPL-2.0-only', 'GPL-2.0-or-later', 'GPL-3.0-only', 'CC-BY-SA-3.0'],
  ...['CC-BY-SA-4.0', 'CC-BY-NC-4.0', 'CC-BY-ND-4.0', 'ODbL-1.0', 'MPL-1.1', 'LicenseRef-x'],
  ...['not SPDX: commercial', 'LGPL-3.0-only', 'Apache-2.0 WITH LLVM-exception'],
]
const terms = fc.uniqueArray(fc.constantFrom(...TERMS), { minLength: 1, maxLength: 3 })
const licenses = fc.array(fc.array(terms, { minLength: 1, maxLength: 3 }), {
  minLength: 1,
  maxLength: 6,
})

test('the order of the members never matters', () => {
  const shuffled = licenses.chain((list) => {
    const members = membersOf(...list)
    return fc.tuple(
      fc.constant(members),
      fc.shuffledSubarray(members, { minLength: members.length }),
    )
  })
  fc.assert(
    fc.property(shuffled, ([members, other]) => {
      assert.deepEqual(licenseVerdict(other), licenseVerdict(members))
    }),
    { numRuns: 2_000 },
  )
})

// Tries every choice, the slow and plain way.
function stands(list: readonly LicenseTerms[]): boolean {
  const choices = list.reduce<string[][]>(
    (found, alternatives) =>
      found.flatMap((taken) => alternatives.map((more) => [...taken, ...more])),
    [[]],
  )
  return choices.some((chosen) => standTogether([...new Set(chosen)]))
}

function standTogether(chosen: readonly string[]): boolean {
  const readings = chosen.reduce<string[][]>(
    (found, term) => found.flatMap((one) => licenseReadings(term).map((more) => [...one, ...more])),
    [[]],
  )
  return readings.some((traits) => !clash(new Set(traits)))
}

function clash(traits: ReadonlySet<string>): boolean {
  const any = (...names: readonly string[]) => names.some((name) => traits.has(name))
  const gpl = any('gpl-1', 'gpl-2', 'gpl-3', 'agpl-3')
  return (
    any('no-derivatives') ||
    (any('non-commercial') && (any('commercial', 'by-sa', 'by-sa-4', 'odbl') || gpl)) ||
    (any('apache-2') && any('gpl-1', 'gpl-2')) ||
    (any('gpl-2') && any('gpl-1', 'gpl-3', 'lgpl-3')) ||
    (any('not-gpl', 'by-sa') && gpl) ||
    (any('by-sa-4') && any('gpl-2')) ||
    (any('odbl') && any('by-sa', 'by-sa-4'))
  )
}

test('a choice is found exactly where there is one', () => {
  fc.assert(
    fc.property(licenses, (list) => {
      const verdict = licenseVerdict(membersOf(...list))
      assert.equal(verdict.compatible, stands(list))
      assert.equal(verdict.compatible, verdict.reasons.length === 0)
      if (verdict.compatible) assert.ok(standTogether(verdict.terms))
    }),
    { numRuns: 5_000 },
  )
})
