// SQL of recomputing: the log entries, and every row of reputation, in pages.

import { from, type TenantDb } from '../../../platform/db/tenant-db.ts'

export const listEntries = (db: TenantDb, after: number, limit: number) =>
  db.all(
    from(db, 'breadcrumbs')
      .select(['seq', 'record'])
      .where('seq', '>', after)
      .orderBy('seq')
      .limit(limit),
  )

export const listAllReviewers = (db: TenantDb, after: number, limit: number) =>
  db.all(
    from(db, 'cgr_reviewers')
      .select(['reviewer_no', 'name', 'anchor', 'observations', 'error_ones', 'error_parts'])
      .where('reviewer_no', '>', after)
      .orderBy('reviewer_no')
      .limit(limit),
  )

export const listLive = (db: TenantDb, first: number, last: number) =>
  db.all(
    from(db, 'cgr_live_reviews')
      .select(['agent_no', 'reviewer_no', 'count', 'rating_sum_e6'])
      .where('agent_no', '>=', first)
      .where('agent_no', '<=', last),
  )

export const listAllDecisions = (db: TenantDb, after: number, limit: number) =>
  db.all(
    from(db, 'cgr_decisions')
      .select([
        'seq',
        'decision_id',
        'agent_no',
        'referent',
        'decision',
        'tag',
        'current',
        'handle',
        'anchor',
      ])
      .where('seq', '>', after)
      .orderBy('seq')
      .limit(limit),
  )

/** A page of all outcomes, ordered by referent. */
export const listAllOutcomes = (db: TenantDb, after: Uint8Array, limit: number) =>
  db.all(
    from(db, 'cgr_outcomes')
      .select(['referent', 'outcome', 'content', 'reporter', 'event_us', 'seq'])
      .where('referent', '>', after)
      .orderBy('referent')
      .limit(limit),
  )

/** Ordered by referent, then by reviewer, so that a page may end within a referent. */
export const listAllReviews = (
  db: TenantDb,
  after: { referent: Uint8Array; reviewer_no: number },
  limit: number,
) =>
  db.all(
    from(db, 'cgr_reviews')
      .select([
        'referent',
        'reviewer_no',
        'rating_e6',
        'agent_no',
        'content',
        'event_us',
        'seq',
        'handle',
      ])
      // Redundant, but the only bound that an index can use.
      .where('referent', '>=', after.referent)
      .where((e) =>
        e.or([e('referent', '>', after.referent), e('reviewer_no', '>', after.reviewer_no)]),
      )
      .orderBy('referent')
      .orderBy('reviewer_no')
      .limit(limit),
  )
