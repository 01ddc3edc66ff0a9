// A form generated from the JSON Schema that the service publishes for a policy type.

import { formatNumber } from '../../parts/display.tsx'
import { CheckField, TextArea, TextField } from '../../parts/form.tsx'

interface PropertySchema {
  readonly type?: string
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly description?: string
  readonly items?: { readonly type?: string }
}

/** The part of a configuration schema that the form reads. */
interface ConfigSchema {
  readonly properties?: Readonly<Record<string, PropertySchema>>
  readonly required?: readonly string[]
}

/** The field values as text, because a configuration may be invalid while it is edited. */
export type ConfigDraft = Readonly<Record<string, string>>

type FieldKind = 'number' | 'switch' | 'lines' | 'line' | 'json'

function kindOf({ type, items }: PropertySchema): FieldKind {
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'boolean') return 'switch'
  if (type === 'string') return 'line'
  return type === 'array' && items?.type === 'string' ? 'lines' : 'json'
}

const lined = (value: unknown): string =>
  Array.isArray(value) ? value.map(String).join('\n') : String(value)

/** The field values of an existing configuration. */
export const draftOf = (
  schema: ConfigSchema,
  config: Readonly<Record<string, unknown>>,
): ConfigDraft =>
  Object.fromEntries(
    Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
      const value = config[name]
      if (value === undefined) return []
      const isJson = kindOf(property) === 'json'
      return [[name, isJson ? JSON.stringify(value, null, 2) : lined(value)]]
    }),
  )

function parsed(name: string, kind: FieldKind, text: string): unknown {
  if (kind === 'number') return Number(text)
  if (kind === 'switch') return text === 'true'
  if (kind === 'line') return text
  if (kind === 'lines') return text.split('\n').filter((line) => line.trim() !== '')
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(`“${name.replaceAll('_', ' ')}” is not JSON`)
  }
}

/** The configuration from the field values. An empty field gets the service's default. */
export const configOf = (schema: ConfigSchema, draft: ConfigDraft): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
      const text = draft[name] ?? ''
      return text === '' ? [] : [[name, parsed(name, kindOf(property), text)]]
    }),
  )

/** `max_requests` as a label: `Max requests`. */
export function labelOf(name: string): string {
  const words = name.replaceAll('_', ' ')
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`
}

const HINTS: Readonly<Record<FieldKind, string | null>> = {
  number: null,
  switch: null,
  line: null,
  lines: 'One a line',
  json: 'JSON',
}

function hintOf(property: PropertySchema): string | undefined {
  const { minimum, maximum, default: fallback } = property
  const parts = [
    property.description,
    HINTS[kindOf(property)],
    minimum !== undefined && maximum !== undefined
      ? `${formatNumber(minimum)} to ${formatNumber(maximum)}`
      : null,
    fallback === undefined || fallback === false
      ? null
      : `default ${lined(fallback).replaceAll('\n', ', ')}`,
  ].filter((part) => part !== null && part !== undefined)
  return parts.length === 0 ? undefined : parts.join('; ')
}

export function ConfigFields(props: {
  readonly schema: ConfigSchema
  readonly draft: ConfigDraft
  readonly onChange: (draft: ConfigDraft) => void
}) {
  const { schema, draft, onChange } = props
  const { properties = {}, required = [] } = schema
  return Object.entries(properties).map(([name, property]) => {
    const kind = kindOf(property)
    const set = (text: string) => onChange({ ...draft, [name]: text })
    const common = {
      label: labelOf(name === 'description' ? 'note' : name),
      hint: hintOf(property),
      value: draft[name] ?? '',
      onChange: set,
      required: required.includes(name),
    }
    if (kind === 'switch')
      return (
        <CheckField
          key={name}
          label={common.label}
          checked={draft[name] === 'true'}
          onChange={(checked) => set(checked ? 'true' : '')}
        />
      )
    if (kind === 'lines' || kind === 'json')
      return <TextArea key={name} {...common} rows={kind === 'json' ? 6 : 3} spellCheck={false} />
    const numbers = { type: 'number', min: property.minimum, max: property.maximum }
    return <TextField key={name} {...common} {...(kind === 'number' ? numbers : {})} />
  })
}
