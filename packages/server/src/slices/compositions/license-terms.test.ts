// The parser of licences: SPDX expressions, ids in any case, free text, and its limits.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ALTERNATIVES_MAX, isSameLicense, licenseTerms } from './license-terms.ts'

const read: readonly (readonly [text: string, terms: readonly (readonly string[])[]])[] = [
  ['MIT', [['MIT']]],
  [' mit ', [['MIT']]],
  ['gpl-2.0', [['GPL-2.0-only']]],
  ['GPL-2.0+', [['GPL-2.0-or-later']]],
  ['GPL-2.0-or-later', [['GPL-2.0-or-later']]],
  ['GPL-2.0-or-later+', [['GPL-2.0-or-later']]],
  ['GPL-3.0-only+', [['GPL-3.0-or-later']]],
  ['lgpl-2.1+', [['LGPL-2.1-or-later']]],
  ['Apache-1.1+', [['Apache-1.1+']]],
  ['MIT OR Apache-2.0', [['Apache-2.0'], ['MIT']]],
  ['mit or apache-2.0', [['Apache-2.0'], ['MIT']]],
  ['MIT AND MIT', [['MIT']]],
  ['MIT OR MIT', [['MIT']]],
  ['MIT OR ISC AND Zlib', [['ISC', 'Zlib'], ['MIT']]],
  [
    '(MIT OR ISC) AND Zlib',
    [
      ['ISC', 'Zlib'],
      ['MIT', 'Zlib'],
    ],
  ],
  ['gpl-2.0-only with classpath-exception-2.0', [['GPL-2.0-only WITH Classpath-exception-2.0']]],
  ['GPL-2.0-with-classpath-exception', [['GPL-2.0-only WITH Classpath-exception-2.0']]],
  ['Apache-2.0 WITH LLVM-exception', [['Apache-2.0 WITH LLVM-exception']]],
  ['LicenseRef-acme', [['LicenseRef-acme']]],
  ['DocumentRef-a:LicenseRef-b', [['DocumentRef-a:LicenseRef-b']]],
  ['MIT AND Acme-1.0', [['LicenseRef-Acme-1.0', 'MIT']]],
  ['commercial', [['not SPDX: commercial']]],
  ['cc-by-nd', [['not SPDX: cc-by-nd']]],
  ['cc-by-nd-4.0', [['CC-BY-ND-4.0']]],
  ['licenseref-acme', [['not SPDX: licenseref-acme']]],
  ['See the contract, §4', [['not SPDX: See the contract, §4']]],
  ['MIT WITH nothing-exception', [['not SPDX: MIT WITH nothing-exception']]],
  ['MIT AND', [['not SPDX: MIT AND']]],
  ['(MIT', [['not SPDX: (MIT']]],
  ['@@@MIT', [['not SPDX: @@@MIT']]],
  ['MIT/ISC', [['not SPDX: MIT/ISC']]],
  ['MIT GPL-3.0-only', [['not SPDX: MIT GPL-3.0-only']]],
  ['not SPDX: MIT', [['not SPDX: not SPDX: MIT']]],
]

for (const [text, terms] of read)
  test(`"${text}" is read as ${JSON.stringify(terms)}`, () => {
    assert.deepEqual(licenseTerms(text), terms)
  })

test('alternatives are counted up to a maximum and refused beyond', () => {
  const four = ['(MIT OR ISC)', '(Zlib OR X11)', '(0BSD OR curl)', '(NCSA OR JSON)']
  assert.equal(licenseTerms(four.join(' AND '))?.length, 16)
  const more = [...four, '(AFL-1.1 OR AFL-1.2)', '(TCL OR SL)']
  assert.equal(licenseTerms(more.join(' AND '))?.length, ALTERNATIVES_MAX)
  assert.equal(licenseTerms([...more, '(Vim OR W3C)'].join(' AND ')), null)
})

test('the same licence is the same in another spelling, and no other is', () => {
  assert.ok(isSameLicense('MIT OR apache-2.0', '(Apache-2.0 or MIT)'))
  assert.ok(isSameLicense('GPL-2.0+', 'gpl-2.0-or-later'))
  assert.ok(isSameLicense('Commercial', 'commercial'))
  assert.ok(!isSameLicense('GPL-2.0', 'GPL-2.0-or-later'))
  assert.ok(!isSameLicense('MIT', 'MIT OR Apache-2.0'))
  assert.ok(!isSameLicense('commercial', 'proprietary'))
})

test('any text is parsed, and never as a licence that it does not name', () => {
  const piece = fc.constantFrom(
    ...['MIT', 'GPL-2.0', 'AND', 'OR', 'WITH', '(', ')', '+', ':', ' ', 'x', '-', '.', '@', '\t'],
    ...['LicenseRef-', 'DocumentRef-', 'LLVM-exception', 'é'],
  )
  const text = fc.array(piece, { maxLength: 14 }).map((pieces) => pieces.join(''))
  fc.assert(
    fc.property(text, (written) => {
      const terms = licenseTerms(written)
      assert.ok(terms !== null && terms.length > 0)
      for (const term of terms.flat()) {
        if (/^(?:not SPDX: |LicenseRef-|DocumentRef-)/.test(term)) continue
        const named = term.replace(/-only|-or-later|[+]| WITH .*/g, '')
        assert.ok(written.includes(named), `${written}: ${term}`)
      }
    }),
    { numRuns: 5_000 },
  )
})
