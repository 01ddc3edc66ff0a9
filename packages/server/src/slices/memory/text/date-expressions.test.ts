// Dates of queries and of values: which days an expression means, in five languages.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { DAY_US, formatTime, parseTime } from '../../../platform/clock.ts'
import { findDateRanges, findDay } from './date-expressions.ts'

/** A Wednesday. */
const AT = '2024-03-13T15:30:00Z'

const showDay = (day: number): string => formatTime(day * DAY_US).slice(0, 10)

/** `first..last`, or one day. */
function findShown(query: string, at = AT): string[] {
  return findDateRanges(query, parseTime(at) ?? 0).map(({ first_day, last_day }) =>
    first_day === last_day ? showDay(first_day) : `${showDay(first_day)}..${showDay(last_day)}`,
  )
}

function assertMeans(expected: string, queries: readonly string[], at = AT): void {
  for (const query of queries) assert.deepEqual(findShown(query, at), [expected], query)
}

test('a day with its year is found, however it is written', () => {
  assertMeans('2023-05-07', [
    'what happened on 2023-05-07?',
    'since 2023-05-07T13:56:00Z',
    'am 07.05.2023.',
    'am 7.5.2023',
    'le 7/5/2023',
    'on 7 May 2023',
    'the 7th of May, 2023',
    'on May 7, 2023',
    'May 7th 2023, was it?',
    'am 7. Mai 2023',
    'el 7 de mayo de 2023',
    'le 7 mai 2023',
    'em 7 de maio de 2023',
    '７ May ２０２３',
  ])
  assertMeans('2023-03-01', [
    '1. März 2023',
    '1er mars 2023',
    '1º de março de 2023',
    '1 marzo 2023',
  ])
  assertMeans('2023-08-25', ['8/25/2023', '25/8/2023', 'le 25 août 2023'])
  assertMeans('2023-09-07', ['Sept. 7, 2023', '7 sept. 2023', '7 Sep 2023'])
})

test('a day or month without a year is the latest that is not after the query', () => {
  assertMeans('2023-05-07', ['on May 7', 'on 7 May', 'el 7 de mayo', 'am 7. Mai', 'le 7 mai'])
  assertMeans('2024-03-13', ['on March 13', 'el 13 de marzo'])
  assertMeans('2023-03-14', ['on March 14'])
  assertMeans('2020-02-29', ['on 29 February'], '2024-01-31T00:00:00Z')
  assertMeans('2023-05-01..2023-05-31', ['in May', 'im Mai', 'en mayo', 'en mai', 'em maio'])
  assertMeans('2024-03-01..2024-03-31', ['in March', 'im März', 'en marzo', 'en mars', 'em março'])
  assertMeans('2023-03-01..2023-03-31', ['last March', 'mars dernier', 'marzo pasado'])
  assertMeans('2023-12-01..2023-12-31', ['the December trip', 'im Dezember', 'diciembre'])
})

test('months, seasons and years are ranges', () => {
  const months = ['May 2023', '2023-05', 'im Mai 2023', 'mayo de 2023', 'mai 2023', 'maio de 2023']
  assertMeans('2023-05-01..2023-05-31', months)
  assertMeans('2024-02-01..2024-02-29', ['February 2024'])
  assertMeans('2022-01-01..2022-12-31', ['in 2022', 'the trips of 2022?', 'vor allem 2022'])
  const summers = ['summer 2022', 'Sommer 2022', 'verano de 2022', 'été 2022', 'verão de 2022']
  assertMeans('2022-06-01..2022-08-31', summers)
  const last = [
    'last summer',
    'letzten Sommer',
    'el verano pasado',
    "l'été dernier",
    'verão passado',
  ]
  assertMeans('2023-06-01..2023-08-31', [...last, 'in the summer', 'im Sommer', 'en verano'])
  assertMeans('2023-12-01..2024-02-29', ['last winter', 'winter 2023', 'inverno passado'])
  assertMeans('2022-12-01..2023-02-28', ['last winter'], '2024-01-15T00:00:00Z')
})

test('relative expressions count from the query', () => {
  assertMeans('2024-03-13', ['today', 'heute', 'hoy', "aujourd'hui", 'hoje'])
  assertMeans('2024-03-12', ['yesterday', 'gestern', 'ayer', 'qui est venu hier ?', 'ontem'])
  const before = ['the day before yesterday', 'vorgestern', 'anteayer', 'antes de ayer']
  assertMeans('2024-03-11', [...before, 'avant-hier', 'anteontem'])
  assertMeans('2024-03-10', ['3 days ago', 'vor drei Tagen', 'hace 3 días', 'il y a trois jours'])
  const weeks = ['two weeks ago', 'vor zwei Wochen', 'hace dos semanas', 'il y a deux semaines']
  assertMeans('2024-02-25..2024-03-02', [...weeks, 'há duas semanas', 'duas semanas atrás'])
  const month = ['a month ago', 'vor einem Monat', 'hace un mes', 'il y a un mois', 'há um mês']
  assertMeans('2024-01-29..2024-02-28', month)
  assertMeans('2024-02-14..2024-03-15', ['one month ago'], '2024-03-31T00:00:00Z')
  const years = [
    'two years ago',
    'vor 2 Jahren',
    'hace dos años',
    'il y a deux ans',
    'há dois anos',
  ]
  assertMeans('2022-01-01..2022-12-31', years)
  assertMeans('2023-01-01..2023-12-31', ['a year ago', 'il y a un an', 'vor einem Jahr'])
})

