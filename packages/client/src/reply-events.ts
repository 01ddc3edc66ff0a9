// An event stream over fetch: frames in order; it reconnects after the last frame it received.

import { jitter, sleep } from './ambient.ts'
import { ConnectionError } from './errors.ts'
import { type Exchange, parseJson, requireHeader } from './exchange.ts'
import { textOf } from './reply-lines.ts'

/** One frame of an event stream. */
export interface EventFrame<T> {
  /** `<generation>.<seq>`: pass it as `from` to continue after this frame. */
  readonly id: string
  /** The event type of the log entry, or `position` or `reset`, which are not entries. */
  readonly event: string
  readonly data: T
}

/** The last event in the stream of a run. */
const RUN_END = /^run\.(completed|denied|failed|terminated)$/

/**
 * The frames of an endless stream. It ends by `signal`, by `break` or by a refusal. The stream of
 * a run, or of the newest run of a workflow, ends with the run.
 */
export class EventFrames<T> implements AsyncIterable<EventFrame<T>> {
  readonly #exchange: Exchange
  /** Whether the service answered 204: no frame is left. */
  #over = false

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<EventFrame<T>, void, undefined> {
    const { client, id, options } = this.#exchange
    const { signal } = options
    let last: string | undefined
    let answered = false
    for (;;) {
      try {
        const texts = await this.#connect(last)
        answered = true
        for await (const frame of framesOf<T>(texts, client.url)) {
          signal?.throwIfAborted()
          if (frame.id !== '') last = frame.id
          yield frame
          if (id !== 'streams.events' && RUN_END.test(frame.event)) return
        }
        if (this.#over) return
      } catch (error) {
        if (signal?.aborted) throw signal.reason
        // Too many requests (429) and failures of the service are retried.
        const again = error instanceof ConnectionError || Object(error).status > 428
        if (!again || !answered) throw error
      }
      await sleep(1_000 + 1_000 * jitter(), signal)
    }
  }

  async #connect(last: string | undefined): Promise<AsyncIterable<string>> {
    const extra = last === undefined ? {} : { 'last-event-id': last }
    const { client, id } = this.#exchange
    const { data } = await this.#exchange.run(
      (response, limit) => {
        this.#over = response.status === 204
        if (!this.#over) requireHeader(response, 'content-type', /^text\/event-stream/, client.url)
        return textOf(response, limit, id)
      },
      false,
      { accept: 'text/event-stream', ...extra },
    )
    return data
  }
}

async function* framesOf<T>(
  texts: AsyncIterable<string>,
  url: string,
): AsyncGenerator<EventFrame<T>, void, undefined> {
  let rest = ''
  for await (const text of texts) {
    const frames = `${rest}${text}`.split('\n\n')
    rest = frames.pop() ?? ''
    for (const frame of frames) {
      const { id = '', event = 'message', data } = fieldsOf(frame)
      // The contract states the shape of the data.
      if (data !== undefined) yield { id, event, data: parseJson(data, url) as T }
    }
  }
}

export const eventFrames = (exchange: Exchange): EventFrames<never> => new EventFrames(exchange)

const fieldsOf = (frame: string): { id?: string; event?: string; data?: string } =>
  Object.fromEntries(frame.split('\n').map((line) => line.split(/: (.*)/s)))
