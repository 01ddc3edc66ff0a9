// The General Data Protection Regulation.

import { type Framework, rowsOf } from './article.ts'

export const gdpr: Framework = {
  framework: 'gdpr',
  name: 'GDPR Evidence Report',
  regulation: 'Regulation (EU) 2016/679',
  note: 'Of title and date of these articles one source was read: see the regulation itself.',
  articles: rowsOf(
    { framework: 'gdpr', in_force_from: '2018-05-25', source: 'gdpr', read: ['gdpr_saco'] },
    [
      {
        key: 'article_5_principles',
        article: '5',
        title: 'Principles relating to processing of personal data',
        requirement: 'The controller answers for the principles and can demonstrate it.',
        evidence: ['log_verified', 'policies_in_force'],
        not_covered: 'Lawfulness, fairness and purpose of the processing.',
      },
      {
        key: 'article_15_access',
        article: '15',
        title: 'Right of access by the data subject',
        requirement: 'Who asks is told which data about them is processed, and gets a copy.',
        not_covered: 'All of it: reading and exporting leave no entry on the log.',
      },
      {
        key: 'article_17_erasure',
        article: '17',
        title: 'Right to erasure (‘right to be forgotten’)',
        requirement: 'Personal data is erased without undue delay where there is a ground.',
        evidence: ['erasures_certified', 'memories_erased'],
        not_covered: 'Requests that never reached this service, and copies in other systems.',
      },
      {
        key: 'article_22_automated_decisions',
        article: '22',
        title: 'Automated individual decision-making, including profiling',
        requirement: 'Nobody is subject to decisions of machines alone; a person can intervene.',
        evidence: ['oversight_policies', 'approvals_decided'],
        not_covered: 'Which decisions affect persons that much, and how they can contest them.',
      },
      {
        key: 'article_25_by_design',
        article: '25',
        title: 'Data protection by design and by default',
        requirement: 'Measures that implement the principles are built in.',
        evidence: ['policies_in_force', 'erasures_certified', 'log_verified'],
        not_covered: 'Whether the measures are enough for the risks of the processing.',
      },
      {
        key: 'article_30_records',
        article: '30',
        title: 'Records of processing activities',
        requirement: 'A record of the processing activities is kept.',
        evidence: ['decisions_logged', 'memories_written'],
        not_covered: 'Purposes, categories, recipients and time limits: the record itself.',
      },
      {
        key: 'article_32_security',
        article: '32',
        title: 'Security of processing',
        requirement: 'Technical and organisational measures fit the risk.',
        evidence: ['log_verified', 'access_keys_changed'],
        not_covered: 'Everything around this service: network, hosts, people.',
      },
      {
        key: 'article_33_breach',
        article: '33',
        title: 'Notification of a personal data breach to the supervisory authority',
        requirement: 'A breach is notified within 72 hours.',
        not_covered: 'All of it: nothing is notified from here.',
      },
      {
        key: 'article_35_impact_assessment',
        article: '35',
        title: 'Data protection impact assessment',
        requirement: 'High risks are assessed before the processing begins.',
        not_covered: 'All of it: an assessment is made by people.',
      },
    ],
  ),
}
