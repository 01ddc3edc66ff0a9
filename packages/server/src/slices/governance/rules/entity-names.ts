// The personal data a policy may name; known before a recogniser is loaded.

import { listEntities } from '@custos/pii/entities'

export const ENTITY_NAMES: readonly string[] = listEntities().map(({ entity }) => entity)
