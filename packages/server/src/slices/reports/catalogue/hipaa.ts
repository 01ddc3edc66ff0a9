// The HIPAA Security Rule, 45 CFR part 164 subpart C.

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
