// SQL of people.

import { pageByTime } from '../../platform/db/page-by-time.ts'
import type { Tables } from '../../platform/db/schema/tables.ts'
import {
  deleteFrom,
  from,
  insertInto,
  type TenantDb,
  type Tx,
  update,
} from '../../platform/db/tenant-db.ts'
import type { Page } from '../../platform/page.ts'

export type UserRow = Omit<Tables['users'], 'tenant_id'>

const USER = [
  'user_id',
  'state',
  'roles',
  'allowed_stores',
  'email_label',
  'invitation_hash',
  'invited_until_us',
  'secret_no',
  'sealed',
  'created_us',
  'break_glass',
] as const

export const insertUser = (tx: Tx, row: UserRow) => tx.run(insertInto(tx, 'users', row))

export const findUser = (db: TenantDb, user_id: string) =>
  db.first(from(db, 'users').select(USER).where('user_id', '=', user_id))

export const findUserByEmail = (db: TenantDb, email_label: string) =>
  db.first(from(db, 'users').select(USER).where('email_label', '=', email_label))

export const findInvited = (db: TenantDb, invitation_hash: Uint8Array) =>
  db.first(from(db, 'users').select(USER).where('invitation_hash', '=', invitation_hash))

/** Oldest first. */
export const listUsers = (db: TenantDb, page: Pick<Page, 'limit' | 'offset' | 'after'>) =>
  db.all(
    pageByTime(
      from(db, 'users').select(USER),
      { time: 'created_us', order: 'oldest', id: 'user_id' },
      page,
    ),
  )

/** People with ids after `after`, ordered by id. */
export const listUsersAfter = (db: TenantDb, after: string, limit: number) =>
  db.all(
    from(db, 'users').select(USER).where('user_id', '>', after).orderBy('user_id').limit(limit),
  )

/** The roles of people who have accepted their invitation. */
export const listActiveRoles = (db: TenantDb) =>
  db.all(from(db, 'users').select(['user_id', 'roles']).where('state', '=', 'active'))

export async function countUsers(db: TenantDb): Promise<number> {
  const row = await db.first(from(db, 'users').select((e) => e.fn.countAll<number>().as('count')))
  return Number(row?.count ?? 0)
}

export const updateUser = (tx: Tx, user_id: string, change: Partial<UserRow>) =>
  tx.run(update(tx, 'users').set(change).where('user_id', '=', user_id))

export const deleteUser = (tx: Tx, user_id: string) =>
  tx.run(deleteFrom(tx, 'users').where('user_id', '=', user_id))
