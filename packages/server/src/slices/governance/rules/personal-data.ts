// The recognisers of personal data that a pii_guard may name.

import { findPersonalData } from '@custos/pii'
import { ENTITY_NAMES } from './entity-names.ts'
import type { Span } from './patterns.ts'

export interface EntitySpan extends Span {
  readonly entity: string
}

/** What rules need of recognisers; passed in, so that rules stay functions of data. */
export interface Recognisers {
  /** The names that a policy may use. */
  readonly entities: readonly string[]
  find(text: string, entities: readonly string[]): readonly EntitySpan[]
}

export const recognisers: Recognisers = {
  entities: ENTITY_NAMES,
  find: (text, entities) => findPersonalData(text, { entities }),
}
