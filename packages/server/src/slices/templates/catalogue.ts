// The templates that can be installed: a fixed table, in the order they are listed in.

import type { TypeName } from '@custos/contract'
import { actionOperation, type JsonObject, type WorldTypeRequest } from '@custos/proof'
import { HEALTHCARE } from './healthcare.ts'
import { RECEIVABLES } from './receivables.ts'
import { SOFTWARE_ENGINEERING } from './software-engineering.ts'

/** `number!`: a type, with `!` where the property is required. */
export type PropertyText = `${'string' | 'integer' | 'number' | 'boolean'}${'' | '!'}`

export interface TemplateSource {
  readonly id: string
  readonly name: string
  readonly version: string
  readonly description: string
  readonly objects: Readonly<Record<string, Readonly<Record<string, PropertyText>>>>
  readonly links: Readonly<
    Record<string, readonly [from: string, to: string, cardinality: Cardinality]>
  >
  readonly actions: Readonly<Record<string, readonly [subject: string, tier: string]>>
}

type Cardinality = 'one_to_one' | 'one_to_many' | 'many_to_one' | 'many_to_many'

/** A type as a template has it; its kind is one of the contract's. */
export type TemplateType = WorldTypeRequest & TypeName

const TEMPLATES: readonly TemplateSource[] = [SOFTWARE_ENGINEERING, HEALTHCARE, RECEIVABLES]

export const listTemplates = (): readonly TemplateSource[] => TEMPLATES

export const findTemplate = (id: string): TemplateSource | undefined =>
  TEMPLATES.find((template) => template.id === id)

/** Objects first: the others name them. */
export function typesOf({ id, objects, links, actions }: TemplateSource): TemplateType[] {
  const type = (kind: TypeName['kind'], name: string, spec: JsonObject): TemplateType => ({
    ...{ kind, name },
    spec: { ...spec, template_source: id },
  })
  return [
    ...Object.entries(objects).map(([name, properties]) =>
      type('object', name, { properties: readProperties(properties) }),
    ),
    ...Object.entries(links).map(([name, [from_type, to_type, cardinality]]) =>
      type('link', name, { from_type, to_type, cardinality }),
    ),
    ...Object.entries(actions).map(([name, [subject_type, required_trust_tier]]) =>
      type('action', name, {
        operation: actionOperation(name),
        ...{ required_trust_tier, subject_type },
      }),
    ),
  ]
}

const readProperties = (properties: Readonly<Record<string, PropertyText>>): JsonObject =>
  Object.fromEntries(
    Object.entries(properties).map(([name, text]) => [
      name,
      { type: text.replace('!', ''), ...(text.endsWith('!') ? { required: true } : {}) },
    ]),
  )
