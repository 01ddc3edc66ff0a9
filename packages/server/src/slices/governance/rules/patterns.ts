// Runs tenants' patterns on a linear-time engine, so that none can block the process for long.

import { limits } from '@custos/contract'
import { RE2JS } from 're2js'
import type { Work } from './rule.ts'
import type { Searchable } from './searchable.ts'

/** A half-open range in UTF-16 units. */
export interface Span {
  readonly start: number
  readonly end: number
}

export interface Pattern {
  /** Equal keys mean that the patterns match the same texts. */
  readonly key: string
  /** Number of instructions. Time is proportional to it and to the length of the text. */
  readonly size: number
  /** Whether the pattern matches anywhere. */
  test(text: string): boolean
  /** Whether the pattern matches the whole text. */
  testWhole(text: string): boolean
  /** Non-overlapping matches from the left; each takes time linear in the rest of the text. */
  spans(text: string): Iterable<Span>
}

export interface PatternOptions {
  readonly any_case: boolean
  /** Whether `.` also matches a line break. */
  readonly across_lines?: boolean
}

/** Thrown if the engine rejects the pattern, or it is too large; the message says which. */
export class PatternRefused extends Error {}

/** Maximum number of instructions of a compiled pattern. */
export const PATTERN_SIZE_MAX = 500

/**
 * RE2 syntax: no lookaround, no backreferences.
 * @param source at most `limits.pattern_chars` characters
 */
export function compilePattern(source: string, options: PatternOptions): Pattern {
  if (source.length > limits.pattern_chars)
    throw new PatternRefused(`a pattern has ${limits.pattern_chars} characters at most`)
  const compiled = compile(source, flagsOf(options))
  if (compiled.programSize() > PATTERN_SIZE_MAX)
    throw new PatternRefused('the pattern is too large: repeat less')
  return {
    key: `${compiled.flags()} ${source}`,
    size: compiled.programSize(),
    test: (text) => compiled.test(text),
    testWhole: (text) => compiled.testExact(text),
    spans: (text) => findSpans(compiled, text),
  }
}

function compile(source: string, flags: number): RE2JS {
  try {
    return RE2JS.compile(source, flags)
  } catch {
    // The engine's message repeats the pattern.
    throw new PatternRefused('not a pattern of the RE2 syntax')
  }
}

function flagsOf({ any_case, across_lines = false }: PatternOptions): number {
  return (any_case ? RE2JS.CASE_INSENSITIVE : 0) | (across_lines ? RE2JS.DOTALL : 0)
}

function* findSpans(pattern: RE2JS, text: string): Generator<Span> {
  const matcher = pattern.matcher(text)
  while (matcher.find()) {
    const span = { start: matcher.start(), end: matcher.end() }
    if (span.end > span.start) yield span
  }
}

/**
 * The position of the first pattern in the list that matches the original or the normalised text;
 * -1 if none does. Returns a promise only if it searches for long.
 */
export function findFirst(
  patterns: readonly Pattern[],
  searched: Searchable,
  work: Work,
): number | Promise<number> {
  if (patterns.length === 0) return -1
  const { forms } = searched
  const findFrom = (first: number): number | Promise<number> => {
    for (let at = first; at < patterns.length * forms.length; at += 1) {
      const item = Math.floor(at / forms.length)
      const [pattern, form] = [patterns[item], forms[at % forms.length]]
      if (!pattern || !form) break
      const pause = work.spend(pattern.size * form.text.length)
      if (pause) return pause.then(() => (matches(pattern, form) ? item : findFrom(at + 1)))
      if (matches(pattern, form)) return item
    }
    return -1
  }
  return findFrom(0)
}

function matches({ key, test }: Pattern, { text, tested }: Searchable['forms'][number]): boolean {
  const known = tested.get(key)
  if (known !== undefined) return known
  const found = test(text)
  tested.set(key, found)
  return found
}

/** Throws PatternRefused with the position of the rejected pattern. */
export function compileAll(patterns: readonly string[], options: PatternOptions): Pattern[] {
  return patterns.map((source, i) => {
    try {
      return compilePattern(source, options)
    } catch (error) {
      if (!(error instanceof PatternRefused)) throw error
      throw new PatternAt(error.message, i)
    }
  })
}

export class PatternAt extends PatternRefused {
  readonly position: number

  constructor(message: string, position: number) {
    super(message)
    this.position = position
  }
}
