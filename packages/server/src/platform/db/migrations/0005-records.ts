// Records of the registries, and the approvals they wait for.

import type { Migration } from './ddl.ts'

export const records: Migration = {
  name: '0005-records',
  tables: [
    {
      name: 'records',
      columns: {
        tenant_id: 'text',
        record_id: 'text',
        kind: 'text',
        status: 'text',
        /** 1: the one that its content, or its name, leads to. */
        live: 'int',
        content_key: 'text?',
        name_key: 'text?',
        series_id: 'text',
        version: 'int',
        proposal_digest: 'text',
        policy_set: 'int',
        request_id: 'text?',
        linked_id: 'text?',
        requested_by: 'text',
        secret_no: 'int',
        sealed: 'blob',
        created_us: 'int',
      },
      primary_key: ['tenant_id', 'record_id'],
      unique: [
        {
          columns: ['tenant_id', 'kind', 'content_key'],
          where: 'live = 1 and content_key is not null',
        },
        { columns: ['tenant_id', 'name_key'], where: "live = 1 and kind = 'world_type'" },
      ],
      indexes: [
        { columns: ['tenant_id', 'kind', 'created_us'] },
        { columns: ['tenant_id', 'kind', 'name_key', 'created_us'] },
        { columns: ['tenant_id', 'kind', 'status'] },
        { columns: ['tenant_id', 'series_id', 'version'] },
        { columns: ['tenant_id', 'secret_no'] },
      ],
    },
    {
      name: 'approvals',
      columns: {
        tenant_id: 'text',
        request_id: 'text',
        kind: 'text',
        record_id: 'text',
        state: 'text',
        proposal_digest: 'text',
        policy_set: 'int',
        escalations: 'text',
        requested_by: 'text',
        nonce: 'text',
        issued_us: 'int',
        expires_us: 'int',
        decided_us: 'int?',
        decided_by: 'text?',
        approver_id: 'text?',
        secret_no: 'int',
        sealed: 'blob',
      },
      primary_key: ['tenant_id', 'request_id'],
      indexes: [
        { columns: ['tenant_id', 'state', 'issued_us'] },
        { columns: ['tenant_id', 'issued_us'] },
        { columns: ['tenant_id', 'expires_us'], where: "state = 'pending'" },
        { columns: ['tenant_id', 'secret_no'] },
      ],
    },
    {
      name: 'approvers',
      columns: {
        tenant_id: 'text',
        approver_id: 'text',
        public_key: 'blob',
        active: 'int',
        secret_no: 'int',
        sealed: 'blob',
        created_us: 'int',
        changed_us: 'int',
      },
      primary_key: ['tenant_id', 'approver_id'],
      unique: [{ columns: ['tenant_id', 'public_key'] }],
      indexes: [{ columns: ['tenant_id', 'created_us'] }, { columns: ['tenant_id', 'secret_no'] }],
    },
    {
      name: 'approval_settings',
      columns: {
        tenant_id: 'text',
        different_credential: 'int',
        attestation_required: 'int',
        expires_after_s: 'int',
        changed_us: 'int',
        changed_by: 'text',
      },
      primary_key: ['tenant_id'],
    },
  ],
}
