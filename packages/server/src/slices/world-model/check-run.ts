// Runs a schema against a value within a limit of work, and collects problems without the value.

import { worldModelLimits } from '@custos/contract'
import { canonicalize, type Json, type JsonObject } from '@custos/proof'
import type { Loc } from '../../platform/validation.ts'

export interface SchemaProblem {
  readonly loc: Loc
  readonly msg: string
}

/** Whether a value fits a schema; reports problems to the run. */
export type SchemaTest = (value: Json, loc: Loc, run: CheckRun) => boolean

const PROBLEMS_MAX = 8

/** The limit counts work, because even a small schema can cause much of it. */
class TooMuchWork extends Error {}

export class CheckRun {
  readonly problems: SchemaProblem[] = []
  readonly #names = new Map<JsonObject, readonly string[]>()
  readonly #texts = new Map<object, string>()
  #steps = 0
  #quiet = 0

  /** Counts work; ends the check beyond its limit. */
  step(count = 1): void {
    this.#steps += count
    if (this.#steps > worldModelLimits.check_steps) throw new TooMuchWork()
  }

  /** The names of an object's members; listed once. */
  namesOf(object: JsonObject): readonly string[] {
    this.step()
    const known = this.#names.get(object)
    if (known) return known
    const names = Object.keys(object)
    this.step(names.length)
    this.#names.set(object, names)
    return names
  }

  /** The canonical JSON of a value; computed once for each object and list. */
  textOf(value: Json): string {
    const composed = typeof value === 'object' && value !== null ? value : null
    const known = composed === null ? undefined : this.#texts.get(composed)
    const text = known ?? canonicalize(value)
    if (composed !== null) this.#texts.set(composed, text)
    this.step(1 + text.length)
    return text
  }

  fail(loc: Loc, msg: string): false {
    if (this.#quiet === 0 && this.problems.length < PROBLEMS_MAX) this.problems.push({ loc, msg })
    return false
  }

  /** Tests without reporting: an alternative that does not fit is not a problem. */
  quietly(test: SchemaTest, value: Json, loc: Loc): boolean {
    this.#quiet += 1
    const fits = test(value, loc, this)
    this.#quiet -= 1
    return fits
  }
}

/** Returns at most eight problems, none of which repeats a value. Empty means that it fits. */
export function findProblems(test: SchemaTest, value: Json): readonly SchemaProblem[] {
  const run = new CheckRun()
  try {
    test(value, [], run)
    return run.problems
  } catch (error) {
    if (!(error instanceof TooMuchWork)) throw error
    return [{ loc: [], msg: 'is too large to be checked against its schema' }]
  }
}

/** Formats a problem as one line of text. */
export const showProblem = ({ loc, msg }: SchemaProblem): string =>
  loc.length === 0 ? msg : `${loc.join('.')}: ${msg}`
