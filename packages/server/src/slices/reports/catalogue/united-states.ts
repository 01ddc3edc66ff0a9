// Laws and frameworks of the United States: HIPAA, the Colorado AI Act, the NIST AI RMF.

import { type Framework, rowsOf } from './article.ts'

export const hipaa: Framework = {
  framework: 'hipaa',
  name: 'HIPAA Security Rule Evidence Report',
  regulation: '45 CFR part 164 subpart C',
  note: 'Dates as in 164.318; small health plans had until 20 April 2006.',
  articles: rowsOf(
    {
      framework: 'hipaa',
      in_force_from: '2005-04-20',
      source: 'hipaa',
      read: ['hipaa_gpo_318', 'hipaa_govinfo_312'],
    },
    [
      {
        key: 'section_164_308_activity_review',
        article: '164.308(a)(1)(ii)(D)',
        title: 'Information system activity review',
        requirement: 'Records of activity are reviewed regularly.',
        evidence: ['log_verified'],
        read: ['hipaa_gpo_318', 'hipaa_gpo_matrix'],
        not_covered: 'The review itself.',
      },
      {
        key: 'section_164_312_a_access_control',
        article: '164.312(a)(1)',
        title: 'Access control',
        requirement: 'Only those get access who have been granted it.',
        evidence: ['access_keys_changed', 'policies_in_force'],
        not_covered: 'Who holds the keys, emergency access and automatic logoff.',
      },
      {
        key: 'section_164_312_b_audit_controls',
        article: '164.312(b)',
        title: 'Audit controls',
        requirement: 'Activity in systems with health information is recorded and examined.',
        evidence: ['decisions_logged', 'memories_written', 'log_verified'],
        not_covered: 'Reads, which mostly leave no entry, and activity in other systems.',
      },
      {
        key: 'section_164_312_c_integrity',
        article: '164.312(c)(1)',
        title: 'Integrity',
        requirement: 'Health information is protected from improper alteration or destruction.',
        evidence: ['log_verified', 'checkpoints_signed'],
        not_covered: 'Information in other systems.',
      },
      {
        key: 'section_164_312_d_authentication',
        article: '164.312(d)',
        title: 'Person or entity authentication',
        requirement: 'Who seeks access is the one claimed.',
        evidence: ['access_keys_changed', 'approvers_enrolled'],
        not_covered: 'Who the person behind a key is.',
      },
      {
        key: 'section_164_312_e_transmission',
        article: '164.312(e)(1)',
        title: 'Transmission security',
        requirement: 'Information is guarded while it is transmitted.',
        not_covered: 'All of it: encryption in transit is up to what stands in front.',
      },
      {
        key: 'section_164_316_documentation',
        article: '164.316(b)',
        title: 'Documentation',
        requirement: 'Policies and required records are kept for six years.',
        evidence: ['policies_changed', 'log_verified'],
        read: ['hipaa_gpo_316', 'hipaa_lawstack', 'hipaa_gpo_318'],
        not_covered: 'Documents outside this service, and that all will be kept that long.',
      },
    ],
  ),
}

export const coloradoAi: Framework = {
  framework: 'colorado_ai',
  name: 'Colorado ADMT Evidence Report',
  regulation: 'Colorado SB 26-189, C.R.S. 6-1-1701 and following',
  note:
    'Signed in May 2026; repeals and reenacts SB 24-205. The Attorney General adopts rules ' +
    'before 1 January 2027, which this catalogue does not know.',
  articles: rowsOf(
    {
      framework: 'colorado_ai',
      in_force_from: '2027-01-01',
      source: 'colorado_ag',
      read: ['colorado_ag', 'colorado_everyailaw'],
    },
    [
      {
        key: 'section_1702_developer_documentation',
        article: '6-1-1702',
        title: 'Documentation by developers',
        requirement: 'Deployers get intended uses, categories of training data and limitations.',
        evidence: ['corpora_sealed', 'artifacts_registered', 'landings_issued'],
        read: ['colorado_ag', 'colorado_everyailaw', 'colorado_aiclear'],
        not_covered: 'The documents, and that deployers got them.',
      },
      {
        key: 'section_1703_records',
        article: '6-1-1703',
        title: 'Records of deployers',
        requirement: 'Records of consequential decisions are kept for three years.',
        evidence: ['decisions_logged', 'log_verified'],
        // Two sources confirm the date, but only one confirms the content of this section.
        read: ['colorado_everyailaw'],
        not_covered: 'That they will be kept as long as is required.',
      },
      {
        key: 'section_1704_notice',
        article: '6-1-1704',
        title: 'Notice at the point of interaction, and after an adverse outcome',
        requirement: 'Consumers are told before, and within 30 days of an adverse outcome.',
        read: ['colorado_ag', 'colorado_everyailaw', 'colorado_aiclear'],
        not_covered: 'All of it: what consumers are told is outside this service.',
      },
      {
        key: 'section_1705_review',
        article: '6-1-1705',
        title: 'Correction of data and human review',
        requirement: 'Wrong data is corrected; a person reviews an adverse decision on request.',
        evidence: ['approvals_decided', 'reviews_recorded'],
        read: ['colorado_everyailaw'],
        not_covered: 'How consumers ask for it, and what became of each request.',
      },
    ],
  ),
}

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
