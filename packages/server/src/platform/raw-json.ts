// A reply that a slice has already serialised as JSON, from parts that it keeps as text.

/** `T` is the type that the text parses to: a reply of another operation does not compile. */
export class RawJson<T = unknown> {
  readonly text: string
  /** Figures of the reply that are known without parsing the text. */
  readonly figures: Readonly<Record<string, number>>
  declare readonly parsed: T

  constructor(text: string, figures: RawJson['figures'] = {}) {
    this.text = text
    this.figures = figures
  }
}

/** `text` must be the JSON of the reply; a test of each caller compares it with the usual one. */
export const rawJson = <T>(text: string, figures?: RawJson['figures']): RawJson<T> =>
  new RawJson<T>(text, figures)
