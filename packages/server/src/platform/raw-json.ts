// A reply that a slice has written as JSON already, from parts it keeps as text.

/** `T` is what the text parses to: a text for the reply of another operation does not compile. */
export class RawJson<T = unknown> {
  readonly text: string
  /** Numbers of the reply that are known without parsing the text. */
  readonly figures: Readonly<Record<string, number>>
  declare readonly parsed: T

  constructor(text: string, figures: RawJson['figures'] = {}) {
    this.text = text
    this.figures = figures
  }
}

/** `text` must be JSON of the reply; a test of each caller compares it with the ordinary one. */
export const rawJson = <T>(text: string, figures?: RawJson['figures']): RawJson<T> =>
  new RawJson<T>(text, figures)
