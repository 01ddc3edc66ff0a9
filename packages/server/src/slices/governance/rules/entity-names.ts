// The kinds of personal data a policy may name; available before a recogniser is loaded.

import { listEntities } from '@custos/pii/entities'

export const ENTITY_NAMES: readonly string[] = listEntities().map(({ entity }) => entity)
