// Values that a schema does not take, found by asking the schema itself.

import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'

/** A field with a value of a wrong type, and where the answer must point. */
export interface Wrong {
  readonly name: string
  readonly value: string | number | boolean
  readonly loc: readonly string[]
}

export interface WrongText extends Wrong {
  readonly value: string
}

export function objectOf(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {}
  return { ...value }
}

function propertiesOf(schema: TSchema | undefined): [string, TSchema][] {
  if (!schema || !('properties' in schema)) return []
  // The properties of an object schema are schemas.
  return Object.entries(objectOf(schema.properties)) as [string, TSchema][]
}

/** Scalars that some schema of the contract refuses. */
const BODY_CANDIDATES = ['canary-text', 12.5, true]

export function wrongBodies(schema: TSchema): Wrong[] {
  return propertiesOf(schema).flatMap(([name, property]) => {
    const check = Compile(property)
    const wrong = BODY_CANDIDATES.find((value) => !check.Check(value))
    return wrong === undefined ? [] : [{ name, value: wrong, loc: ['body', name] }]
  })
}

export function missingFields(schema: TSchema): string[] {
  return 'required' in schema && Array.isArray(schema.required) ? schema.required : []
}

// As text: the first is no number, no time, no flag; the second no integer in any range here.
const TEXT_CANDIDATES = ['canary-text', '-7.5e']

/** Parameters whose schema refuses a text that is no number, time or flag. */
export function wrongTexts(schema: TSchema | undefined, where: 'query' | 'path'): WrongText[] {
  return propertiesOf(schema).flatMap(([name, property]) => {
    const check = Compile(property)
    const wrong = TEXT_CANDIDATES.find((value) => !check.Check(value))
    return wrong === undefined ? [] : [{ name, value: wrong, loc: [where, name] }]
  })
}
