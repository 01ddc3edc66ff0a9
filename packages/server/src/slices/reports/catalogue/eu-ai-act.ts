// The EU AI Act, with the dates of the Digital Omnibus on AI of 2026.

import { type Article, type Framework, rowsOf } from './article.ts'

const shared = { framework: 'eu_ai_act', source: 'ai_act' } as const

/** Chapter III for systems of Annex III. */
const HIGH_RISK = rowsOf(
  {
    ...shared,
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

const OTHERS: Article[] = [
  ...rowsOf(
    {
      ...shared,
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
  ...rowsOf({ ...shared, in_force_from: null, read: [] }, [
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
  articles: [...HIGH_RISK, ...OTHERS],
}
