// People of a tenant, and what acts as them: sessions and keys.

import type { Migration } from './ddl.ts'

export const people: Migration = {
  name: '0031-people',
  tables: [
    {
      name: 'users',
      columns: {
        tenant_id: 'text',
        user_id: 'text',
        state: 'text',
        roles: 'text',
        allowed_stores: 'text',
        email_label: 'text',
        invitation_hash: 'blob?',
        invited_until_us: 'int?',
        secret_no: 'int',
        sealed: 'blob?',
        created_us: 'int',
      },
      primary_key: ['tenant_id', 'user_id'],
      clustered: true,
      unique: [{ columns: ['tenant_id', 'email_label'] }],
      indexes: [
        { columns: ['tenant_id', 'secret_no'] },
        {
          columns: ['tenant_id', 'invitation_hash'],
          where: 'invitation_hash is not null',
        },
      ],
    },
  ],
  columns: [
    { table: 'sessions', name: 'user_id', column: 'text?' },
    { table: 'credentials', name: 'user_id', column: 'text?' },
  ],
}
