// Requests of data subjects: what was asked for is sealed; which records it is about, by number.

import type { Migration } from './ddl.ts'

export const subjects: Migration = {
  name: '0009-subjects',
  tables: [
    {
      name: 'subject_requests',
      columns: {
        tenant_id: 'text',
        seq: 'int',
        request_id: 'blob',
        kind: 'text',
        status: 'text',
        job_id: 'text?',
        find_label: 'blob',
        found_digest: 'blob',
        facts: 'int',
        superseded_facts: 'int',
        decisions_using: 'int',
        decisions_naming: 'int',
        held: 'int',
        log_seq: 'int',
        searched_seq: 'int',
        rounds: 'int',
        items_done: 'int',
        items: 'int',
        received_us: 'int',
        due_us: 'int',
        extended_us: 'int?',
        created_us: 'int',
        started_us: 'int?',
        completed_us: 'int?',
        made_by: 'text',
        secret_no: 'int',
        sealed: 'blob?',
        sealed_reason: 'blob?',
        manifest: 'text?',
      },
      primary_key: ['tenant_id', 'seq'],
      unique: [{ columns: ['tenant_id', 'request_id'] }],
      indexes: [
        { columns: ['tenant_id', 'secret_no'] },
        { columns: ['tenant_id', 'due_us'], where: 'completed_us is null' },
      ],
    },
    {
      name: 'subject_items',
      columns: {
        tenant_id: 'text',
        request_id: 'blob',
        item: 'text',
        outcome: 'text?',
        certificate_id: 'text?',
      },
      primary_key: ['tenant_id', 'request_id', 'item'],
      clustered: true,
      indexes: [{ columns: ['tenant_id', 'request_id'], where: 'outcome is null' }],
    },
  ],
}
