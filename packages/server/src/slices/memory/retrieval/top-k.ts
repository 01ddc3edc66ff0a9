// Keeps the best few of many scored candidates: score descending, then ref ascending.

/** A bounded heap whose root is the worst candidate kept. */
export class TopK {
  readonly #capacity: number
  readonly #scores: number[] = []
  readonly #refs: number[] = []
  readonly #slots: number[] = []

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get full(): boolean {
    return this.#scores.length >= this.#capacity
  }

  /** The lowest score kept: once full, nothing below it can enter. */
  get lowest(): number {
    return this.#scores[0] ?? Number.NEGATIVE_INFINITY
  }

  offer(score: number, ref: number, slot: number): void {
    if (this.#capacity === 0) return
    if (!this.full) {
      this.#place(this.#scores.length, score, ref, slot)
      this.#rise(this.#scores.length - 1)
    } else if (ranksBefore(score, ref, this.lowest, this.#refs[0] ?? 0)) {
      this.#place(0, score, ref, slot)
      this.#sink()
    }
  }

  /** What was kept, best first. */
  drain(): { score: number; slot: number }[] {
    return this.#slots
      .map((slot, at) => ({ slot, score: this.#scores[at] ?? 0, ref: this.#refs[at] ?? 0 }))
      .sort((left, right) => right.score - left.score || left.ref - right.ref)
  }

  #rise(from: number): void {
    let at = from
    while (at > 0) {
      const parent = (at - 1) >>> 1
      if (!this.#worse(at, parent)) return
      this.#swap(at, parent)
      at = parent
    }
  }

  #sink(): void {
    let at = 0
    for (;;) {
      const left = at * 2 + 1
      if (left >= this.#scores.length) return
      const right = left + 1
      const child = right < this.#scores.length && this.#worse(right, left) ? right : left
      if (!this.#worse(child, at)) return
      this.#swap(at, child)
      at = child
    }
  }

  #worse(one: number, other: number): boolean {
    return ranksBefore(
      this.#scores[other] ?? 0,
      this.#refs[other] ?? 0,
      this.#scores[one] ?? 0,
      this.#refs[one] ?? 0,
    )
  }

  #swap(one: number, other: number): void {
    const [score, ref, slot] = [this.#scores[one], this.#refs[one], this.#slots[one]]
    this.#place(one, this.#scores[other] ?? 0, this.#refs[other] ?? 0, this.#slots[other] ?? 0)
    this.#place(other, score ?? 0, ref ?? 0, slot ?? 0)
  }

  #place(at: number, score: number, ref: number, slot: number): void {
    this.#scores[at] = score
    this.#refs[at] = ref
    this.#slots[at] = slot
  }
}

function ranksBefore(score: number, ref: number, otherScore: number, otherRef: number): boolean {
  return score > otherScore || (score === otherScore && ref < otherRef)
}
