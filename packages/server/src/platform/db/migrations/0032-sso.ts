// Connections to OpenID providers, who people are there, and sign-ins under way.

import type { Migration } from './ddl.ts'

export const sso: Migration = {
  name: '0032-sso',
  tables: [
    {
      name: 'sso_connections',
      columns: {
        tenant_id: 'text',
        connection_id: 'text',
        enabled: 'int',
        enforced: 'int',
        secret_no: 'int',
        sealed: 'blob?',
        created_us: 'int',
        changed_us: 'int',
      },
      primary_key: ['tenant_id', 'connection_id'],
      clustered: true,
      indexes: [{ columns: ['tenant_id', 'secret_no'] }],
    },
    {
      name: 'sso_identities',
      columns: {
        tenant_id: 'text',
        connection_id: 'text',
        sub_label: 'text',
        user_id: 'text',
        created_us: 'int',
      },
      primary_key: ['tenant_id', 'connection_id', 'sub_label'],
      clustered: true,
      indexes: [{ columns: ['tenant_id', 'user_id'] }],
    },
    {
      name: 'sso_logouts',
      columns: {
        tenant_id: 'text',
        connection_id: 'text',
        jti_hash: 'blob',
        expires_us: 'int',
      },
      primary_key: ['tenant_id', 'connection_id', 'jti_hash'],
      clustered: true,
    },
    {
      name: 'sso_routes',
      columns: { route: 'text', tenant_id: 'text', connection_id: 'text' },
      primary_key: ['route'],
      clustered: true,
      indexes: [{ columns: ['tenant_id', 'connection_id'] }],
    },
    {
      name: 'sso_logins',
      columns: {
        state_hash: 'blob',
        tenant_id: 'text',
        connection_id: 'text',
        browser_hash: 'blob',
        redirect_uri: 'text',
        return_to: 'text',
        challenge: 'text?',
        created_us: 'int',
        expires_us: 'int',
      },
      primary_key: ['state_hash'],
      clustered: true,
      indexes: [{ columns: ['expires_us'] }],
    },
    {
      name: 'sso_codes',
      columns: {
        code_hash: 'blob',
        tenant_id: 'text',
        connection_id: 'text',
        user_id: 'text',
        sid_label: 'text?',
        challenge: 'text',
        expires_us: 'int',
      },
      primary_key: ['code_hash'],
      clustered: true,
      indexes: [{ columns: ['expires_us'] }],
    },
  ],
  columns: [
    { table: 'sessions', name: 'connection_id', column: 'text?' },
    { table: 'sessions', name: 'sid_label', column: 'text?' },
    { table: 'users', name: 'break_glass', column: 'int?' },
  ],
}
