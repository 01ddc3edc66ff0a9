// SQL of what a log says about signing keys.

import { from, type TenantDb } from '../platform/db/tenant-db.ts'

/** Entries that name signing keys, oldest first. A scan: it runs when keys change, not before. */
export const listKeyEvents = (db: TenantDb) =>
  db.all(
    from(db, 'breadcrumbs')
      .select('record')
      .where((e) =>
        e.or([
          e('record', 'like', '%"event_type":"signing_key.%'),
          e('record', 'like', '%"event_type":"tenant.created"%'),
        ]),
      )
      .orderBy('seq'),
  )
