// The open streams of a process: their limits, their heartbeats, and their end.

import { type EventType, limits } from '@custos/contract'
import type { Principal } from '../../platform/kernel/call.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { limitsAt } from '../../platform/kernel/plan-limits.ts'
import { Refusal } from '../../platform/refusal.ts'
import { yieldBetweenChunks } from '../../platform/yield-between-chunks.ts'
import { followLog, type LogEnd, type LogPageOptions, readLogPage } from '../gcrumbs/index.ts'
import { isInForce } from '../identity/index.ts'
import { runDeltas } from '../orchestrator/index.ts'
import { onCredentialChange } from '../tenants/index.ts'
import {
  type FrameFormat,
  type RenderedPage,
  renderDelta,
  renderedPages,
  renderMark,
} from './frames.ts'
import { decideStart } from './start-position.ts'

const TICK_MS = 500
const RETRY_AFTER_S = 10

class OpenStreams {
  readonly #kernel: Kernel
  readonly #streams = new Set<LogStream>()
  #timer: NodeJS.Timeout | undefined
  #stopping = false

  constructor(kernel: Kernel) {
    this.#kernel = kernel
    // Streams of a key revoked in this process end at once; for other processes, at a heartbeat.
    onCredentialChange(kernel, () => void this.#check([...this.#streams]))
  }

  /** Refuses `rate_limited` beyond a limit, and `unavailable` once the process stops. */
  open(request: StreamRequest, gone: AbortSignal): LogStream {
    if (this.#stopping) throw new Refusal('unavailable', 'The process is stopping')
    this.#requirePlace(request)
    const stream = new LogStream(this.#kernel, request)
    this.#streams.add(stream)
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS).unref()
    const close = () => {
      stream.end('over')
      this.#streams.delete(stream)
      if (this.#streams.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    }
    if (gone.aborted) close()
    else gone.addEventListener('abort', close, { once: true })
    return stream
  }

  stop(): void {
    this.#stopping = true
    for (const stream of this.#streams) stream.end('stopping')
  }

  #requirePlace({ tenant_id, principal: { key_id, plan } }: StreamRequest): void {
    let [ofTenant, ofKey] = [0, 0]
    for (const { request } of this.#streams) {
      if (request.tenant_id !== tenant_id) continue
      ofTenant += 1
      if (request.principal.key_id === key_id) ofKey += 1
    }
    const { per_key, per_process } = limits.open_streams
    const { settings, clock } = this.#kernel
    const per_tenant = limitsAt(settings.plans, plan ?? null, clock.now()).streams ?? per_process
    const full =
      (ofKey >= per_key && `The key has ${per_key} streams open`) ||
      (ofTenant >= per_tenant && `The tenant has ${per_tenant} streams open`) ||
      (this.#streams.size >= per_process && 'The process has as many streams open as it can')
    if (full) throw new Refusal('rate_limited', full, { retry_after_s: RETRY_AFTER_S })
  }

  #tick(): void {
    const now_us = this.#kernel.clock.now()
    const due = [...this.#streams].filter((stream) => stream.tick(now_us))
    if (due.length === 0) return
    void this.#check(due).then(() => {
      for (const stream of due) stream.beat()
    })
  }

  /** Ends the streams whose credential is no longer valid. Looks up each credential once. */
  async #check(streams: readonly LogStream[]): Promise<void> {
    const stored = streams.filter(({ request }) => request.principal.kind === 'tenant')
    const byCredential = Map.groupBy(
      stored,
      ({ request: { principal } }) => principal.session?.session_id ?? principal.key_id,
    )
    const checks = [...byCredential.values()].map(async (same) => {
      const [first] = same
      if (first && (await this.#isInForce(first))) return
      for (const stream of same) stream.end('over')
    })
    // If credentials cannot be read, neither can the log. The next heartbeat checks again.
    await Promise.allSettled(checks)
  }

  /** A key whose tenant moved to another cluster is refused, and so not valid here. */
  async #isInForce({ request: { principal } }: LogStream): Promise<boolean> {
    try {
      return await isInForce(this.#kernel, principal)
    } catch (error) {
      if (error instanceof Refusal && error.code === 'tenant_moved') return false
      throw error
    }
  }
}

export const openStreams = perKernel((kernel) => new OpenStreams(kernel))

const BEAT_US = 15_000_000
/** The limit, in characters, of text frames that wait for their reader. */
const DELTA_CHARS = 256 * 1024
/** The lifetime of a stream; a client that is still there reconnects. */
const LENGTH_US = 3_600_000_000

/** Tells the client to wait this long before it reconnects, in milliseconds. */
const RETRY = 'retry: 2000\n\n'
/** Sent when the process stops, as another may already have taken over. */
const RETRY_SOON = 'retry: 1000\n\n'
const BEAT = ': hb\n\n'

interface StreamRequest {
  readonly principal: Principal
  readonly tenant_id: string
  /** `null` means every event. */
  readonly events: readonly EventType[] | null
  readonly format: FrameFormat
  readonly from: string
  readonly last_event_id: string | null
  /** The only run to show, from its first entry to its end. `null` means all entries. */
  readonly run: {
    readonly run_id: string
    readonly first_seq: number
    /** Whether the text of answers is streamed. */
    readonly deltas: boolean
  } | null
}

class LogStream {
  readonly request: StreamRequest
  readonly #kernel: Kernel
  readonly #cut = new AbortController()
  readonly #ends_us: number
  #beats_us: number
  /** When the current frame was handed to the connection, or `null` if it waits for a frame. */
  #waited_for_us: number | null = null
  #ended: 'over' | 'stopping' | null = null
  #beatDue = false
  #end: LogEnd = { generation: 0, size: 0 }
  #wake: () => void = () => {}
  /** Text frames since the last read. Frames beyond the limit are dropped. */
  #deltas = ''

  constructor(kernel: Kernel, request: StreamRequest) {
    this.#kernel = kernel
    this.request = request
    const now = kernel.clock.now()
    this.#ends_us = now + LENGTH_US
    this.#beats_us = now + BEAT_US
  }

  /** Aborted when the stream ends, so that nobody waits for the client any longer. */
  get cut(): AbortSignal {
    return this.#cut.signal
  }

  /** Ends the stream as soon as its reader lets it. `stopping` means that the process stops. */
  end(why: 'over' | 'stopping'): void {
    this.#ended ??= why
    this.#cut.abort()
    this.#wake()
  }

  /** Ends a stream that is too old or stuck. Returns whether a heartbeat is due. */
  tick(now_us: number): boolean {
    const stuck = this.#waited_for_us !== null && now_us - this.#waited_for_us > BEAT_US
    if (stuck || now_us >= this.#ends_us) this.end('over')
    if (this.#ended || now_us < this.#beats_us) return false
    this.#beats_us = now_us + BEAT_US
    return true
  }

  beat(): void {
    this.#beatDue = true
    this.#wake()
  }

  async *frames(): AsyncGenerator<string> {
    yield RETRY
    // Follows the log before the first read, so that no entry is missed.
    const stop = followLog(this.#kernel, this.request.tenant_id, (end) => {
      this.#learn(end)
      this.#wake()
    })
    const stopDeltas = this.#followDeltas()
    try {
      for await (const frames of this.#chunks()) {
        this.#waited_for_us = this.#kernel.clock.now()
        yield frames
        this.#waited_for_us = null
      }
    } finally {
      stop()
      stopDeltas()
    }
    if (this.#ended === 'stopping') yield RETRY_SOON
  }

  #followDeltas(): () => void {
    const { run, format } = this.request
    if (!run?.deltas) return () => {}
    return runDeltas(this.#kernel).follow(run.run_id, (delta) => {
      const frame = renderDelta(delta, format)
      if (this.#deltas.length + frame.length > DELTA_CHARS) return
      this.#deltas += frame
      this.#wake()
    })
  }

  #takeDeltas(): string {
    const taken = this.#deltas
    this.#deltas = ''
    return taken
  }

  async *#chunks(): AsyncGenerator<string> {
    const { end } = await this.#page({ first_seq: Number.MAX_SAFE_INTEGER, limit: 1, events: null })
    this.#learn(end)
    const find = (generation: number, end_seq: number) => this.#findRestored(generation, end_seq)
    const start = await decideStart(this.request, end, find)
    const { format, run } = this.request
    if (start.told !== null && !run) yield renderMark(start.told, end, format)
    const pause = yieldBetweenChunks()
    const { generation } = end
    // If the client's position is unknown here, the whole run is shown again.
    const known = start.told === null ? start.first_seq : 0
    let next_seq = run ? Math.max(run.first_seq, known) : start.first_seq
    while (this.#ended === null && this.#end.generation === generation) {
      if (this.#beatDue) {
        this.#beatDue = false
        yield BEAT
      }
      // Sent before the entry that completes their step.
      const deltas = this.#takeDeltas()
      if (deltas !== '') yield deltas
      if (next_seq >= this.#end.size) {
        await this.#news(next_seq)
        continue
      }
      const page = await this.#read(next_seq)
      if (page.end.generation !== generation) return
      next_seq = page.next_seq
      const { frames, over } = run
        ? page.renderRun(run.run_id, format)
        : { frames: page.render(format), over: false }
      if (frames !== '') yield frames
      if (over) return
      await pause()
    }
  }

  #read(first_seq: number): Promise<RenderedPage> {
    const { tenant_id, events } = this.request
    return renderedPages(this.#kernel).read(tenant_id, first_seq, events)
  }

  /** Waits until an entry exists at the position, a heartbeat is due, or the stream ends. */
  async #news(next_seq: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = () => {
        const hasNews = this.#beatDue || this.#deltas !== '' || this.#end.size > next_seq
        if (this.#ended || hasNews) resolve()
      }
      this.#wake()
    })
  }

  #learn(end: LogEnd): void {
    const { generation, size } = this.#end
    if (end.generation > generation || end.size > size) this.#end = end
  }

  #page(options: LogPageOptions) {
    return this.#kernel.db.read(this.request.tenant_id, (db) => readLogPage(db, options))
  }

  /** The first entry before `end_seq` that opened a generation later than the given one. */
  async #findRestored(generation: number, end_seq: number): Promise<number | null> {
    const pause = yieldBetweenChunks()
    for (let first_seq = 0; first_seq < end_seq; ) {
      const events = ['log.restored'] as const
      const { entries, next_seq } = await this.#page({ first_seq, limit: 100, events })
      const restored = entries.find(
        ({ record }) => JSON.parse(record).payload.generation > generation,
      )
      if (restored) return restored.seq < end_seq ? restored.seq : null
      first_seq = next_seq
      await pause()
    }
    return null
  }
}
