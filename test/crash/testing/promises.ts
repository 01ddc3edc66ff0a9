// What the service has promised by answering, and what is in doubt because it was cut off.

import assert from 'node:assert/strict'

/** Every content carries a token of its own, so that a leak is found by looking for tokens. */
export const TOKEN = /zk\d+x\d+q/g

export interface KnownFact {
  readonly ref: number
  readonly store_id: string
  readonly content: string
}

export interface KnownDecision {
  readonly decision_id: string
  readonly refs: readonly number[]
  readonly output: string
}

/** What an answer said stands at a place of the log. */
export interface Claim {
  readonly seq: number
  readonly event_type: string
  readonly subject?: string
  readonly payload: Readonly<Record<string, unknown>>
}

/** An idempotent request without an answer: asked again, it must have happened once. */
export interface Retry {
  readonly path: string
  readonly key: string
  readonly body: unknown
  readonly contents: readonly string[]
}

export class Promises {
  readonly facts = new Map<number, KnownFact>()
  readonly decisions = new Map<string, KnownDecision>()
  /** New ref by the old ref it took the place of. */
  readonly superseded = new Map<number, number>()
  /** Certificate id by ref. */
  readonly erased = new Map<number, string>()
  /** Certificate id by decision id. */
  readonly redacted = new Map<string, string>()
  readonly deletedStores = new Set<string>()
  /** Root by `origin size`, of every checkpoint ever seen. */
  readonly roots = new Map<string, string>()
  /** Breadcrumb id by seq, of every entry ever seen. */
  readonly crumbs = new Map<number, string>()
  readonly claims = new Map<number, Claim>()
  readonly doubtfulErasures = new Set<number>()
  readonly doubtfulRedactions = new Set<string>()
  readonly doubtfulStores = new Set<string>()
  readonly retries: Retry[] = []

  /** Two answers may name one place of the log only when they say the same of it. */
  claim(claim: Claim): void {
    const known = this.claims.get(claim.seq)
    if (known) assert.deepEqual(claim, known, `log position ${claim.seq} was given out twice`)
    this.claims.set(claim.seq, claim)
  }

  checkpoint(epoch: { origin: string; tree_size: number; root_hash: string }): void {
    const place = `${epoch.origin} ${epoch.tree_size}`
    const known = this.roots.get(place) ?? epoch.root_hash
    assert.equal(epoch.root_hash, known, `two trees are signed for ${place}`)
    this.roots.set(place, epoch.root_hash)
  }
}

/** The same promises for another future of the same past. */
export const copyOf = (promises: Promises): Promises =>
  Object.assign(new Promises(), structuredClone({ ...promises }))

/** Of what was acknowledged, and found again. */
export const countsOf = (promises: Promises): Readonly<Record<string, number>> => ({
  'memories acknowledged': promises.facts.size,
  superseded: promises.superseded.size,
  decisions: promises.decisions.size,
  'memories erased': promises.erased.size,
  'decisions redacted': promises.redacted.size,
  'stores deleted': promises.deletedStores.size,
  'checkpoints compared': promises.roots.size,
  'log entries compared': promises.crumbs.size,
})
