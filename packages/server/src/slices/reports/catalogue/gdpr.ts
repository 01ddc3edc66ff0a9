// The General Data Protection Regulation.

import { type Framework, rowsOf } from './article.ts'
import type { SourceName } from './sources.ts'

/** Two that have Article 99, which gives the date. */
const DATED: readonly SourceName[] = ['gdpr_text_99', 'gdpr_beetle_99']
/** The same, and two that have the title. */
const read = (...titles: readonly SourceName[]): SourceName[] => [...DATED, ...titles]

export const gdpr: Framework = {
  framework: 'gdpr',
  name: 'GDPR Evidence Report',
  regulation: 'Regulation (EU) 2016/679',
  note: 'Titles and date were each read in two places; the regulation itself was not at hand.',
  articles: rowsOf({ framework: 'gdpr', in_force_from: '2018-05-25', source: 'gdpr', read: [] }, [
    {
      key: 'article_5_principles',
      article: '5',
      title: 'Principles relating to processing of personal data',
      requirement: 'The controller answers for the principles and can demonstrate it.',
      evidence: ['log_verified', 'policies_in_force'],
      read: read('gdpr_info', 'gdpr_kiprotect'),
      not_covered: 'Lawfulness, fairness and purpose of the processing.',
    },
    {
      key: 'article_5_1_e_storage_limitation',
      article: '5(1)(e)',
      title: 'Principles relating to processing of personal data: storage limitation',
      requirement: 'Personal data is kept no longer than its purposes need.',
      evidence: ['retention_rules'],
      read: read('gdpr_info', 'gdpr_kiprotect'),
      not_covered: 'Whether the limits fit the purposes, and data under a legal hold.',
    },
    {
      key: 'article_12_modalities',
      article: '12',
      title:
        'Transparent information, communication and modalities for the exercise of the rights of ' +
        'the data subject',
      requirement: 'Requests of data subjects are acted on within a month, or at most three.',
      evidence: ['subject_requests', 'subject_erasures'],
      read: read('gdpr_hub_12', 'gdpr_incorporated_12'),
      not_covered: 'What people were told and how, and requests that never reached this service.',
    },
    {
      key: 'article_15_access',
      article: '15',
      title: 'Right of access by the data subject',
      requirement: 'Who asks is told which data about them is processed, and gets a copy.',
      evidence: ['subject_accesses'],
      read: read('gdpr_info', 'gdpr_prighter'),
      not_covered: 'That the export reached its person, and data in other systems.',
    },
    {
      key: 'article_17_erasure',
      article: '17',
      title: 'Right to erasure (‘right to be forgotten’)',
      requirement: 'Personal data is erased without undue delay where there is a ground.',
      evidence: ['erasures_certified', 'memories_erased'],
      read: read('gdpr_info', 'gdpr_prighter'),
      not_covered: 'Requests that never reached this service, and copies in other systems.',
    },
    {
      key: 'article_22_automated_decisions',
      article: '22',
      title: 'Automated individual decision-making, including profiling',
      requirement: 'Nobody is subject to decisions of machines alone; a person can intervene.',
      evidence: ['oversight_policies', 'approvals_decided'],
      read: read('gdpr_info', 'gdpr_prighter'),
      not_covered: 'Which decisions affect persons that much, and how they can contest them.',
    },
    {
      key: 'article_25_by_design',
      article: '25',
      title: 'Data protection by design and by default',
      requirement: 'Measures that implement the principles are built in.',
      evidence: ['policies_in_force', 'erasures_certified', 'log_verified'],
      read: read('gdpr_info', 'gdpr_prighter'),
      not_covered: 'Whether the measures are enough for the risks of the processing.',
    },
    {
      key: 'article_30_records',
      article: '30',
      title: 'Records of processing activities',
      requirement:
        'A record of the processing activities is kept, with time limits for erasure and a ' +
        'description of the security measures.',
      evidence: ['processing_stores', 'time_limits_in_force', 'policies_in_force'],
      read: read('gdpr_prighter', 'gdpr_isw'),
      not_covered: 'Purposes, categories of people and data, and recipients.',
    },
    {
      key: 'article_32_security',
      article: '32',
      title: 'Security of processing',
      requirement: 'Technical and organisational measures fit the risk.',
      evidence: ['log_verified', 'access_keys_changed'],
      read: read('gdpr_prighter', 'gdpr_isw_32'),
      not_covered: 'Everything around this service: network, hosts, people.',
    },
    {
      key: 'article_33_breach',
      article: '33',
      title: 'Notification of a personal data breach to the supervisory authority',
      requirement: 'A breach is notified within 72 hours.',
      read: read('gdpr_rgpd_33', 'gdpr_commonaccord_33'),
      not_covered: 'All of it: nothing is notified from here.',
    },
    {
      key: 'article_35_impact_assessment',
      article: '35',
      title: 'Data protection impact assessment',
      requirement: 'High risks are assessed before the processing begins.',
      read: read('gdpr_lawreg_35', 'gdpr_isw_35'),
      not_covered: 'All of it: an assessment is made by people.',
    },
  ]),
}
