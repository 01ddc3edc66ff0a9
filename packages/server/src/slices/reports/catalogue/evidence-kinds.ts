// The kinds of evidence: what each one is in words, and which log entries it consists of.

import type { EventType } from '@custos/contract'

export interface EvidenceKind {
  readonly about: string
  /** The types of log entries that are counted in the period. */
  readonly events?: readonly EventType[]
  /** Derived from the state of the log, or from what is in force at the end of the period. */
  readonly derived?:
    | 'log_intact'
    | 'checkpoint'
    | 'policies'
    | 'oversight'
    | 'approvers'
    | 'stores'
    | 'time_limits'
}

export const EVIDENCE = {
  decisions_logged: {
    about: 'decisions of agents, each signed and with the memories it used',
    events: ['decision.logged'],
  },
  decisions_redacted: {
    about: 'decisions whose text was redacted or lost what an erased memory had put there',
    events: ['decision.scrubbed', 'decision.redacted'],
  },
  evaluations_denied: {
    about: 'operations that a policy denied',
    events: ['evaluation.denied'],
  },
  evaluations_escalated: {
    about: 'operations that a policy made wait for a person',
    events: ['evaluation.escalated'],
  },
  policies_changed: {
    about: 'policies made, changed and deleted',
    events: ['policy.created', 'policy.updated', 'policy.deleted'],
  },
  policies_in_force: { about: 'policies enabled at the end of the period', derived: 'policies' },
  oversight_policies: {
    about: 'policies enabled then that make an operation wait for a person',
    derived: 'oversight',
  },
  approvals_requested: {
    about: 'requests for the approval of a person',
    events: ['approval.requested'],
  },
  approvals_decided: {
    about: 'requests a person approved or denied, each decision signed',
    events: ['approval.approved', 'approval.denied'],
  },
  approvals_expired: {
    about: 'requests nobody decided in time: what was asked for did not happen',
    events: ['approval.expired'],
  },
  approvers_enrolled: {
    about: 'people enrolled at the end of the period who decide with a key of their own',
    derived: 'approvers',
  },
  memories_written: {
    about: 'memories written or replaced',
    events: ['memory.written', 'memory.superseded'],
  },
  memories_erased: { about: 'memories erased from every place', events: ['memory.erased'] },
  erasures_certified: {
    about: 'erasures with a signed certificate',
    events: ['erasure.certified'],
  },
  subject_requests: {
    about: 'requests of data subjects for the erasure of what is about them',
    events: ['subject.requested'],
  },
  subject_erasures: {
    about: 'such requests carried out, each with a signed manifest',
    events: ['subject.erased'],
  },
  subject_accesses: {
    about: 'exports made for data subjects of what is about them',
    events: ['subject.accessed'],
  },
  retention_rules: {
    about: 'limits set on how long memories are kept, and erasures by them',
    events: ['retention.set', 'retention.erased'],
  },
  processing_stores: {
    about: 'stores at the end of the period, each a place where personal data may be processed',
    derived: 'stores',
  },
  time_limits_in_force: {
    about: 'stores at the end of the period with a limit on how long memories are kept',
    derived: 'time_limits',
  },
  stores_created: { about: 'stores of memories made', events: ['store.created'] },
  stores_deleted: { about: 'stores deleted with all they held', events: ['store.deleted'] },
  artifacts_registered: {
    about: 'models and adapters registered by their digests',
    events: ['artifact.registered', 'artifact.certified'],
  },
  landings_issued: {
    about: 'landing certificates issued for artifacts',
    events: ['landing.issued'],
  },
  corpora_sealed: {
    about: 'corpora of data sealed with their sources and licences',
    events: ['corpus.sealed'],
  },
  compositions_governed: {
    about: 'compositions whose licences and members were examined',
    events: ['composition.governed'],
  },
  actions_invoked: {
    about: 'actions of agents that were within their type, tier and policies',
    events: ['action.invoked'],
  },
  actions_refused: {
    about: 'registrations, certificates, compositions and actions that were denied',
    events: ['action.denied', 'artifact.denied', 'landing.denied', 'composition.denied'],
  },
  outcomes_recorded: {
    about: 'outcomes recorded of what agents had decided',
    events: ['cgr.outcome_recorded'],
  },
  reviews_recorded: {
    about: 'reviews recorded of what agents had decided',
    events: ['cgr.review_recorded'],
  },
  access_keys_changed: {
    about: 'access keys made, rotated and revoked',
    events: ['tenant.key_created', 'tenant.key_rotated', 'tenant.key_revoked'],
  },
  signing_keys_changed: {
    about: 'signing keys made, rotated and retired',
    events: ['tenant.created', 'signing_key.rotated', 'signing_key.retired'],
  },
  assurance_runs: {
    about: 'checks the service made of itself, each with its result, whatever that was',
    events: ['assurance.completed'],
  },
  conformance_audits: {
    about: 'runs of the conformance suite against the service, each with its signed rate',
    events: ['conformance.audited'],
  },
  restores: { about: 'restores from a backup', events: ['log.restored'] },
  log_verified: {
    about: 'entries of the period, the log verified from its beginning to the last position',
    derived: 'log_intact',
  },
  checkpoints_signed: {
    about: 'signed checkpoints, up to an entry of the period, that the log reproduces',
    derived: 'checkpoint',
  },
} as const satisfies Record<string, EvidenceKind>

export type EvidenceName = keyof typeof EVIDENCE

/** A kind of evidence, typed so that members that some kinds lack can be read. */
export const evidenceKind = (name: EvidenceName): EvidenceKind => EVIDENCE[name]
