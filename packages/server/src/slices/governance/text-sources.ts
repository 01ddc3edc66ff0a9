// Names, descriptions and configurations of policies: how requests of data subjects reach them.

import type { JsonObject } from '@custos/proof'
import { REDACTED_SECRET } from '../../platform/kernel/sealed-column.ts'
import { REDACTED_TEXT, textSource } from '../../platform/kernel/text-source.ts'
import {
  findVersion,
  listVersionsAfter,
  type PolicyRow,
  updateRedactedPolicy,
} from './policies.sql.ts'
import { policyColumn } from './sealed-policy.ts'

/**
 * A version in force is held: to redact it would change what the tenant permits. Its tenant changes
 * or deletes the policy, and then it is redacted as every earlier version.
 */
export const policyTextSource = textSource<PolicyRow, JsonObject>({
  kind: 'policy',
  list: listVersionsAfter,
  find: (db, id) => {
    const [policy_id = '', version = ''] = id.split(':')
    return findVersion(db, policy_id, Number(version))
  },
  idOf: ({ policy_id, version }) => `${policy_id}:${version}`,
  createdUs: ({ changed_us }) => changed_us,
  isHeld: ({ stands }) => stands === 1,
  open: async (kernel, tenant_id, rows) =>
    (await policyColumn.openAll(kernel, tenant_id, rows)).map(
      // Stored as JSON.
      (texts): JsonObject | null => texts && JSON.parse(JSON.stringify(texts)),
    ),
  redact: async (kernel, tenant_id, { row }) => {
    const left = { name: REDACTED_TEXT, description: '', config: {} }
    return [await policyColumn.sealRedacted(kernel, tenant_id, row, left)]
  },
  update: (tx, row, [sealed]) =>
    updateRedactedPolicy(tx, row, { sealed, secret_no: REDACTED_SECRET }),
})
