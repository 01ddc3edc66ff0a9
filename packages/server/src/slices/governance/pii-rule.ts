// pii_guard: personal data in the fields, by recognisers and by the tenant's own patterns.

import { limits, type PolicyConfig } from '@custos/contract'
import type { Finding } from './outcome.ts'
import { compileAll } from './patterns.ts'
import type { Recognisers } from './personal-data.ts'
import { fieldText, type GateRequest, OUTPUT_FIELDS, valueAt } from './request.ts'
import type { Replacement, Rule } from './rule.ts'

const SPANS_MAX = 10_000
/** What stands for text that a pattern of the tenant found. */
const REDACTED = '<REDACTED>'

export function piiRule(config: PolicyConfig<'pii_guard'>, recognisers: Recognisers): Rule {
  const { entities = [], check_fields = OUTPUT_FIELDS, redact = false } = config
  const patterns = compileAll(config.patterns ?? [], false)
  // Our own recognisers are quick enough to read far more than tenants' patterns may.
  const limit = patterns.length > 0 ? limits.pattern_field_bytes : limits.recogniser_field_bytes
  const found = (text: string) => (entities.length === 0 ? [] : recognisers.find(text, entities))

  const lookAt = (text: string, field: number): Finding => {
    const item = patterns.findIndex((pattern) => pattern.test(text))
    const spans = found(text)
    if (item === -1 && spans.length === 0) return 'clear'
    const names = [...new Set(spans.map(({ entity }) => entity))].sort()
    const by = item === -1 ? {} : { item }
    return { reason: 'personal_data', field, ...by, entities: names, count: spans.length }
  }

  const find = (request: GateRequest): Finding => {
    let finding: Finding = 'unconcerned'
    for (const [i, key] of check_fields.entries()) {
      const text = fieldText(request, { key, field: i, limit })
      if (text === undefined) continue
      const inField = lookAt(text, i)
      if (inField !== 'clear') return inField
      finding = 'clear'
    }
    return finding
  }
  if (!redact) return { find }

  const replacementsIn = (field: string, text: string): Replacement[] => [
    ...found(text).map(({ start, end, entity }) => ({ field, start, end, by: `<${entity}>` })),
    ...patterns.flatMap((pattern) =>
      pattern.spans(text, SPANS_MAX).map((span) => ({ field, ...span, by: REDACTED })),
    ),
  ]
  return {
    find,
    redact: (request) =>
      check_fields.flatMap((field) => {
        const text = valueAt(request, field)
        return typeof text === 'string' ? replacementsIn(field, text) : []
      }),
  }
}

/** The text with every span replaced; of overlapping ones the first to begin speaks for both. */
export function replaceSpans(text: string, replacements: readonly Replacement[]): string {
  const ordered = replacements.toSorted((a, b) => a.start - b.start || b.end - a.end)
  let done = ''
  let at = 0
  for (const { start, end, by } of ordered) {
    if (end <= at) continue
    if (start >= at) done += text.slice(at, start) + by
    at = end
  }
  return done + text.slice(at)
}
