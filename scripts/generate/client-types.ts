// Prints the contract's schemas as TypeScript: one type per named schema, with comments.

import { fieldDescriptions } from '@custos/contract'

type Schema = Readonly<Record<string, unknown>>

const WIDTH = 100

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Prints schemas, and collects the named ones that it meets. */
export class TypePrinter {
  /** Declarations by name, in the order in which they were met. */
  readonly #declarations = new Map<string, string>()
  /** Names by declared text, because one title may stand for several types. */
  readonly #names = new Map<string, string>()

  get declarations(): readonly string[] {
    return [...this.#declarations].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text)
  }

  /** Declares a type under a name of its own. */
  declare(name: string, schema: unknown, comment?: string): void {
    this.#add(name, this.print(schema, ''), comment)
  }

  /** The type of a schema: its name if it has one and is more than a string or a number. */
  print(schema: unknown, indent: string): string {
    if (!isRecord(schema)) return 'unknown'
    const { title, type } = schema
    const plain = type === 'string' || type === 'number' || type === 'integer'
    if (typeof title !== 'string' || plain) return this.inFull(schema, indent)
    return this.#named(title, schema)
  }

  #named(title: string, schema: Schema): string {
    const printed = this.inFull(schema, '')
    const known = this.#names.get(`${title} ${printed}`)
    if (known !== undefined) return known
    let name = title
    for (let n = 2; this.#declarations.has(name); n += 1) name = `${title}${n}`
    this.#names.set(`${title} ${printed}`, name)
    const { description } = schema
    this.#add(name, printed, typeof description === 'string' ? description : undefined)
    return name
  }

  #add(name: string, printed: string, description: string | undefined): void {
    if (this.#declarations.has(name)) throw new Error(`two types are called ${name}`)
    const text = `export type ${name} = ${printed}\n`
    this.#declarations.set(name, `${comment(description, '')}${text}`)
  }

  /** The type of a schema, ignoring its name. */
  inFull(schema: Schema, indent: string): string {
    const { anyOf, type, patternProperties, properties, items } = schema
    if ('const' in schema) return JSON.stringify(schema['const'])
    if (Array.isArray(schema['enum'])) return union(schema['enum'].map((value) => literal(value)))
    if (Array.isArray(anyOf)) return union(anyOf.map((member) => this.print(member, indent)))
    if (isRecord(properties)) return this.#object(schema, properties, indent)
    if (isRecord(patternProperties)) return this.#map(patternProperties, indent)
    if (Array.isArray(items)) return `[${items.map((item) => this.print(item, indent)).join(', ')}]`
    if (type === 'array') return arrayOf(this.print(items, indent))
    if (type === 'integer') return 'number'
    if (typeof type === 'string' && SCALARS.includes(type)) return type
    if (type === undefined) return 'unknown'
    throw new Error(`no TypeScript for ${JSON.stringify(schema)}`)
  }

  #object(schema: Schema, properties: Schema, indent: string): string {
    const required = Array.isArray(schema['required']) ? schema['required'] : []
    const inner = `${indent}  `
    const lines = Object.entries(properties).map(([name, property]) => {
      const mark = required.includes(name) ? '' : '?'
      const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
      const printed = this.print(property, inner)
      return `${comment(meaningOf(name, property), inner)}${inner}${key}${mark}: ${printed}\n`
    })
    return lines.length === 0 ? 'object' : `{\n${lines.join('')}${indent}}`
  }

  #map(patternProperties: Schema, indent: string): string {
    const values = Object.values(patternProperties).map((value) => this.print(value, indent))
    return `{ [key: string]: ${union(values)} }`
  }
}

const SCALARS = ['string', 'number', 'boolean', 'null']

const literal = (value: unknown): string =>
  typeof value === 'string' ? `'${value.replaceAll(/['\\]/g, '\\$&')}'` : JSON.stringify(value)

const union = (members: readonly string[]): string => [...new Set(members)].join(' | ')

const arrayOf = (item: string): string => (/^\w+$/.test(item) ? `${item}[]` : `Array<${item}>`)

/** The meaning of a field: from its use, an unnamed schema, or the table of field names. */
function meaningOf(name: string, schema: unknown): string | undefined {
  if (!isRecord(schema)) return undefined
  const { about, description, title } = schema
  if (typeof about === 'string') return about
  if (typeof description === 'string' && title === undefined) return description
  const [member] = Array.isArray(schema['anyOf']) ? schema['anyOf'] : []
  if (isRecord(member) && typeof member['about'] === 'string') return member['about']
  if (isRecord(member) && typeof member['description'] === 'string' && !member['title'])
    return member['description']
  return fieldDescriptions[name]
}

/** A documentation comment with a final line break; empty without a text. */
export function comment(text: string | undefined, indent: string): string {
  if (text === undefined) return ''
  const safe = text.replaceAll('*/', '* /')
  const short = `${indent}/** ${safe} */`
  if (short.length <= WIDTH && !safe.includes('\n')) return `${short}\n`
  const lines = safe.split('\n').flatMap((line) => wrap(line, WIDTH - indent.length - 3))
  const body = lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')
  return `${indent}/**\n${body}\n${indent} */\n`
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}
