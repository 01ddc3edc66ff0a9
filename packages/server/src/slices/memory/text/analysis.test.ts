// Analysis: which texts share terms, the same for facts and queries, in time linear in the text.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LANGUAGES, type Language } from '@custos/contract'
import fc from 'fast-check'
import { assertLinear } from '../../../testing/growth.ts'
import { analyse, analyseQuery, findDates, makeAnalyser } from './analysis.ts'

const CONTENT_UNITS_MAX = 256 * 1024

function assertFinds(query: string, content: string): void {
  const terms = new Set(analyse(content))
  for (const term of analyseQuery(query)) assert(terms.has(term), `${term} in ${[...terms]}`)
}

test('a date is found by its day, its month name and its year, however it is written', () => {
  for (const content of [
    '[2023-05-07] Caroline: hello',
    'due 2023-05-07T13:56:00.123456Z, at the latest',
    'on 7 May 2023',
    'on May 7th, 2023',
    '07 MAY 2023',
    'am 07.05.2023.',
    '7.5.2023',
    'am 7. Mai 2023',
    'el 7 de mayo de 2023',
    'le 7 mai 2023',
    '7 de maio de 2023',
  ]) {
    assertFinds('in May 2023', content)
    assertFinds('7 May 2023', content)
    assertFinds('2023-05-07', content)
  }
  assertFinds('September 2023', '2023-09')
  assertFinds('2023-09-01', '1 Sept 2023')
})

test('a month of another language is found by its English name, and no other word is', () => {
  const months = [
    'März',
    'Maerz 2023 marzo',
    'mars 2023',
    '1er mars',
    'março',
    'marzo',
    'Marco 2023',
  ]
  for (const content of months) assert(analyse(content).includes('march'), content)
  assertFinds('in August', 'en août')
  assertFinds('in December', 'Dezember diciembre décembre dezembro')
  for (const content of ['eggs with mayo', 'Mars', 'Marco and Julio', 'Rio de Janeiro']) {
    const terms = analyse(content).join(' ')
    assert.doesNotMatch(terms, /\b(?:may|march|juli|januari)\b/, content)
  }
  assert.deepEqual(findDates('on 7.5.2023 and 2023-05-08'), ['7.5.2023', '2023-05-08'])
})

test('numbers that only resemble a date stay numbers', () => {
  const alike = [
    '1-2023-05-07',
    '2023-13-07',
    '2023-05-071',
    '555-2023-0512',
    '1.7.5.2023',
    '7.13.2023',
  ]
  for (const content of [...alike, '7.5.2023.1', '7.5.20231', '7.05.23']) {
    assert(!analyse(content).includes('may'), content)
  }
})

test('the forms of a word find each other', () => {
  const families = [
    ['painting', 'paints', 'painted', 'paint'],
    ['study', 'studies', 'studied', 'studying'],
    ['move', 'moved', 'moving', 'moves'],
    ['run', 'ran', 'running', 'runs'],
    ['go', 'went', 'gone'],
    ['child', 'children'],
    ['box', 'boxes'],
    ['class', 'classes'],
  ]
  for (const family of families) {
    assert.equal(new Set(family.flatMap(analyse)).size, 1, family.join())
  }
})

test('stop words are dropped, and a contraction leaves no letter', () => {
  assert.deepEqual(analyse("What's the? isn't it, they're and so"), [])
  assert.deepEqual(analyse('Caroline’s'), ['carolin'])
})

test('case, width and composition of letters make no difference', () => {
  assert.deepEqual(analyse('ＮＡÏＶＥ'), analyse('nai\u0308ve'))
  assert.deepEqual(analyse('МОСКВА'), ['москва'])
  assert.deepEqual(analyse('हिन्दी'), ['हिन्दी'])
})

test('a script without spaces is found by any two neighbouring symbols', () => {
  assert.deepEqual(analyse('東京都'), ['東京', '京都'])
  assert.deepEqual(analyse('AI搭載model'), ['ai', '搭載', 'model'])
  assertFinds('京都', '私は東京都に住んでいる')
})

test('analysis is deterministic and never fails, for any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      const terms = analyse(text)
      assert.deepEqual(analyse(text), terms)
      assert(terms.every((term) => term.length > 0))
    }),
  )
})

