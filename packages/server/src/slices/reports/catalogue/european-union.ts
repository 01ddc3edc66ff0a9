// Laws of the European Union: DORA, the GDPR and the AI Act.

import { type Article, type Framework, rowsOf } from './article.ts'
import type { SourceName } from './sources.ts'

export const dora: Framework = {
  framework: 'dora',
  name: 'DORA Evidence Report',
  regulation: 'Regulation (EU) 2022/2554',
  note: 'Applies to financial entities and, through their contracts, to who serves them.',
  articles: rowsOf(
    {
      framework: 'dora',
      in_force_from: '2025-01-17',
      source: 'dora',
      read: ['dora_springlex', 'dora_snellman', 'dora_mccann'],
    },
    [
      {
        key: 'article_6_ict_risk',
        article: '6',
        title: 'ICT risk management framework',
        requirement: 'A documented framework lets ICT risk be addressed quickly and wholly.',
        evidence: ['policies_in_force', 'policies_changed'],
        not_covered: 'The framework as a document, its strategy and its yearly review.',
      },
      {
        key: 'article_9_protection',
        article: '9',
        title: 'Protection and prevention',
        requirement: 'Systems are monitored and controlled; access and integrity are protected.',
        evidence: ['log_verified', 'policies_in_force', 'access_keys_changed'],
        not_covered: 'Everything around this service: network, hosts, people.',
      },
      {
        key: 'article_10_detection',
        article: '10',
        title: 'Detection',
        requirement: 'Anomalous activities are detected promptly.',
        evidence: ['evaluations_denied', 'log_verified'],
        not_covered: 'Thresholds, alerts and who responds to them.',
      },
      {
        key: 'article_11_audit_trail',
        article: '11',
        title: 'Response and recovery',
        requirement: 'Activities are recorded before and during disruptions, and continuity holds.',
        evidence: ['decisions_logged', 'log_verified', 'checkpoints_signed'],
        not_covered: 'Plans for continuity and their tests.',
      },
      {
        key: 'article_12_backup',
        article: '12',
        title: 'Backup policies and procedures, restoration and recovery procedures and methods',
        requirement: 'Backups are made, and restoring from them is tested.',
        evidence: ['restores'],
        not_covered: 'That backups are made and kept apart: making one leaves no entry.',
      },
      {
        key: 'article_17_incidents',
        article: '17',
        title: 'ICT-related incident management process',
        requirement: 'Incidents are detected, managed and recorded.',
        not_covered: 'All of it: incidents are not kept here.',
      },
      {
        key: 'article_19_reporting',
        article: '19',
        title: 'Reporting of major ICT-related incidents',
        requirement: 'Major incidents are reported to the authority.',
        not_covered: 'All of it: nothing is reported from here.',
      },
      {
        key: 'article_28_third_parties',
        article: '28',
        title: 'General principles of ICT third-party risk',
        requirement: 'Risk of third parties is managed; contracts stand in a register.',
        not_covered: 'All of it: contracts are outside this service.',
      },
    ],
  ),
}

