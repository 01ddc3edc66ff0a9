// The rules of each kind of registry record, by its name.
import { actionRules } from './action.ts'
import { agentActionRules } from './agent-action.ts'
import { artifactRules } from './artifact.ts'
import { compositionRules } from './composition.ts'
import { corpusRules } from './corpus.ts'
import { landingRules } from './landing.ts'
import { RECORD_KINDS, type RecordKind, type RecordRules } from './registry-record.ts'
import { worldTypeRules } from './world-type.ts'

const ALL: readonly RecordRules[] = [
  compositionRules,
  artifactRules,
  corpusRules,
  actionRules,
  worldTypeRules,
  landingRules,
  agentActionRules,
]

/** The rules of a kind; undefined if it is not a kind of registry record. */
export function rulesOf(kind: unknown): RecordRules | undefined {
  return ALL.find((rules) => rules.kind === kind)
}

/** Recognises the kind of a registry record by its members; undefined if it is none. */
export function recordKindOf(document: {
  readonly [key: string]: unknown
}): RecordKind | undefined {
  const kind = RECORD_KINDS.find((known) => known === document['record_kind'])
  return kind !== undefined && Object.hasOwn(document, 'proposal_digest') ? kind : undefined
}
