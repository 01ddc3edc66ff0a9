// The Digital Operational Resilience Act.

import { type Framework, rowsOf } from './article.ts'

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
