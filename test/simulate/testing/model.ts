// What the service should hold, kept in memory: facts with their versions, decisions, erasures.

/** One version of a fact's validity: on record from `from_seq` until the next one. */
export interface Version {
  readonly from_seq: number
  readonly valid_from: string
  readonly valid_until: string | null
  readonly predecessor: number | null
  readonly superseded_by: number | null
}

export interface ModelFact {
  readonly ref: number
  readonly store_id: string
  readonly namespace: string | null
  readonly content: string
  /** Oldest first; never empty. */
  readonly versions: Version[]
  erased_seq: number | null
}

export interface ModelDecision {
  readonly decision_id: string
  readonly store_id: string
  readonly refs: readonly number[]
  readonly timestamp: string
  readonly memory_seq: number
  /** Refs whose content was scrubbed although the facts stay. */
  readonly scrubbed: Set<number>
  redacted: boolean
}

/** Times on the wire have one length and one zone, so that their texts compare as they do. */
const holdsAt = ({ valid_from, valid_until }: Version, at: string): boolean =>
  valid_from <= at && (valid_until === null || at < valid_until)

const versionAt = ({ versions }: ModelFact, seq: number): Version | undefined =>
  versions.findLast(({ from_seq }) => from_seq <= seq)

export class Model {
  readonly facts = new Map<number, ModelFact>()
  readonly decisions = new Map<string, ModelDecision>()
  readonly stores: string[] = []

  live(store_id?: string): ModelFact[] {
    return [...this.facts.values()].filter(
      (fact) => fact.erased_seq === null && (store_id === undefined || fact.store_id === store_id),
    )
  }

  latest({ versions }: ModelFact): Version {
    const last = versions.at(-1)
    if (!last) throw new Error('a fact has a version')
    return last
  }

  /** Facts that nothing has taken the place of. */
  heads(): ModelFact[] {
    return this.live().filter((fact) => this.latest(fact).superseded_by === null)
  }

  write(fact: Omit<ModelFact, 'versions' | 'erased_seq'>, seq: number, valid_from: string): void {
    const version = { from_seq: seq, valid_from, valid_until: null, superseded_by: null }
    const versions = [{ ...version, predecessor: null }]
    this.facts.set(fact.ref, { ...fact, versions, erased_seq: null })
  }

  supersede(old_ref: number, ref: number, seq: number): void {
    const valid_until = this.#current(ref).valid_from
    this.#revise(old_ref, seq, { valid_until, superseded_by: ref })
    this.#revise(ref, seq, { predecessor: old_ref })
  }

  /** Takes a fact out of its chain: stores contract 2.6. */
  erase(ref: number, seq: number): void {
    const fact = this.#fact(ref)
    const { predecessor, superseded_by } = this.latest(fact)
    fact.erased_seq = seq
    if (superseded_by !== null) this.#revise(superseded_by, seq, { predecessor })
    if (predecessor === null) return
    const opened = superseded_by === null ? { valid_until: null } : {}
    this.#revise(predecessor, seq, { superseded_by, ...opened })
  }

  /** Refs of live facts that hold at a time, as on record at a log position. */
  stateAt(
    store_id: string,
    { seq, at, namespace }: { seq: number; at: string; namespace: string | null },
  ): number[] {
    return this.live(store_id)
      .filter((fact) => fact.namespace === namespace)
      .filter((fact) => {
        const version = versionAt(fact, seq)
        return version !== undefined && holdsAt(version, at)
      })
      .map(({ ref }) => ref)
      .sort((a, b) => a - b)
  }

  /** What a replay shows: every namespace, facts erased after the position as tombstones. */
  replayed({ store_id, memory_seq }: ModelDecision, at: string): Map<number, string | null> {
    const shown = new Map<number, string | null>()
    for (const fact of [...this.facts.values()].sort((a, b) => a.ref - b.ref)) {
      const { erased_seq } = fact
      if (fact.store_id !== store_id || (erased_seq !== null && erased_seq <= memory_seq)) continue
      const version = versionAt(fact, memory_seq)
      if (version && holdsAt(version, at))
        shown.set(fact.ref, erased_seq === null ? fact.content : null)
    }
    return shown
  }

  #fact(ref: number): ModelFact {
    const fact = this.facts.get(ref)
    if (!fact) throw new Error(`the model has no fact ${ref}`)
    return fact
  }

  #current(ref: number): Version {
    return this.latest(this.#fact(ref))
  }

  #revise(ref: number, seq: number, change: Partial<Version>): void {
    const { versions } = this.#fact(ref)
    const current = this.#current(ref)
    if (current.from_seq === seq) versions.pop()
    versions.push({ ...current, ...change, from_seq: seq })
  }
}
