// Compiles tenants' schemas into tests: JSON Schema 2020-12, and the short form of properties.

import { PROPERTY_TYPES, worldModelLimits } from '@custos/contract'
import { isObject, type Json, type JsonObject } from '@custos/proof'
import type { Loc } from '../../platform/validation.ts'
import type { SchemaTest } from './check-run.ts'
import { KEYWORDS, type KeywordReader } from './schema-keywords.ts'

/** A mistake in a schema or a spec, and its location. */
export class SpecRefused extends Error {
  readonly loc: Loc

  constructor(loc: Loc, message: string) {
    super(message)
    this.loc = loc
  }
}

const DIALECT = /^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/
const LOCAL_REF = /^#\/\$defs\/([^/]+)$/

/** Keywords that do not affect validation. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  ...['title', 'description', '$comment', 'default', 'examples'],
  ...['deprecated', 'readOnly', 'writeOnly'],
])

/** Whether the form is a JSON Schema. In the short form, `type` would be a property. */
export const isJsonSchema = (form: JsonObject): boolean =>
  typeof form['$schema'] === 'string' || typeof form['type'] === 'string'

/**
 * Compiles an `input_schema` in either form. Throws SpecRefused.
 * @param loc its location in the body
 */
export const readForm = (form: JsonObject, loc: Loc): SchemaTest =>
  isJsonSchema(form) ? readJsonSchema(form, loc) : readProperties(form, loc)

/** Compiles a schema of objects. Throws SpecRefused. */
export function readJsonSchema(root: JsonObject, loc: Loc): SchemaTest {
  const { $schema, $defs = {}, ...rest } = root
  if ($schema !== undefined && !(typeof $schema === 'string' && DIALECT.test($schema)))
    throw new SpecRefused([...loc, '$schema'], 'must be JSON Schema 2020-12')
  const { type = 'object' } = rest
  if (type !== 'object') throw new SpecRefused([...loc, 'type'], 'must be object')
  if (!isObject($defs)) throw new SpecRefused([...loc, '$defs'], 'must be an object of schemas')
  const reader = new SchemaReader($defs, loc)
  const test = reader.read({ ...rest, type }, { ...START, loc })
  reader.readRest()
  return test
}

const DEFINITION_MEMBERS: ReadonlySet<string> = new Set(['type', 'required', 'description'])
const KNOWN_TYPES: readonly unknown[] = PROPERTY_TYPES

/** `{name: {type, required?}}`; other members are allowed. */
export function readProperties(form: JsonObject, loc: Loc): SchemaTest {
  const read = Object.entries(form).map(([name, given]) => ({
    name,
    ...readDefinition(given, [...loc, name]),
  }))
  const properties = Object.fromEntries(read.map(({ name, schema }) => [name, schema]))
  const required = read.flatMap((property) => (property.required ? [property.name] : []))
  const schema = { type: 'object', properties, required }
  return new SchemaReader({}, loc).read(schema, { ...START, loc })
}

function readDefinition(given: Json, loc: Loc): { schema: JsonObject; required: boolean } {
  if (!isObject(given)) throw new SpecRefused(loc, 'must be an object with a type')
  const { type = 'string', required = false } = given
  if (!KNOWN_TYPES.includes(type))
    throw new SpecRefused([...loc, 'type'], `must be one of ${PROPERTY_TYPES.join(', ')}`)
  if (typeof required !== 'boolean')
    throw new SpecRefused([...loc, 'required'], 'must be true or false')
  const other = Object.keys(given).find((name) => !DEFINITION_MEMBERS.has(name))
  if (other !== undefined)
    throw new SpecRefused([...loc, other], 'is not one of type, required, description')
  return { schema: type === 'ref' ? { type: 'string', minLength: 1 } : { type }, required }
}

interface SchemaPosition {
  readonly loc: Loc
  readonly depth: number
  /** The definitions being read. */
  readonly within: readonly string[]
}

const START: SchemaPosition = { loc: [], depth: 0, within: [] }

/**
 * Compiles one schema with its definitions. A definition is compiled again for each reference, so
 * that the number of nodes bounds both the reading and the running.
 */
