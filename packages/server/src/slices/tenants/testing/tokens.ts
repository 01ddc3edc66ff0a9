// As many tokens as a test needs, as rows: making ten thousand by requests takes minutes.

import type { TestService } from '../../../testing/harness.ts'
import { rawSql } from '../../../testing/raw-sql.ts'

/** Copies what is stored of the token, which is limited to a namespace, under other ids. */
export const copyToken = (
  service: Pick<TestService, 'kernel'>,
  key_id: string,
  copies: number,
): Promise<unknown> =>
  rawSql(
    service,
    `insert into credential_limits (key_id, tenant_id, maker_id, secret_no, sealed, ends_us)
      with recursive numbers(n) as (
        select 1 union all select n + 1 from numbers where n < ${copies}
      )
      select key_id || '-' || n, tenant_id, maker_id, secret_no, sealed, ends_us
      from credential_limits, numbers where key_id = ?`,
    [key_id],
  )
