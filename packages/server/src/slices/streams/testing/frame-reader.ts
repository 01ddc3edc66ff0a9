// Reads an event stream byte by byte, as far as a test has asked for.

export interface ReadFrame {
  readonly id?: string
  readonly event?: string
  readonly retry?: string
  readonly data?: string
  /** Text of a comment line. */
  readonly comment?: string
}

export interface FrameReader {
  readonly status: number
  readonly headers: Headers
  /** Everything received so far, as it was sent. */
  readonly text: string
  /** The next frame; undefined when the stream has ended. */
  next(): Promise<ReadFrame | undefined>
  /** The next frames that carry data, without `retry` and comments. */
  take(count: number): Promise<ReadFrame[]>
  /** Reads until the stream ends. */
  rest(): Promise<ReadFrame[]>
  close(): void
}

interface OpenOptions {
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Opens a stream, or gets the refusal. */
export async function openFrames(url: string, options: OpenOptions = {}): Promise<FrameReader> {
  const abort = new AbortController()
  const headers = new Headers(options.headers)
  if (options.key !== undefined) headers.set('authorization', `Bearer ${options.key}`)
  const response = await fetch(url, { headers, signal: abort.signal })
  const chunks = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let [text, read, ended] = ['', 0, false]
  const more = async () => {
    const { done, value = '' } = (await chunks?.read()) ?? { done: true }
    text += value
    ended = done
  }
  const next = async (): Promise<ReadFrame | undefined> => {
    for (;;) {
      const end = text.indexOf('\n\n', read)
      if (end !== -1) {
        const frame = parseFrame(text.slice(read, end))
        read = end + 2
        return frame
      }
      if (ended) return undefined
      await more()
    }
  }
  const collect = async (count: number) => {
    const frames: ReadFrame[] = []
    while (frames.length < count) {
      const frame = await next()
      if (frame === undefined) break
      if (frame.data !== undefined) frames.push(frame)
    }
    return frames
  }
  return {
    status: response.status,
    headers: response.headers,
    get text() {
      return text
    },
    next,
    async take(count) {
      const frames = await collect(count)
      if (frames.length < count) throw new Error(`the stream ended after ${frames.length} frames`)
      return frames
    },
    rest: () => collect(Number.POSITIVE_INFINITY),
    close: () => abort.abort(),
  }
}

function parseFrame(text: string): ReadFrame {
  const fields = text.split('\n').map((line) => {
    if (line.startsWith(': ')) return ['comment', line.slice(2)]
    const colon = line.indexOf(': ')
    return [line.slice(0, colon), line.slice(colon + 2)]
  })
  return Object.fromEntries(fields)
}
