// Colorado: automated decision-making technology, SB 26-189, which repealed SB 24-205.

import { type Framework, rowsOf } from './article.ts'

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
        // Date by two; what this section says by one.
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
