// The tables of the audit log, and what is counted for each tenant.

import { blob, integer, tenantId, text } from './columns.ts'

export const logTables = {
  chain_heads: {
    tenant_id: tenantId,
    generation: integer,
    size: integer,
    frontier: blob('digest', 'tree nodes'),
    last_id: blob('digest', 'leaf hash'),
    last_us: integer,
  },
  breadcrumbs: {
    tenant_id: tenantId,
    seq: integer,
    breadcrumb_id: blob('digest', 'leaf hash'),
    record: text('composed', 'closed payload schemas: ids, integers, enums, digests'),
  },
  chain_nodes: {
    tenant_id: tenantId,
    height: integer,
    idx: integer,
    hash: blob('digest', 'tree node'),
  },
  epochs: {
    tenant_id: tenantId,
    epoch_number: integer,
    generation: integer,
    tree_size: integer,
    root_hash: blob('digest', 'tree root'),
    checkpoint: text('composed', 'signed note over origin, size and root'),
    created_us: integer,
  },
  usage: {
    tenant_id: tenantId,
    period: text('minted', 'month'),
    operation: text('enum', 'operation ids'),
    count: integer,
    bytes: integer,
  },
  idempotency: {
    tenant_id: tenantId,
    key_label: blob('digest', 'HMAC under the tenant label salt'),
    operation: text('enum', 'operation ids'),
    status: integer,
    ids: text('composed', 'ids and numbers a reply is rendered from, never a body'),
    body_mac: text('digest', 'HMAC under a day key destroyed after 48 h'),
    body_day: integer,
    created_us: integer,
  },
}
