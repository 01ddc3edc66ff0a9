// Parses licences as callers write them into the terms that the rules of proof read.

import { type LicenseTerms, NOT_SPDX } from '@custos/proof'
import exceptions from 'spdx-exceptions/index.json' with { type: 'json' }
import parse, { type Info } from 'spdx-expression-parse'
import deprecated from 'spdx-license-ids/deprecated.json' with { type: 'json' }
import licenses from 'spdx-license-ids/index.json' with { type: 'json' }

/** The limit on alternatives, whose number can grow as 2 to the length of the text. */
export const ALTERNATIVES_MAX = 64

/** Deprecated ids that are now written with an exception. */
const REPLACED: Readonly<Record<string, string>> = {
  'GPL-2.0-with-autoconf-exception': 'GPL-2.0-only WITH Autoconf-exception-2.0',
  'GPL-2.0-with-bison-exception': 'GPL-2.0-only WITH Bison-exception-2.2',
  'GPL-2.0-with-classpath-exception': 'GPL-2.0-only WITH Classpath-exception-2.0',
  'GPL-2.0-with-font-exception': 'GPL-2.0-only WITH Font-exception-2.0',
  'GPL-2.0-with-GCC-exception': 'GPL-2.0-only WITH GCC-exception-2.0',
  'GPL-3.0-with-autoconf-exception': 'GPL-3.0-only WITH Autoconf-exception-3.0',
  'GPL-3.0-with-GCC-exception': 'GPL-3.0-only WITH GCC-exception-3.1',
}

const KNOWN: ReadonlyMap<string, string> = new Map(
  [...licenses, ...deprecated, ...exceptions].map((id) => [id.toLowerCase(), id]),
)

// Ids match in any case (SPDX 2.3, annex D.2), but the parser knows only the listed spelling.
const WORD = /[A-Za-z0-9.-]+/g
const EXPRESSION = /^[A-Za-z0-9.\-+:() ]+$/
const OPERATOR = /^(?:AND|OR|WITH)$/i
const REFERENCE = /^(?:LicenseRef|DocumentRef)-/

/** Returns the alternatives, each sorted, or `null` if there are too many. */
export function licenseTerms(text: string): LicenseTerms | null {
  const info = readExpression(text.trim())
  return info === null ? [[NOT_SPDX + text.trim()]] : alternativesOf(info)
}

/** Whether two texts name the same licence. */
export function isSameLicense(a: string, b: string): boolean {
  return sameText(licenseTerms(a), licenseTerms(b))
}

const sameText = (a: LicenseTerms | null, b: LicenseTerms | null): boolean =>
  JSON.stringify(a).toLowerCase() === JSON.stringify(b).toLowerCase()

function readExpression(text: string): Info | null {
  if (!EXPRESSION.test(text)) return null
  const listed = text.replace(WORD, (word) => KNOWN.get(word.toLowerCase()) ?? word)
  try {
    return parse(listed)
  } catch {
    return readWithUnknown(listed)
  }
}

// Within an expression, an unlisted id is read as a `LicenseRef`, so that the rest of the
// expression is understood. A single unknown word is not an expression.
function readWithUnknown(text: string): Info | null {
  if (!/[ (]/.test(text)) return null
  const named = text.replace(WORD, (word) =>
    KNOWN.has(word.toLowerCase()) || OPERATOR.test(word) || REFERENCE.test(word)
      ? word
      : `LicenseRef-${word}`,
  )
  try {
    return parse(named)
  } catch {
    return null
  }
}

function alternativesOf(info: Info): LicenseTerms | null {
  if ('license' in info) return [[termOf(info)]]
  const [left, right] = [alternativesOf(info.left), alternativesOf(info.right)]
  if (left === null || right === null) return null
  const joined = info.conjunction === 'or' ? [...left, ...right] : products(left, right)
  const distinct = new Map<string, readonly string[]>()
  for (const terms of joined) {
    const sorted = [...new Set(terms)].sort()
    distinct.set(JSON.stringify(sorted), sorted)
    // Counts while generating, so that an excess stops before all are in memory.
    if (distinct.size > ALTERNATIVES_MAX) return null
  }
  return [...distinct.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, terms]) => terms)
}

function* products(left: LicenseTerms, right: LicenseTerms): Generator<readonly string[]> {
  for (const one of left) for (const other of right) yield [...one, ...other]
}

const GNU = /^((?:A|L)?GPL-\d\.\d)(?:-only|-or-later)?$/

/** GNU licences have an explicit id for each case, so they never carry a `+`. */
function termOf({ license, plus, exception }: Exclude<Info, { conjunction: string }>): string {
  const gnu = GNU.exec(license)?.[1]
  const later = plus === true || license.endsWith('-or-later')
  const id = gnu === undefined ? listedOf(license, later) : `${gnu}${later ? '-or-later' : '-only'}`
  return exception === undefined ? id : `${id} WITH ${exception}`
}

const listedOf = (license: string, later: boolean): string =>
  REPLACED[license] ?? (later ? `${license}+` : license)