/** Two sources of Article 99, which sets the date. */
const GDPR_DATED: readonly SourceName[] = ['gdpr_text_99', 'gdpr_beetle_99']
/** The sources of the date, with two that confirm the title. */
const gdprSources = (...titles: readonly SourceName[]): SourceName[] => [...GDPR_DATED, ...titles]

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
      read: gdprSources('gdpr_info', 'gdpr_kiprotect'),
      not_covered: 'Lawfulness, fairness and purpose of the processing.',
    },
    {
      key: 'article_5_1_e_storage_limitation',
      article: '5(1)(e)',
      title: 'Principles relating to processing of personal data: storage limitation',
      requirement: 'Personal data is kept no longer than its purposes need.',
      evidence: ['retention_rules'],
      read: gdprSources('gdpr_info', 'gdpr_kiprotect'),
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
      read: gdprSources('gdpr_hub_12', 'gdpr_incorporated_12'),
      not_covered: 'What people were told and how, and requests that never reached this service.',
    },
    {
      key: 'article_15_access',
      article: '15',
      title: 'Right of access by the data subject',
      requirement: 'Who asks is told which data about them is processed, and gets a copy.',
      evidence: ['subject_accesses'],
      read: gdprSources('gdpr_info', 'gdpr_prighter'),
      not_covered: 'That the export reached its person, and data in other systems.',
    },
    {
      key: 'article_17_erasure',
      article: '17',
      title: 'Right to erasure (‘right to be forgotten’)',
      requirement: 'Personal data is erased without undue delay where there is a ground.',
      evidence: ['erasures_certified', 'memories_erased'],
      read: gdprSources('gdpr_info', 'gdpr_prighter'),
      not_covered: 'Requests that never reached this service, and copies in other systems.',
    },
    {
      key: 'article_22_automated_decisions',
      article: '22',
      title: 'Automated individual decision-making, including profiling',
      requirement: 'Nobody is subject to decisions of machines alone; a person can intervene.',
      evidence: ['oversight_policies', 'approvals_decided'],
      read: gdprSources('gdpr_info', 'gdpr_prighter'),
      not_covered: 'Which decisions affect persons that much, and how they can contest them.',
    },
    {
      key: 'article_25_by_design',
      article: '25',
      title: 'Data protection by design and by default',
      requirement: 'Measures that implement the principles are built in.',
      evidence: ['policies_in_force', 'erasures_certified', 'log_verified'],
      read: gdprSources('gdpr_info', 'gdpr_prighter'),
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
      read: gdprSources('gdpr_prighter', 'gdpr_isw'),
      not_covered: 'Purposes, categories of people and data, and recipients.',
    },
    {
      key: 'article_32_security',
      article: '32',
      title: 'Security of processing',
      requirement: 'Technical and organisational measures fit the risk.',
      evidence: ['log_verified', 'access_keys_changed'],
      read: gdprSources('gdpr_prighter', 'gdpr_isw_32'),
      not_covered: 'Everything around this service: network, hosts, people.',
    },
    {
      key: 'article_33_breach',
      article: '33',
      title: 'Notification of a personal data breach to the supervisory authority',
      requirement: 'A breach is notified within 72 hours.',
      read: gdprSources('gdpr_rgpd_33', 'gdpr_commonaccord_33'),
      not_covered: 'All of it: nothing is notified from here.',
    },
    {
      key: 'article_35_impact_assessment',
      article: '35',
      title: 'Data protection impact assessment',
      requirement: 'High risks are assessed before the processing begins.',
      read: gdprSources('gdpr_lawreg_35', 'gdpr_isw_35'),
      not_covered: 'All of it: an assessment is made by people.',
    },
  ]),
}

const AI_ACT_ROW = { framework: 'eu_ai_act', source: 'ai_act' } as const

