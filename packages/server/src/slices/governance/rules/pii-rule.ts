// pii_guard: personal data in the fields, by recognisers and by the tenant's own patterns.

import { CHECK_FIELDS, limits, type PolicyConfig } from '@custos/contract'
import { type Detail, Fault, type Finding } from './outcome.ts'
import { compileAll, findFirst, type Pattern, type Span } from './patterns.ts'
import type { EntitySpan, Recognisers } from './personal-data.ts'
import { searchFields } from './request.ts'
import { RECOGNISER_SIZE, type Rule, type RuleFinding, type Work } from './rule.ts'
import type { Replacement, Searchable } from './searchable.ts'

/** The most matches of a pattern in a field that is redacted. */
export const SPANS_MAX = 10_000
/** What stands for text that a pattern of the tenant found. */
const REDACTED = '<REDACTED>'

/** Where in the configuration a field stands, and where its text is searched. */
interface Place {
  readonly key: string
  readonly field: number
  readonly text: Searchable
}

export function piiRule(config: PolicyConfig<'pii_guard'>, recognisers: Recognisers): Rule {
  const { entities = [], check_fields = CHECK_FIELDS.pii_guard, redact = false } = config
  const patterns = compileAll(config.patterns ?? [], { any_case: false })
  // Our own recognisers are quick enough to read far more than tenants' patterns may.
  const limit = patterns.length > 0 ? limits.pattern_field_bytes : limits.recogniser_field_bytes

  const recognise = async ({ text }: Searchable, work: Work): Promise<readonly EntitySpan[]> => {
    if (entities.length === 0) return []
    await work.spend(RECOGNISER_SIZE * text.length)
    return recognisers.find(text, entities)
  }

  const findIn = async ({ key, field, text }: Place, work: Work): Promise<RuleFinding> => {
    const item = await findFirst(patterns, text, work)
    const spans = await recognise(text, work)
    if (item === -1 && spans.length === 0) return 'clear'
    const finding = personalData(field, item, spans)
    if (!redact) return finding
    const replacements = spans.map(({ start, end, entity }) =>
      replacement(key, { start, end }, entity),
    )
    if (item === -1) return { finding, replacements }
    // No pattern before that one was found.
    for (const pattern of patterns.slice(item))
      for (const span of await spansOf(pattern, { key, field, text }, work))
        replacements.push({ field: key, ...span, by: REDACTED })
    return { finding, replacements }
  }

  return {
    async find(request, { work }) {
      // Every field is held against the limit, also after one in which something was found.
      const places = searchFields(request, check_fields, limit)
      if (places.length === 0) return 'unconcerned'
      let first: Finding = 'clear'
      const replacements: Replacement[] = []
      for (const place of places) {
        const found = await findIn(place, work)
        if (found === 'clear') continue
        if (typeof found !== 'object' || !('replacements' in found)) return found
        if (first === 'clear') first = found.finding
        for (const one of found.replacements) replacements.push(one)
      }
      return { finding: first, replacements }
    },
  }
}

const replacement = (field: string, { start, end }: Span, entity: string): Replacement => ({
  ...{ field, start, end },
  by: `<${entity}>`,
})

function personalData(field: number, item: number, spans: readonly EntitySpan[]): Detail {
  const entities = [...new Set(spans.map(({ entity }) => entity))].sort()
  const by = item === -1 ? {} : { item }
  return { reason: 'personal_data', field, ...by, entities, count: spans.length }
}

/** The matches in the original text, and in the normalised text if it differs. */
async function spansOf(pattern: Pattern, { field, text }: Place, work: Work): Promise<Span[]> {
  const spans = await allSpans(pattern, text.text, { field, work })
  const { folded } = text
  if (folded === null) return spans
  const hidden = await allSpans(pattern, folded.text, { field, work })
  for (const { start, end } of hidden)
    spans.push({ start: folded.startOf(start), end: folded.endOf(end) })
  return spans
}

/** What finding a place costs a character beside the instructions: only testing is cheap. */
const PLACE_SIZE = 64
/**
 * The search for the next match may read far beyond it, and cannot say how far: each is counted as
 * an eighth of what is left.
 */
const SHARE = 8

async function allSpans(
  pattern: Pattern,
  text: string,
  { field, work }: { field: number; work: Work },
): Promise<Span[]> {
  const spans: Span[] = []
  const size = (pattern.size + PLACE_SIZE) / SHARE
  await work.spend(pattern.size * text.length)
  for (const span of pattern.spans(text)) {
    if (spans.length === SPANS_MAX)
      throw new Fault({ reason: 'too_many_found', field, limit: SPANS_MAX })
    spans.push(span)
    await work.spend(size * (text.length - span.end))
  }
  return spans
}
