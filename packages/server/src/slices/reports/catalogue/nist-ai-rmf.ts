// The NIST AI Risk Management Framework: voluntary, so nothing of it is ever in force.

import { type Framework, rowsOf } from './article.ts'

export const nistAiRmf: Framework = {
  framework: 'nist_ai_rmf',
  name: 'NIST AI RMF Evidence Report',
  regulation: 'NIST AI 100-1 (AI RMF 1.0)',
  note: 'Published in January 2023. It is voluntary and has no date from which it binds.',
  articles: rowsOf(
    {
      framework: 'nist_ai_rmf',
      in_force_from: null,
      source: 'nist_ai_rmf',
      read: ['nist_ciso'],
    },
    [
      {
        key: 'govern_1_4',
        article: 'GOVERN 1.4',
        title: 'Risk management through transparent policies and controls',
        requirement: 'The process and its outcomes are established by policies and controls.',
        evidence: ['policies_in_force', 'policies_changed'],
        not_covered: 'Priorities of the organisation, and policies that are documents.',
      },
      {
        key: 'govern_1_6',
        article: 'GOVERN 1.6',
        title: 'Inventory of AI systems',
        requirement: 'Mechanisms are in place to inventory AI systems.',
        evidence: ['artifacts_registered', 'corpora_sealed'],
        not_covered: 'Systems that were not registered here.',
      },
      {
        key: 'govern_2_1',
        article: 'GOVERN 2.1',
        title: 'Roles and responsibilities',
        requirement: 'Roles, responsibilities and lines of communication are documented.',
        evidence: ['approvers_enrolled'],
        not_covered: 'Roles that do not decide approvals here.',
      },
      {
        key: 'govern_3_2',
        article: 'GOVERN 3.2',
        title: 'Human-AI configurations and oversight',
        requirement: 'Policies define and differentiate the roles of people in oversight.',
        evidence: ['oversight_policies', 'approvals_decided'],
        not_covered: 'Procedures that are documents.',
      },
      {
        key: 'measure_2_4',
        article: 'MEASURE 2.4',
        title: 'Functionality and behaviour monitored in production',
        requirement: 'What the system and its components do is monitored when in production.',
        evidence: ['decisions_logged', 'evaluations_denied', 'outcomes_recorded', 'assurance_runs'],
        read: ['nist_ciso', 'nist_secframe'],
        not_covered: 'Behaviour that is not sent here.',
      },
      {
        key: 'measure_2_8',
        article: 'MEASURE 2.8',
        title: 'Transparency and accountability',
        requirement: 'Risks associated with transparency and accountability are examined.',
        evidence: ['decisions_logged', 'log_verified', 'checkpoints_signed'],
        not_covered: 'The examination itself.',
      },
      {
        key: 'measure_2_10',
        article: 'MEASURE 2.10',
        title: 'Privacy risk',
        requirement: 'Privacy risk of the system is examined and documented.',
        evidence: ['erasures_certified'],
        not_covered: 'The examination itself.',
      },
      {
        key: 'measure_2_11',
        article: 'MEASURE 2.11',
        title: 'Fairness and bias',
        requirement: 'Fairness and bias are evaluated and results are documented.',
        not_covered: 'All of it: nothing here evaluates fairness.',
      },
      {
        key: 'measure_3_3',
        article: 'MEASURE 3.3',
        title: 'Feedback and appeal',
        requirement: 'End users and those affected can report problems and appeal outcomes.',
        evidence: ['reviews_recorded', 'outcomes_recorded'],
        not_covered: 'How people are told that they can.',
      },
    ],
  ),
}