test('256 KiB of anything is analysed in time linear in it', () => {
  const { analyse: all } = makeAnalyser(LANGUAGES)
  const units = [
    'a',
    'a ',
    'é',
    '7 mai ',
    '7.5.2023',
    '漢',
    '2023-05-07',
    '2023-05',
    "a'",
    '0',
    '\u0301',
    '-',
    'ss',
    'ไ',
    'İ',
  ]
  for (const unit of units) {
    const analysed = (size: number) => analyse(unit.repeat(Math.floor(size / unit.length)))
    assertLinear(CONTENT_UNITS_MAX, analysed, unit)
    assertLinear(CONTENT_UNITS_MAX, (size) => all(unit.repeat(size / unit.length)), unit)
  }
})

/** Languages of a store, a query, and a content that the query finds. */
const FOUND: readonly (readonly [readonly Language[], query: string, content: string])[] = [
  [['de'], 'Welche Katzen waren schön?', 'Die Katze war sehr schon'],
  [['de'], 'Häuser der Freundinnen', 'Das Haus gehört einer Freundin'],
  [['de'], 'im Mai', 'am 2023-05-07 im Büro'],
  [['es'], '¿Qué canciones cantaron las niñas?', 'Una niña cantaron la canción'],
  [['es'], 'en mayo', 'el 2023-05-07'],
  [['fr'], 'Quels journaux ont les étudiantes heureuses ?', "L'étudiant heureux a un journal"],
  [['fr'], "l'été en mars", "d'ete, 2023-03-01"],
  [['pt'], 'As informações dos professores', 'A informação da professora'],
  [['pt'], 'em março', '1.3.2023'],
  [
    ['en', 'de'],
    'Welche Bücher hat er?',
    'The book is here, das Buch ist von ihm und er hat Bücher',
  ],
  [['en', 'de'], 'Katzen', 'Die Katze und der Hund'],
  [['en', 'de'], 'paintings of hers', 'she has painted it'],
]

test('the forms of a word find each other in every language of a store', () => {
  for (const [languages, query, content] of FOUND) {
    const { analyse: analyseContent, analyseQuery: analyseQuestion } = makeAnalyser(languages)
    const terms = new Set(analyseContent(content))
    const wanted = analyseQuestion(query)
    assert(wanted.length > 0)
    if (languages.length === 1)
      for (const term of wanted) assert(terms.has(term), `${term}: ${query}`)
    else
      assert(
        wanted.some((term) => terms.has(term)),
        query,
      )
  }
})

test('stop words are those of the language of the text, the first named where two tie', () => {
  const { analyse: analyseBoth, analyseQuery: askBoth } = makeAnalyser(['en', 'de'])
  assert.deepEqual(analyseBoth('Der Krieg war in der Stadt'), ['krieg', 'stadt'])
  assert.deepEqual(analyseBoth('The war is over in the city'), ['war', 'citi'])
  assert.deepEqual(analyseBoth('Katzen'), ['katzen'])
  assert.deepEqual(askBoth('Katzen'), ['katzen', 'katz'])
  assert.deepEqual(makeAnalyser(['de', 'en']).analyse('Katzen'), ['katz'])
})

test('accents are kept by the English analyser and folded by those of other languages', () => {
  assert.deepEqual(analyse('Müller über'), ['müller', 'über'])
  assert.deepEqual(makeAnalyser(['de']).analyse('Müller über Straße'), ['mull', 'strass'])
  assert.deepEqual(makeAnalyser(['es']).analyse('が हिन्दी 한국'), ['が', 'हिन्दी', '한국'])
})

test('every set of languages analyses any text the same way twice, without an empty term', () => {
  const some = fc.uniqueArray(fc.constantFrom(...LANGUAGES), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(some, fc.string({ unit: 'binary', maxLength: 300 }), (languages, text) => {
      const { analyse: analyseSome, analyseQuery: ask } = makeAnalyser(languages)
      const terms = analyseSome(text)
      assert.deepEqual(makeAnalyser(languages).analyse(text), terms)
      for (const term of [...terms, ...ask(text)]) assert(term.length > 0)
    }),
  )
})
