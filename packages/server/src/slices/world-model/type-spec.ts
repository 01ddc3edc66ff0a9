// Reads the spec of a type, by its kind.

import {
  ACTION_NAME_PATTERN,
  CARDINALITIES,
  type Cardinality,
  worldModelLimits as limits,
  TRUST_TIERS,
  type TrustTier,
  type WorldTypeKind,
} from '@custos/contract'
import { canonicalize, isObject, type JsonObject, type WorldTypeRequest } from '@custos/proof'
import type { Refusal } from '../../platform/refusal.ts'
import { type Loc, validationDetail } from '../../platform/validation.ts'
import type { SchemaTest } from './check-run.ts'
import {
  isJsonSchema,
  readForm,
  readJsonSchema,
  readProperties,
  SpecRefused,
} from './json-schema.ts'

export interface SpecOf {
  readonly object: { readonly kind: 'object'; readonly test: SchemaTest }
  readonly link: {
    readonly kind: 'link'
    readonly from_type: string
    readonly to_type: string
    readonly cardinality: Cardinality
  }
  readonly action: {
    readonly kind: 'action'
    readonly required_trust_tier: TrustTier
    readonly subject_type: string | null
    readonly test: SchemaTest
  }
}

const WHERE = ['body', 'spec'] as const

/** A 422 at a location in the body. */
export const specRefusal = (loc: Loc, msg: string): Refusal =>
  validationDetail(loc, msg, 'value_error')

/** Reads a spec. Refuses one that could not be enforced as written. */
export function readSpec<K extends WorldTypeKind>(
  { kind, name }: { readonly kind: K; readonly name: string },
  spec: JsonObject,
): SpecOf[K] {
  assertName(kind, name)
  if (Buffer.byteLength(canonicalize(spec)) > limits.spec_bytes)
    throw specRefusal(WHERE, `a spec must not exceed ${limits.spec_bytes} bytes`)
  try {
    return READERS[kind](spec)
  } catch (error) {
    if (!(error instanceof SpecRefused)) throw error
    throw specRefusal(error.loc, error.message)
  }
}

const ACTION_NAME = new RegExp(ACTION_NAME_PATTERN)

/** Policies refer to actions as operations, so an action's name must be valid in policies. */
function assertName(kind: WorldTypeKind, name: string): void {
  if (kind !== 'action' || ACTION_NAME.test(name)) return
  throw specRefusal(['body', 'name'], 'must be letters, digits, _, ., : and -, at most 46')
}

/** The object types that must exist before this type is registered. */
export function mentionsOf(
  spec: SpecOf[WorldTypeKind],
): readonly { readonly name: string; readonly loc: Loc }[] {
  if (spec.kind === 'object') return []
  if (spec.kind === 'link')
    return [
      { name: spec.from_type, loc: [...WHERE, 'from_type'] },
      { name: spec.to_type, loc: [...WHERE, 'to_type'] },
    ]
  const { subject_type: name } = spec
  return name === null ? [] : [{ name, loc: [...WHERE, 'subject_type'] }]
}

const READERS: { readonly [K in WorldTypeKind]: (spec: JsonObject) => SpecOf[K] } = {
  object: readObject,
  link: readLink,
  action: readAction,
}

const NOTES = ['description', 'template_source'] as const

function readObject(given: JsonObject): SpecOf['object'] {
  assertNotes(given)
  const { template_source: _, ...spec } = given
  if (isJsonSchema(spec)) return { kind: 'object', test: readJsonSchema(spec, WHERE) }
  assertMembers(spec, ['properties'], 'a JSON Schema has the type object')
  const { properties } = spec
  const loc = [...WHERE, 'properties']
  if (!isObject(properties)) throw new SpecRefused(loc, 'must be an object of properties')
  return { kind: 'object', test: readProperties(properties, loc) }
}

function readLink(spec: JsonObject): SpecOf['link'] {
  assertNotes(spec)
  assertMembers(spec, ['from_type', 'to_type', 'cardinality'])
  const { cardinality: given = 'many_to_many' } = spec
  const cardinality = CARDINALITIES.find((known) => known === given)
  if (!cardinality)
    throw new SpecRefused([...WHERE, 'cardinality'], `must be one of ${CARDINALITIES.join(', ')}`)
  return {
    kind: 'link',
    from_type: readText(spec, 'from_type'),
    to_type: readText(spec, 'to_type'),
    cardinality,
  }
}

function readAction(spec: JsonObject): SpecOf['action'] {
  assertNotes(spec)
  assertMembers(spec, ['operation', 'required_trust_tier', 'input_schema', 'subject_type'])
  // A note of the author, which nothing evaluates: policies use the name of the type.
  if (spec['operation'] !== undefined) readText(spec, 'operation')
  const { required_trust_tier: tier, input_schema = {} } = spec
  const required_trust_tier = TRUST_TIERS.find((known) => known === tier)
  if (!required_trust_tier)
    throw new SpecRefused(
      [...WHERE, 'required_trust_tier'],
      `must be one of ${TRUST_TIERS.join(', ')}`,
    )
  const loc = [...WHERE, 'input_schema']
  if (!isObject(input_schema)) throw new SpecRefused(loc, 'must be properties or a JSON Schema')
  return {
    kind: 'action',
    required_trust_tier,
    subject_type: spec['subject_type'] === undefined ? null : readText(spec, 'subject_type'),
    test: readForm(input_schema, loc),
  }
}

const TEXT_CHARS_MAX = 256

function readText(spec: JsonObject, member: string): string {
  const value = spec[member]
  if (typeof value === 'string' && value.trim() !== '' && value.length <= TEXT_CHARS_MAX)
    return value
  throw new SpecRefused([...WHERE, member], `must be a text of 1 to ${TEXT_CHARS_MAX} characters`)
}

function assertNotes(spec: JsonObject): void {
  for (const note of NOTES)
    if (spec[note] !== undefined && typeof spec[note] !== 'string')
      throw new SpecRefused([...WHERE, note], 'must be a text')
}

/** Refuses unknown members, so that a typing error is not a rule that never applies. */
function assertMembers(spec: JsonObject, members: readonly string[], hint?: string): void {
  const known: readonly string[] = [...members, ...NOTES]
  const other = Object.keys(spec).find((member) => !known.includes(member))
  if (other === undefined) return
  const msg = `is not one of ${known.join(', ')}${hint === undefined ? '' : `; ${hint}`}`
  throw new SpecRefused([...WHERE, other], msg)
}

/** Requests contain only kinds of the contract. */
export const typeKindOf = ({ kind }: Pick<WorldTypeRequest, 'kind'>): WorldTypeKind =>
  kind === 'link' || kind === 'action' ? kind : 'object'
