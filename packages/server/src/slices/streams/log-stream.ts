// One open stream: the frames of a tenant's log, from where its client was, for as long as it may.

import type { EventType } from '@custos/contract'
import type { Principal } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { yieldBetweenChunks } from '../../platform/yield-between-chunks.ts'
import { followLog, type LogEnd, type LogPageOptions, readLogPage } from '../gcrumbs/index.ts'
import { runDeltas } from '../orchestrator/index.ts'
import {
  type FrameFormat,
  type RenderedPage,
  renderDelta,
  renderedPages,
  renderMark,
} from './frames.ts'
import { decideStart } from './start-position.ts'

const BEAT_US = 15_000_000
/** Of frames of text that wait for their reader. */
const DELTA_CHARS = 256 * 1024
/** A client that is still there connects again. */
const LENGTH_US = 3_600_000_000

/** How long a client waits before it connects again, in milliseconds. */
const RETRY = 'retry: 2000\n\n'
/** The process stops, and another may be there already. */
const RETRY_SOON = 'retry: 1000\n\n'
const BEAT = ': hb\n\n'

export interface StreamRequest {
  readonly principal: Principal
  readonly tenant_id: string
  /** Null: every kind. */
  readonly events: readonly EventType[] | null
  readonly format: FrameFormat
  readonly from: string
  readonly last_event_id: string | null
  /** The only run whose entries are shown, to its end, and where they begin; null: all entries. */
  readonly run: {
    readonly run_id: string
    readonly first_seq: number
    /** Whether text of answers is shown as it comes. */
    readonly deltas: boolean
  } | null
}

export class LogStream {
  readonly request: StreamRequest
  readonly #kernel: Kernel
  readonly #cut = new AbortController()
  readonly #ends_us: number
  #beats_us: number
  /** Since when the connection has not asked for the next frame; null: it waits for one. */
  #waited_for_us: number | null = null
  #ended: 'over' | 'stopping' | null = null
  #beatDue = false
  #end: LogEnd = { generation: 0, size: 0 }
  #wake: () => void = () => {}
  /** Frames of text that came since the last was taken; a slow reader misses some. */
  #deltas = ''

  constructor(kernel: Kernel, request: StreamRequest) {
    this.#kernel = kernel
    this.request = request
    const now = kernel.clock.now()
    this.#ends_us = now + LENGTH_US
    this.#beats_us = now + BEAT_US
  }

  /** Aborted once nobody waits for the client any longer. */
  get cut(): AbortSignal {
    return this.#cut.signal
  }

  /** `stopping`: the process stops. The stream ends as soon as its reader lets it. */
  end(why: 'over' | 'stopping'): void {
    this.#ended ??= why
    this.#cut.abort()
    this.#wake()
  }

  /** Ends what is too old or stuck; whether a heartbeat is due. */
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
    // Before the first look at the log, so that nothing falls between.
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
    // Of what a client of a run had and is not known here, all of the run is shown again.
    const known = start.told === null ? start.first_seq : 0
    let next_seq = run ? Math.max(run.first_seq, known) : start.first_seq
    while (this.#ended === null && this.#end.generation === generation) {
      if (this.#beatDue) {
        this.#beatDue = false
        yield BEAT
      }
      // Before the entry that completes their step.
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

  /** Until there is an entry at the position, a heartbeat is due, or the stream ends. */
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

  /** The first entry before `end_seq` that opened a later generation than this one. */
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
