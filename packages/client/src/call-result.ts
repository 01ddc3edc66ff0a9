// The result of a call: a promise of the data that can also give the response.

/** The parsed data of an answer, with the response that carried it. */
export interface Answer<T> {
  readonly data: T
  readonly response: Response
  readonly requestId: string | null
}

/** A promise of the data of an answer; `withResponse` gives the response too. */
export class Pending<T> implements Promise<T> {
  readonly #answer: Promise<Answer<T>>
  readonly [Symbol.toStringTag] = 'Pending'

  constructor(answer: Promise<Answer<T>>) {
    this.#answer = answer
  }

  withResponse(): Promise<Answer<T>> {
    return this.#answer
  }

  // biome-ignore lint/suspicious/noThenProperty: it is a promise
  then<A = T, B = never>(
    done?: ((data: T) => A | PromiseLike<A>) | null,
    failed?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#answer.then(({ data }) => data).then(done, failed)
  }

  catch<B = never>(failed?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(null, failed)
  }

  finally(ended?: (() => void) | null): Promise<T> {
    return this.then().finally(ended)
  }
}