class SchemaReader {
  readonly #defs: JsonObject
  readonly #loc: Loc
  readonly #read = new Set<string>()
  #nodes = 0

  constructor(defs: JsonObject, loc: Loc) {
    this.#defs = defs
    this.#loc = loc
  }

  read(given: Json | undefined, at: SchemaPosition): SchemaTest {
    const { schema_depth } = worldModelLimits
    this.#count(at, 1)
    if (typeof given === 'boolean') return given ? anything : nothing
    if (!isObject(given)) throw new SpecRefused(at.loc, 'must be a schema')
    if (at.depth > schema_depth)
      throw new SpecRefused(at.loc, `schemas are ${schema_depth} deep at most`)
    const tests = Object.entries(given).flatMap(([keyword, value]) => {
      const test = this.#keyword(keyword, value, { siblings: given, at })
      return test ? [test] : []
    })
    return (value, loc, run) => {
      run.step(1 + tests.length)
      let fits = true
      for (const test of tests) fits = test(value, loc, run) && fits
      return fits
    }
  }

  #keyword(
    name: string,
    value: Json,
    { siblings, at }: { readonly siblings: JsonObject; readonly at: SchemaPosition },
  ): SchemaTest | null {
    if (ANNOTATIONS.has(name) || name.startsWith('x-')) return null
    const loc = [...at.loc, name]
    const deeper = { ...at, loc, depth: at.depth + 1 }
    if (name === '$ref') return this.#refer(value, deeper)
    const keyword = KEYWORDS.get(name)
    if (!keyword) throw new SpecRefused(loc, 'is not a keyword that is supported')
    const reading: KeywordReader = {
      siblings,
      read: (schema, ...path) => this.read(schema, { ...deeper, loc: [...loc, ...path] }),
      refuse: (msg) => {
        throw new SpecRefused(loc, msg)
      },
    }
    this.#count(at, VALUED.has(name) ? sizeOf(value) : 1)
    return keyword(value, reading)
  }

  #refer(ref: Json, at: SchemaPosition): SchemaTest {
    const escaped = typeof ref === 'string' ? LOCAL_REF.exec(ref)?.[1] : undefined
    if (escaped === undefined) throw new SpecRefused(at.loc, 'must be #/$defs/ and a name')
    const name = escaped.replaceAll('~1', '/').replaceAll('~0', '~')
    if (!Object.hasOwn(this.#defs, name)) throw new SpecRefused(at.loc, 'is not in $defs')
    if (at.within.includes(name)) throw new SpecRefused(at.loc, 'must not lead back to itself')
    return this.#definition(name, at)
  }

  /** Compiles the definitions that nothing references, so that their mistakes are found. */
  readRest(): void {
    for (const name of Object.keys(this.#defs))
      if (!this.#read.has(name)) this.#definition(name, START)
  }

  #definition(name: string, { depth, within }: SchemaPosition): SchemaTest {
    this.#read.add(name)
    const loc = [...this.#loc, '$defs', name]
    return this.read(this.#defs[name], { loc, depth, within: [...within, name] })
  }

  #count({ loc }: SchemaPosition, nodes: number): void {
    this.#nodes += nodes
    const { schema_nodes } = worldModelLimits
    if (this.#nodes > schema_nodes)
      throw new SpecRefused(loc, `a schema has ${schema_nodes} values at most`)
  }
}

const anything: SchemaTest = (_value, _loc, run) => {
  run.step()
  return true
}
const nothing: SchemaTest = (_value, loc, run) => {
  run.step()
  return run.fail(loc, 'is not allowed')
}

/** Keywords that hold values instead of schemas. */
const VALUED: ReadonlySet<string> = new Set(['enum', 'const', 'required', 'dependentRequired'])

/** The characters of a string that count as one more value. */
const TEXT_CHARS = 64

function sizeOf(value: Json): number {
  if (typeof value === 'string') return 1 + Math.floor(value.length / TEXT_CHARS)
  if (typeof value !== 'object' || value === null) return 1
  return Object.entries(value).reduce(
    (sum, [name, inner]) => sum + Math.floor(name.length / TEXT_CHARS) + sizeOf(inner),
    1,
  )
}
