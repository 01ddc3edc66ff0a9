// Scores and their subjects, computed from one agent's row and the rows of its reviewers.

import type { ScoreObject } from '@custos/contract'
import { type AgentScore, didKeyOf, score } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { findHead } from '../gcrumbs/index.ts'
import { errorOf } from './changes.ts'
import type { NameTexts } from './new-decision.ts'
import { openLinks } from './rotate.ts'
import { listNamed } from './rows/agents.sql.ts'
import { type AgentRow, listWeighed, type WeighedRow } from './rows/aggregates.sql.ts'
import { listSealedNames } from './rows/events.sql.ts'
import { hexOf, keyLabel, nameLabel, sameLabel } from './rows/labels.ts'
import { anchorOf, findLinks, listChain, type RotationRow } from './rows/rotations.sql.ts'
import { openPayload } from './rows/sealed-payload.ts'

export function scoreOf(agent: AgentRow, weighed: readonly WeighedRow[]): AgentScore {
  const { n_success, n_failure, n_pending } = agent
  const reviews = weighed.map((row) => ({
    reviewer: String(row.reviewer_no),
    count: row.count,
    rating_sum_e6: row.rating_sum_e6,
    observations: row.observations,
    error_sum_e12: errorOf(row),
  }))
  return score({ n_success, n_failure, n_pending, reviews })
}

/** An agent with its score, both from one snapshot, and still sealed. */
export interface ScoredAgent {
  readonly agent: AgentRow
  readonly score: AgentScore
}

interface WithNames extends ScoredAgent {
  readonly name: Awaited<ReturnType<typeof listSealedNames>>[number]
  readonly chain: readonly RotationRow[]
}

/** Adds the sealed names. Returns the agents in the order of `found`. */
export async function nameAll(db: TenantDb, found: readonly ScoredAgent[]): Promise<WithNames[]> {
  const names = await listSealedNames(
    db,
    found.map(({ agent }) => agent.newest_seq),
  )
  const nameAt = new Map(names.map((row) => [row.seq, row]))
  const chains = await Promise.all(
    found.map(({ agent }) => (agent.anchor === null ? [] : listChain(db, agent.anchor))),
  )
  return found.map((one, at) => {
    const name = nameAt.get(one.agent.newest_seq)
    if (!name) throw new Error('an agent has no newest decision')
    return { ...one, name, chain: chains[at] ?? [] }
  })
}

/** The position of the snapshot's last log entry, or `null` if the log is empty. */
export async function lastSeq(db: TenantDb): Promise<number | null> {
  const head = await findHead(db)
  return head && head.size > 0 ? head.size - 1 : null
}

export interface ScoreView {
  readonly score: AgentScore
  readonly object: ScoreObject
}

interface Frame {
  readonly kernel: Kernel
  readonly tenant_id: string
  readonly dimension: string
  readonly log_seq: number | null
}

/** Opens the sealed names, in the order of `found`. */
export async function showAll(frame: Frame, found: readonly WithNames[]): Promise<ScoreView[]> {
  const { kernel, tenant_id, dimension, log_seq } = frame
  const now_us = kernel.clock.now()
  const sealed = found.map(({ name }) => {
    const place = { column: 'name', id: hexOf(name.decision_id) } as const
    return { place, secret_no: name.secret_no, sealed: name.sealed_name }
  })
  const opened = await openPayload<NameTexts>(kernel, tenant_id, sealed)
  const subjects = await Promise.all(
    found.map((one, at) => subjectOf(frame, one.chain, { words: opened[at] ?? null, now_us })),
  )
  return found.map(({ agent, score }, at) => {
    const words = opened[at]
    const subject = subjects[at]
    if (!words || !subject) throw new Refusal('unavailable')
    const object = {
      agent_handle: words.agent_handle,
      cgr_score: score.cgr_score,
      confidence: score.confidence,
      n_resolved: score.n_resolved,
      n_pending: score.n_pending,
      capability_tier: null,
      as_of: formatTime(now_us),
      dimension,
      ...subject,
      post_alpha: score.post_alpha,
      post_beta: score.post_beta,
      cgr_lower: score.cgr_lower,
      n_unscored: agent.n_unscored,
      proven: agent.kind === 'proven',
      log_seq,
    }
    return { score, object }
  })
}

/** The key that is in force now, and the DID of the chain's first key. */
async function subjectOf(
  { kernel, tenant_id }: Frame,
  chain: readonly RotationRow[],
  { words, now_us }: { words: NameTexts | null; now_us: number },
): Promise<{ readonly subject_key: string | null; readonly subject_did: string | null }> {
  const key = words?.agent_key ?? null
  if (key === null) return { subject_key: null, subject_did: null }
  if (chain.length === 0) return { subject_key: key, subject_did: didKeyOf(key) }
  const links = await openLinks(kernel, tenant_id, chain)
  const anchor = links[0]?.prev_key ?? key
  const standing = links.filter((_, at) => (chain[at]?.not_before_us ?? 0) <= now_us)
  return { subject_key: standing.at(-1)?.new_key ?? anchor, subject_did: didKeyOf(anchor) }
}

/** Finds the agent with the handle, the most trustworthy first. Refuses `score_not_found`. */
export async function findSubject(
  { kernel, tenant_id }: { kernel: Kernel; tenant_id: string },
  wanted: {
    readonly agent_handle: string
    readonly subject_key?: string | null | undefined
    readonly dimension: string
  },
): Promise<{ shown: ScoreView; agent: AgentRow; same_handle: number }> {
  const keys = await kernel.keyring.tenant(tenant_id)
  const { dimension, agent_handle, subject_key } = wanted
  const name = nameLabel(keys, dimension, agent_handle)
  const key = subject_key ? keyLabel(keys, subject_key) : null
  const found = await kernel.db.read(tenant_id, async (db) => {
    const named = await listNamed(db, name)
    const anchor = key && anchorOf(key, await findLinks(db, key))
    const meant = anchor ? named.filter((row) => sameLabel(row.anchor, anchor)) : named
    // The proven or oldest owner comes before rivals that took the handle later or only name a key.
    const agent = meant.find(({ kind }) => kind === 'proven') ?? meant[0]
    if (!agent) return null
    const weighed = await listWeighed(db, agent.agent_no, agent.agent_no)
    const [one] = await nameAll(db, [{ agent, score: scoreOf(agent, weighed) }])
    return one && { one, log_seq: await lastSeq(db), same_handle: named.length - 1 }
  })
  if (!found) throw new Refusal('score_not_found')
  const { one, log_seq, same_handle } = found
  const [shown] = await showAll({ kernel, tenant_id, dimension, log_seq }, [one])
  if (!shown) throw new Refusal('unavailable')
  return { shown, agent: one.agent, same_handle }
}