/** Chapter III for systems of Annex III. */
const HIGH_RISK = rowsOf(
  {
    ...AI_ACT_ROW,
    in_force_from: '2027-12-02',
    read: ['ai_act_text', 'omnibus_dla', 'omnibus_srd', 'omnibus_df'],
  },
  [
    {
      key: 'article_9_risk_management',
      article: '9',
      title: 'Risk management system',
      requirement: 'Known and foreseeable risks are identified, evaluated and met with measures.',
      evidence: ['policies_in_force', 'policies_changed', 'evaluations_denied'],
      not_covered: 'The analysis of risks itself, its testing, and the judgment of residual risk.',
    },
    {
      key: 'article_10_data_governance',
      article: '10',
      title: 'Data and data governance',
      requirement: 'Data sets have known origin and are examined for bias and gaps.',
      evidence: ['corpora_sealed'],
      not_covered: 'Whether the data is relevant, representative and free of errors.',
    },
    {
      key: 'article_11_technical_documentation',
      article: '11',
      title: 'Technical documentation',
      requirement: 'Documentation is drawn up before placing on the market and kept up to date.',
      not_covered: 'All of it: documents are outside this service.',
    },
    {
      key: 'article_12_record_keeping',
      article: '12',
      title: 'Record-keeping',
      requirement: 'Events are recorded automatically over the lifetime of the system.',
      evidence: ['decisions_logged', 'log_verified'],
      automation: 'full',
      not_covered: 'Events of systems that do not send their decisions here.',
    },
    {
      key: 'article_13_transparency',
      article: '13',
      title: 'Transparency and provision of information to deployers',
      requirement: 'Operation is transparent enough to interpret the output and to use it rightly.',
      evidence: ['decisions_logged', 'artifacts_registered'],
      not_covered: 'The instructions for use.',
    },
    {
      key: 'article_14_human_oversight',
      article: '14',
      title: 'Human oversight',
      requirement: 'Natural persons can oversee the system, intervene and stop it.',
      evidence: ['oversight_policies', 'approvals_requested', 'approvals_decided'],
      not_covered: 'Whether those who decide are competent and not led by the machine.',
    },
    {
      key: 'article_15_accuracy',
      article: '15',
      title: 'Accuracy, robustness and cybersecurity',
      requirement: 'Accuracy is declared, measured and kept; the system withstands attacks.',
      evidence: [
        'outcomes_recorded',
        'assurance_runs',
        'conformance_audits',
        'log_verified',
        'checkpoints_signed',
      ],
      not_covered: 'Declared metrics of accuracy, tests of robustness and of attacks.',
    },
    {
      key: 'article_17_quality_management',
      article: '17',
      title: 'Quality management system',
      requirement: 'A documented system of policies, procedures and instructions is in place.',
      not_covered: 'All of it: it is a matter of the organisation.',
    },
    {
      key: 'article_19_logs',
      article: '19',
      title: 'Automatically generated logs',
      requirement: 'Providers keep the logs, for six months at least.',
      evidence: ['log_verified', 'checkpoints_signed'],
      not_covered: 'That they will be kept as long as is required.',
    },
    {
      key: 'article_26_deployers',
      article: '26',
      title: 'Obligations of deployers of high-risk AI systems',
      requirement: 'Use follows the instructions, people oversee it, logs are kept six months.',
      evidence: ['decisions_logged', 'approvals_decided', 'log_verified'],
      not_covered: 'Instructions, input data, and informing workers and those affected.',
    },
    {
      key: 'article_27_impact_assessment',
      article: '27',
      title: 'Fundamental rights impact assessment for high-risk AI systems',
      requirement: 'Certain deployers assess the impact on fundamental rights before first use.',
      not_covered: 'All of it: an assessment is made by people.',
    },
  ],
)

const OTHER_DUTIES: Article[] = [
  ...rowsOf(
    {
      ...AI_ACT_ROW,
      in_force_from: '2026-08-02',
      read: ['omnibus_epium', 'omnibus_getactready'],
    },
    [
      {
        key: 'article_50_transparency',
        article: '50',
        title: 'Transparency obligations for certain AI systems',
        requirement: 'People are told that they deal with an AI system; its output is marked.',
        not_covered:
          'All of it: what people are shown is outside this service. For the marking of ' +
          'paragraph 2, systems on the market before 2 August 2026 have until 2 December 2026.',
      },
    ],
  ),
  ...rowsOf({ ...AI_ACT_ROW, in_force_from: null, read: [] }, [
    {
      key: 'article_72_post_market_monitoring',
      article: '72',
      title: 'Post-market monitoring',
      requirement: 'Experience with systems in use is collected and analysed.',
      evidence: ['decisions_logged', 'outcomes_recorded', 'evaluations_denied'],
      not_covered: 'The plan, the analysis, and from when it binds after the Digital Omnibus.',
    },
    {
      key: 'article_73_incidents',
      article: '73',
      title: 'Reporting of serious incidents',
      requirement: 'Serious incidents are reported to the authority.',
      not_covered: 'All of it: nothing is reported from here.',
    },
  ]),
]

export const euAiAct: Framework = {
  framework: 'eu_ai_act',
  name: 'EU AI Act Evidence Report',
  regulation: 'Regulation (EU) 2024/1689',
  note:
    'Dates after the Digital Omnibus on AI, which the Council adopted on 29 June 2026: duties ' +
    'for systems of Annex III from 2 December 2027, of Annex I from 2 August 2028. Its ' +
    'number in the Official Journal could not be confirmed when this catalogue was made.',
  articles: [...HIGH_RISK, ...OTHER_DUTIES],
}
