// The members of a report's content that its files show. makeContent writes them.

import { REPORT_AUTOMATIONS, REPORT_FINDINGS } from '@custos/contract'
import Type, { type Static, type TSchema } from 'typebox'

const text = Type.String()
const number = Type.Number()
const finding = Type.Enum(REPORT_FINDINGS)
const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])
const source = Type.Object({ name: text, url: text })

const evidence = Type.Object({
  query: text,
  about: text,
  count: number,
  first_seq: nullable(number),
  last_seq: nullable(number),
  samples: Type.Array(Type.Object({ seq: number, id: text })),
})
export type Evidence = Static<typeof evidence>

const section = Type.Object({
  framework: text,
  article: text,
  title: text,
  requirement: text,
  automation: Type.Enum(REPORT_AUTOMATIONS),
  not_covered: text,
  in_force_from: nullable(text),
  in_force_to: nullable(text),
  in_force: text,
  source,
  sources: Type.Array(source),
  verified: Type.Boolean(),
  evidence: Type.Array(evidence),
  finding,
})
export type Section = Static<typeof section>

const part = {
  framework: text,
  regulation: text,
  note: text,
  sections: Type.Record(text, section),
  /** Absent from reports of version 1. */
  headline: Type.Optional(text),
  overall_finding: finding,
}

const log = Type.Object({
  status: Type.Enum(['intact', 'tampered', 'empty']),
  entries_verified: number,
  root_hash: nullable(text),
  epochs_verified: number,
  last_epoch: nullable(Type.Object({ epoch_number: number, tree_size: number })),
  checkpoint: text,
  reason: nullable(text),
  at_seq: nullable(number),
})

const day = Type.Object({ day: text, entries: number, decisions: number, refused: number })
export type Day = Static<typeof day>

const shared = {
  regulation: text,
  log,
  catalogue_version: text,
  activity: Type.Array(day),
  limits: Type.Array(text),
}

/** The content of a report on one framework, or on all of them. */
export const content = Type.Union([
  Type.Object({ ...shared, frameworks: Type.Record(text, Type.Object(part)) }),
  Type.Object({ ...shared, ...part }),
])
export type Content = Static<typeof content>