test('last and this are calendar weeks, months, years and weekends', () => {
  const weeks = ['last week', 'letzte Woche', 'la semana pasada', 'la semaine dernière']
  assertMeans('2024-03-04..2024-03-10', [...weeks, 'na semana passada', 'vorige Woche'])
  const months = ['last month', 'letzten Monat', 'el mes pasado', 'le mois dernier', 'mês passado']
  assertMeans('2024-02-01..2024-02-29', months)
  assertMeans('2023-01-01..2023-12-31', [
    'last year',
    'letztes Jahr',
    'el año pasado',
    "l'an dernier",
  ])
  assertMeans('2024-03-11..2024-03-17', [
    'this week',
    'diese Woche',
    'esta semana',
    'cette semaine',
  ])
  assertMeans('2024-03-01..2024-03-31', ['this month', 'este mes', 'ce mois', 'neste mês'])
  assertMeans('2024-01-01..2024-12-31', ['this year', 'dieses Jahr', 'este año', 'cette année'])
  const weekends = ['last weekend', 'letztes Wochenende', 'el fin de semana pasado']
  const others = ['le week-end dernier', 'o fim de semana passado']
  assertMeans('2024-03-09..2024-03-10', [...weekends, ...others])
  assertMeans('2024-03-16..2024-03-17', ['this weekend', 'este fin de semana'])
})

test('a last weekday is before the day of the query', () => {
  const tuesdays = ['last Tuesday', 'letzten Dienstag', 'el martes pasado', 'mardi dernier']
  assertMeans('2024-03-12', [...tuesdays, 'terça-feira passada', 'na última terça-feira'])
  assertMeans('2024-03-06', ['last Wednesday', 'quarta passada'])
  assertMeans('2024-03-10', ['last Sunday', 'am vergangenen Sonntag', 'domingo passado'])
})

test('words and numbers that only resemble a date are none', () => {
  for (const query of [
    'may I ask June about mayo?',
    'the march of Julio and Marco',
    'eggs in mayo',
    'the flight to Rio de Janeiro',
    'Wer wohnt hier bei uns?',
    'the last day, the second time',
    '2023-13-07 and 31.02.2023 and 30/30/2023',
    '1.2.2023.4 at 13:56, room2022, $2022, 2022kg, #2022',
    'hace frío, il y a du monde, vor allem',
    '555-2023-0512',
    `in ${'x'.repeat(30)}`,
  ]) {
    assert.deepEqual(findShown(query), [], query)
  }
})

test('a range names its text, and a query has eight at most', () => {
  const [range] = findDateRanges('Who came two weeks ago, then?', parseTime(AT) ?? 0)
  assert.equal(range?.text, 'two weeks ago')
  const many = Array.from({ length: 20 }, (_, at) => `${2000 + at}`).join(' and ')
  assert.equal(findShown(many).length, 8)
  assert.deepEqual(findShown('from 3 May 2023 to 5 May 2023'), ['2023-05-03', '2023-05-05'])
})

test('a value or a leading bracket has a day', () => {
  const expected: Record<string, string | null> = {
    '2023-05-07': '2023-05-07',
    '2023-05-07T23:30:00': '2023-05-07',
    '2023-05-07 23:30': '2023-05-07',
    '2023-05-07T23:30:00-04:00': '2023-05-08',
    '2023-05-07T00:30:00.123456+02:00': '2023-05-06',
    ' 7.5.2023 ': '2023-05-07',
    '07.05.2023': '2023-05-07',
    '[2023-05-07] Caroline: hello': '2023-05-07',
    '[07.05.2023] hello': '2023-05-07',
    '[2023-05-07T13:56Z] hello': '2023-05-07',
    '2023-05-07 was a fine day': null,
    '[someone] 2023-05-07': null,
    '20230507': null,
    '2023-02-30': null,
    '30.02.2023': null,
    '2023-05': null,
    '7/5/2023': null,
    '': null,
  }
  for (const [text, day] of Object.entries(expected)) {
    const found = findDay(text)
    assert.equal(found === null ? null : showDay(found), day, text)
  }
})

test('any text is read the same way twice, and every range has a first and a last day', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      const ranges = findDateRanges(text, parseTime(AT) ?? 0)
      assert.deepEqual(findDateRanges(text, parseTime(AT) ?? 0), ranges)
      for (const { first_day, last_day } of ranges) assert(first_day <= last_day)
      const day = findDay(text)
      assert(day === null || Number.isInteger(day))
    }),
  )
})

test('no pattern repeats a repetition, so that 64 KiB of anything takes linear time', () => {
  const source = readFileSync(new URL('date-expressions.ts', import.meta.url), 'utf8')
  const patterns = [...source.matchAll(/ = \/(.+)\/[a-z]*$/gm)].map(([, pattern = '']) => pattern)
  assert(patterns.length >= 10)
  for (const pattern of patterns) {
    assert.doesNotMatch(pattern, /[*+}][^()]*\)[*+{]/, pattern)
    assert.doesNotMatch(pattern, /[*+}]\??[*+]/, pattern)
  }
  for (const unit of [
    '1',
    '1.',
    '1/',
    '-',
    'may ',
    '2 ',
    'a\u0301',
    '\u0301',
    'last ',
    '[',
    'the ',
  ]) {
    const text = unit.repeat((64 * 1024) / unit.length)
    assert(findDateRanges(text, parseTime(AT) ?? 0).length <= 8)
    assert.equal(findDay(text), null)
  }
})
