// Tenants' patterns on a linear-time engine: none can keep the process busy for ever.

import { limits } from '@custos/contract'
import { RE2JS } from 're2js'

/** Half-open, in UTF-16 units. */
export interface Span {
  readonly start: number
  readonly end: number
}

export interface Pattern {
  /** Whether it matches anywhere. */
  test(text: string): boolean
  /** Whether it matches the whole text. */
  testWhole(text: string): boolean
  /** The matches from the left, not overlapping; at most `most`. */
  spans(text: string, most: number): Span[]
}

/** The pattern is not one of the engine's language, or too large; the message says which. */
export class PatternRefused extends Error {}

/** Time is in proportion to the text and to this size (instructions of the compiled pattern). */
export const PATTERN_SIZE_MAX = 500

/**
 * RE2 syntax: no lookaround, no backreferences.
 * @param source at most `limits.pattern_chars` characters
 */
export function compilePattern(source: string, options: { any_case: boolean }): Pattern {
  if (source.length > limits.pattern_chars)
    throw new PatternRefused(`a pattern has ${limits.pattern_chars} characters at most`)
  const compiled = compile(source, options.any_case ? RE2JS.CASE_INSENSITIVE : 0)
  if (compiled.programSize() > PATTERN_SIZE_MAX)
    throw new PatternRefused('the pattern is too large: repeat less')
  return {
    test: (text) => compiled.test(text),
    testWhole: (text) => compiled.testExact(text),
    spans: (text, most) => findSpans(compiled, text, most),
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

function findSpans(pattern: RE2JS, text: string, most: number): Span[] {
  const matcher = pattern.matcher(text)
  const spans: Span[] = []
  while (spans.length < most && matcher.find()) {
    const span = { start: matcher.start(), end: matcher.end() }
    if (span.end > span.start) spans.push(span)
  }
  return spans
}

/** Throws PatternRefused with the position of the pattern that is not taken. */
export function compileAll(patterns: readonly string[], any_case: boolean): Pattern[] {
  return patterns.map((source, i) => {
    try {
      return compilePattern(source, { any_case })
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
